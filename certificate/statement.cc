#include "certificate/statement.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "certificate/claims.h"
#include "certificate/hex_double.h"
#include "certificate/payload_fields.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;

// Adding +0 turns -0 into it: a bound has no sign of zero to report.
std::string Bound(double bound) { return HexDouble(bound + 0.0); }

json Request(const Statement& statement) {
  json request = {{"idPseudonym", DigestField(statement.request_pseudonym)},
                  {"received", TimeField(statement.received)},
                  {"legalBasis", statement.legal_basis}};
  if (statement.kind == Kind::kState) {
    request["nonce"] = ToHex(statement.nonce);
    return request;
  }
  request["due"] = TimeOrEmptyField(statement.due);
  request["tokens"] = CountField(statement.request_tokens);
  request["memories"] = CountField(statement.request_memories);
  return request;
}

json Memory(const Statement& statement) {
  return {{"tenant", DigestField(statement.tenant_pseudonym)},
          {"memory", DigestField(statement.memory_pseudonym)},
          {"sequence", CountField(statement.sequence)},
          {"previousPayloadSha256", DigestField(statement.previous_payload_sha256)},
          {"dimensions",
           {{"key", CountField(statement.algorithm.key_dimension)},
            {"value", CountField(statement.algorithm.value_dimension)}}}};
}

json AlgorithmObject(const Algorithm& algorithm) {
  return {{"name", TextField(kAlgorithmName)},     {"kernel", TextField(kKernel)},
          {"gamma", Bound(algorithm.gamma)},       {"boxBound", algorithm.box_bound},
          {"ridge", Bound(algorithm.ridge)},       {"spec", TextField(kSpec)},
          {"specVersion", TextField(kSpecVersion)}};
}

json State(const StateSummary& state) {
  const json partition = {{"margin", CountField(state.margin)},
                          {"error", CountField(state.error)},
                          {"reserve", CountField(state.reserve)},
                          {"entriesRoot", DigestField(state.entries_root)}};
  const json proof = {{"strict", state.strict},
                      {"higherPrecision", CountField(state.higher_precision)},
                      {"ties", CountField(state.ties)},
                      {"marginLower", Bound(state.margin_lower)},
                      {"weightDistanceLower", Bound(state.weight_distance_lower)},
                      {"dualityGapUpper", Bound(state.duality_gap_upper)},
                      {"eigenvalueLower", Bound(state.eigenvalue_lower)},
                      {"eta", Bound(state.eta)}};
  return {{"epoch", CountField(state.epoch)},
          {"tokenCount", CountField(state.token_count)},
          {"stateDigest", DigestField(state.state_digest)},
          {"tokenRoot", DigestField(state.token_root)},
          {"partition", partition},
          {"proof", proof}};
}

json Removed(std::vector<RemovedToken> removed) {
  std::sort(removed.begin(), removed.end(),
            [](const RemovedToken& a, const RemovedToken& b) { return a.commitment < b.commitment; });
  json list = json::array();
  for (const RemovedToken& token : removed) {
    list.push_back({{"handle", DigestField(token.handle)},
                    {"commitment", DigestField(token.commitment)},
                    {"classBefore", std::string(1, token.class_before)}});
  }
  return list;
}

json TransitionList(const Transition& transition) {
  json list = json::array();
  for (const TransitionNode& node : transition) list.push_back(TransitionText(node));
  return list;
}

json Exactness(Kind kind, Scope scope) {
  return {{"claim", TextField(kClaim)},
          {"scope", TextField(ScopeName(scope))},
          {"reference", TextField(ExactnessReference(kind, scope))},
          {"arithmetic", TextField(ExactnessArithmetic())},
          {"boundary", TextField(ExactnessBoundary())}};
}

json Erasure(const Statement& statement) {
  json residuals = json::array();
  for (const Residual& residual : Residuals()) {
    absl::Time expires = kNotStated;
    if (residual.what == kSealedBytes) expires = statement.sealed_bytes_expire;
    if (residual.what == kBackups) expires = statement.backups_expire;
    residuals.push_back({{"what", TextField(residual.what)},
                         {"text", TextField(residual.text)},
                         {"expires", TimeOrEmptyField(expires)}});
  }
  return {{"method", TextField(kKeyDestruction)},
          {"stage", TextField(kKeyDestroyed)},
          {"custody", Custody(statement.master_key)},
          {"residuals", std::move(residuals)}};
}

json Horizon(const Statement& statement) {
  return {{"marginLower", Bound(statement.horizon_margin_lower)},
          {"reference", DigestField(statement.before.state_digest)},
          {"condition", TextField(HorizonCondition())}};
}

json Predicate(const Statement& statement) {
  json predicate = {{"issuer", IssuerObject(statement.software_version, statement.software_commit,
                                            statement.configuration_sha256)},
                    {"kind", TextField(KindName(statement.kind))},
                    {"issued", TimeField(statement.issued)},
                    {"request", Request(statement)},
                    {"memory", Memory(statement)},
                    {"algorithm", AlgorithmObject(statement.algorithm)},
                    {"after", State(statement.after)},
                    {"exactness", Exactness(statement.kind, statement.scope)},
                    {"notClaimed", TextList(NotClaimed(statement.kind))}};
  if (statement.kind == Kind::kState) return predicate;
  predicate["before"] = State(statement.before);
  predicate["removed"] = Removed(statement.removed);
  predicate["removedCount"] = CountField(statement.removed.size());
  predicate["transition"] = TransitionList(statement.transition);
  predicate["erasure"] = Erasure(statement);
  if (statement.kind == Kind::kSelection) predicate["horizon"] = Horizon(statement);
  return predicate;
}

}  // namespace

absl::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kDeletion:
      return "DELETION";
    case Kind::kPurge:
      return "PURGE";
    case Kind::kState:
      return "STATE";
    case Kind::kMemoryDeletion:
      return "MEMORY_DELETION";
    case Kind::kSelection:
      return "SELECTION";
  }
  return "";
}

absl::string_view ScopeName(Scope scope) {
  return scope == Scope::kFullHistory ? kFullHistory : kRetainedSet;
}

std::string EncodePayload(const Statement& statement) {
  const json subject = {{"name", DigestField(statement.memory_pseudonym)},
                        {"digest", {{"hmacSha256", DigestField(statement.after.state_digest)}}}};
  const json document = {{"_type", TextField(kStatementType)},
                         {"subject", json::array({subject})},
                         {"predicateType", TextField(kPredicateType)},
                         {"predicate", Predicate(statement)}};
  return PayloadText(document);
}

}  // namespace expunge::certificate
