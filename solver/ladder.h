// The ladder of arithmetics: each question goes to the cheapest one that can prove an answer.
#ifndef EXPUNGE_SOLVER_LADDER_H_
#define EXPUNGE_SOLVER_LADDER_H_

#include <array>
#include <cstdint>
#include <memory>

#include "solver/reference_solver.h"
#include "solver/support_solution.h"

namespace expunge::solver {

// Double-double, balls of 160 and of 256 bits, rationals; each solved only when a question reaches it.
// Threads: one at a time. `problem` and `partition` outlive the ladder.
class Ladder {
 public:
  Ladder(Problem* problem, const Partition* partition, Arithmetic lowest);

  [[nodiscard]] WeightSide Side(size_t k);
  [[nodiscard]] RoundedDouble Weight(size_t k);
  [[nodiscard]] RoundedDouble Rho();
  [[nodiscard]] Slack SlackOf(uint32_t j);
  [[nodiscard]] double DistanceLower(size_t k);

  // Questions that double-double could not answer.
  [[nodiscard]] uint64_t higher_precision() const { return higher_precision_; }

 private:
  static constexpr size_t kRungs = 4;
  SupportSolution* Rung(size_t rung);
  template <typename Ask>
  auto FirstAnswer(const Ask& ask);

  Problem* problem_;
  const Partition* partition_;
  size_t lowest_;
  std::array<std::unique_ptr<SupportSolution>, kRungs> rungs_;
  std::array<bool, kRungs> solved_{};
  uint64_t higher_precision_ = 0;
};

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_LADDER_H_
