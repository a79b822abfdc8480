#include "tests/fuzz/mutations.h"

#include <algorithm>
#include <random>

#include "absl/strings/string_view.h"

namespace expunge::fuzz {
namespace {

constexpr absl::string_view kNotable("\0\n\r\t \"\\/+-=.,:[]{}019aAfxn\x7f\x80\xc3\xff", 33);

class Mutator {
 public:
  explicit Mutator(uint64_t number) : random_(number) {}

  size_t Below(size_t bound) { return bound == 0 ? 0 : static_cast<size_t>(random_() % bound); }

  void Change(const std::vector<std::string>& seeds, std::string* bytes) {
    const size_t at = Below(bytes->size() + 1);
    const size_t length = Below(std::min<size_t>(bytes->size() - at, 64) + 1);
    const std::string part = bytes->substr(at, length);
    switch (Below(7)) {
      case 0:
        if (at < bytes->size()) (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << Below(8)));
        break;
      case 1:
        if (at < bytes->size()) (*bytes)[at] = kNotable[Below(kNotable.size())];
        break;
      case 2:
        bytes->erase(at, length);
        break;
      case 3:
        bytes->insert(at, part);
        break;
      case 4:
        bytes->erase(at, length);
        bytes->insert(Below(bytes->size() + 1), part);
        break;
      case 5: {
        const std::string& other = seeds[Below(seeds.size())];
        const size_t from = Below(other.size() + 1);
        bytes->replace(at, length, other.substr(from, Below(64)));
        break;
      }
      default:
        bytes->resize(at);
    }
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace

std::string Mutate(const std::vector<std::string>& seeds, uint64_t number) {
  Mutator mutator(number);
  std::string bytes = seeds[mutator.Below(seeds.size())];
  for (size_t changes = 1 + mutator.Below(4); changes > 0; --changes) mutator.Change(seeds, &bytes);
  return bytes;
}

}  // namespace expunge::fuzz
