#include "solver/rational_active_set.h"

#include "solver/support_solution.h"
#include "solver/vertex.h"

namespace expunge::solver {
namespace {

class ActiveSet {
 public:
  ActiveSet(Problem* problem, Partition start)
      : problem_(*problem), partition_(std::move(start)), weights_(problem->n()) {
    MakeFeasible();
  }

  Partition Run() {
    while (partition_.margin.empty() ? LeaveVertex() : Step()) {
    }
    return partition_;
  }

 private:
  // Fills tokens, those of E first, then S, then R, up to the box until the mass is 1: feasible, and near the
  // start.
  void MakeFeasible() {
    Rational rest;
    fmpq_one(rest);
    std::vector<TokenClass> classes(problem_.n(), TokenClass::kReserve);
    for (const TokenClass wanted : {TokenClass::kError, TokenClass::kMargin, TokenClass::kReserve}) {
      for (size_t i = 0; i < problem_.n(); ++i) {
        if (partition_.classes[i] != wanted || fmpq_is_zero(rest)) continue;
        const Integer count(problem_.Count(static_cast<uint32_t>(i)));
        Rational share;
        fmpq_div_fmpz(share, rest, count);
        const bool full = fmpq_cmp(share, problem_.box()) >= 0;
        weights_[i] = full ? problem_.box() : share;
        classes[i] = full ? TokenClass::kError : TokenClass::kMargin;
        fmpq_mul_fmpz(share, weights_[i], count);
        fmpq_sub(rest, rest, share);
      }
    }
    partition_.classes = std::move(classes);
    partition_.RefreshLists();
  }

  bool LeaveVertex() {
    const Vertex vertex = ExamineVertex(&problem_, partition_);
    if (vertex.outcome == Vertex::Outcome::kOptimal) return false;
    Enter(vertex.error_max);
    Enter(vertex.reserve_min);
    partition_.RefreshLists();
    return true;
  }

  void Enter(uint32_t i) { partition_.classes[i] = TokenClass::kMargin; }

  // To the minimiser of the face, or to the first bound on the way; at the minimiser, the worst violator
  // enters.
  bool Step() {
    const auto solution = SolveInRationals(&problem_, partition_);
    const std::vector<uint32_t> margin = partition_.margin;
    std::vector<Rational> target(margin.size());
    Rational step;
    fmpq_one(step);
    for (size_t k = 0; k < margin.size(); ++k) {
      target[k] = solution->ExactWeight(k);
      const Rational reach = Reach(weights_[margin[k]], target[k]);
      if (fmpq_cmp(reach, step) < 0) step = reach;
    }
    bool blocked = false;
    for (size_t k = 0; k < margin.size(); ++k) {
      Rational& weight = weights_[margin[k]];
      Rational delta;
      fmpq_sub(delta, target[k], weight);
      fmpq_addmul(weight, delta, step);
      TokenClass& token_class = partition_.classes[margin[k]];
      if (fmpq_is_zero(weight)) token_class = TokenClass::kReserve;
      if (fmpq_equal(weight, problem_.box())) token_class = TokenClass::kError;
      blocked = blocked || token_class != TokenClass::kMargin;
    }
    if (blocked || !fmpq_is_one(step)) {
      partition_.RefreshLists();
      return true;
    }
    return EnterWorst(solution.get());
  }

  // The largest fraction of the way from `weight` to `target` that stays in [0, C_n]; 2 if all of it does.
  Rational Reach(const Rational& weight, const Rational& target) const {
    Rational fraction;
    fmpq_set_si(fraction, 2, 1);
    Rational length;
    Rational room;
    if (fmpq_sgn(target) < 0) {
      room = weight;
      fmpq_sub(length, weight, target);
    } else if (fmpq_cmp(target, problem_.box()) > 0) {
      fmpq_sub(room, problem_.box(), weight);
      fmpq_sub(length, target, weight);
    } else {
      return fraction;
    }
    fmpq_div(fraction, room, length);
    return fraction;
  }

  bool EnterWorst(RationalSolution* solution) {
    Rational worst;
    uint32_t entering = 0;
    for (uint32_t j = 0; j < problem_.n(); ++j) {
      if (partition_.classes[j] == TokenClass::kMargin) continue;
      Rational violation = solution->ExactSlack(j);
      if (partition_.classes[j] == TokenClass::kReserve) fmpq_neg(violation, violation);
      if (fmpq_cmp(violation, worst) <= 0) continue;
      worst = violation;
      entering = j;
    }
    if (fmpq_is_zero(worst)) return false;
    Enter(entering);
    partition_.RefreshLists();
    return true;
  }

  Problem& problem_;
  Partition partition_;
  std::vector<Rational> weights_;
};

}  // namespace

Partition OptimalPartition(Problem* problem, Partition start) {
  return ActiveSet(problem, std::move(start)).Run();
}

}  // namespace expunge::solver
