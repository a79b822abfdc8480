#include "server/core/memory.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "server/core/config.h"
#include "server/core/digests.h"
#include "server/core/handles.h"
#include "server/core/times.h"
#include "solver/reference_solver.h"

namespace expunge::core {
namespace {

// Whether S and E of both are the same tokens with the same classes and weights, and rho and eta are equal.
bool SameSupport(const MemoryContent& a, const MemoryContent& b) {
  return a.rho == b.rho && a.proof.eta == b.proof.eta &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                    [&](const HeldEntry& x, const HeldEntry& y) {
                      return x.weight == y.weight && x.token_class == y.token_class &&
                             a.tokens[x.index] == b.tokens[y.index];
                    });
}

std::shared_ptr<const attention::SupportSet> MakeSupport(const solver::Config& config,
                                                         const MemoryContent& content) {
  std::vector<attention::WeightedToken> support;
  support.reserve(content.entries.size());
  for (const HeldEntry& entry : content.entries) {
    support.push_back(
        {content.tokens[entry.index]->token.get(), static_cast<uint32_t>(support.size()), entry.weight});
  }
  return std::make_shared<const attention::SupportSet>(config, support, content.rho, content.proof.eta);
}

std::vector<certificate::StateEntry> EntriesForDigests(const MemoryContent& content) {
  std::vector<certificate::StateEntry> entries;
  entries.reserve(content.entries.size());
  for (const HeldEntry& entry : content.entries) {
    entries.push_back(EntryOf(content.tokens[entry.index]->handle, entry.token_class, entry.weight));
  }
  return entries;
}

// `entries_root`: if it is known already.
certificate::StateSummary Summarize(const MemoryIdentity& identity, uint64_t epoch,
                                    const MemoryContent& content, const Digest* entries_root) {
  certificate::StateSummary summary;
  summary.epoch = epoch;
  summary.token_count = content.tokens.size();
  for (const HeldEntry& entry : content.entries) {
    ++(entry.token_class == solver::TokenClass::kMargin ? summary.margin : summary.error);
  }
  summary.reserve = content.tokens.size() - content.entries.size();
  summary.strict = content.proof.strict;
  summary.higher_precision = content.proof.higher_precision;
  summary.ties = content.proof.ties;
  summary.margin_lower = content.proof.margin_lower;
  summary.weight_distance_lower = content.proof.weight_distance_lower;
  summary.duality_gap_upper = content.proof.duality_gap_upper;
  summary.eigenvalue_lower = content.proof.eigenvalue_lower;
  summary.eta = content.proof.eta;
  const std::vector<certificate::StateEntry> entries = EntriesForDigests(content);
  summary.token_root = content.tree.Root();
  summary.entries_root = entries_root != nullptr ? *entries_root : EntriesRoot(identity.audit_key, entries);
  summary.state_digest =
      StateDigest(identity.audit_key, identity.config, summary.token_root, entries, content.rho);
  return summary;
}

}  // namespace

certificate::TokenTree TreeOf(const HeldTokens& tokens) {
  certificate::TokenTree tree;
  tree.Insert(LeavesOf(tokens));
  return tree;
}

std::vector<certificate::TreeLeaf> LeavesOf(const HeldTokens& tokens) {
  std::vector<certificate::TreeLeaf> leaves;
  leaves.reserve(tokens.size());
  for (const auto& held : tokens) leaves.push_back({held->handle, held->commitment});
  return leaves;
}

std::vector<HeldEntry> EntriesOf(const solver::Solution& solution) {
  std::vector<HeldEntry> entries;
  for (size_t i = 0; i < solution.classes.size(); ++i) {
    if (solution.classes[i] == solver::TokenClass::kReserve) continue;
    entries.push_back({static_cast<uint32_t>(i), solution.classes[i], solution.weights[i]});
  }
  return entries;
}

