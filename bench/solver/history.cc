#include "bench/solver/history.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"

namespace expunge::bench {

History::History(solver::ExactMemory* memory, const solver::TokenList& tokens, Clock clock, uint64_t seed)
    : memory_(memory),
      clock_(clock),
      generator_(seed),
      original_(tokens.begin(), tokens.end() - kSpares),
      present_(original_),
      spares_(tokens.end() - kSpares, tokens.end()) {
  for (size_t i = 0; i < present_.size(); ++i) position_[present_[i]->id] = i;
}

absl::Status History::Round(Row* row) {
  struct Step {
    solver::TokenClass token_class;
    Op deletion;
    Op addition;
  };
  for (const Step& step : {Step{solver::TokenClass::kMargin, Op::kDeleteMargin, Op::kAddSupport},
                           Step{solver::TokenClass::kError, Op::kDeleteError, Op::kAddSupport},
                           Step{solver::TokenClass::kReserve, Op::kDeleteReserve, Op::kAddReserve}}) {
    const TokenPtr token = Pick(step.token_class);
    if (token != nullptr) EXPUNGE_RETURN_IF_ERROR(DeleteAndAdd(token, step.deletion, step.addition, row));
  }
  return absl::OkStatus();
}

absl::Status History::Move() {
  const std::vector<solver::SupportEntry> support = memory_->Support();
  const TokenPtr old = support[Below(support.size())].token;
  const TokenPtr token = spares_.front();
  spares_.pop_front();
  spares_.push_back(old);
  return Replace(old, token);
}

absl::Status History::Return() {
  absl::flat_hash_set<absl::string_view> wanted;
  for (const TokenPtr& token : original_) wanted.insert(token->id);
  solver::TokenList strangers;
  for (const TokenPtr& token : present_) {
    if (!wanted.contains(token->id)) strangers.push_back(token);
  }
  for (const TokenPtr& token : original_) {
    if (position_.contains(token->id)) continue;
    EXPUNGE_RETURN_IF_ERROR(Replace(strangers.back(), token));
    strangers.pop_back();
  }
  return absl::OkStatus();
}

History::TokenPtr History::Pick(solver::TokenClass wanted) {
  const std::vector<solver::SupportEntry> support = memory_->Support();
  if (wanted == solver::TokenClass::kReserve) {
    if (support.size() == present_.size()) return nullptr;
    absl::flat_hash_set<absl::string_view> ids;
    for (const solver::SupportEntry& entry : support) ids.insert(entry.token->id);
    for (;;) {
      const TokenPtr& token = present_[Below(present_.size())];
      if (!ids.contains(token->id)) return token;
    }
  }
  solver::TokenList tokens;
  for (const solver::SupportEntry& entry : support) {
    if (entry.token_class == wanted) tokens.push_back(entry.token);
  }
  return tokens.empty() ? nullptr : tokens[Below(tokens.size())];
}

absl::Status History::DeleteAndAdd(const TokenPtr& token, Op deletion, Op addition, Row* row) {
  const std::vector<std::string> ids = {token->id};
  const solver::TokenList tokens = {token};
  for (const Op op : {deletion, addition}) {
    const solver::SolverCounters before = memory_->counters();
    const Stopwatch stopwatch(clock_);
    const absl::Status status = op == deletion ? memory_->Remove(ids) : memory_->Add(tokens);
    const double us = stopwatch.Microseconds();
    EXPUNGE_RETURN_IF_ERROR(status);
    if (row == nullptr) continue;
    Sample& sample = row->Of(op);
    sample.us.push_back(us);
    sample.iterations += memory_->counters().iterations - before.iterations;
    sample.set_changes += memory_->counters().set_changes - before.set_changes;
  }
  return absl::OkStatus();
}

absl::Status History::Replace(const TokenPtr& old, const TokenPtr& token) {
  EXPUNGE_RETURN_IF_ERROR(memory_->Remove({old->id}));
  EXPUNGE_RETURN_IF_ERROR(memory_->Add({token}));
  const auto at = position_.find(old->id);
  const size_t position = at->second;
  position_.erase(at);
  present_[position] = token;
  position_[token->id] = position;
  return absl::OkStatus();
}

}  // namespace expunge::bench
