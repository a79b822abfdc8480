#include "solver/state_proof.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solver/kernel.h"
#include "solver/problem.h"

namespace expunge::solver {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kEntries = 4;  // proven violators that enter together; a quarter of them if that is more

// S, then E, then the groups of R in question, as a problem of its own.
TokenList TokensOf(const GroupTable& table, const ActiveSet& active, const std::vector<uint32_t>& near) {
  TokenList tokens;
  const auto add = [&tokens](const std::shared_ptr<const Token>& token) { tokens.push_back(token); };
  for (const uint32_t group : active.system().groups()) table.VisitGroup(group, add);
  for (const uint32_t group : active.error_groups()) table.VisitGroup(group, add);
  for (const uint32_t group : near) {
    if (active.Class(group) == TokenClass::kReserve) table.VisitGroup(group, add);
  }
  return tokens;
}

absl::string_view LeastId(const GroupTable& table, uint32_t group) {
  absl::string_view least;
  bool first = true;
  table.VisitGroup(group, [&](const std::shared_ptr<const Token>& token) {
    if (first || token->id < least) least = token->id;
    first = false;
  });
  return least;
}

}  // namespace

struct StateProof::SubProblem {
  SubProblem(const Config& config, const GroupTable& table, const ActiveSet& active,
             const std::vector<uint32_t>& near)
      : problem(config, TokensOf(table, active, near), table.tokens()),
        error_groups(active.error_groups()),
        near_groups(near),
        margin(active.system().size()),
        ladder(&problem, &partition, Arithmetic::kBall) {
    near_groups.erase(std::remove_if(near_groups.begin(), near_groups.end(),
                                     [&](uint32_t g) { return active.Class(g) != TokenClass::kReserve; }),
                      near_groups.end());
    partition.classes.assign(margin, TokenClass::kMargin);
    partition.classes.resize(margin + error_groups.size(), TokenClass::kError);
    partition.classes.resize(problem.n(), TokenClass::kReserve);
    partition.RefreshLists();
  }

  // The number of a group of E or R in `problem`.
  [[nodiscard]] uint32_t Index(uint32_t group) const {
    const auto in_error = std::find(error_groups.begin(), error_groups.end(), group);
    if (in_error != error_groups.end())
      return static_cast<uint32_t>(margin + (in_error - error_groups.begin()));
    const auto in_near = std::find(near_groups.begin(), near_groups.end(), group);
    return static_cast<uint32_t>(margin + error_groups.size() + (in_near - near_groups.begin()));
  }

  Problem problem;
  Partition partition;
  std::vector<uint32_t> error_groups;
  std::vector<uint32_t> near_groups;
  size_t margin;
  Ladder ladder;
};

StateProof::SubProblem& StateProof::Sub() {
  if (sub_ == nullptr) sub_ = std::make_shared<SubProblem>(config_, table_, active_, near_);
  return *sub_;
}

double StateProof::NearSlack(uint32_t group) const {
  const auto place = std::lower_bound(near_.begin(), near_.end(), group);
  const auto i = static_cast<size_t>(place - near_.begin());
  return i < near_slacks_.size() && *place == group ? near_slacks_[i] : 0;
}

bool StateProof::ProveOrMove(bool vertex, double* rho, Proof* proof) {
  tightened_ = 0;
  anchor_ = kNoGroup;
  near_.clear();
  near_slacks_.clear();
  *proof = Proof();
  proof->margin_lower = proof->weight_distance_lower = kInfinity;
  const bool proven = vertex ? ProveVertex(rho, proof) : ProveSupport(rho, proof);
  if (sub_ != nullptr) {
    counters_.higher_precision += sub_->ladder.higher_precision();
    proof->higher_precision = sub_->ladder.higher_precision();
    sub_ = nullptr;
  }
  if (!proven) {
    ++counters_.proof_pivots;
    return false;
  }
  counters_.ties += proof->ties;
  *rho += 0.0;  // -0 becomes +0
  double smallest = kInfinity;
  for (const uint32_t group : active_.system().groups()) smallest = std::min(smallest, active_.Weight(group));
  for (const uint32_t group : active_.error_groups()) smallest = std::min(smallest, active_.Weight(group));
  SetStateBounds(config_.ridge, table_.tokens(), smallest, proof);
  return true;
}

