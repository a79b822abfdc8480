#include "certificate/envelope.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "certificate/check_payload.h"
#include "certificate/json_text.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;

// An envelope is small but for its one long string, the payload; this allows for surplus signatures.
constexpr JsonLimits kEnvelopeLimits = {.max_depth = 16, .max_separators = 1024};

struct Signature {
  std::string key_id;
  std::string bytes;
};

struct Envelope {
  std::string payload_type;
  std::string payload;
  std::vector<Signature> signatures;
};

// The string under `name`, or nullptr.
const std::string* StringField(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

bool IsSignature(const json& value) {
  return value.is_object() && value.size() == 2 && StringField(value, "keyid") != nullptr &&
         StringField(value, "sig") != nullptr;
}

bool IsEnvelope(const json& value) {
  if (!value.is_object() || value.size() != 3) return false;
  if (StringField(value, "payload") == nullptr || StringField(value, "payloadType") == nullptr) return false;
  const auto signatures = value.find("signatures");
  return signatures != value.end() && signatures->is_array() &&
         std::all_of(signatures->begin(), signatures->end(), &IsSignature);
}

// Takes the envelope apart, up to and including the number of its signatures.
VerifyReason ReadEnvelope(absl::string_view text, Envelope* envelope) {
  if (text.empty()) return VerifyReason::kEmpty;
  if (text.size() > kMaxEnvelopeBytes) return VerifyReason::kTooLarge;
  if (!IsJson(text)) return VerifyReason::kNotJson;
  const std::optional<json> value = ParseJson(text, kEnvelopeLimits);
  if (!value.has_value() || !IsEnvelope(*value)) return VerifyReason::kNotAnEnvelope;
  envelope->payload_type = *StringField(*value, "payloadType");
  if (envelope->payload_type != kPayloadType) return VerifyReason::kWrongPayloadType;
  std::optional<std::string> payload = FromBase64(*StringField(*value, "payload"));
  if (!payload.has_value()) return VerifyReason::kBadBase64;
  envelope->payload = *std::move(payload);
  for (const json& signature : *value->find("signatures")) {
    std::optional<std::string> bytes = FromBase64(*StringField(signature, "sig"));
    if (!bytes.has_value()) return VerifyReason::kBadBase64;
    envelope->signatures.push_back({*StringField(signature, "keyid"), *std::move(bytes)});
  }
  return envelope->signatures.size() == 1 ? VerifyReason::kOk : VerifyReason::kSignatureCount;
}

// REQUIRES: one signature.
VerifyReason CheckEnvelope(absl::string_view text, const Envelope& envelope, absl::Span<const PublicKey> keys,
                           PayloadCheck check) {
  const Signature& signature = envelope.signatures.front();
  const auto key = std::find_if(keys.begin(), keys.end(), [&signature](const PublicKey& candidate) {
    return candidate.KeyId() == signature.key_id;
  });
  if (key == keys.end()) return VerifyReason::kUnknownKey;
  if (!key->Verify(PreAuthEncoding(envelope.payload_type, envelope.payload), signature.bytes)) {
    return VerifyReason::kBadSignature;
  }
  if (MakeEnvelope(envelope.payload, signature.key_id, signature.bytes) != text) {
    return VerifyReason::kNotCanonical;
  }
  return check(envelope.payload);
}

struct ReasonEntry {
  VerifyReason reason;
  absl::string_view name;
  absl::string_view text;
};

constexpr ReasonEntry kReasons[] = {
    {VerifyReason::kOk, "OK", "The certificate is whole, and signed by the given key."},
    {VerifyReason::kEmpty, "EMPTY", "The file is empty."},
    {VerifyReason::kTooLarge, "TOO_LARGE", "The file is larger than a certificate can be (64 MiB)."},
    {VerifyReason::kNotJson, "NOT_JSON",
     "The file is not JSON: it is cut short, damaged, or something else."},
    {VerifyReason::kNotAnEnvelope, "NOT_AN_ENVELOPE",
     "The file is JSON, but not a signed envelope (payload, payloadType, signatures)."},
    {VerifyReason::kWrongPayloadType, "WRONG_PAYLOAD_TYPE",
     "The envelope holds something other than an in-toto statement."},
    {VerifyReason::kBadBase64, "BAD_BASE64", "The payload or the signature is not in standard base64."},
    {VerifyReason::kSignatureCount, "SIGNATURE_COUNT", "The envelope does not have exactly one signature."},
    {VerifyReason::kUnknownKey, "UNKNOWN_KEY", "The envelope names a signing key other than those given."},
    {VerifyReason::kBadSignature, "BAD_SIGNATURE",
     "The signature does not match: the certificate was altered, or was not signed by this key."},
    {VerifyReason::kNotCanonical, "NOT_CANONICAL",
     "The signature matches, but the file or its payload is not byte for byte in the one permitted form: it "
     "was reformatted."},
    {VerifyReason::kWrongStatementType, "WRONG_STATEMENT_TYPE",
     "The payload is not an in-toto Statement v1."},
    {VerifyReason::kWrongPredicateType, "WRONG_PREDICATE_TYPE",
     "The statement is not of a type or version that this program knows."},
    {VerifyReason::kMalformedStatement, "MALFORMED_STATEMENT",
     "A field of the statement is absent, unknown, not in its form, or contradicts another."},
};

constexpr bool InOrder() {
  for (size_t i = 0; i < std::size(kReasons); ++i) {
    if (static_cast<size_t>(kReasons[i].reason) != i) return false;
  }
  return std::size(kReasons) == static_cast<size_t>(VerifyReason::kMalformedStatement) + 1;
}
static_assert(InOrder(), "the table must follow the order of the enum");

}  // namespace

