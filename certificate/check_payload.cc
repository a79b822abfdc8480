#include "certificate/check_payload.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "certificate/claims.h"
#include "certificate/consistency.h"
#include "certificate/forms.h"
#include "certificate/json_text.h"
#include "certificate/transition.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;

// ---- The form of each object, field by field (docs/formats/certificate.md has the same tables). ----

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

bool IsList(const json& value, bool (*has_form)(const json&)) {
  return value.is_array() && std::all_of(value.begin(), value.end(), has_form);
}

// Exactly this text.
template <const absl::string_view& kText>
bool Is(const json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return text != nullptr && *text == kText;
}

bool IsTexts(const json& value) { return IsList(value, &IsText) && !value.empty(); }

bool IsKind(const json& value) {
  return std::any_of(std::begin(kKinds), std::end(kKinds), [&value](Kind kind) {
    const absl::string_view name = KindName(kind);
    return value == std::string(name.data(), name.size());
  });
}

bool IsDigestSet(const json& value) { return IsObject(value, {{"hmacSha256", &IsDigest}}); }

bool IsSubject(const json& value) { return IsObject(value, {{"name", &IsDigest}, {"digest", &IsDigestSet}}); }

bool IsSubjectList(const json& value) { return IsList(value, &IsSubject) && value.size() == 1; }

bool IsIssuer(const json& value) {
  return IsObject(value, {{"name", &IsText},
                          {"software", &IsText},
                          {"version", &IsText},
                          {"commit", &IsText},
                          {"configurationSha256", &IsDigest}});
}

bool IsRemovalRequest(const json& value) {
  return IsObject(value, {{"idPseudonym", &IsDigest},
                          {"received", &IsTime},
                          {"legalBasis", &IsTextOrEmpty},
                          {"due", &IsTimeOrEmpty},
                          {"tokens", &IsCount},
                          {"memories", &IsPositiveCount}});
}

bool IsStateRequest(const json& value) {
  return IsObject(value, {{"idPseudonym", &IsDigest},
                          {"received", &IsTime},
                          {"legalBasis", &IsTextOrEmpty},
                          {"nonce", &IsNonce}});
}

bool IsDimensions(const json& value) {
  return IsObject(value, {{"key", &IsPositiveCount}, {"value", &IsPositiveCount}});
}

bool IsMemory(const json& value) {
  return IsObject(value, {{"tenant", &IsDigest},
                          {"memory", &IsDigest},
                          {"sequence", &IsPositiveCount},
                          {"previousPayloadSha256", &IsDigest},
                          {"dimensions", &IsDimensions}});
}

bool IsAlgorithm(const json& value) {
  return IsObject(value, {{"name", &Is<kAlgorithmName>},
                          {"kernel", &Is<kKernel>},
                          {"gamma", &IsPositiveFinite},
                          {"boxBound", &IsText},
                          {"ridge", &IsPositiveFinite},
                          {"spec", &IsText},
                          {"specVersion", &IsText}});
}

bool IsPartition(const json& value) {
  return IsObject(
      value, {{"margin", &IsCount}, {"error", &IsCount}, {"reserve", &IsCount}, {"entriesRoot", &IsDigest}});
}

bool IsProof(const json& value) {
  return IsObject(value, {{"strict", &IsBool},
                          {"higherPrecision", &IsCount},
                          {"ties", &IsCount},
                          {"marginLower", &IsBound},
                          {"weightDistanceLower", &IsBound},
                          {"dualityGapUpper", &IsBound},
                          {"eigenvalueLower", &IsBound},
                          {"eta", &IsBound}});
}

bool IsState(const json& value) {
  return IsObject(value, {{"epoch", &IsCount},
                          {"tokenCount", &IsCount},
                          {"stateDigest", &IsDigest},
                          {"tokenRoot", &IsDigest},
                          {"partition", &IsPartition},
                          {"proof", &IsProof}});
}

bool IsRemovedToken(const json& value) {
  return IsObject(value, {{"handle", &IsDigest}, {"commitment", &IsDigest}, {"classBefore", &IsClass}});
}

bool IsRemovedList(const json& value) { return IsList(value, &IsRemovedToken); }

bool IsTransitionNode(const json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return text != nullptr && ParseTransitionNode(*text).has_value();
}

bool IsTransition(const json& value) { return IsList(value, &IsTransitionNode); }

bool IsScope(const json& value) { return Is<kFullHistory>(value) || Is<kRetainedSet>(value); }

