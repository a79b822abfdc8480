// Proven bounds of |o(q) - o*(q)|_2, o being a computed readout and o* that of the exact weights.
// Derivation: docs/math/readout.md. All results are rounded outwards. Plain C++: device code includes it.
#ifndef EXPUNGE_ATTENTION_ERROR_BOUND_H_
#define EXPUNGE_ATTENTION_ERROR_BOUND_H_

#include <cstddef>
#include <limits>

namespace expunge::attention {

// Of the values and weights of a support set.
struct ValueBounds {
  double spread = 0;  // >= |v_i - v_j|_2 for all i, j
  double norm = 0;    // >= |v_i|_2 for all i
  double eta = 0;     // |a_i - a*_i| <= eta a_i; infinite: nothing can be proven
};

struct ReadoutShape {
  size_t tokens = 0;
  size_t key_dimension = 0;
  size_t value_dimension = 0;
};

// Of certified readouts. `logit_scale` >= |log a_i| + |log a_i - gamma |q - x_i|^2| for every term that is
// not 0.
[[nodiscard]] double CertifiedErrorBound(const ValueBounds& values, const ReadoutShape& shape, double gamma,
                                         double logit_scale);

// How an implementation of fast readouts computes (packed_support.h). q - c is one subtraction, in the type
// of the queries or a wider one, rounded afterwards. Sums are in any order, fused or not, with at most
// `depth` additions on the way of each term.
struct FastArithmetic {
  double storage = 0;           // unit roundoff of keys, queries and values as they are stored
  double weight_storage = 0;    // of the weights p_i before they meet the values; 0: as computed
  double arithmetic = 0;        // of every other operation, and of the bias as it is stored
  double exp2 = 0;              // relative error of 2^x for x in [-range, 0]; at most 0.01
  double range = 0;             // below -range, 2^x may become anything from 0 to 2^-range
  double rescalings = 0;        // by how many powers of two a sum may be multiplied (online softmax)
  double key_depth = 0;         // of b_i + (q - c)'y_i, the bias included, and of |q - c|^2
  double value_depth = 0;       // of sum p_i and sum p_i u_i
  double underflow = 0x1p-126;  // absolute error of a result below the normal range
};

// Norms of a fast form. The centre of the keys is exact.
struct FastNorms {
  double key = 0;    // >= |s (x_i - c)|_2 for all i
  double bias = 0;   // >= |b_i| for all i
  double value = 0;  // >= |v_i - e|_2 for all i
};

// Of fast readouts: a function of |q - c|_2 alone.
class FastErrorBound {
 public:
  FastErrorBound() = default;
  FastErrorBound(const FastArithmetic& arithmetic, const FastNorms& norms, const ValueBounds& values,
                 const ReadoutShape& shape);

  // `query_norm`: |q - c|_2 as computed with unit roundoff `arithmetic`, of q - c before or after it is
  // stored. Infinity where something could overflow: read in a more exact way then.
  [[nodiscard]] double At(double query_norm) const;

 private:
  // The letters of docs/math/readout.md.
  // |q - c| <= norm_factor_ * query_norm + norm_underflow_
  double norm_factor_ = std::numeric_limits<double>::infinity();
  double norm_underflow_ = 0;
  double constant_ = 0;  // tau(r) = constant_ + slope_ r bounds |ln(p_i / w_i)|
  double slope_ = 0;
  double relative_ = 0;  // of the mean, besides: eta and what becomes 0
  double spread_ = 0;    // D
  double sums_ = 0;      // what storage and sums of the values add
};

}  // namespace expunge::attention

#endif  // EXPUNGE_ATTENTION_ERROR_BOUND_H_
