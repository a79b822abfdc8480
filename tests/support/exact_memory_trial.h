// Memories under change, compared with memories that were solved from nothing.
#ifndef EXPUNGE_TESTS_SUPPORT_EXACT_MEMORY_TRIAL_H_
#define EXPUNGE_TESTS_SUPPORT_EXACT_MEMORY_TRIAL_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "solver/exact_memory.h"

namespace expunge::testing {

// Empty if `memory` is, to the last bit, the memory of `tokens` (in any order) by the reference solver; else
// what differs.
[[nodiscard]] std::string DifferenceFromReference(const solver::ExactMemory& memory,
                                                  solver::TokenList tokens);

// All bytes that an error must leave alone: fingerprint, proof, scope.
[[nodiscard]] std::string StateBytes(const solver::ExactMemory& memory);

// A memory, and the tokens of a pool that are in it.
class Trial {
 public:
  Trial(const solver::Config& config, solver::TokenList pool, uint64_t seed,
        const solver::ExactMemoryOptions& options = {});

  // Adds or removes up to `count` random tokens of the pool. An error fails the test.
  void AddRandom(size_t count);
  void RemoveRandom(size_t count);
  // One of the two, mostly of one token.
  void Step();
  void Add(const std::vector<size_t>& indices);
  void Remove(const std::vector<size_t>& indices);

  [[nodiscard]] solver::ExactMemory& memory() { return *memory_; }
  [[nodiscard]] solver::TokenList Tokens() const;  // in the memory now
  [[nodiscard]] std::string Difference() const { return DifferenceFromReference(*memory_, Tokens()); }

 private:
  std::vector<size_t> Choose(bool inside, size_t count);

  std::unique_ptr<solver::ExactMemory> memory_;
  solver::TokenList pool_;
  std::vector<bool> inside_;
  std::mt19937_64 random_;
};

}  // namespace expunge::testing

#endif  // EXPUNGE_TESTS_SUPPORT_EXACT_MEMORY_TRIAL_H_
