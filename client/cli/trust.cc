#include "client/cli/trust.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"

namespace expunge::cli {
namespace {

constexpr size_t kMaxKeyBytes = 64 << 10;

absl::string_view RefusalHint(certificate::VerifyReason reason) {
  using enum certificate::VerifyReason;
  switch (reason) {
    case kUnknownKey:
      return "it was signed with another key: use the issuer's key from 'expunge cert keys', or reject it";
    case kEmpty:
    case kNotJson:
    case kNotAnEnvelope:
    case kTooLarge:
      return "the file is truncated or no certificate: get it again with 'expunge cert get NAME --out FILE'";
    default:
      return "do not rely on this file: get it again with 'expunge cert get NAME --out FILE', and ask its "
             "issuer";
  }
}

}  // namespace

absl::StatusOr<std::vector<certificate::PublicKey>> LoadPublicKeys(absl::Span<const std::string> paths) {
  std::vector<certificate::PublicKey> keys;
  for (const std::string& path : paths) {
    EXPUNGE_ASSIGN_OR_RETURN(const std::string pem, ReadFile(path, kMaxKeyBytes));
    auto key = certificate::PublicKey::FromPem(pem);
    if (!key.ok()) {
      return UsageFailure(absl::StrCat(path, " is not one Ed25519 public key in PEM"),
                          "save the key with 'expunge cert keys --out FILE'");
    }
    keys.push_back(*std::move(key));
  }
  return keys;
}

absl::StatusOr<std::string> ReadCertificate(const std::string& path) {
  // One byte more than the verifier accepts, so that it is the one to refuse what is too large.
  return ReadStart(path, certificate::kMaxEnvelopeBytes + 1);
}

absl::Status AsStatus(const certificate::VerifyResult& result) {
  if (result.reason == certificate::VerifyReason::kOk) return absl::OkStatus();
  return Refusal(
      certificate::VerifyReasonName(result.reason),
      absl::StrCat("the certificate does not verify: ", certificate::VerifyReasonText(result.reason)),
      RefusalHint(result.reason));
}

}  // namespace expunge::cli
