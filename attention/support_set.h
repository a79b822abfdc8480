// The tokens that carry weight (S and E), packed for readouts. Immutable, and wiped when the last holder lets
// go.
#ifndef EXPUNGE_ATTENTION_SUPPORT_SET_H_
#define EXPUNGE_ATTENTION_SUPPORT_SET_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/types/span.h"
#include "attention/error_bound.h"
#include "attention/packed_support.h"
#include "solver/memory_state.h"

namespace expunge::attention {

// A token that carries weight.
struct WeightedToken {
  const solver::Token* token = nullptr;
  uint32_t index = 0;  // what contributions call it; ascending
  double weight = 0;
};

// A fast form of T, for the CPU: u of T for storage and sums, no rounding of weights besides.
template <typename T>
struct FastForm {
  FastSupport<T> support;  // into arrays of the support set
  FastErrorBound error_bound;
};

// Threads: any number may read at once.
class SupportSet {
 public:
  // Cost: O(|S+E| (d + dv)). Keeps no reference to `state`.
  explicit SupportSet(const solver::MemoryState& state);
  // The same of its tokens of S and E alone, in their order, with its rho and its proof's eta.
  SupportSet(const solver::Config& config, absl::Span<const WeightedToken> support, double rho, double eta);
  ~SupportSet();
  SupportSet(const SupportSet&) = delete;
  SupportSet& operator=(const SupportSet&) = delete;

  [[nodiscard]] bool empty() const;
  // Tokens whose weight is not 0 as a double.
  [[nodiscard]] size_t size() const;
  [[nodiscard]] uint32_t key_dimension() const;
  [[nodiscard]] uint32_t value_dimension() const;
  [[nodiscard]] double gamma() const;
  [[nodiscard]] double rho() const;
  // What contributions call token i; size() of them.
  [[nodiscard]] absl::Span<const uint32_t> indices() const;
  // Upper bounds of the values' spread and norms, and of the weights' relative error.
  [[nodiscard]] const ValueBounds& value_bounds() const;

  // REQUIRES: !empty(), for this and what follows.
  [[nodiscard]] const PackedSupport<double>& certified() const;
  // The keys x_i, row-major, size() x key_dimension(), and likewise the values v_i; log a_i is the bias of
  // certified(). For copies in other layouts. Cost: O(|S+E| (d + dv)).
  void CopyRows(double* keys, double* values) const;
  // T: float or double. Null where keys, values or biases exceed the range of T: read from certified() then.
  // Made at the first call. Cost then: O(|S+E| (d + dv)).
  template <typename T>
  [[nodiscard]] const FastForm<T>* fast() const;

 private:
  struct Impl;
  const std::unique_ptr<const Impl> impl_;
};

}  // namespace expunge::attention

#endif  // EXPUNGE_ATTENTION_SUPPORT_SET_H_
