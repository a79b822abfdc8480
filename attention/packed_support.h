// The arrays that the loops over support tokens read. Plain C++: device code includes it.
//
// Two forms share this layout. Certified: keys x_i, bias log a_i, values v_i, as they are. Fast, in the
// precision T, with centres c and e (representable in float), scale s = 2 gamma log2(e) and a power of two t:
//     keys    y_i = T(s (x_i - c))
//     bias    b_i = T(log2(a_i) - gamma log2(e) |x_i - c|^2)
//     values  u_i = T((v_i - e) / t)
// so that  b_i + (q - c)'y_i  is log2 of token i's weight, but for a summand that all tokens share.
#ifndef EXPUNGE_ATTENTION_PACKED_SUPPORT_H_
#define EXPUNGE_ATTENTION_PACKED_SUPPORT_H_

#include <cstddef>

namespace expunge::attention {

// Tokens are packed by so many: key element k of token i is at
//     key_panels[((i / kPanel) * key_dimension + k) * kPanel + i % kPanel].
inline constexpr size_t kPanel = 16;

// All arrays are aligned to 64 bytes. What pads a panel has key 0 and bias -infinity.
template <typename T>
struct PackedSupport {
  size_t tokens = 0;  // >= 1
  size_t panels = 0;  // tokens / kPanel, rounded up
  size_t key_dimension = 0;
  size_t value_dimension = 0;
  size_t value_stride = 0;        // value_dimension rounded up to a multiple of kPanel
  const T* key_panels = nullptr;  // panels x key_dimension x kPanel
  const T* bias = nullptr;        // panels x kPanel
  const T* values = nullptr;      // tokens x value_stride, row-major; 0 beyond value_dimension
};

// What else a fast readout needs.  o = e + t (sum p_i u_i) / (sum p_i).
template <typename T>
struct FastSupport {
  PackedSupport<T> packed;
  const T* key_centre = nullptr;    // c, key_dimension
  const T* value_centre = nullptr;  // e, value_stride, 0 beyond value_dimension
  T value_scale = 1;                // t
  double gamma_log2e = 0;           // gamma log2(e)
  double offset = 0;                // 1 - rho: f(q) = 2 (sum of weights) - offset
};

}  // namespace expunge::attention

#endif  // EXPUNGE_ATTENTION_PACKED_SUPPORT_H_
