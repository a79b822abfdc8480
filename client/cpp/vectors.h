// Packed vectors: row-major matrices of doubles, as they travel.
#ifndef EXPUNGE_CLIENT_CPP_VECTORS_H_
#define EXPUNGE_CLIENT_CPP_VECTORS_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "expunge/v1/types.pb.h"

namespace expunge::client {

// A row-major matrix. Invariant: data.size() == rows * columns.
struct Matrix {
  size_t rows = 0;
  size_t columns = 0;
  std::vector<double> data;

  [[nodiscard]] absl::Span<const double> Row(size_t row) const {
    return absl::MakeConstSpan(data).subspan(row * columns, columns);
  }
};

// Rows [first, first + count) of `matrix` as FLOAT64, little-endian: no bit is lost.
// REQUIRES: first + count <= matrix.rows. Cost: O(count * columns).
[[nodiscard]] v1::PackedVectors Pack(const Matrix& matrix, size_t first, size_t count);

// Widens FLOAT32 exactly. Returns: Internal if dtype, shape and byte count contradict each other.
[[nodiscard]] absl::StatusOr<Matrix> Unpack(const v1::PackedVectors& packed);

}  // namespace expunge::client

#endif  // EXPUNGE_CLIENT_CPP_VECTORS_H_
