// Certified readouts of a few queries from one memory: one fixed order of operations for each query, without
// contraction, so that every vector unit, compiler and batch gives the same bits (docs/math/readout.md).
#ifndef EXPUNGE_ATTENTION_CPU_CERTIFIED_ROWS_H_
#define EXPUNGE_ATTENTION_CPU_CERTIFIED_ROWS_H_

#include <cstddef>

#include "attention/packed_support.h"
#include "base/secret.h"

namespace expunge::attention::cpu {

inline constexpr size_t kCertifiedRows = 32;  // at most so many queries at once

// What one thread needs for its rows. Grows to what was needed most; all zeros between two calls.
struct CertifiedScratch {
  SecretArray<double> queries;  // converted from float; the caller's, who wipes them
  SecretArray<double> weights;  // of all tokens, for each row
  SecretArray<double> sums;     // of values, not yet divided
};

struct CertifiedRows {
  size_t rows = 0;                  // <= CertifiedRowsAtOnce()
  const double* queries = nullptr;  // rows x key_dimension
  double* outputs = nullptr;        // rows x value_dimension
  double* decision_values = nullptr;
  double* logit_scales = nullptr;  // for CertifiedErrorBound
  double* weights = nullptr;       // rows x tokens: of the softmax; null: not asked for
};

struct CertifiedProblem {
  const PackedSupport<double>* support = nullptr;
  double gamma = 0;
  double rho = 0;
};

// How many rows to read at once, so that their weights stay in a cache.
[[nodiscard]] size_t CertifiedRowsAtOnce(size_t tokens);

// Cost: rows m (3 d + 2 dv) flops.
void ReadCertifiedRows(const CertifiedProblem& problem, const CertifiedRows& rows, CertifiedScratch* scratch);

}  // namespace expunge::attention::cpu

#endif  // EXPUNGE_ATTENTION_CPU_CERTIFIED_ROWS_H_
