#include "certificate/log/leaf.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace expunge::certificate {
namespace {

constexpr size_t kDigestBytes = 32;
constexpr size_t kSignatureBytes = 64;

}  // namespace

absl::StatusOr<std::string> MakeLogLeaf(absl::string_view payload, absl::string_view signature,
                                        absl::string_view key_id) {
  const std::optional<std::string> key = FromHex(key_id);
  if (signature.size() != kSignatureBytes || !key.has_value() || key->size() != kDigestBytes) {
    return absl::InvalidArgumentError(
        "an entry of the log needs a signature of 64 bytes and the id of its key");
  }
  const Digest pae = Sha256(PreAuthEncoding(kPayloadType, payload));
  return absl::StrCat(AsView(pae), signature, *key);
}

std::string LogLeafOf(const VerifyResult& certificate) {
  // A verified certificate has both in their form.
  return MakeLogLeaf(certificate.payload, certificate.signature, certificate.key_id).value_or("");
}

std::optional<LogLeaf> ParseLogLeaf(absl::string_view entry) {
  if (entry.size() != kLogLeafBytes) return std::nullopt;
  return LogLeaf{*DigestFromBytes(entry.substr(0, kDigestBytes)),
                 std::string(entry.substr(kDigestBytes, kSignatureBytes)),
                 *DigestFromBytes(entry.substr(kDigestBytes + kSignatureBytes))};
}

}  // namespace expunge::certificate
