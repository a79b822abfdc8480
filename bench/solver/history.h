// A memory in use: tokens of each class are deleted and added again, timed, while others come and go.
#ifndef EXPUNGE_BENCH_SOLVER_HISTORY_H_
#define EXPUNGE_BENCH_SOLVER_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "bench/solver/measurement.h"
#include "solver/exact_memory.h"

namespace expunge::bench {

// So many tokens beyond its size has a memory in use to take from.
inline constexpr size_t kSpares = 32;

// Threads: one.
class History {
 public:
  // `memory` holds all of `tokens` but the last kSpares. REQUIRES: it outlives this object.
  History(solver::ExactMemory* memory, const solver::TokenList& tokens, Clock clock, uint64_t seed);

  // Deletes a random token of each class that has any, and adds it again after each. With `row`: the times
  // go there. Returns: as ExactMemory::Remove, Add.
  [[nodiscard]] absl::Status Round(Row* row);
  // Replaces a random token of the support by the spare that has waited longest.
  [[nodiscard]] absl::Status Move();
  // Brings back the tokens of the start.
  [[nodiscard]] absl::Status Return();

 private:
  using TokenPtr = std::shared_ptr<const solver::Token>;

  // A random token of this class; none if the class is empty.
  TokenPtr Pick(solver::TokenClass wanted);
  [[nodiscard]] absl::Status DeleteAndAdd(const TokenPtr& token, Op deletion, Op addition, Row* row);
  [[nodiscard]] absl::Status Replace(const TokenPtr& old, const TokenPtr& token);
  size_t Below(size_t bound) { return std::uniform_int_distribution<size_t>(0, bound - 1)(generator_); }

  solver::ExactMemory* memory_;
  Clock clock_;
  std::mt19937_64 generator_;
  solver::TokenList original_;
  solver::TokenList present_;
  absl::flat_hash_map<absl::string_view, size_t> position_;  // in present_, by id
  std::deque<TokenPtr> spares_;
};

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_SOLVER_HISTORY_H_
