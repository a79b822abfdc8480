// The strict reader of key sets: independent of EncodeKeySet, and of what signed the bytes.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "certificate/claims.h"
#include "certificate/forms.h"
#include "certificate/json_text.h"
#include "certificate/key_set.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;

constexpr size_t kRawKeyBytes = 32;

struct Field {
  const char* name;
  bool (*has_form)(const json&);
};

// Exactly these fields, each of its form.
bool IsObject(const json& value, absl::Span<const Field> fields) {
  if (!value.is_object() || value.size() != fields.size()) return false;
  return std::all_of(fields.begin(), fields.end(), [&value](const Field& field) {
    const auto found = value.find(field.name);
    return found != value.end() && field.has_form(*found);
  });
}

const std::string& TextOf(const json& value) { return value.get_ref<const std::string&>(); }

bool IsEmpty(const json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return text != nullptr && text->empty();
}
bool IsTimeOrEmpty(const json& value) { return IsEmpty(value) || IsTime(value); }
bool IsCountOrEmpty(const json& value) { return IsEmpty(value) || IsCount(value); }
bool IsUse(const json& value) { return value == "certificate" || value == "checkpoint"; }
bool IsEd25519(const json& value) { return value == "Ed25519"; }
bool IsAny(const json&) { return true; }

bool IsRawKey(const json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  const std::optional<std::string> raw = text == nullptr ? std::nullopt : FromBase64(*text);
  return raw.has_value() && raw->size() == kRawKeyBytes;
}

bool IsOrigin(const json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return text != nullptr && IsLogOrigin(*text);
}

bool IsIssuer(const json& value) {
  return IsObject(value,
                  {{"name", &IsText}, {"software", &IsText}, {"version", &IsText}, {"commit", &IsText}});
}

bool IsKey(const json& value) {
  return IsObject(value, {{"keyId", &IsDigest},
                          {"use", &IsUse},
                          {"algorithm", &IsEd25519},
                          {"publicKey", &IsRawKey},
                          {"custody", &IsText},
                          {"notBefore", &IsTime},
                          {"notAfter", &IsTimeOrEmpty},
                          {"endLogSize", &IsCountOrEmpty}});
}

bool IsKeyList(const json& value) {
  return value.is_array() && value.size() <= kMaxKeys && std::all_of(value.begin(), value.end(), &IsKey);
}

bool IsPredicate(const json& value) {
  return IsObject(value, {{"issuer", &IsIssuer},
                          {"issued", &IsTime},
                          {"sequence", &IsPositiveCount},
                          {"previousPayloadSha256", &IsDigest},
                          {"logOrigin", &IsOrigin},
                          {"keys", &IsKeyList}});
}

bool IsDigestSet(const json& value) { return IsObject(value, {{"sha256", &IsDigest}}); }

bool IsSubject(const json& value) {
  return IsObject(value, {{"name", &IsDigest}, {"digest", &IsDigestSet}}) &&
         value["name"] == value["digest"]["sha256"];
}

// ---- REQUIRES, for all below: the objects have their form. ----

// Times in this form are in the order of their bytes.
bool KeyIsConsistent(const json& key, const json& issued) {
  if (PublicKey::FromRaw(*FromBase64(TextOf(key["publicKey"])))->KeyId() != TextOf(key["keyId"]))
    return false;
  if (IsEmpty(key["notAfter"]) != IsEmpty(key["endLogSize"])) return false;
  if (TextOf(key["notBefore"]) > TextOf(issued)) return false;
  return IsEmpty(key["notAfter"]) ||
         (key["notBefore"] <= key["notAfter"] && TextOf(key["notAfter"]) <= TextOf(issued));
}

bool HasOneActive(const json& keys, const char* use) {
  return std::count_if(keys.begin(), keys.end(),
                       [use](const json& key) { return key["use"] == use && IsEmpty(key["notAfter"]); }) == 1;
}

bool HasKeyTwice(const json& keys) {
  std::vector<std::string> ids;
  for (const json& key : keys) ids.push_back(TextOf(key["keyId"]));
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) != ids.end();
}

