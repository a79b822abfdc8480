#include "certificate/statement.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "certificate/claims.h"
#include "certificate/hex_double.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;

std::string Text(absl::string_view text) { return {text.data(), text.size()}; }

std::string Hex(const Digest& digest) { return ToHex(AsView(digest)); }

std::string Count(uint64_t count) { return absl::StrCat(count); }

// Adding +0 turns -0 into it: a bound has no sign of zero to report.
std::string Bound(double bound) { return HexDouble(bound + 0.0); }

std::string Time(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

json Texts(absl::Span<const absl::string_view> texts) {
  json list = json::array();
  for (const absl::string_view text : texts) list.push_back(Text(text));
  return list;
}

json Issuer(const Statement& statement) {
  return {{"name", Text(kIssuerName)},
          {"software", Text(kSoftware)},
          {"version", statement.software_version},
          {"commit", statement.software_commit}};
}

json Request(const Statement& statement) {
  json request = {{"idPseudonym", Hex(statement.request_pseudonym)},
                  {"received", Time(statement.received)},
                  {"legalBasis", statement.legal_basis}};
  if (statement.kind == Kind::kState) request["nonce"] = ToHex(statement.nonce);
  return request;
}

json Memory(const Statement& statement) {
  return {{"tenant", Hex(statement.tenant_pseudonym)},
          {"memory", Hex(statement.memory_pseudonym)},
          {"sequence", Count(statement.sequence)},
          {"previousPayloadSha256", Hex(statement.previous_payload_sha256)},
          {"dimensions",
           {{"key", Count(statement.algorithm.key_dimension)},
            {"value", Count(statement.algorithm.value_dimension)}}}};
}

json AlgorithmObject(const Algorithm& algorithm) {
  return {{"name", Text(kAlgorithmName)},     {"kernel", Text(kKernel)},
          {"gamma", Bound(algorithm.gamma)},  {"boxBound", algorithm.box_bound},
          {"ridge", Bound(algorithm.ridge)},  {"spec", Text(kSpec)},
          {"specVersion", Text(kSpecVersion)}};
}

json State(const StateSummary& state) {
  const json partition = {{"margin", Count(state.margin)},
                          {"error", Count(state.error)},
                          {"reserve", Count(state.reserve)},
                          {"entriesRoot", Hex(state.entries_root)}};
  const json proof = {{"strict", state.strict},
                      {"higherPrecision", Count(state.higher_precision)},
                      {"ties", Count(state.ties)},
                      {"marginLower", Bound(state.margin_lower)},
                      {"weightDistanceLower", Bound(state.weight_distance_lower)},
                      {"dualityGapUpper", Bound(state.duality_gap_upper)},
                      {"eigenvalueLower", Bound(state.eigenvalue_lower)},
                      {"eta", Bound(state.eta)}};
  return {{"epoch", Count(state.epoch)},
          {"tokenCount", Count(state.token_count)},
          {"stateDigest", Hex(state.state_digest)},
          {"tokenRoot", Hex(state.token_root)},
          {"partition", partition},
          {"proof", proof}};
}

json Removed(std::vector<RemovedToken> removed) {
  std::sort(removed.begin(), removed.end(),
            [](const RemovedToken& a, const RemovedToken& b) { return a.commitment < b.commitment; });
  json list = json::array();
  for (const RemovedToken& token : removed) {
    list.push_back(
        {{"commitment", Hex(token.commitment)}, {"classBefore", std::string(1, token.class_before)}});
  }
  return list;
}

json Exactness(Kind kind) {
  return {{"claim", Text(kClaim)},
          {"scope", Text(kScope)},
          {"reference", Text(ExactnessReference(kind))},
          {"arithmetic", Text(ExactnessArithmetic())},
          {"boundary", Text(ExactnessBoundary())}};
}

json Erasure() {
  return {{"method", Text(kErasureMethod)},
          {"stage", Text(kErasureStage)},
          {"custody", Text(kCustody)},
          {"residuals", Texts(Residuals())}};
}

json Predicate(const Statement& statement) {
  json predicate = {{"issuer", Issuer(statement)},
                    {"kind", Text(KindName(statement.kind))},
                    {"issued", Time(statement.issued)},
                    {"request", Request(statement)},
                    {"memory", Memory(statement)},
                    {"algorithm", AlgorithmObject(statement.algorithm)},
                    {"after", State(statement.after)},
                    {"exactness", Exactness(statement.kind)},
                    {"notClaimed", Texts(NotClaimed(statement.kind))}};
  if (statement.kind == Kind::kState) return predicate;
  predicate["before"] = State(statement.before);
  predicate["removed"] = Removed(statement.removed);
  predicate["removedCount"] = Count(statement.removed.size());
  predicate["erasure"] = Erasure();
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
  }
  return "";
}

std::string EncodePayload(const Statement& statement) {
  const json subject = {{"name", Hex(statement.memory_pseudonym)},
                        {"digest", {{"hmacSha256", Hex(statement.after.state_digest)}}}};
  const json document = {{"_type", Text(kStatementType)},
                         {"subject", json::array({subject})},
                         {"predicateType", Text(kPredicateType)},
                         {"predicate", Predicate(statement)}};
  // nlohmann::json keeps the keys of an object sorted by their bytes.
  return document.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
}

}  // namespace expunge::certificate
