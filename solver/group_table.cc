#include "solver/group_table.h"

#include <utility>

namespace expunge::solver {

uint32_t GroupTable::GroupOf(absl::string_view id) const { return records_[index_.find(id)->second].group; }

const std::shared_ptr<const Token>& GroupTable::Find(absl::string_view id) const {
  return records_[index_.find(id)->second].token;
}

uint32_t GroupTable::Insert(std::shared_ptr<const Token> token) {
  const auto known = by_key_.find(KeyBytes(token->key.data()));
  const uint32_t group = known != by_key_.end() ? known->second : NewGroup(*token);
  uint32_t record = free_record_;
  if (record == kNone) {
    record = static_cast<uint32_t>(records_.size());
    records_.emplace_back();
  } else {
    free_record_ = records_[record].next;
  }
  index_.emplace(absl::string_view(token->id), record);
  // Behind the head, whose token holds the key.
  uint32_t& link = heads_[group] == kNone ? heads_[group] : records_[heads_[group]].next;
  records_[record] = {std::move(token), group, link};
  link = record;
  ++counts_[group];
  return group;
}

uint32_t GroupTable::NewGroup(const Token& token) {
  if (free_groups_.empty()) {
    for (size_t i = kPanel; i-- > 0;) free_groups_.push_back(static_cast<uint32_t>(capacity() + i));
    counts_.resize(capacity() + kPanel, 0);
    heads_.resize(capacity(), kNone);
    keys_.resize(capacity(), nullptr);
    panels_.push_back(std::make_unique<double[]>(d_ * kPanel));
  }
  const uint32_t group = free_groups_.back();
  free_groups_.pop_back();
  keys_[group] = token.key.data();
  by_key_.emplace(KeyBytes(token.key.data()), group);
  SetPanelKey(group, token.key.data());
  return group;
}

uint32_t GroupTable::Erase(absl::string_view id) {
  const auto found = index_.find(id);
  const uint32_t record = found->second;
  const uint32_t group = records_[record].group;
  index_.erase(found);
  uint32_t* link = &heads_[group];
  while (*link != record) link = &records_[*link].next;
  const bool was_head = link == &heads_[group];
  *link = records_[record].next;
  --counts_[group];
  if (was_head) {
    // The key lives in the token that goes: look it up while that is there.
    by_key_.erase(KeyBytes(keys_[group]));
    if (counts_[group] > 0) {
      keys_[group] = records_[heads_[group]].token->key.data();
      by_key_.emplace(KeyBytes(keys_[group]), group);
    } else {
      keys_[group] = nullptr;
      SetPanelKey(group, nullptr);
      free_groups_.push_back(group);
    }
  }
  records_[record] = {nullptr, kNone, free_record_};
  free_record_ = record;
  return group;
}

void GroupTable::SetPanelKey(uint32_t group, const double* key) {
  double* lane = panels_[group / kPanel].get() + group % kPanel;
  for (size_t k = 0; k < d_; ++k) lane[k * kPanel] = key == nullptr ? 0.0 : key[k];
}

uint64_t GroupTable::ByteSize() const {
  constexpr uint64_t kMapEntry = sizeof(absl::string_view) + sizeof(uint64_t) + 1;
  return records_.capacity() * sizeof(Record) + (index_.capacity() + by_key_.capacity()) * kMapEntry +
         counts_.capacity() * (sizeof(uint32_t) * 3 + sizeof(double*)) +
         panels_.size() * d_ * kPanel * sizeof(double);
}

}  // namespace expunge::solver
