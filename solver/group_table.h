// The tokens of a memory, and their groups of equal keys.
//
// Invariants.  (1) Two tokens are in one group exactly if their keys are equal, element by element. (2) A
// group keeps its number while it exists; numbers are used again. (3) Panel b holds the keys of groups b *
// kPanel to b * kPanel + kPanel - 1, transposed, and 0 for numbers without a group: no key stays behind.
#ifndef EXPUNGE_SOLVER_GROUP_TABLE_H_
#define EXPUNGE_SOLVER_GROUP_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "solver/memory_state.h"

namespace expunge::solver {

// Threads: one at a time.
class GroupTable {
 public:
  static constexpr size_t kPanel = 64;

  explicit GroupTable(uint32_t key_dimension) : d_(key_dimension) {}

  // Tokens.
  [[nodiscard]] uint64_t tokens() const { return index_.size(); }
  [[nodiscard]] bool Contains(absl::string_view id) const { return index_.contains(id); }
  // REQUIRES, for all that follow: the id is there.
  [[nodiscard]] uint32_t GroupOf(absl::string_view id) const;
  [[nodiscard]] const std::shared_ptr<const Token>& Find(absl::string_view id) const;

  // Returns the token's group, of which it may be the first. REQUIRES: its id is new.
  // Cost: O(d); allocates for a new panel.
  uint32_t Insert(std::shared_ptr<const Token> token);
  // Returns the group, which is gone if Count is 0 now. Cost: O(d + tokens of the group).
  uint32_t Erase(absl::string_view id);

  // Groups. Numbers run from 0 to capacity() - 1; those without a group have Count 0.
  [[nodiscard]] size_t capacity() const { return counts_.size(); }
  [[nodiscard]] uint64_t groups() const { return by_key_.size(); }
  [[nodiscard]] uint32_t Count(uint32_t group) const { return counts_[group]; }
  [[nodiscard]] const double* Key(uint32_t group) const { return keys_[group]; }
  [[nodiscard]] const double* Panel(size_t panel) const { return panels_[panel].get(); }
  [[nodiscard]] size_t panels() const { return panels_.size(); }

  // Calls visit(const std::shared_ptr<const Token>&) for the tokens of a group, or of all.
  template <typename Visit>
  void VisitGroup(uint32_t group, Visit visit) const {
    for (uint32_t record = heads_[group]; record != kNone; record = records_[record].next) {
      visit(records_[record].token);
    }
  }
  template <typename Visit>
  void VisitAll(Visit visit) const {
    for (const Record& record : records_) {
      if (record.token != nullptr) visit(record.token);
    }
  }

  [[nodiscard]] uint64_t ByteSize() const;

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  struct Record {
    std::shared_ptr<const Token> token;
    uint32_t group = kNone;
    uint32_t next = kNone;  // in the group, or in the list of free records
  };

  [[nodiscard]] absl::string_view KeyBytes(const double* key) const {
    return {reinterpret_cast<const char*>(key), d_ * sizeof(double)};
  }
  uint32_t NewGroup(const Token& token);
  void SetPanelKey(uint32_t group, const double* key);  // null: 0

  size_t d_;
  std::vector<Record> records_;
  uint32_t free_record_ = kNone;
  absl::flat_hash_map<absl::string_view, uint32_t> index_;   // id (in its token) to record
  absl::flat_hash_map<absl::string_view, uint32_t> by_key_;  // bytes of a key (in a token) to group
  std::vector<uint32_t> counts_;
  std::vector<uint32_t> heads_;
  std::vector<const double*> keys_;  // in the token at the head
  std::vector<uint32_t> free_groups_;
  std::vector<std::unique_ptr<double[]>> panels_;
};

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_GROUP_TABLE_H_
