#include "certificate/check_payload.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "certificate/claims.h"
#include "certificate/forms.h"
#include "certificate/json_text.h"

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
  const auto kinds = {Kind::kDeletion, Kind::kPurge, Kind::kState, Kind::kMemoryDeletion};
  return std::any_of(kinds.begin(), kinds.end(), [&value](Kind kind) {
    const absl::string_view name = KindName(kind);
    return value == std::string(name.data(), name.size());
  });
}

bool IsDigestSet(const json& value) { return IsObject(value, {{"hmacSha256", &IsDigest}}); }

bool IsSubject(const json& value) { return IsObject(value, {{"name", &IsDigest}, {"digest", &IsDigestSet}}); }

bool IsSubjectList(const json& value) { return IsList(value, &IsSubject) && value.size() == 1; }

bool IsIssuer(const json& value) {
  return IsObject(value,
                  {{"name", &IsText}, {"software", &IsText}, {"version", &IsText}, {"commit", &IsText}});
}

bool IsRemovalRequest(const json& value) {
  return IsObject(value, {{"idPseudonym", &IsDigest}, {"received", &IsTime}, {"legalBasis", &IsTextOrEmpty}});
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
  return IsObject(value, {{"commitment", &IsDigest}, {"classBefore", &IsClass}});
}

bool IsRemovedList(const json& value) { return IsList(value, &IsRemovedToken); }

bool IsExactness(const json& value) {
  return IsObject(value, {{"claim", &Is<kClaim>},
                          {"scope", &Is<kScope>},
                          {"reference", &IsText},
                          {"arithmetic", &IsText},
                          {"boundary", &IsText}});
}

bool IsKeyDestruction(const json& value) {
  return IsObject(value, {{"method", &Is<kKeyDestruction>},
                          {"stage", &Is<kKeyDestroyed>},
                          {"custody", &IsText},
                          {"residuals", &IsTexts}});
}

bool IsPhysicalPurge(const json& value) {
  return IsObject(value, {{"method", &Is<kKeyDestructionAndFileRewrite>},
                          {"stage", &Is<kPhysicallyPurged>},
                          {"purged", &IsTime},
                          {"custody", &IsText},
                          {"residuals", &IsTexts}});
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

// `completing`: the second certificate of a removal.
bool IsRemovalPredicate(const json& predicate, bool completing) {
  std::vector<Field> fields = {
      {"issuer", &IsIssuer},       {"kind", &IsKind},
      {"issued", &IsTime},         {"request", &IsRemovalRequest},
      {"memory", &IsMemory},       {"algorithm", &IsAlgorithm},
      {"before", &IsState},        {"after", &IsState},
      {"removed", &IsRemovedList}, {"removedCount", &IsCount},
      {"exactness", &IsExactness}, {"erasure", completing ? &IsPhysicalPurge : &IsKeyDestruction},
      {"notClaimed", &IsTexts}};
  if (completing) fields.push_back({"completes", &IsCompletes});
  return IsObject(predicate, fields);
}

// ---- What the fields say about each other. REQUIRES, for all below: the objects have their form. ----

// A sum that does not fit counts as false.
bool IsSum(uint64_t whole, std::initializer_list<uint64_t> parts) {
  uint64_t rest = whole;
  for (const uint64_t part : parts) {
    if (part > rest) return false;
    rest -= part;
  }
  return rest == 0;
}

bool CountsAddUp(const json& state) {
  const json& partition = state["partition"];
  return IsSum(CountOf(state["tokenCount"]),
               {CountOf(partition["margin"]), CountOf(partition["error"]), CountOf(partition["reserve"])});
}

// The first of a memory's chain, and it alone, follows nothing.
bool ChainIsConsistent(const json& memory) {
  const bool first = CountOf(memory["sequence"]) == 1;
  const bool follows_nothing = memory["previousPayloadSha256"] == std::string(64, '0');
  return first == follows_nothing;
}

// What is completed stands earlier in the memory's chain.
bool CompletionIsConsistent(const json& predicate) {
  const json& completes = predicate["completes"];
  const json& memory = predicate["memory"];
  const uint64_t first = CountOf(completes["sequence"]);
  const uint64_t sequence = CountOf(memory["sequence"]);
  if (first >= sequence) return false;
  return first + 1 < sequence || completes["payloadSha256"] == memory["previousPayloadSha256"];
}

bool SubjectIsConsistent(const json& subject, const json& predicate) {
  return subject["name"] == predicate["memory"]["memory"] &&
         subject["digest"]["hmacSha256"] == predicate["after"]["stateDigest"];
}

uint64_t CountClass(const json& removed, const char* name) {
  return static_cast<uint64_t>(std::count_if(
      removed.begin(), removed.end(), [name](const json& token) { return token["classBefore"] == name; }));
}

bool RemovalIsConsistent(const json& predicate) {
  const json& removed = predicate["removed"];
  const json& before = predicate["before"];
  const json& after = predicate["after"];
  const bool ascending = std::adjacent_find(removed.begin(), removed.end(), [](const json& a, const json& b) {
                           return a["commitment"] >= b["commitment"];
                         }) == removed.end();
  if (!ascending || CountOf(predicate["removedCount"]) != removed.size()) return false;
  if (!IsSum(CountOf(before["tokenCount"]), {CountOf(after["tokenCount"]), removed.size()})) return false;
  const json& partition = before["partition"];
  if (CountClass(removed, "S") > CountOf(partition["margin"]) ||
      CountClass(removed, "E") > CountOf(partition["error"]) ||
      CountClass(removed, "R") > CountOf(partition["reserve"])) {
    return false;
  }
  if (!CountsAddUp(before)) return false;
  if (predicate["kind"] == "MEMORY_DELETION") return CountOf(after["tokenCount"]) == 0;
  return !removed.empty() && CountOf(after["epoch"]) > CountOf(before["epoch"]);
}

bool StatementIsWellFormed(const json& statement) {
  const json& predicate = statement["predicate"];
  if (!IsSubjectList(statement["subject"]) || !predicate.is_object()) return false;
  const auto kind = predicate.find("kind");
  if (kind == predicate.end()) return false;
  const bool removal = *kind != "STATE";
  const bool completing = removal && predicate.contains("completes");
  if (removal ? !IsRemovalPredicate(predicate, completing) : !IsStatePredicate(predicate)) return false;
  return CountsAddUp(predicate["after"]) && ChainIsConsistent(predicate["memory"]) &&
         SubjectIsConsistent(statement["subject"][0], predicate) &&
         (!removal || RemovalIsConsistent(predicate)) && (!completing || CompletionIsConsistent(predicate));
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