std::string PreAuthEncoding(absl::string_view payload_type, absl::string_view payload) {
  return absl::StrCat("DSSEv1 ", payload_type.size(), " ", payload_type, " ", payload.size(), " ", payload);
}

std::string MakeEnvelope(absl::string_view payload, absl::string_view key_id, absl::string_view signature) {
  return absl::StrCat(R"({"payload":")", ToBase64(payload), R"(","payloadType":")", kPayloadType,
                      R"(","signatures":[{"keyid":")", key_id, R"(","sig":")", ToBase64(signature),
                      R"("}]})");
}

std::string Seal(absl::string_view payload, const SigningKey& key) {
  return MakeEnvelope(payload, key.Public().KeyId(), key.Sign(PreAuthEncoding(kPayloadType, payload)));
}

absl::string_view VerifyReasonName(VerifyReason reason) { return kReasons[static_cast<size_t>(reason)].name; }

absl::string_view VerifyReasonText(VerifyReason reason) { return kReasons[static_cast<size_t>(reason)].text; }

VerifyResult VerifyEnvelope(absl::string_view envelope, absl::Span<const PublicKey> keys) {
  return VerifyEnvelopeOf(envelope, keys, &CheckPayload);
}

VerifyResult VerifyEnvelopeOf(absl::string_view envelope, absl::Span<const PublicKey> keys,
                              PayloadCheck check) {
  VerifyResult result;
  try {
    Envelope parts;
    result.reason = ReadEnvelope(envelope, &parts);
    if (result.reason == VerifyReason::kOk) result.reason = CheckEnvelope(envelope, parts, keys, check);
    if (result.reason != VerifyReason::kOk) return result;
    result.payload = parts.payload;
    result.key_id = parts.signatures.front().key_id;
    result.signature = parts.signatures.front().bytes;
    return result;
  } catch (const std::exception&) {
    // Only memory can run out: everything that the JSON library throws for was checked before.
    return {.reason = VerifyReason::kTooLarge, .payload = "", .key_id = "", .signature = ""};
  }
}

}  // namespace expunge::certificate
