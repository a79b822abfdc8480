// A libFuzzer program for the target that it is built for.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

namespace {

const expunge::fuzz::Target& TheTarget() {
  for (const expunge::fuzz::Target& target : expunge::fuzz::AllTargets()) {
    if (absl::string_view(target.name) == EXPUNGE_FUZZ_TARGET) return target;
  }
  expunge::fuzz::Require(false, "the target " EXPUNGE_FUZZ_TARGET " exists");
  return expunge::fuzz::AllTargets().front();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const expunge::fuzz::Target& target = TheTarget();
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
