#include "solver/memory_core.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/status_macros.h"
#include "solver/exact_numbers.h"
#include "solver/kernel.h"
#include "solver/problem.h"
#include "solver/proposal.h"
#include "solver/reference_solver.h"

namespace expunge::solver {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint64_t kSmallBatch = 16;  // never worth a start from nothing

}  // namespace

MemoryCore::MemoryCore(const Config& config, const ExactMemoryOptions& options)
    : config_(config),
      options_(options),
      table_(config.key_dimension),
      active_(config_, table_, &counters_),
      state_proof_(config_, table_, &active_, &counters_) {
  FreeCachesAtThreadExit();
  SetEmpty();
}

void MemoryCore::SetEmpty() {
  rho_ = 0;
  proof_ = EmptyProof(config_.ridge);
  solved_ = false;
  active_.SetTokens(0);
}

absl::Status MemoryCore::Load(const TokenList& tokens, const std::vector<TokenClass>& classes) {
  if (tokens.empty()) return absl::OkStatus();
  for (const auto& token : tokens) Insert(token);
  active_.SetTokens(table_.tokens());
  active_.Adopt(ByGroup(tokens, classes));
  return Settle();
}

absl::Status MemoryCore::Add(const TokenList& tokens) {
  ++counters_.operations;
  Save();
  fresh_.clear();
  const uint64_t before = table_.tokens();
  bool support_touched = !solved_ || active_.system().empty();
  for (const auto& token : tokens) support_touched = Insert(token) || support_touched;
  active_.SetTokens(table_.tokens());
  absl::Status status;
  if (tokens.size() > kSmallBatch && tokens.size() > before / 4 && !active_.single_point()) {
    StartFromNothing();
    status = Settle();
  } else if (support_touched || !FreshStayInReserve()) {
    status = Settle();
  }
  if (!status.ok()) Restore(tokens, {});
  saved_.clear();
  return status;
}

bool MemoryCore::FreshStayInReserve() {
  double margin = kInfinity;
  for (const uint32_t group : fresh_) {
    margin = std::min(margin, active_.ReserveMargin(group));
    if (!(margin > 0)) return false;
  }
  proof_.margin_lower = std::min(proof_.margin_lower, 2 * margin);
  RefreshStateBounds();
  return true;
}

void MemoryCore::StartFromNothing() {
  ++counters_.cold_starts;
  const TokenList tokens = AllTokens();
  Problem problem(config_, tokens);
  const RoughOptimum start = FindRoughOptimum(&problem);
  std::vector<TokenClass> classes(table_.capacity(), TokenClass::kReserve);
  std::vector<double> weights(table_.capacity(), 0.0);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const uint32_t group = table_.GroupOf(tokens[i]->id);
    classes[group] = start.classes[problem.groups()[i]];
    weights[group] = start.weights[problem.groups()[i]];
  }
  active_.Adopt(classes, weights);
}

absl::Status MemoryCore::Remove(absl::Span<const std::string> ids) {
  ++counters_.operations;
  const bool unsolved = !solved_ || active_.system().empty();
  const bool touched = EraseAll(ids);
  absl::Status status;
  if (table_.tokens() == 0) {
    SetEmpty();
  } else if (touched || unsolved || active_.single_point()) {
    status = Settle();
  } else {
    RefreshStateBounds();
  }
  ForgetErased(status);
  return status;
}

bool MemoryCore::EraseAll(absl::Span<const std::string> ids) {
  Save();
  removed_.clear();
  for (const std::string& id : ids) removed_.push_back(table_.Find(id));
  bool touched = false;
  for (const std::string& id : ids) touched = Erase(id) || touched;
  active_.SetTokens(table_.tokens());
  return touched;
}

void MemoryCore::ForgetErased(const absl::Status& status) {
  if (!status.ok()) Restore({}, removed_);
  removed_.clear();
  saved_.clear();
}

bool MemoryCore::Insert(const std::shared_ptr<const Token>& token) {
  const uint32_t group = table_.Insert(token);
  const uint32_t count = table_.Count(group);
  if (count == 1) {
    active_.GroupAdded(group);
    fresh_.push_back(group);
    return false;
  }
  active_.CountChanged(group, count - 1);
  return active_.Class(group) != TokenClass::kReserve || ProofRestsOn(group);
}