bool IsExactness(const json& value) {
  return IsObject(value, {{"claim", &Is<kClaim>},
                          {"scope", &IsScope},
                          {"reference", &IsText},
                          {"arithmetic", &IsText},
                          {"boundary", &IsText}});
}

bool IsResidual(const json& value) {
  return IsObject(value, {{"what", &IsText}, {"text", &IsText}, {"expires", &IsTimeOrEmpty}});
}

bool IsResidualList(const json& value) { return IsList(value, &IsResidual); }

bool IsHorizon(const json& value) {
  return IsObject(value, {{"marginLower", &IsBound}, {"reference", &IsDigest}, {"condition", &IsText}});
}

bool IsKeyDestruction(const json& value) {
  return IsObject(value, {{"method", &Is<kKeyDestruction>},
                          {"stage", &Is<kKeyDestroyed>},
                          {"custody", &IsText},
                          {"residuals", &IsResidualList}});
}

bool IsPhysicalPurge(const json& value) {
  return IsObject(value, {{"method", &Is<kKeyDestructionAndFileRewrite>},
                          {"stage", &Is<kPhysicallyPurged>},
                          {"purged", &IsTime},
                          {"custody", &IsText},
                          {"residuals", &IsResidualList}});
}

bool IsCompletes(const json& value) {
  return IsObject(value, {{"sequence", &IsPositiveCount}, {"payloadSha256", &IsDigest}});
}

bool IsStatePredicate(const json& value) {
  return IsObject(value, {{"issuer", &IsIssuer},
                          {"kind", &IsKind},
                          {"issued", &IsTime},
                          {"request", &IsStateRequest},
                          {"memory", &IsMemory},
                          {"algorithm", &IsAlgorithm},
                          {"after", &IsState},
                          {"exactness", &IsExactness},
                          {"notClaimed", &IsTexts}});
}

// `completing`: the second certificate of a removal. `selecting`: of tokens in reserve.
bool IsRemovalPredicate(const json& predicate, bool completing, bool selecting) {
  std::vector<Field> fields = {{"issuer", &IsIssuer},
                               {"kind", &IsKind},
                               {"issued", &IsTime},
                               {"request", &IsRemovalRequest},
                               {"memory", &IsMemory},
                               {"algorithm", &IsAlgorithm},
                               {"before", &IsState},
                               {"after", &IsState},
                               {"removed", &IsRemovedList},
                               {"removedCount", &IsCount},
                               {"transition", &IsTransition},
                               {"exactness", &IsExactness},
                               {"erasure", completing ? &IsPhysicalPurge : &IsKeyDestruction},
                               {"notClaimed", &IsTexts}};
  if (completing) fields.push_back({"completes", &IsCompletes});
  if (selecting) fields.push_back({"horizon", &IsHorizon});
  return IsObject(predicate, fields);
}

bool StatementIsWellFormed(const json& statement) {
  const json& predicate = statement["predicate"];
  if (!IsSubjectList(statement["subject"]) || !predicate.is_object()) return false;
  const auto kind = predicate.find("kind");
  if (kind == predicate.end()) return false;
  const bool removal = *kind != "STATE";
  const bool completing = removal && predicate.contains("completes");
  const bool has_form =
      removal ? IsRemovalPredicate(predicate, completing, *kind == "SELECTION") : IsStatePredicate(predicate);
  return has_form && IsConsistent(statement);
}

bool IsAny(const json&) { return true; }

}  // namespace

VerifyReason CheckPayload(absl::string_view payload) {
  const std::optional<json> statement = ParseJson(payload, JsonLimits{});
  if (!statement.has_value()) return VerifyReason::kMalformedStatement;
  if (statement->dump(-1, ' ', /*ensure_ascii=*/true) != payload) return VerifyReason::kNotCanonical;
  if (!IsObject(*statement,
                {{"_type", &IsAny}, {"subject", &IsAny}, {"predicateType", &IsAny}, {"predicate", &IsAny}})) {
    return VerifyReason::kMalformedStatement;
  }
  const json& fields = *statement;
  if (!Is<kStatementType>(fields["_type"])) return VerifyReason::kWrongStatementType;
  if (!Is<kPredicateType>(fields["predicateType"])) return VerifyReason::kWrongPredicateType;
  return StatementIsWellFormed(fields) ? VerifyReason::kOk : VerifyReason::kMalformedStatement;
}

}  // namespace expunge::certificate
