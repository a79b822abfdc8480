#include "solver/kernel_rows.h"

#include <algorithm>
#include <limits>

#include "solver/kernel.h"

namespace expunge::solver {
namespace {

constexpr uint32_t kFree = std::numeric_limits<uint32_t>::max();
constexpr size_t kPanel = GroupTable::kPanel;

}  // namespace

KernelRows::KernelRows(const GroupTable& table, const Config& config)
    : table_(table),
      d_(config.key_dimension),
      gamma_(config.gamma),
      error_(ApproxKernelError(config.key_dimension, config.gamma) +
             std::numeric_limits<float>::denorm_min()),
      panel_(d_ * kPanel) {}

void KernelRows::Ensure(absl::Span<const uint32_t> groups) {
  slot_of_.resize(table_.capacity(), -1);
  missing_.clear();
  ++clock_;
  for (const uint32_t group : groups) {
    if (slot_of_[group] < 0) {
      const auto free = std::find(group_of_.begin(), group_of_.end(), kFree);
      const auto slot = static_cast<size_t>(free - group_of_.begin());
      if (free == group_of_.end()) {
        group_of_.push_back(kFree);
        rows_.emplace_back();
        last_use_.push_back(0);
      }
      group_of_[slot] = group;
      slot_of_[group] = static_cast<int32_t>(slot);
      rows_[slot].resize(table_.capacity());
      missing_.push_back(group);
      ++used_;
    }
    last_use_[static_cast<size_t>(slot_of_[group])] = clock_;
  }
  // Panels outside, rows inside: keys are read once for all rows.
  double values[kPanel];
  for (size_t p = 0; p < table_.panels() && !missing_.empty(); ++p) {
    for (const uint32_t group : missing_) {
      ApproxKernelRow(table_.Key(group), table_.Panel(p), d_, kPanel, kPanel, gamma_, values);
      float* row = rows_[static_cast<size_t>(slot_of_[group])].data() + p * kPanel;
      const uint32_t first = static_cast<uint32_t>(p * kPanel);
      for (size_t j = 0; j < kPanel; ++j) {
        row[j] = table_.Count(first + static_cast<uint32_t>(j)) > 0 ? static_cast<float>(values[j]) : 0.0F;
      }
    }
  }
}

void KernelRows::Compute(const double* key, absl::Span<const uint32_t> groups, float* values) {
  double results[kPanel];
  panel_used_ = panel_used_ || !groups.empty();
  for (size_t begin = 0; begin < groups.size(); begin += kPanel) {
    const size_t count = std::min(kPanel, groups.size() - begin);
    for (size_t v = 0; v < count; ++v) {
      const double* other = table_.Key(groups[begin + v]);
      for (size_t k = 0; k < d_; ++k) panel_[k * kPanel + v] = other[k];
    }
    ApproxKernelRow(key, panel_.data(), d_, count, kPanel, gamma_, results);
    for (size_t v = 0; v < count; ++v) values[begin + v] = static_cast<float>(results[v]);
  }
}

void KernelRows::Added(uint32_t group, absl::Span<const uint32_t> others, float* out) {
  slot_of_.resize(table_.capacity(), -1);
  live_.clear();
  for (const uint32_t other : group_of_) {
    if (other != kFree) live_.push_back(other);
  }
  const double* key = table_.Key(group);
  values_.resize(live_.size());
  Compute(key, live_, values_.data());
  for (size_t i = 0; i < live_.size(); ++i) {
    std::vector<float>& row = rows_[static_cast<size_t>(slot_of_[live_[i]])];
    if (row.size() < table_.capacity()) row.resize(table_.capacity(), 0.0F);
    row[group] = values_[i];
  }
  Compute(key, others, out);
}

void KernelRows::Erased(uint32_t group) {
  if (slot_of_[group] >= 0) Drop(static_cast<size_t>(slot_of_[group]));
  // The copies of keys that Compute made, and the values from them.
  if (panel_used_) std::fill(panel_.begin(), panel_.end(), 0.0);
  panel_used_ = false;
  values_.assign(values_.capacity(), 0.0F);
  for (size_t slot = 0; slot < rows_.size(); ++slot) {
    if (group_of_[slot] != kFree) rows_[slot][group] = 0.0F;
  }
}

void KernelRows::Trim(size_t limit) {
  while (used_ > limit) {
    size_t oldest = rows_.size();
    for (size_t slot = 0; slot < rows_.size(); ++slot) {
      if (group_of_[slot] == kFree || last_use_[slot] == clock_) continue;
      if (oldest == rows_.size() || last_use_[slot] < last_use_[oldest]) oldest = slot;
    }
    if (oldest == rows_.size()) return;
    Drop(oldest);
  }
}

void KernelRows::Drop(size_t slot) {
  std::fill(rows_[slot].begin(), rows_[slot].end(), 0.0F);
  slot_of_[group_of_[slot]] = -1;
  group_of_[slot] = kFree;
  --used_;
}

uint64_t KernelRows::ByteSize() const {
  uint64_t bytes = slot_of_.capacity() * sizeof(int32_t) + panel_.size() * sizeof(double);
  for (const std::vector<float>& row : rows_) bytes += row.capacity() * sizeof(float);
  return bytes;
}

}  // namespace expunge::solver