MemoryView::MemoryView(std::shared_ptr<const MemoryIdentity> identity, uint64_t epoch, MemoryContent content,
                       const MemoryView* before)
    : identity_(std::move(identity)),
      content_(std::move(content)),
      support_(before != nullptr && SameSupport(before->content_, content_)
                   ? before->support_
                   : MakeSupport(identity_->config, content_)),
      summary_(Summarize(
          *identity_, epoch, content_,
          before != nullptr && support_ == before->support_ ? &before->summary_.entries_root : nullptr)) {}

size_t MemoryView::Find(absl::string_view token_id) const {
  const size_t place = tokens().Place(token_id);
  return place < tokens().size() && tokens()[place]->token->id == token_id ? place : tokens().size();
}

HeldEntry MemoryView::EntryAt(size_t index) const {
  const auto found = std::lower_bound(content_.entries.begin(), content_.entries.end(), index,
                                      [](const HeldEntry& entry, size_t i) { return entry.index < i; });
  if (found != content_.entries.end() && found->index == index) return *found;
  return {static_cast<uint32_t>(index), solver::TokenClass::kReserve, 0};
}

std::vector<solver::SupportEntry> MemoryView::Support() const {
  std::vector<solver::SupportEntry> support;
  support.reserve(content_.entries.size());
  for (const HeldEntry& entry : content_.entries) {
    support.push_back({tokens()[entry.index]->token, entry.token_class, entry.weight});
  }
  return support;
}

solver::MemoryState MemoryView::State() const {
  solver::MemoryState state;
  state.config = identity_->config;
  state.tokens.reserve(tokens().size());
  for (const auto& held : tokens()) state.tokens.push_back(held->token);
  state.solution.classes.assign(tokens().size(), solver::TokenClass::kReserve);
  state.solution.weights.assign(tokens().size(), 0.0);
  for (const HeldEntry& entry : content_.entries) {
    state.solution.classes[entry.index] = entry.token_class;
    state.solution.weights[entry.index] = entry.weight;
  }
  state.solution.rho = content_.rho;
  state.solution.proof = content_.proof;
  return state;
}

const Digest& MemoryView::Fingerprint() const {
  std::call_once(fingerprint_once_, [this] { fingerprint_ = solver::Fingerprint(State()); });
  return fingerprint_;
}

v1::StateReference MemoryView::ReferenceProto() const {
  v1::StateReference reference;
  reference.set_epoch(summary_.epoch);
  reference.set_digest(ToBytes(summary_.state_digest));
  return reference;
}

v1::Partition MemoryView::PartitionProto() const {
  v1::Partition partition;
  partition.set_margin(summary_.margin);
  partition.set_error(summary_.error);
  partition.set_reserve(summary_.reserve);
  return partition;
}

v1::Memory MemoryView::ToProto(bool full) const {
  v1::Memory memory;
  memory.set_name(identity_->Name());
  *memory.mutable_config() = ConfigToProto(identity_->config);
  *memory.mutable_create_time() = TimestampProto(identity_->create_time);
  memory.set_token_count(tokens().size());
  *memory.mutable_state() = ReferenceProto();
  if (!full) return memory;
  *memory.mutable_partition() = PartitionProto();
  v1::ProofSummary* proof = memory.mutable_proof();
  proof->set_strict(summary_.strict);
  proof->set_higher_precision(summary_.higher_precision);
  proof->set_ties(summary_.ties);
  proof->set_margin_lower(summary_.margin_lower);
  proof->set_weight_distance_lower(summary_.weight_distance_lower);
  proof->set_duality_gap_upper(summary_.duality_gap_upper);
  proof->set_eigenvalue_lower(summary_.eigenvalue_lower);
  proof->set_eta(summary_.eta);
  memory.set_fingerprint(ToBytes(Fingerprint()));
  return memory;
}

absl::StatusOr<std::shared_ptr<const MemoryView>> EmptyView(std::shared_ptr<const MemoryIdentity> identity,
                                                            uint64_t epoch) {
  EXPUNGE_ASSIGN_OR_RETURN(const solver::Solution solution, solver::SolveFromNothing(identity->config, {}));
  MemoryContent content;
  content.rho = solution.rho;
  content.proof = solution.proof;
  return std::make_shared<const MemoryView>(std::move(identity), epoch, std::move(content));
}

}  // namespace expunge::core
