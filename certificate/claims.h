// The sentences of a certificate: what is claimed, against what, by which arithmetic, and where it ends.
// For use inside this folder only. A change here changes later certificates; those already signed keep
// theirs.
#ifndef EXPUNGE_CERTIFICATE_CLAIMS_H_
#define EXPUNGE_CERTIFICATE_CLAIMS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "certificate/statement.h"

namespace expunge::certificate {

inline constexpr absl::string_view kIssuerName = "Expunge";
inline constexpr absl::string_view kSoftware = "expunged";
inline constexpr absl::string_view kAlgorithmName = "support-vector attention memory";
inline constexpr absl::string_view kKernel = "exp(-gamma |x - y|^2)";
inline constexpr absl::string_view kSpec = "docs/math/canonical.md";
inline constexpr absl::string_view kSpecVersion = "v1";
inline constexpr absl::string_view kClaim = "BITWISE";
inline constexpr absl::string_view kScope = "FULL_HISTORY";
inline constexpr absl::string_view kErasureMethod = "LOGICAL_REMOVAL";
inline constexpr absl::string_view kErasureStage = "LOGICALLY_REMOVED";
inline constexpr absl::string_view kCustody = "none: tokens are not yet sealed under keys of their own";

// Of the claim of exactness: the state compared with, the arithmetic that earns it, and its boundary.
[[nodiscard]] absl::string_view ExactnessReference(Kind kind);
[[nodiscard]] absl::string_view ExactnessArithmetic();
[[nodiscard]] absl::string_view ExactnessBoundary();
// What may remain of removed tokens after the stage of erasure that this version reaches.
[[nodiscard]] absl::Span<const absl::string_view> Residuals();
[[nodiscard]] absl::Span<const absl::string_view> NotClaimed(Kind kind);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_CLAIMS_H_
