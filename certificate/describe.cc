#include "certificate/describe.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/hash.h"
#include "certificate/check_payload.h"
#include "certificate/forms.h"
#include "certificate/hex_double.h"
#include "certificate/json_text.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;

constexpr size_t kColumns = 96;
constexpr size_t kLabelColumns = 20;
constexpr size_t kMaxListedTokens = 20;

const std::string& Text(const json& value) { return value.get_ref<const std::string&>(); }

bool IsZero(const json& digest) { return Text(digest).find_first_not_of('0') == std::string::npos; }

// "0.25" from the exact "0x1p-2"; "infinite" for infinity.
std::string Approximately(const json& bound) {
  const double value = ParseHexDouble(Text(bound)).value_or(0);
  return std::isinf(value) ? "infinite" : absl::StrFormat("%.6g", value);
}

std::string Tokens(uint64_t count) { return absl::StrCat(count, count == 1 ? " token" : " tokens"); }

// A page of headings, labelled lines and paragraphs, indented and wrapped.
class Page {
 public:
  void Heading(absl::string_view text) { absl::StrAppend(&text_, text_.empty() ? "" : "\n", text, "\n"); }

  void Line(absl::string_view label, absl::string_view value) {
    const std::string start = absl::StrCat("  ", label, std::string(Padding(label), ' '));
    Wrap(start, std::string(kLabelColumns + 2, ' '), value);
  }

  void Paragraph(absl::string_view text) { Wrap("  ", "  ", text); }

  void Item(absl::string_view text) { Wrap("  - ", "    ", text); }

  [[nodiscard]] std::string Take() { return std::move(text_); }

 private:
  static size_t Padding(absl::string_view label) {
    return label.size() < kLabelColumns ? kLabelColumns - label.size() : 1;
  }

  void Wrap(const std::string& first, const std::string& others, absl::string_view text) {
    std::string line = first;
    bool fresh = true;
    for (const absl::string_view word : absl::StrSplit(text, ' ')) {
      if (!fresh && line.size() + 1 + word.size() > kColumns) {
        absl::StrAppend(&text_, line, "\n");
        line = others;
        fresh = true;
      }
      absl::StrAppend(&line, fresh ? "" : " ", word);
      fresh = false;
    }
    absl::StrAppend(&text_, line, "\n");
  }

  std::string text_;
};

void Summary(const json& predicate, Page* page) {
  const std::string& kind = Text(predicate["kind"]);
  const std::string& issued = Text(predicate["issued"]);
  if (kind == "STATE") {
    page->Heading("CERTIFICATE OF STATE");
    page->Paragraph(absl::StrCat("On ", issued, " the memory named below held ",
                                 Tokens(CountOf(predicate["after"]["tokenCount"])),
                                 ", in the state named below."));
    return;
  }
  const std::string removed = Tokens(predicate["removed"].size());
  const std::string were = predicate["removed"].size() == 1 ? " was" : " were";
  if (kind == "MEMORY_DELETION") {
    page->Heading("CERTIFICATE OF REMOVAL: a whole memory");
    page->Paragraph(absl::StrCat("The memory named below was removed, with the ", removed,
                                 " that it held (certificate issued ", issued, ")."));
    return;
  }
  if (kind == "SELECTION") {
    page->Heading("CERTIFICATE OF SELECTION: tokens without weight were dropped");
    page->Paragraph(absl::StrCat(removed, were,
                                 " dropped from the reserve of the memory named below (certificate issued ",
                                 issued, "). None of them carried any weight."));
    return;
  }
  const bool purge = kind == "PURGE";
  page->Heading(purge ? "CERTIFICATE OF REMOVAL: all tokens of one data subject"
                      : "CERTIFICATE OF REMOVAL: named tokens");
  page->Paragraph(
      absl::StrCat(removed, were, " removed from the memory named below (certificate issued ", issued, ")."));
  if (purge)
    page->Paragraph("These are all tokens of this memory that named the data subject of the request.");
}

// How far the erasure of the bytes has come.
void Stage(const json& predicate, Page* page) {
  const auto completes = predicate.find("completes");
  if (completes == predicate.end()) {
    page->Paragraph(
        "The keys of what was removed are destroyed. Its sealed bytes, which cannot be read without them, "
        "may remain in files until a second certificate says that these were rewritten.");
    return;
  }
  page->Paragraph(absl::StrCat(
      "This is the second certificate of this removal. It completes certificate no. ",
      Text((*completes)["sequence"]), " of this memory: the keys of what was removed are destroyed, and by ",
      Text(predicate["erasure"]["purged"]),
      " all database files that held its sealed bytes were rewritten or removed."));
}

