#include "solver/ladder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace expunge::solver {

Ladder::Ladder(Problem* problem, const Partition* partition, Arithmetic lowest)
    : problem_(problem),
      partition_(partition),
      lowest_(lowest == Arithmetic::kDoubleDouble ? 0
              : lowest == Arithmetic::kBall       ? 1
                                                  : 3) {}

SupportSolution* Ladder::Rung(size_t rung) {
  if (!solved_[rung]) {
    solved_[rung] = true;
    switch (rung) {
      case 0:
        rungs_[rung] = SolveInDoubleDouble(problem_, *partition_);
        break;
      case 1:
        rungs_[rung] = SolveInBalls(problem_, *partition_, 160);
        break;
      case 2:
        rungs_[rung] = SolveInBalls(problem_, *partition_, 256);
        break;
      default:
        rungs_[rung] = SolveInRationals(problem_, *partition_);
        break;
    }
  }
  return rungs_[rung].get();
}

template <typename Ask>
auto Ladder::FirstAnswer(const Ask& ask) {
  for (size_t rung = lowest_; rung < kRungs; ++rung) {
    SupportSolution* solution = Rung(rung);
    if (solution == nullptr) continue;
    if (auto answer = ask(solution); answer.has_value()) {
      if (rung > 0) ++higher_precision_;
      return *answer;
    }
  }
  // H_SS is positive definite, so the bordered matrix is regular, and rationals decide everything.
  std::fputs("fatal: an exact solution of a regular system left a question open\n", stderr);
  std::abort();
}

WeightSide Ladder::Side(size_t k) {
  return FirstAnswer([&](SupportSolution* s) { return s->Side(k); });
}

RoundedDouble Ladder::Weight(size_t k) {
  return FirstAnswer([&](SupportSolution* s) { return s->Weight(k); });
}

RoundedDouble Ladder::Rho() {
  return FirstAnswer([&](SupportSolution* s) { return s->Rho(); });
}

Slack Ladder::SlackOf(uint32_t j) {
  return FirstAnswer([&](SupportSolution* s) { return s->SlackOf(j); });
}

double Ladder::DistanceLower(size_t k) {
  double best = 0;
  for (size_t rung = lowest_; rung < kRungs; ++rung) {
    if (rungs_[rung] != nullptr && rungs_[rung]->Side(k).has_value())
      best = std::max(best, rungs_[rung]->DistanceLower(k));
  }
  return best;
}

}  // namespace expunge::solver
