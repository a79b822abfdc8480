#include "client/verify/certificate_view.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "certificate/token_tree.h"
#include "certificate/transition.h"

namespace expunge::verify {
namespace {

using nlohmann::json;

const std::string& TextOf(const json& field) { return field.get_ref<const std::string&>(); }

uint64_t CountOf(const json& field) {
  uint64_t count = 0;
  return absl::SimpleAtoi(TextOf(field), &count) ? count : 0;
}

// Of everything but what the second stage has of its own (docs/formats/certificate.md, "erasure").
Digest RemovalDigest(const json& predicate) {
  json removal = predicate;
  for (const char* name : {"issuer", "issued", "completes", "erasure"}) removal.erase(name);
  for (const char* name : {"sequence", "previousPayloadSha256"}) removal["memory"].erase(name);
  removal["custody"] = predicate["erasure"]["custody"];
  removal["residuals"] = json::array();
  for (const json& residual : predicate["erasure"]["residuals"]) {
    if (residual["what"] != "SEALED_BYTES") removal["residuals"].push_back(residual);
  }
  return Sha256(removal.dump());
}

}  // namespace

Digest DigestOf(const json& field) {
  const std::optional<std::string> bytes = FromHex(TextOf(field));
  return DigestFromBytes(bytes.value_or("")).value_or(Digest{});
}

CertificateView ViewOf(absl::string_view payload, const json& statement) {
  const json& predicate = statement["predicate"];
  const json& memory = predicate["memory"];
  CertificateView view;
  view.kind = TextOf(predicate["kind"]);
  view.issued = TextOf(predicate["issued"]);
  absl::ParseTime(absl::RFC3339_sec, view.issued, &view.issued_at, nullptr);
  view.memory = DigestOf(memory["memory"]);
  view.sequence = CountOf(memory["sequence"]);
  view.epoch_after = CountOf(predicate["after"]["epoch"]);
  view.payload_sha256 = Sha256(payload);
  view.previous_payload_sha256 = DigestOf(memory["previousPayloadSha256"]);
  if (!view.removes()) return view;
  for (const json& token : predicate["removed"]) view.removed.push_back(DigestOf(token["commitment"]));
  if (predicate.contains("completes")) {
    const json& completes = predicate["completes"];
    view.completes = {CountOf(completes["sequence"]), DigestOf(completes["payloadSha256"])};
  }
  view.removal_sha256 = RemovalDigest(predicate);
  return view;
}

Verdict CheckTransition(const json& statement) {
  const json& predicate = statement["predicate"];
  if (predicate["kind"] == "STATE") return NotChecked("NOTHING_REMOVED", "nothing was removed");
  std::vector<certificate::TreeLeaf> removed;
  for (const json& token : predicate["removed"]) {
    removed.push_back({DigestOf(token["handle"]), DigestOf(token["commitment"])});
  }
  certificate::Transition transition;
  for (const json& element : predicate["transition"]) {
    const auto node = certificate::ParseTransitionNode(TextOf(element));
    if (!node.has_value()) return Failed("BAD_TRANSITION", "an element has another form");
    transition.push_back(*node);
  }
  const size_t count = removed.size();
  if (!certificate::VerifyTransition(transition, std::move(removed),
                                     DigestOf(predicate["before"]["tokenRoot"]),
                                     DigestOf(predicate["after"]["tokenRoot"]))) {
    return Failed("BAD_TRANSITION", "it does not lead from the token root before to the one after");
  }
  return Ok(
      absl::StrCat(count, " removed tokens were in the memory before, and are all that it lacks after"));
}

}  // namespace expunge::verify
