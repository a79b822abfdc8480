#include "certificate/key_export.h"

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "certificate/payload_fields.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;

std::string Base64Url(absl::string_view bytes) {
  std::string text;
  absl::WebSafeBase64Escape(bytes, &text);  // without padding, as RFC 7515 has it
  return text;
}

}  // namespace

std::string JwksFile(const KeySet& set) {
  json keys = json::array();
  for (const PublishedKey& key : set.keys) {
    json entry = {{"kty", "OKP"},
                  {"crv", "Ed25519"},
                  {"alg", "EdDSA"},
                  {"use", "sig"},
                  {"kid", key.key_id},
                  {"x", Base64Url(key.public_key)},
                  {"nbf", absl::ToUnixSeconds(key.not_before)},
                  {"expunge_use", TextField(KeyUseName(key.use))}};
    if (!key.active()) entry["exp"] = absl::ToUnixSeconds(key.end->not_after);
    keys.push_back(std::move(entry));
  }
  return PayloadText({{"keys", std::move(keys)}});
}

}  // namespace expunge::certificate
