// Bytes near well-formed ones, always the same for the same number.
#ifndef EXPUNGE_TESTS_FUZZ_MUTATIONS_H_
#define EXPUNGE_TESTS_FUZZ_MUTATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace expunge::fuzz {

// One of the seeds after one to four changes: a bit flipped, a byte set to one that parsers care about, a
// part cut out, repeated, moved, or taken from another seed. REQUIRES: a seed. Cost: O(size).
[[nodiscard]] std::string Mutate(const std::vector<std::string>& seeds, uint64_t number);

}  // namespace expunge::fuzz

#endif  // EXPUNGE_TESTS_FUZZ_MUTATIONS_H_
