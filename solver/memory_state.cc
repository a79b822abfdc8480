#include "solver/memory_state.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace expunge::solver {
namespace {

absl::Status CheckDimension(absl::string_view field, uint32_t value) {
  if (value >= 1 && value <= kMaxDimension) return absl::OkStatus();
  return MakeError(Reason::kOutOfRange, field,
                   absl::StrCat(field, " must be 1 to ", kMaxDimension, ", not ", value));
}

absl::Status CheckFinite(absl::string_view field, double value) {
  if (std::isfinite(value)) return absl::OkStatus();
  return MakeError(Reason::kNotFinite, field, absl::StrCat(field, " must be a finite number"));
}

absl::Status CheckPositive(absl::string_view field, double value) {
  EXPUNGE_RETURN_IF_ERROR(CheckFinite(field, value));
  if (value > 0) return absl::OkStatus();
  return MakeError(Reason::kOutOfRange, field, absl::StrCat(field, " must be greater than 0"));
}

absl::Status CheckBox(const BoxBound& box) {
  constexpr uint32_t kMaxSupport = uint32_t{1} << 31;
  if (box.min_support == 0) return CheckPositive("box_bound", box.value);
  if (box.min_support <= kMaxSupport) return absl::OkStatus();
  return MakeError(Reason::kOutOfRange, "min_support",
                   absl::StrCat("min_support must be 1 to ", kMaxSupport));
}

// Checks size and finiteness, and turns -0 into +0.
absl::Status NormalizeVector(absl::string_view what, size_t dimension, absl::Span<double> vector) {
  if (vector.size() != dimension) {
    return MakeError(Reason::kDimensionMismatch, "",
                     absl::StrCat(what, " has ", vector.size(), " elements; this memory takes ", dimension));
  }
  for (double& x : vector) {
    if (!std::isfinite(x))
      return MakeError(Reason::kNotFinite, "", absl::StrCat(what, " has a NaN or an infinity"));
    if (x == 0) x = 0.0;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateConfig(const Config& config) {
  EXPUNGE_RETURN_IF_ERROR(CheckDimension("key_dimension", config.key_dimension));
  EXPUNGE_RETURN_IF_ERROR(CheckDimension("value_dimension", config.value_dimension));
  EXPUNGE_RETURN_IF_ERROR(CheckPositive("gamma", config.gamma));
  EXPUNGE_RETURN_IF_ERROR(CheckBox(config.box));
  EXPUNGE_RETURN_IF_ERROR(CheckFinite("ridge", config.ridge));
  if (config.ridge >= kMinRidge && config.ridge <= 1) return absl::OkStatus();
  return MakeError(Reason::kOutOfRange, "ridge", absl::StrCat("ridge must be ", kMinRidge, " to 1"));
}

absl::Status ValidateRidge(const Config& config, uint64_t n) {
  if (config.ridge > static_cast<double>(n) * 0x1p-54) return absl::OkStatus();
  return MakeError(
      Reason::kRidgeTooSmall, "ridge",
      absl::StrCat("ridge must exceed n 2^-54 for the ", n, " tokens that the memory would hold"));
}

absl::Status NormalizeKey(const Config& config, absl::Span<double> key) {
  EXPUNGE_RETURN_IF_ERROR(NormalizeVector("the key", config.key_dimension, key));
  // |x - y|^2 <= d (2 max|x_k|)^2, with room for its rounding.
  const double limit =
      std::sqrt(std::numeric_limits<double>::max() / (8.0 * static_cast<double>(config.key_dimension)));
  for (const double x : key) {
    if (std::fabs(x) <= limit) continue;
    return MakeError(Reason::kMagnitudeOverflow, "",
                     absl::StrCat("the key has an element beyond ", limit,
                                  ", with which a squared distance could overflow"));
  }
  return absl::OkStatus();
}

absl::Status NormalizeValue(const Config& config, absl::Span<double> value) {
  EXPUNGE_RETURN_IF_ERROR(NormalizeVector("the value", config.value_dimension, value));
  for (const double v : value) {
    if (std::fabs(v) <= kMaxValue) continue;
    return MakeError(
        Reason::kMagnitudeOverflow, "",
        absl::StrCat("the value has an element beyond ", kMaxValue, ", with which a readout could overflow"));
  }
  return absl::OkStatus();
}

Proof EmptyProof(double ridge) {
  Proof proof;
  proof.margin_lower = proof.weight_distance_lower = std::numeric_limits<double>::infinity();
  proof.eigenvalue_lower = ridge;
  proof.eta = 0x1p-53;
  return proof;
}

void SetStateBounds(double ridge, uint64_t tokens, double smallest_weight, Proof* proof) {
  proof->eta = smallest_weight < 0x1p-1022 ? std::numeric_limits<double>::infinity() : 0x1p-53;
  proof->duality_gap_upper = 0x1p-53 * (8 + 10 * ridge) * (1 + 0x1p-20);
  proof->eigenvalue_lower = (ridge - static_cast<double>(tokens) * 0x1p-54) * (1 - 0x1p-50);
}

}  // namespace expunge::solver
