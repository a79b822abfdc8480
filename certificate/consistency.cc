#include "certificate/consistency.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "certificate/claims.h"
#include "certificate/forms.h"
#include "certificate/payload_fields.h"
#include "certificate/token_tree.h"
#include "certificate/transition.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;

// A sum that does not fit counts as false.
bool IsSum(uint64_t whole, std::initializer_list<uint64_t> parts) {
  uint64_t rest = whole;
  for (const uint64_t part : parts) {
    if (part > rest) return false;
    rest -= part;
  }
  return rest == 0;
}

// Counts add up; a state of no tokens has the root of no tokens, and it alone; weights of the margin are what
// bounds the distance to a limit; and a class that rests on an equality is counted as one.
bool StateIsConsistent(const json& state) {
  const json& partition = state["partition"];
  const json& proof = state["proof"];
  const uint64_t margin = CountOf(partition["margin"]);
  const bool empty = CountOf(state["tokenCount"]) == 0;
  return IsSum(CountOf(state["tokenCount"]),
               {margin, CountOf(partition["error"]), CountOf(partition["reserve"])}) &&
         empty == (state["tokenRoot"] == DigestField(Sha256(""))) &&
         (margin == 0) == (proof["weightDistanceLower"] == "inf") &&
         (proof["strict"].get<bool>() || CountOf(proof["ties"]) > 0);
}

// The first of a memory's chain, and it alone, follows nothing.
bool ChainIsConsistent(const json& memory) {
  const bool first = CountOf(memory["sequence"]) == 1;
  const bool follows_nothing = memory["previousPayloadSha256"] == std::string(64, '0');
  return first == follows_nothing;
}

bool SubjectIsConsistent(const json& subject, const json& predicate) {
  return subject["name"] == predicate["memory"]["memory"] &&
         subject["digest"]["hmacSha256"] == predicate["after"]["stateDigest"];
}

uint64_t CountClass(const json& removed, const char* name) {
  return static_cast<uint64_t>(std::count_if(
      removed.begin(), removed.end(), [name](const json& token) { return token["classBefore"] == name; }));
}

bool RemovedIsConsistent(const json& predicate) {
  const json& removed = predicate["removed"];
  const json& partition = predicate["before"]["partition"];
  const bool ascending = std::adjacent_find(removed.begin(), removed.end(), [](const json& a, const json& b) {
                           return a["commitment"] >= b["commitment"];
                         }) == removed.end();
  return ascending && CountOf(predicate["removedCount"]) == removed.size() &&
         IsSum(CountOf(predicate["before"]["tokenCount"]),
               {CountOf(predicate["after"]["tokenCount"]), removed.size()}) &&
         CountClass(removed, "S") <= CountOf(partition["margin"]) &&
         CountClass(removed, "E") <= CountOf(partition["error"]) &&
         CountClass(removed, "R") <= CountOf(partition["reserve"]);
}

// What the whole request removed is at least what this memory lost. Only a purge goes through more than one
// memory, each of which lost a token.
bool RequestIsConsistent(const json& predicate) {
  const uint64_t tokens = CountOf(predicate["request"]["tokens"]);
  const uint64_t memories = CountOf(predicate["request"]["memories"]);
  const uint64_t removed = CountOf(predicate["removedCount"]);
  if (memories == 1) return tokens == removed;
  return predicate["kind"] == "PURGE" && tokens >= removed && tokens - removed >= memories - 1;
}

bool TransitionIsConsistent(const json& predicate) {
  Transition transition;
  for (const json& text : predicate["transition"]) {
    const std::optional<TransitionNode> node = ParseTransitionNode(text.get_ref<const std::string&>());
    if (!node.has_value()) return false;
    transition.push_back(*node);
  }
  std::vector<TreeLeaf> removed;
  for (const json& token : predicate["removed"]) {
    removed.push_back({DigestOf(token["handle"]), DigestOf(token["commitment"])});
  }
  return VerifyTransition(transition, std::move(removed), DigestOf(predicate["before"]["tokenRoot"]),
                          DigestOf(predicate["after"]["tokenRoot"]));
}

// Tokens of the reserve alone were dropped, and everything that carries weight stayed as it was.
bool SelectionIsConsistent(const json& predicate) {
  const json& before = predicate["before"];
  const json& after = predicate["after"];
  const json& removed = predicate["removed"];
  return CountClass(removed, "R") == removed.size() &&
         before["partition"]["margin"] == after["partition"]["margin"] &&
         before["partition"]["error"] == after["partition"]["error"] &&
         before["partition"]["entriesRoot"] == after["partition"]["entriesRoot"] &&
         predicate["exactness"]["scope"] == TextField(kRetainedSet) &&
         predicate["horizon"]["reference"] == before["stateDigest"];
}

// What may remain after each stage: all of it, in this order; without sealed bytes after the second.
bool ResidualsAreConsistent(const json& residuals, bool completing) {
  size_t next = 0;
  for (const Residual& residual : Residuals()) {
    if (completing && residual.what == kSealedBytes) continue;
    if (next == residuals.size() || residuals[next++]["what"] != TextField(residual.what)) return false;
  }
  return next == residuals.size();
}

// What is completed stands earlier in the memory's chain; and what is purged is so when it is said.
bool CompletionIsConsistent(const json& predicate) {
  const json& completes = predicate["completes"];
  const json& memory = predicate["memory"];
  const uint64_t first = CountOf(completes["sequence"]);
  const uint64_t sequence = CountOf(memory["sequence"]);
  if (first >= sequence) return false;
  if (TimeOf(predicate["erasure"]["purged"]) > TimeOf(predicate["issued"])) return false;
  return first + 1 < sequence || completes["payloadSha256"] == memory["previousPayloadSha256"];
}

bool RemovalIsConsistent(const json& predicate) {
  const json& kind = predicate["kind"];
  const json& before = predicate["before"];
  const json& after = predicate["after"];
  const bool completing = predicate.contains("completes");
  if (!StateIsConsistent(before) || !RemovedIsConsistent(predicate) || !RequestIsConsistent(predicate) ||
      !TransitionIsConsistent(predicate) ||
      !ResidualsAreConsistent(predicate["erasure"]["residuals"], completing)) {
    return false;
  }
  if (completing && !CompletionIsConsistent(predicate)) return false;
  if (kind == "SELECTION" && !SelectionIsConsistent(predicate)) return false;
  if (kind == "MEMORY_DELETION") return CountOf(after["tokenCount"]) == 0;
  return CountOf(predicate["removedCount"]) > 0 && CountOf(after["epoch"]) > CountOf(before["epoch"]);
}

}  // namespace

bool IsConsistent(const json& statement) {
  const json& predicate = statement["predicate"];
  return StateIsConsistent(predicate["after"]) && ChainIsConsistent(predicate["memory"]) &&
         SubjectIsConsistent(statement["subject"][0], predicate) &&
         (predicate["kind"] == "STATE" || RemovalIsConsistent(predicate));
}

}  // namespace expunge::certificate