void Request(const json& predicate, Page* page) {
  const json& request = predicate["request"];
  page->Heading("Request");
  page->Line("received", Text(request["received"]));
  const std::string& basis = Text(request["legalBasis"]);
  page->Line("legal basis", basis.empty() ? "not stated" : basis);
  page->Line("request id", IsZero(request["idPseudonym"])
                               ? std::string("none was given")
                               : absl::StrCat("pseudonym ", Text(request["idPseudonym"])));
  if (request.contains("due")) {
    const std::string& due = Text(request["due"]);
    page->Line("due", due.empty() ? "not stated" : due);
    const uint64_t memories = CountOf(request["memories"]);
    page->Line("removed by it", absl::StrCat(Tokens(CountOf(request["tokens"])), " of ", memories,
                                             memories == 1 ? " memory" : " memories"));
  }
  if (request.contains("nonce")) {
    const std::string& nonce = Text(request["nonce"]);
    page->Line("auditor's nonce", nonce.empty() ? "none was given" : nonce);
  }
}

void Memory(const json& predicate, Page* page) {
  const json& memory = predicate["memory"];
  const json& algorithm = predicate["algorithm"];
  page->Heading("Memory");
  page->Line("pseudonym", Text(memory["memory"]));
  page->Line("tenant", absl::StrCat("pseudonym ", Text(memory["tenant"])));
  page->Line("certificate no.", Text(memory["sequence"]));
  page->Line("follows", IsZero(memory["previousPayloadSha256"])
                            ? std::string("nothing: the first certificate of this memory")
                            : absl::StrCat("payload with SHA-256 ", Text(memory["previousPayloadSha256"])));
  if (const auto completes = predicate.find("completes"); completes != predicate.end()) {
    page->Line("completes", absl::StrCat("no. ", Text((*completes)["sequence"]), ", payload with SHA-256 ",
                                         Text((*completes)["payloadSha256"])));
  }
  page->Line("what it computes",
             absl::StrCat(Text(algorithm["name"]), ", kernel ", Text(algorithm["kernel"]), ", gamma ",
                          Approximately(algorithm["gamma"]), ", box bound ", Text(algorithm["boxBound"]),
                          ", ridge ", Approximately(algorithm["ridge"]), " (", Text(algorithm["spec"]), " ",
                          Text(algorithm["specVersion"]), ")"));
  page->Line("vectors", absl::StrCat("keys of ", Text(memory["dimensions"]["key"]), " and values of ",
                                     Text(memory["dimensions"]["value"]), " numbers"));
}

// "at least about 0.01" (the payload has the exact bound), or why there is nothing to bound.
std::string AtLeast(const json& bound, absl::string_view if_infinite) {
  const std::string value = Approximately(bound);
  return value == "infinite" ? std::string(if_infinite) : absl::StrCat("at least about ", value);
}

void Proof(const json& proof, Page* page) {
  page->Line("classes proven",
             proof["strict"].get<bool>() ? "each by a strict inequality" : "each; some as exact equalities");
  page->Line("harder decisions",
             absl::StrCat(Text(proof["higherPrecision"]), " beyond double-double arithmetic, ",
                          Text(proof["ties"]), " exact ties"));
  page->Line("to a class change", AtLeast(proof["marginLower"], "no token outside the margin"));
  page->Line("to a weight limit", AtLeast(proof["weightDistanceLower"], "no token in the margin"));
  page->Line("errors",
             absl::StrCat("each weight within a relative error of about ", Approximately(proof["eta"]),
                          "; duality gap at most about ", Approximately(proof["dualityGapUpper"]),
                          "; smallest eigenvalue at least about ", Approximately(proof["eigenvalueLower"])));
}

void State(absl::string_view heading, const json& state, Page* page) {
  const json& partition = state["partition"];
  page->Heading(heading);
  page->Line("epoch", Text(state["epoch"]));
  page->Line("tokens",
             absl::StrCat(Text(state["tokenCount"]), " (margin ", Text(partition["margin"]), ", error ",
                          Text(partition["error"]), ", reserve ", Text(partition["reserve"]), ")"));
  page->Line("state digest", Text(state["stateDigest"]));
  page->Line("token root", Text(state["tokenRoot"]));
  page->Line("entries root", Text(partition["entriesRoot"]));
  if (CountOf(state["tokenCount"]) > 0) Proof(state["proof"], page);
}

