// The sentences of a certificate: what is claimed, against what, by which arithmetic, and where it ends.
// For use inside this folder only. A change here changes later certificates; those already signed keep
// theirs.
#ifndef EXPUNGE_CERTIFICATE_CLAIMS_H_
#define EXPUNGE_CERTIFICATE_CLAIMS_H_

#include <string>

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
inline constexpr absl::string_view kFullHistory = "FULL_HISTORY";
inline constexpr absl::string_view kRetainedSet = "RETAINED_SET";
// The two stages of an erasure, each with its method.
inline constexpr absl::string_view kKeyDestroyed = "KEY_DESTROYED";
inline constexpr absl::string_view kKeyDestruction = "KEY_DESTRUCTION";
inline constexpr absl::string_view kPhysicallyPurged = "PHYSICALLY_PURGED";
inline constexpr absl::string_view kKeyDestructionAndFileRewrite = "KEY_DESTRUCTION_AND_FILE_REWRITE";

// Of the claim of exactness: the state compared with, the arithmetic that earns it, and its boundary.
[[nodiscard]] absl::string_view ExactnessReference(Kind kind, Scope scope);
[[nodiscard]] absl::string_view ExactnessArithmetic();
[[nodiscard]] absl::string_view ExactnessBoundary();
// Who holds the keys. `master_key`: Statement::master_key.
[[nodiscard]] std::string Custody(absl::string_view master_key);
// What may remain of removed tokens, each by a name for programs and a sentence for people: all of it after
// the first stage, all but the first after the second.
struct Residual {
  absl::string_view what;
  absl::string_view text;
};
inline constexpr absl::string_view kSealedBytes = "SEALED_BYTES";
inline constexpr absl::string_view kBackups = "BACKUPS";
[[nodiscard]] absl::Span<const Residual> Residuals();
// Under which condition the claim of a selection still holds at a later state.
[[nodiscard]] absl::string_view HorizonCondition();
[[nodiscard]] absl::Span<const absl::string_view> NotClaimed(Kind kind);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_CLAIMS_H_
