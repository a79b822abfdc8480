#include "client/cpp/vectors.h"

#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/bytes.h"

namespace expunge::client {
namespace {

// The unsigned integer of `width` little-endian bytes at `at`.
uint64_t LoadLittleEndian(absl::string_view bytes, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t i = width; i-- > 0;) value = (value << 8) | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

}  // namespace

v1::PackedVectors Pack(const Matrix& matrix, size_t first, size_t count) {
  std::string data;
  data.reserve(count * matrix.columns * sizeof(double));
  for (size_t row = first; row < first + count; ++row) {
    for (const double value : matrix.Row(row)) AppendDouble(value, &data);
  }
  v1::PackedVectors packed;
  packed.set_data(std::move(data));
  packed.set_dtype(v1::DTYPE_FLOAT64);
  packed.set_rows(static_cast<uint32_t>(count));
  packed.set_columns(static_cast<uint32_t>(matrix.columns));
  return packed;
}

absl::StatusOr<Matrix> Unpack(const v1::PackedVectors& packed) {
  size_t width = 0;
  if (packed.dtype() == v1::DTYPE_FLOAT64) width = 8;
  if (packed.dtype() == v1::DTYPE_FLOAT32) width = 4;
  Matrix matrix{packed.rows(), packed.columns(), {}};
  const uint64_t elements = uint64_t{packed.rows()} * packed.columns();
  if (width == 0 || packed.data().size() % width != 0 || packed.data().size() / width != elements) {
    return absl::InternalError("packed vectors: dtype, shape and byte count do not agree");
  }
  matrix.data.reserve(elements);
  for (size_t at = 0; at < packed.data().size(); at += width) {
    const uint64_t bits = LoadLittleEndian(packed.data(), at, width);
    matrix.data.push_back(width == 8 ? std::bit_cast<double>(bits)
                                     : double{std::bit_cast<float>(static_cast<uint32_t>(bits))});
  }
  return matrix;
}

}  // namespace expunge::client
