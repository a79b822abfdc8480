// Kernel rows of the groups that carry weight, in single precision, for all groups at once.
//
// Invariants.  (1) row(i)[j] is the float nearest to ApproxKernelRow's value for groups i and j: the same
// bits whenever it is computed, so that a row that was added to a sum is taken out of it without a trace but
// rounding. (2) It is 0 for numbers j without a group. (3) |row(i)[j] - K_ij| <= 2^-24 K_ij + error().
#ifndef EXPUNGE_SOLVER_KERNEL_ROWS_H_
#define EXPUNGE_SOLVER_KERNEL_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "solver/group_table.h"

namespace expunge::solver {

// Threads: one at a time. `table` outlives it.
class KernelRows {
 public:
  KernelRows(const GroupTable& table, const Config& config);

  // Makes the rows of these groups, those that are not there, in one sweep. Cost: n d flops a row.
  void Ensure(absl::Span<const uint32_t> groups);
  [[nodiscard]] bool Has(uint32_t group) const { return slot_of_[group] >= 0; }
  // REQUIRES: Has(group). Valid until the next call of Ensure, Added or Trim.
  [[nodiscard]] const float* row(uint32_t group) const {
    return rows_[static_cast<size_t>(slot_of_[group])].data();
  }

  // A new group's entries in all rows, and its values with `others` (out[i] for others[i]).
  // Cost: (rows + others) d flops.
  void Added(uint32_t group, absl::Span<const uint32_t> others, float* out);
  // Forgets a group's row and its entries in all others. Cost: O(rows).
  void Erased(uint32_t group);
  // Drops the rows least recently asked for until `limit` are left, but none of the last call of Ensure.
  void Trim(size_t limit);

  // Absolute error beside the rounding to single precision.
  [[nodiscard]] double error() const { return error_; }
  [[nodiscard]] size_t size() const { return used_; }
  [[nodiscard]] uint64_t ByteSize() const;

 private:
  void Drop(size_t slot);
  // values[i] = kernel of `key` and the keys of groups[i].
  void Compute(const double* key, absl::Span<const uint32_t> groups, float* values);

  const GroupTable& table_;
  size_t d_;
  double gamma_;
  double error_;
  std::vector<int32_t> slot_of_;          // by group; -1: none
  std::vector<std::vector<float>> rows_;  // by slot
  std::vector<uint32_t> group_of_;        // by slot; kFree: none
  std::vector<uint64_t> last_use_;        // by slot
  std::vector<uint32_t> missing_;         // of Ensure
  std::vector<double> panel_;             // of Compute
  bool panel_used_ = false;               // it holds keys
  std::vector<uint32_t> live_;            // of Added
  std::vector<float> values_;             // of Added
  uint64_t clock_ = 0;
  size_t used_ = 0;
};

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_KERNEL_ROWS_H_
