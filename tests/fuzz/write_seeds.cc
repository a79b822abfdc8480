// Writes the seeds of every target: FOLDER/<target>/<number>, for libFuzzer.
#include <cstdio>
#include <exception>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/certificate/fixtures.h"
#include "tests/fuzz/targets.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_fuzz_seeds FOLDER\n");
    return 2;
  }
  try {
    for (const expunge::fuzz::Target& target : expunge::fuzz::AllTargets()) {
      const std::string folder = absl::StrCat(argv[1], "/", target.name);
      std::filesystem::create_directories(folder);
      size_t number = 0;
      for (const std::string& seed : target.seeds()) {
        expunge::certificate::testing::WriteBytes(absl::StrCat(folder, "/", number++), seed);
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_fuzz_seeds: %s\n", error.what());
    return 1;
  }
}