bool SubjectsAreTheKeys(const json& subjects, const json& keys) {
  return subjects.is_array() && std::equal(subjects.begin(), subjects.end(), keys.begin(), keys.end(),
                                           [](const json& subject, const json& key) {
                                             return IsSubject(subject) && subject["name"] == key["keyId"];
                                           });
}

bool IsWellFormed(const json& statement) {
  const json& predicate = statement["predicate"];
  if (!IsPredicate(predicate)) return false;
  const json& keys = predicate["keys"];
  const bool first = CountOf(predicate["sequence"]) == 1;
  const bool follows_nothing = predicate["previousPayloadSha256"] == std::string(2 * sizeof(Digest), '0');
  return first == follows_nothing && HasOneActive(keys, "certificate") && HasOneActive(keys, "checkpoint") &&
         !HasKeyTwice(keys) && SubjectsAreTheKeys(statement["subject"], keys) &&
         std::all_of(keys.begin(), keys.end(),
                     [&predicate](const json& key) { return KeyIsConsistent(key, predicate["issued"]); });
}

absl::Time TimeOfField(const json& value) {
  absl::Time time;
  (void)absl::ParseTime(absl::RFC3339_full, TextOf(value), &time, nullptr);
  return time;
}

PublishedKey KeyFrom(const json& object) {
  PublishedKey key;
  key.use = object["use"] == "certificate" ? KeyUse::kCertificate : KeyUse::kCheckpoint;
  key.key_id = TextOf(object["keyId"]);
  key.public_key = *FromBase64(TextOf(object["publicKey"]));
  key.custody = TextOf(object["custody"]);
  key.not_before = TimeOfField(object["notBefore"]);
  if (!IsEmpty(object["notAfter"])) {
    key.end = PublishedKey::End{TimeOfField(object["notAfter"]), CountOf(object["endLogSize"])};
  }
  return key;
}

KeySet SetFrom(const json& predicate) {
  KeySet set;
  set.software_version = TextOf(predicate["issuer"]["version"]);
  set.software_commit = TextOf(predicate["issuer"]["commit"]);
  set.issued = TimeOfField(predicate["issued"]);
  set.sequence = CountOf(predicate["sequence"]);
  set.previous_payload_sha256 = *DigestFromBytes(*FromHex(TextOf(predicate["previousPayloadSha256"])));
  set.log_origin = TextOf(predicate["logOrigin"]);
  for (const json& key : predicate["keys"]) set.keys.push_back(KeyFrom(key));
  return set;
}

VerifyReason Check(absl::string_view payload, const json& statement) {
  if (statement.dump(-1, ' ', /*ensure_ascii=*/true) != payload) return VerifyReason::kNotCanonical;
  if (!IsObject(statement,
                {{"_type", &IsAny}, {"subject", &IsAny}, {"predicateType", &IsAny}, {"predicate", &IsAny}})) {
    return VerifyReason::kMalformedStatement;
  }
  if (statement["_type"] != "https://in-toto.io/Statement/v1") return VerifyReason::kWrongStatementType;
  if (statement["predicateType"] != std::string(kKeySetPredicateType.data(), kKeySetPredicateType.size())) {
    return VerifyReason::kWrongPredicateType;
  }
  return IsWellFormed(statement) ? VerifyReason::kOk : VerifyReason::kMalformedStatement;
}

}  // namespace

VerifyReason CheckKeySetPayload(absl::string_view payload) {
  const std::optional<json> statement = ParseJson(payload, JsonLimits{});
  return statement.has_value() ? Check(payload, *statement) : VerifyReason::kMalformedStatement;
}

absl::StatusOr<KeySet> ReadKeySet(absl::string_view payload) {
  const std::optional<json> statement = ParseJson(payload, JsonLimits{});
  const VerifyReason reason =
      statement.has_value() ? Check(payload, *statement) : VerifyReason::kMalformedStatement;
  if (reason != VerifyReason::kOk) return absl::InvalidArgumentError(VerifyReasonName(reason));
  return SetFrom((*statement)["predicate"]);
}

}  // namespace expunge::certificate
