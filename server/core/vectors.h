// Packed vectors (expunge.v1.PackedVectors): little-endian float32 or float64, row after row.
#ifndef EXPUNGE_SERVER_CORE_VECTORS_H_
#define EXPUNGE_SERVER_CORE_VECTORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/secret.h"
#include "expunge/v1/types.pb.h"
#include "solver/memory_state.h"

namespace expunge::core {

enum class VectorRole { kKey, kValue };

// What the packed vectors must be: `rows` x the memory's dimension for `role`. `field` begins the paths of
// errors.
struct VectorShape {
  const solver::Config& config;
  VectorRole role;
  uint32_t rows;
  absl::string_view field;
};

// Checks and decodes: float32 is widened exactly, -0 becomes +0. Row-major, rows x columns.
// Cost: O(rows * columns). Returns: kFieldMissing without dtype; kDimensionMismatch with the field dtype,
// rows, columns or data; kNotFinite, kMagnitudeOverflow with the field "data[row i]".
[[nodiscard]] absl::StatusOr<SecretArray<double>> DecodeVectors(const v1::PackedVectors& packed,
                                                                const VectorShape& shape);

// The same of float32, without widening: errors are those that it would meet as doubles.
// REQUIRES: packed.dtype() is FLOAT32.
[[nodiscard]] absl::StatusOr<SecretArray<float>> DecodeFloats(const v1::PackedVectors& packed,
                                                              const VectorShape& shape);

// Encodes `elements` (row-major, all finite) as `dtype`.
// Returns: kOutOfRange, field "output_dtype", if an element overflows float32.
[[nodiscard]] absl::StatusOr<v1::PackedVectors> EncodeVectors(absl::Span<const double> elements,
                                                              uint32_t columns, v1::Dtype dtype);
// Likewise, without any error: a float is a double.
[[nodiscard]] v1::PackedVectors EncodeFloats(absl::Span<const float> elements, uint32_t columns,
                                             v1::Dtype dtype);

// Doubles as stored: 8 bytes each, little-endian.
[[nodiscard]] std::string PackDoubles(absl::Span<const double> elements);
// InvalidArgument unless the size is a multiple of 8.
[[nodiscard]] absl::StatusOr<std::vector<double>> UnpackDoubles(absl::string_view bytes);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_VECTORS_H_