bool MemoryCore::Erase(absl::string_view id) {
  const uint32_t group = table_.GroupOf(id);
  const bool touched = active_.Class(group) != TokenClass::kReserve || ProofRestsOn(group);
  const uint32_t count = table_.Count(group);
  if (count == 1) active_.GroupLeaves(group);
  table_.Erase(id);
  if (count > 1) active_.CountChanged(group, count);
  return touched;
}

absl::Status MemoryCore::Settle() {
  FreeCachesAtThreadExit();
  solved_ = SettleFast();
  return solved_ ? absl::OkStatus() : SettleByReference();
}

bool MemoryCore::SettleFast() {
  const uint64_t support = active_.system().size() + active_.error_groups().size();
  const uint64_t limit =
      options_.max_set_changes > 0 ? options_.max_set_changes : 20 * (support + fresh_.size()) + 1000;
  const uint64_t end = counters_.set_changes + limit;
  while (counters_.set_changes <= end) {
    const ActiveSet::Outcome outcome = active_.Optimise(end - counters_.set_changes);
    if (outcome == ActiveSet::Outcome::kLimit) return false;
    if (state_proof_.ProveOrMove(outcome == ActiveSet::Outcome::kVertex, &rho_, &proof_)) return true;
  }
  return false;
}

// The fallback: solves from nothing and takes that partition over.
absl::Status MemoryCore::SettleByReference() {
  ++counters_.fallbacks;
  const TokenList tokens = AllTokens();
  EXPUNGE_ASSIGN_OR_RETURN(const Solution solution, SolveFromNothing(config_, tokens));
  const std::vector<TokenClass> classes = ByGroup(tokens, solution.classes);
  active_.Adopt(classes);
  const ActiveSet::Outcome outcome = active_.Optimise(0);
  if (outcome != ActiveSet::Outcome::kLimit) {
    solved_ = state_proof_.ProveOrMove(outcome == ActiveSet::Outcome::kVertex, &rho_, &proof_);
  }
  if (solved_) return absl::OkStatus();
  // The factor in doubles cannot follow; the answer stands all the same.
  active_.Adopt(classes);
  for (size_t i = 0; i < tokens.size(); ++i) {
    active_.SetWeight(table_.GroupOf(tokens[i]->id), solution.weights[i]);
  }
  rho_ = solution.rho;
  proof_ = solution.proof;
  return absl::OkStatus();
}

TokenList MemoryCore::AllTokens() const {
  TokenList tokens;
  tokens.reserve(table_.tokens());
  table_.VisitAll([&tokens](const std::shared_ptr<const Token>& token) { tokens.push_back(token); });
  return tokens;
}

std::vector<TokenClass> MemoryCore::ByGroup(const TokenList& tokens,
                                            const std::vector<TokenClass>& classes) const {
  std::vector<TokenClass> by_group(table_.capacity(), TokenClass::kReserve);
  for (size_t i = 0; i < tokens.size(); ++i) by_group[table_.GroupOf(tokens[i]->id)] = classes[i];
  return by_group;
}

void MemoryCore::RefreshStateBounds() {
  const double eta = proof_.eta;  // of the weights, which are what they were
  SetStateBounds(config_.ridge, table_.tokens(), 1, &proof_);
  proof_.eta = eta;
}

void MemoryCore::Save() {
  saved_.clear();
  const auto save = [this](uint32_t group) {
    bool first = true;
    table_.VisitGroup(group, [&](const std::shared_ptr<const Token>& token) {
      if (first) saved_.push_back({token, active_.Class(group), active_.Weight(group)});
      first = false;
    });
  };
  for (const uint32_t group : active_.system().groups()) save(group);
  for (const uint32_t group : active_.error_groups()) save(group);
  saved_rho_ = rho_;
  saved_proof_ = proof_;
}

