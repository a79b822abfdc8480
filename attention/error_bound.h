// Proven bounds of |o(q) - o*(q)|_2, o being a computed readout and o* that of the exact weights.
// Derivation: docs/math/readout.md. All results are rounded outwards. Plain C++: device code includes it.
#ifndef EXPUNGE_ATTENTION_ERROR_BOUND_H_
#define EXPUNGE_ATTENTION_ERROR_BOUND_H_

#include <cstddef>

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

// How an implementation of fast readouts computes (packed_support.h). Its sums of key products and of values
// are in any order, of at most `depth` additions on the way of each term.
struct FastArithmetic {
  double storage = 0;         // unit roundoff of keys, queries and values as they are stored
  double weight_storage = 0;  // of the weights p_i before they meet the values; 0: as computed
  double arithmetic = 0;      // of every other operation; at least that of bias and centres as stored
  double exp2 = 0;            // relative error of 2^x for x in [-range, 0]; below, 2^x may become 0
  double range = 0;
  double rescalings = 0;  // by how many powers of two a weight may be multiplied (online softmax)
  double key_depth = 0;   // >= d + 1 unless it is proven to be less; the bias is one of the terms
  double value_depth = 0;
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

  // `query_norm`: |q - c|_2 as computed with unit roundoff `arithmetic` in at most key_depth additions.
  // Infinity where something could overflow: read in a more exact way then.
  [[nodiscard]] double At(double query_norm) const;

 private:
  double largest_query_norm_ = 0;
  double exponent_constant_ = 0;   // error of the exponents of two, for q = c
  double exponent_slope_ = 0;      // and for each unit of |q - c|
  double weights_ = 0;             // relative error of the weights besides
  double eta_term_ = 0;            // 2 eta / (1 - eta)
  double spread_ = 0;
  double sums_ = 0;                // what the values' storage and sums add
};

}  // namespace expunge::attention

#endif  // EXPUNGE_ATTENTION_ERROR_BOUND_H_
