#include "certificate/read_payload.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "certificate/check_payload.h"
#include "certificate/claims.h"
#include "certificate/envelope.h"
#include "certificate/forms.h"
#include "certificate/json_text.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;

// REQUIRES, for all below: CheckPayload accepts what the value is from.

Kind KindOf(const json& value) {
  for (const Kind kind : kKinds) {
    if (value.get_ref<const std::string&>() == KindName(kind)) return kind;
  }
  return Kind::kState;
}

}  // namespace

absl::StatusOr<PayloadFacts> ReadPayload(absl::string_view payload) {
  const VerifyReason reason = CheckPayload(payload);
  const std::optional<json> statement =
      reason == VerifyReason::kOk ? ParseJson(payload, JsonLimits{}) : std::nullopt;
  if (!statement.has_value()) return absl::InvalidArgumentError(VerifyReasonName(reason));
  const json& predicate = statement->at("predicate");
  const json& memory = predicate.at("memory");
  PayloadFacts facts;
  facts.kind = KindOf(predicate.at("kind"));
  facts.tenant = DigestOf(memory.at("tenant"));
  facts.memory = DigestOf(memory.at("memory"));
  facts.issued = TimeOf(predicate.at("issued"));
  const bool retained = predicate.at("exactness").at("scope").get_ref<const std::string&>() == kRetainedSet;
  facts.scope = retained ? Scope::kRetainedSet : Scope::kFullHistory;
  facts.after_state_digest = DigestOf(predicate.at("after").at("stateDigest"));
  facts.sequence = CountOf(memory.at("sequence"));
  facts.previous_payload_sha256 = DigestOf(memory.at("previousPayloadSha256"));
  if (const auto removed = predicate.find("removed"); removed != predicate.end()) {
    for (const json& token : *removed) {
      facts.removed.push_back(DigestOf(token.at("commitment")));
      facts.removed_handles.push_back(DigestOf(token.at("handle")));
    }
  }
  if (const auto completes = predicate.find("completes"); completes != predicate.end()) {
    facts.completes = {CountOf(completes->at("sequence")), DigestOf(completes->at("payloadSha256"))};
  }
  return facts;
}

}  // namespace expunge::certificate
