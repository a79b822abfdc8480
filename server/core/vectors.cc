#include "server/core/vectors.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/secret.h"
#include "base/status_macros.h"

namespace expunge::core {
namespace {

static_assert(std::endian::native == std::endian::little, "packed vectors are copied as they are");

template <typename Element, typename Doubles>
void Widen(absl::string_view bytes, Doubles* elements) {
  elements->resize(bytes.size() / sizeof(Element));
  for (size_t i = 0; i < elements->size(); ++i) {
    Element element;
    std::memcpy(&element, bytes.data() + i * sizeof(Element), sizeof(Element));
    (*elements)[i] = static_cast<double>(element);
  }
}

absl::Status Mismatch(absl::string_view field, absl::string_view part, uint64_t actual, uint64_t expected) {
  const std::string path = absl::StrCat(field, ".", part);
  return MakeError(Reason::kDimensionMismatch, path,
                   absl::StrCat(path, part == "data" ? " has " : " is ", actual,
                                part == "data" ? " bytes" : "", "; expected ", expected));
}

absl::Status CheckShape(const v1::PackedVectors& packed, const VectorShape& shape, uint32_t columns) {
  const std::string dtype_path = absl::StrCat(shape.field, ".dtype");
  size_t element_bytes = 0;
  switch (packed.dtype()) {
    case v1::DTYPE_UNSPECIFIED:
      return MakeError(Reason::kFieldMissing, dtype_path, absl::StrCat(dtype_path, " is required"));
    case v1::DTYPE_FLOAT32:
      element_bytes = sizeof(float);
      break;
    case v1::DTYPE_FLOAT64:
      element_bytes = sizeof(double);
      break;
    default:
      return MakeError(Reason::kDimensionMismatch, dtype_path,
                       absl::StrCat(dtype_path, " must be FLOAT32 or FLOAT64"));
  }
  if (packed.rows() != shape.rows) return Mismatch(shape.field, "rows", packed.rows(), shape.rows);
  if (packed.columns() != columns) return Mismatch(shape.field, "columns", packed.columns(), columns);
  const uint64_t expected = uint64_t{shape.rows} * columns * element_bytes;
  if (packed.data().size() != expected) {
    return Mismatch(shape.field, "data", packed.data().size(), expected);
  }
  return absl::OkStatus();
}

absl::Status NormalizeRow(const VectorShape& shape, uint32_t row, absl::Span<double> elements) {
  const absl::Status status = shape.role == VectorRole::kKey ? solver::NormalizeKey(shape.config, elements)
                                                             : solver::NormalizeValue(shape.config, elements);
  if (status.ok()) return absl::OkStatus();
  const std::string path = absl::StrCat(shape.field, ".data[row ", row, "]");
  return MakeError(GetReason(status).value_or(Reason::kInternal), path,
                   absl::StrCat(path, ": ", std::string(status.message())));
}

uint32_t ColumnsOf(const VectorShape& shape) {
  return shape.role == VectorRole::kKey ? shape.config.key_dimension : shape.config.value_dimension;
}

// What a double refuses for its size, no float reaches: what is left to look for is what is not finite, and
// -0. Whatever is found, NormalizeRow says it.
absl::Status NormalizeFloatRow(const VectorShape& shape, uint32_t row, absl::Span<float> elements) {
  bool finite = true;
  for (float& element : elements) {
    finite = finite && std::isfinite(element);
    element += 0.0F;  // -0 becomes +0
  }
  if (finite) return absl::OkStatus();
  SecretArray<double> wide(elements.begin(), elements.end());
  return NormalizeRow(shape, row, absl::MakeSpan(wide));
}

template <typename Element>
v1::PackedVectors PackedAs(v1::Dtype dtype, uint32_t columns, size_t elements) {
  v1::PackedVectors packed;
  packed.set_dtype(dtype);
  packed.set_columns(columns);
  packed.set_rows(static_cast<uint32_t>(elements / columns));
  packed.mutable_data()->resize(elements * sizeof(Element));
  return packed;
}

}  // namespace

absl::StatusOr<SecretArray<double>> DecodeVectors(const v1::PackedVectors& packed, const VectorShape& shape) {
  const uint32_t columns = ColumnsOf(shape);
  EXPUNGE_RETURN_IF_ERROR(CheckShape(packed, shape, columns));
  const absl::string_view bytes(packed.data());
  SecretArray<double> elements;
  if (packed.dtype() == v1::DTYPE_FLOAT32) {
    Widen<float>(bytes, &elements);
  } else {
    Widen<double>(bytes, &elements);
  }
  for (uint32_t row = 0; row < shape.rows; ++row) {
    EXPUNGE_RETURN_IF_ERROR(
        NormalizeRow(shape, row, absl::MakeSpan(elements).subspan(size_t{row} * columns, columns)));
  }
  return elements;
}

absl::StatusOr<SecretArray<float>> DecodeFloats(const v1::PackedVectors& packed, const VectorShape& shape) {
  const uint32_t columns = ColumnsOf(shape);
  EXPUNGE_RETURN_IF_ERROR(CheckShape(packed, shape, columns));
  SecretArray<float> elements(size_t{shape.rows} * columns);
  std::memcpy(elements.data(), packed.data().data(), packed.data().size());
  for (uint32_t row = 0; row < shape.rows; ++row) {
    EXPUNGE_RETURN_IF_ERROR(
        NormalizeFloatRow(shape, row, absl::MakeSpan(elements).subspan(size_t{row} * columns, columns)));
  }
  return elements;
}

absl::StatusOr<v1::PackedVectors> EncodeVectors(absl::Span<const double> elements, uint32_t columns,
                                                v1::Dtype dtype) {
  if (dtype == v1::DTYPE_FLOAT64) {
    v1::PackedVectors packed = PackedAs<double>(dtype, columns, elements.size());
    std::memcpy(packed.mutable_data()->data(), elements.data(), elements.size() * sizeof(double));
    return packed;
  }
  v1::PackedVectors packed = PackedAs<float>(dtype, columns, elements.size());
  char* to = packed.mutable_data()->data();
  for (const double element : elements) {
    const auto narrow = static_cast<float>(element);
    if (!std::isfinite(narrow)) {
      return MakeError(Reason::kOutOfRange, "output_dtype",
                       "an output is too large for FLOAT32; ask for FLOAT64");
    }
    std::memcpy(to, &narrow, sizeof(narrow));
    to += sizeof(narrow);
  }
  return packed;
}

v1::PackedVectors EncodeFloats(absl::Span<const float> elements, uint32_t columns, v1::Dtype dtype) {
  if (dtype == v1::DTYPE_FLOAT32) {
    v1::PackedVectors packed = PackedAs<float>(dtype, columns, elements.size());
    std::memcpy(packed.mutable_data()->data(), elements.data(), elements.size() * sizeof(float));
    return packed;
  }
  v1::PackedVectors packed = PackedAs<double>(dtype, columns, elements.size());
  char* to = packed.mutable_data()->data();
  for (const float element : elements) {
    const auto wide = static_cast<double>(element);
    std::memcpy(to, &wide, sizeof(wide));
    to += sizeof(wide);
  }
  return packed;
}

std::string PackDoubles(absl::Span<const double> elements) {
  std::string bytes;
  bytes.reserve(elements.size() * sizeof(double));
  for (const double element : elements) AppendDouble(element, &bytes);
  return bytes;
}

absl::StatusOr<std::vector<double>> UnpackDoubles(absl::string_view bytes) {
  if (bytes.size() % sizeof(double) != 0) return absl::InvalidArgumentError("not a whole number of doubles");
  std::vector<double> elements;
  Widen<double>(bytes, &elements);
  return elements;
}

}  // namespace expunge::core
