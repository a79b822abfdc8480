#include "certificate/key_set.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "certificate/claims.h"
#include "certificate/payload_fields.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;

constexpr size_t kMaxOriginBytes = 255;

json KeyObject(const PublishedKey& key) {
  return {{"keyId", key.key_id},
          {"use", TextField(KeyUseName(key.use))},
          {"algorithm", "Ed25519"},
          {"publicKey", ToBase64(key.public_key)},
          {"custody", key.custody},
          {"notBefore", TimeField(key.not_before)},
          {"notAfter", key.active() ? std::string() : TimeField(key.end->not_after)},
          {"endLogSize", key.active() ? std::string() : CountField(key.end->end_log_size)}};
}

}  // namespace

absl::string_view KeyUseName(KeyUse use) {
  return use == KeyUse::kCertificate ? "certificate" : "checkpoint";
}

const PublishedKey& KeySet::Active(KeyUse use) const {
  return *std::find_if(keys.begin(), keys.end(),
                       [use](const PublishedKey& key) { return key.use == use && key.active(); });
}

const PublishedKey* KeySet::Find(absl::string_view key_id) const {
  const auto found = std::find_if(keys.begin(), keys.end(),
                                  [key_id](const PublishedKey& key) { return key.key_id == key_id; });
  return found == keys.end() ? nullptr : &*found;
}

PublishedKey Publish(KeyUse use, const PublicKey& key, absl::string_view custody, absl::Time not_before) {
  return {use, key.KeyId(), key.Raw(), TextField(custody), not_before, std::nullopt};
}

PublicKey KeyOf(const PublishedKey& entry) { return PublicKey::FromRaw(entry.public_key).value(); }

std::string EncodeKeySet(const KeySet& set) {
  json subjects = json::array();
  json keys = json::array();
  for (const PublishedKey& key : set.keys) {
    subjects.push_back({{"name", key.key_id}, {"digest", {{"sha256", key.key_id}}}});
    keys.push_back(KeyObject(key));
  }
  const json issuer = {{"name", TextField(kIssuerName)},
                       {"software", TextField(kSoftware)},
                       {"version", set.software_version},
                       {"commit", set.software_commit}};
  const json predicate = {{"issuer", issuer},
                          {"issued", TimeField(set.issued)},
                          {"sequence", CountField(set.sequence)},
                          {"previousPayloadSha256", DigestField(set.previous_payload_sha256)},
                          {"logOrigin", set.log_origin},
                          {"keys", std::move(keys)}};
  return PayloadText({{"_type", "https://in-toto.io/Statement/v1"},
                      {"subject", std::move(subjects)},
                      {"predicateType", TextField(kKeySetPredicateType)},
                      {"predicate", predicate}});
}

bool IsLogOrigin(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxOriginBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~' && c != '+'; });
}

}  // namespace expunge::certificate