absl::string_view ClassName(const json& name) {
  if (name == "S") return "margin";
  return name == "E" ? "error" : "reserve";
}

void Removed(const json& removed, Page* page) {
  if (removed.empty()) return;
  page->Heading("Removed tokens, by their commitments (a receipt of Add opens its token's)");
  for (size_t i = 0; i < std::min(removed.size(), kMaxListedTokens); ++i) {
    page->Line(absl::StrCat("was in ", ClassName(removed[i]["classBefore"])), Text(removed[i]["commitment"]));
  }
  if (removed.size() > kMaxListedTokens) {
    page->Paragraph(absl::StrCat("... and ", removed.size() - kMaxListedTokens, " more, in the payload."));
  }
}

void Horizon(const json& horizon, Page* page) {
  page->Heading("For how long the dropped tokens would have stayed without weight");
  page->Line("margin", AtLeast(horizon["marginLower"], "infinite"));
  page->Line("reference", absl::StrCat("state digest ", Text(horizon["reference"])));
  page->Line("condition", Text(horizon["condition"]));
}

void Claims(const json& predicate, Page* page) {
  const json& exactness = predicate["exactness"];
  page->Heading("What is claimed");
  page->Paragraph(Text(exactness["reference"]));
  page->Line("scope", Text(exactness["scope"]));
  page->Line("how it is earned", Text(exactness["arithmetic"]));
  page->Line("where it ends", Text(exactness["boundary"]));
  if (predicate.contains("removed") && !predicate["removed"].empty()) {
    page->Paragraph(
        "The token roots before and after, and the transition between them, were checked: the removed tokens "
        "were in the memory before, and the memory after holds all others and none of them.");
  }
  if (predicate.contains("horizon")) Horizon(predicate["horizon"], page);
  if (predicate.contains("erasure")) {
    const json& erasure = predicate["erasure"];
    page->Heading("What has become of the bytes");
    page->Line("stage", Text(erasure["stage"]));
    if (erasure.contains("purged")) page->Line("files purged", Text(erasure["purged"]));
    page->Line("method", Text(erasure["method"]));
    page->Line("custody of keys", Text(erasure["custody"]));
    for (const json& residual : erasure["residuals"]) {
      const std::string& expires = Text(residual["expires"]);
      page->Item(absl::StrCat(Text(residual["text"]),
                              expires.empty() ? "" : absl::StrCat(" Promised to be gone by ", expires, ".")));
    }
  }
  page->Heading("What is not claimed");
  for (const json& sentence : predicate["notClaimed"]) page->Item(Text(sentence));
}

void Issuer(const json& predicate, absl::string_view payload, Page* page) {
  const json& issuer = predicate["issuer"];
  page->Heading("Issued");
  page->Line("at", Text(predicate["issued"]));
  page->Line("by", absl::StrCat(Text(issuer["name"]), ", ", Text(issuer["software"]), " ",
                                Text(issuer["version"]), " (commit ", Text(issuer["commit"]), ")"));
  page->Line("configuration", absl::StrCat("SHA-256 ", Text(issuer["configurationSha256"])));
  page->Line("payload SHA-256", ToHex(AsView(Sha256(payload))));
}

}  // namespace

absl::StatusOr<std::string> DescribePayload(absl::string_view payload) {
  const VerifyReason reason = CheckPayload(payload);
  const std::optional<json> statement =
      reason == VerifyReason::kOk ? ParseJson(payload, JsonLimits{}) : std::nullopt;
  if (!statement.has_value()) return absl::InvalidArgumentError(VerifyReasonText(reason));
  const json& predicate = (*statement)["predicate"];
  Page page;
  Summary(predicate, &page);
  if (predicate.contains("erasure")) Stage(predicate, &page);
  Request(predicate, &page);
  Memory(predicate, &page);
  if (predicate.contains("removed")) {
    Removed(predicate["removed"], &page);
    State("State before", predicate["before"], &page);
    State("State after", predicate["after"], &page);
  } else {
    State("State", predicate["after"], &page);
  }
  Claims(predicate, &page);
  Issuer(predicate, payload, &page);
  return page.Take();
}

}  // namespace expunge::certificate