// After a failure: the tokens, and the classes and weights of the last proven state.
void MemoryCore::Restore(const TokenList& added, const TokenList& removed) {
  for (const auto& token : added) Erase(token->id);
  for (const auto& token : removed) Insert(token);
  active_.SetTokens(table_.tokens());
  std::vector<TokenClass> classes(table_.capacity(), TokenClass::kReserve);
  for (const Entry& entry : saved_) classes[table_.GroupOf(entry.token->id)] = entry.token_class;
  active_.Adopt(classes);
  for (const Entry& entry : saved_) active_.SetWeight(table_.GroupOf(entry.token->id), entry.weight);
  rho_ = saved_rho_;
  proof_ = saved_proof_;
  solved_ = false;
}

std::vector<SupportEntry> MemoryCore::Support() const {
  std::vector<SupportEntry> support;
  const auto append = [&](uint32_t group) {
    table_.VisitGroup(group, [&](const std::shared_ptr<const Token>& token) {
      support.push_back({token, active_.Class(group), active_.Weight(group)});
    });
  };
  for (const uint32_t group : active_.system().groups()) append(group);
  for (const uint32_t group : active_.error_groups()) append(group);
  std::sort(support.begin(), support.end(),
            [](const SupportEntry& a, const SupportEntry& b) { return a.token->id < b.token->id; });
  return support;
}

bool MemoryCore::MayDrop(absl::string_view id) const {
  const uint32_t group = table_.GroupOf(id);
  if (!solved_ && active_.system().empty()) return false;
  return active_.Class(group) == TokenClass::kReserve && group != state_proof_.anchor();
}

std::vector<std::string> MemoryCore::DeepestReserve(uint64_t count) const {
  struct Candidate {
    double depth;
    const Token* token;
  };
  std::vector<Candidate> candidates;
  table_.VisitAll([&](const std::shared_ptr<const Token>& token) {
    if (MayDrop(token->id)) candidates.push_back({active_.f(table_.GroupOf(token->id)), token.get()});
  });
  count = std::min<uint64_t>(count, candidates.size());
  const std::vector<SupportEntry> support = Support();
  if (count > 0 && count < candidates.size()) {
    // Near the last one that goes, the pass does not tell the order: there, by definition.
    const auto deeper = [](const Candidate& a, const Candidate& b) {
      return a.depth != b.depth ? a.depth > b.depth : a.token->id > b.token->id;
    };
    const auto last = candidates.begin() + static_cast<ptrdiff_t>(count) - 1;
    std::nth_element(candidates.begin(), last, candidates.end(), deeper);
    const double cut = last->depth;
    const double band = solved_ ? 3 * active_.FError(cut) + 0x1p-40 : kInfinity;
    for (Candidate& candidate : candidates) {
      if (std::fabs(candidate.depth - cut) > band) continue;
      double depth = 0;
      for (const SupportEntry& entry : support) {
        depth += entry.weight * ExactKernel(entry.token->key.data(), candidate.token->key.data(),
                                            config_.key_dimension, config_.gamma);
      }
      candidate.depth = depth;
    }
    std::sort(candidates.begin(), candidates.end(), deeper);
  }
  std::vector<std::string> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(candidates[i].token->id);
  return ids;
}

double MemoryCore::PassMargin(uint32_t group) const {
  const double level = (1 - rho_) / 2;
  const double error = (active_.system().empty() ? 0 : active_.system().SlackError()) + 0x1p-50;
  const double f = active_.f(group);
  return 2 * (f - active_.FError(f) - level - error);
}

bool MemoryCore::ProofRestsOn(uint32_t group) const {
  if (std::isinf(active_.f(group))) return false;  // new: it is no part of the proof
  double margin = PassMargin(group);
  if (!(margin > 0)) margin = 2 * state_proof_.NearSlack(group);
  return !(margin * (1 - 0x1p-20) > proof_.margin_lower);
}

double MemoryCore::MarginLower(absl::Span<const std::string> ids) const {
  double margin = solved_ ? kInfinity : 0;
  for (const std::string& id : ids) margin = std::min(margin, PassMargin(table_.GroupOf(id)));
  return std::max(margin, proof_.margin_lower);
}

absl::Status MemoryCore::Drop(absl::Span<const std::string> ids) {
  const bool proof_touched = EraseAll(ids);
  absl::Status status;
  if (proof_touched && solved_) {
    status = Settle();  // to the same bits
  } else {
    RefreshStateBounds();
  }
  ForgetErased(status);
  return status;
}

}  // namespace expunge::solver
