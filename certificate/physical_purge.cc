#include "certificate/physical_purge.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/status/status.h"
#include "base/hash.h"
#include "certificate/check_payload.h"
#include "certificate/claims.h"
#include "certificate/json_text.h"
#include "certificate/payload_fields.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;

// The statement in `payload`, if it is a valid one of stage KEY_DESTROYED.
std::optional<json> FirstStatement(absl::string_view payload) {
  if (CheckPayload(payload) != VerifyReason::kOk) return std::nullopt;
  std::optional<json> statement = ParseJson(payload, JsonLimits{});
  if (!statement.has_value()) return std::nullopt;
  const json& predicate = (*statement)["predicate"];
  const auto erasure = predicate.find("erasure");
  if (erasure == predicate.end() || (*erasure)["stage"] != TextField(kKeyDestroyed)) return std::nullopt;
  return statement;
}

}  // namespace

absl::StatusOr<std::string> EncodePhysicalPurge(absl::string_view first, const PhysicalPurge& purge) {
  std::optional<json> statement = FirstStatement(first);
  if (!statement.has_value()) {
    return absl::InvalidArgumentError("not the payload of a certificate of stage KEY_DESTROYED");
  }
  json& predicate = (*statement)["predicate"];
  json& memory = predicate["memory"];
  predicate["completes"] = {{"sequence", memory["sequence"]}, {"payloadSha256", DigestField(Sha256(first))}};
  predicate["issuer"] =
      IssuerObject(purge.software_version, purge.software_commit, purge.configuration_sha256);
  predicate["issued"] = TimeField(purge.issued);
  memory["sequence"] = CountField(purge.sequence);
  memory["previousPayloadSha256"] = DigestField(purge.previous_payload_sha256);
  json& erasure = predicate["erasure"];
  erasure["method"] = TextField(kKeyDestructionAndFileRewrite);
  erasure["stage"] = TextField(kPhysicallyPurged);
  erasure["purged"] = TimeField(purge.purged);
  json& residuals = erasure["residuals"];
  residuals.erase(
      std::remove_if(residuals.begin(), residuals.end(),
                     [](const json& residual) { return residual["what"] == TextField(kSealedBytes); }),
      residuals.end());
  return PayloadText(*statement);
}

}  // namespace expunge::certificate