// The groups that can have the largest (sign = 1) or smallest sum over E of H_je. Groups with as many tokens
// in E of their own, none if they are in R, differ by their sums over the others, which are compared in
// double-double: only the best of them stay. Those that are equal for certain are one contender.
void StateProof::FindContenders(const std::vector<uint32_t>& groups, int sign) {
  contenders_.clear();
  for (const uint32_t group : groups) {
    Contender contender;
    contender.group = group;
    contender.tokens = table_.Count(group);
    contender.own = active_.Class(group) == TokenClass::kError ? table_.Count(group) : 0;
    contender.others = active_.OtherErrorSum(group, &contender.error);
    bool beaten = false;
    for (size_t i = 0; i < contenders_.size() && !beaten;) {
      Contender& rival = contenders_[i];
      const double lead = sign * (contender.others - rival.others).hi;
      const double doubt = (contender.error + rival.error) * (1 + 0x1p-40);
      if (rival.own != contender.own) {
        ++i;
      } else if (lead == 0 && doubt == 0) {
        rival.tokens += contender.tokens;
        if (LeastId(table_, group) < LeastId(table_, rival.group)) rival.group = group;
        beaten = true;
      } else if (lead > doubt) {
        rival = contenders_.back();
        contenders_.pop_back();
      } else {
        beaten = -lead > doubt;
        ++i;
      }
    }
    if (!beaten) contenders_.push_back(contender);
  }
}

// The sum over E of H_je, exactly, at its extreme among `groups`.
std::optional<VertexExtreme> StateProof::FindExact(const std::vector<uint32_t>& groups, int sign) {
  FindContenders(groups, sign);
  VertexExtreme extreme;
  Float value;
  Float term;
  for (const Contender& contender : contenders_) {
    const uint32_t group = contender.group;
    arf_set_d(value, contender.own > 0 ? config_.ridge : 0.0);
    for (const uint32_t other : active_.error_groups()) {
      arf_set_d(term,
                ExactKernel(table_.Key(group), table_.Key(other), config_.key_dimension, config_.gamma));
      arf_mul_ui(term, term, table_.Count(other), ARF_PREC_EXACT, ARF_RND_DOWN);
      arf_add(value, value, term, ARF_PREC_EXACT, ARF_RND_DOWN);
    }
    const int order = extreme.count == 0 ? 1 : sign * arf_cmp(value, extreme.value);
    if (order > 0) extreme = {group, value, contender.tokens};
    if (order != 0) continue;
    extreme.count += contender.tokens;
    // Numbers of groups depend on the past; ids do not.
    if (LeastId(table_, group) < LeastId(table_, extreme.token)) extreme.token = group;
  }
  if (extreme.count == 0) return std::nullopt;
  return extreme;
}

bool StateProof::ProveVertex(double* rho, Proof* proof) {
  const ActiveSet::Extremes extremes = active_.FindExtremes();
  std::vector<uint32_t> high;
  std::vector<uint32_t> low;
  const double top = active_.f(static_cast<uint32_t>(extremes.error_max));
  for (const uint32_t group : active_.error_groups()) {
    if (active_.f(group) >= top - 2 * active_.FError(top)) high.push_back(group);
  }
  if (extremes.reserve_min >= 0) {
    const double bottom = active_.f(static_cast<uint32_t>(extremes.reserve_min));
    const double limit = bottom + active_.FError(bottom);
    for (uint32_t group = 0; group < table_.capacity(); ++group) {
      if (table_.Count(group) == 0 || active_.Class(group) != TokenClass::kReserve) continue;
      if (active_.f(group) - active_.FError(active_.f(group)) <= limit) low.push_back(group);
    }
  }
  const auto highest = FindExact(high, +1);
  const auto lowest = FindExact(low, -1);
  if (lowest.has_value() && arf_cmp(highest->value, lowest->value) > 0) {
    active_.Enter({highest->token, lowest->token});
    return false;
  }
  const Vertex vertex = ConcludeVertex(active_.box(), *highest, lowest);
  *rho = vertex.rho.value;
  anchor_ = lowest.has_value() ? lowest->token : kNoGroup;
  proof->margin_lower = vertex.margin_lower;
  proof->ties = vertex.ties + (vertex.rho.tie ? 1 : 0);
  proof->strict = vertex.ties == 0;
  for (const uint32_t group : active_.error_groups()) active_.SetWeight(group, active_.box_dd().hi);
  return true;
}

template <typename AskSystem, typename AskLadder>
auto StateProof::Answer(const AskSystem& ask_system, const AskLadder& ask_ladder) {
  auto answer = ask_system();
  if (!answer.has_value() && tightened_ < 1) {
    tightened_ = 1;
    active_.system().TightenByEigenvalue();
    answer = ask_system();
    counters_.eigenvalue_bound += answer.has_value() ? 1 : 0;
  }
  if (!answer.has_value() && tightened_ < 2) {
    tightened_ = 2;
    active_.system().TightenByInverse();
    answer = ask_system();
    counters_.componentwise_bound += answer.has_value() ? 1 : 0;
  }
  return answer.has_value() ? *answer : ask_ladder(&Sub().ladder);
}

bool StateProof::ProveSupport(double* rho, Proof* proof) {
  MarginSystem& system = active_.system();
  if (!system.Prove()) tightened_ = 2;  // every question to the ladder: no bound holds
  active_.FollowSystem();
  proof->margin_lower = 2 * active_.Near(system.h().hi, system.SlackError(), &near_);
  if (MoveBlocked()) return false;
  if (EnterViolators(proof)) return false;
  RoundWeights(rho, proof);
  return true;
}

// Puts margin groups whose weight is not inside (0, C_n) at the bound that they meet.
bool StateProof::MoveBlocked() {
  MarginSystem& system = active_.system();
  moves_.clear();
  for (size_t k = 0; k < system.size(); ++k) {
    const WeightSide side =
        Answer([&] { return system.Side(k); }, [&](Ladder* ladder) { return ladder->Side(k); });
    if (side == WeightSide::kBelowOrAtZero) moves_.emplace_back(system.groups()[k], TokenClass::kReserve);
    if (side == WeightSide::kAtOrAboveBox) moves_.emplace_back(system.groups()[k], TokenClass::kError);
  }
  for (const auto& [group, to] : moves_) active_.Move(group, to);
  return !moves_.empty();
}

Slack StateProof::SlackOf(uint32_t group) {
  MarginSystem& system = active_.system();
  const bool in_error = active_.Class(group) == TokenClass::kError;
  const DoubleDouble e = active_.ErrorSum(group);
  const double* kernels = active_.MarginKernels(group);
  return Answer([&] { return system.SlackOf(kernels, e, active_.error_groups().size(), in_error); },
                [&](Ladder* ladder) { return ladder->SlackOf(Sub().Index(group)); });
}

// Checks the sign of g for the groups that the pass left open; lets the worst violators enter S.
bool StateProof::EnterViolators(Proof* proof) {
  violators_.clear();
  for (const uint32_t group : near_) {
    const Slack slack = SlackOf(group);
    near_slacks_.push_back(slack.magnitude_lower);
    const int wanted = active_.Class(group) == TokenClass::kReserve ? 1 : -1;
    if (slack.sign == -wanted) violators_.emplace_back(-slack.magnitude_lower, group);
    proof->margin_lower = std::min(proof->margin_lower, 2 * slack.magnitude_lower);
    proof->ties += slack.sign == 0 ? table_.Count(group) : 0;
    proof->strict = proof->strict && slack.sign != 0;
  }
  if (violators_.empty()) return false;
  active_.EnterWorst(std::max(kEntries, violators_.size() / 4), &violators_);
  return true;
}

void StateProof::RoundWeights(double* rho, Proof* proof) {
  MarginSystem& system = active_.system();
  for (size_t k = 0; k < system.size(); ++k) {
    const RoundedDouble weight =
        Answer([&] { return system.RoundedWeight(k); }, [&](Ladder* ladder) { return ladder->Weight(k); });
    const uint32_t group = system.groups()[k];
    active_.SetWeight(group, weight.value);
    proof->ties += weight.tie ? table_.Count(group) : 0;
    double distance = system.Side(k).has_value() ? system.DistanceLower(k) : 0;
    if (sub_ != nullptr) distance = std::max(distance, sub_->ladder.DistanceLower(k));
    proof->weight_distance_lower = std::min(proof->weight_distance_lower, distance);
  }
  const RoundedDouble rounded =
      Answer([&] { return system.RoundedRho(); }, [](Ladder* ladder) { return ladder->Rho(); });
  *rho = rounded.value;
  proof->ties += rounded.tie ? 1 : 0;
  for (const uint32_t group : active_.error_groups()) active_.SetWeight(group, active_.box_dd().hi);
}

}  // namespace expunge::solver
