#include "client/report/certificate_part.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "certificate/log/checkpoint.h"
#include "certificate/log/log_proof.h"
#include "client/report/html.h"
#include "client/report/partition_plot.h"
#include "client/report/words.h"

namespace expunge::report {
namespace {

using nlohmann::json;
using verify::CertificateReport;
using verify::Verdict;

constexpr size_t kMaxListedTokens = 40;

std::string ChipOf(const Verdict& verdict) {
  const std::string css = verdict.ok() ? "good" : (verdict.failed() ? "bad" : "open");
  return absl::StrCat("<span class=\"chip ", css, "\">", OutcomeWords(verify::OutcomeName(verdict.outcome)),
                      "</span>");
}

std::string Verdicts(const CertificateReport& certificate) {
  std::string rows;
  for (const verify::Claim& claim : certificate.claims) {
    rows += VerdictRow(ClaimTitle(claim.name), claim.verdict);
  }
  return absl::StrCat(
      Element("h3", "What was checked"),
      Element("table", absl::StrCat("<thead><tr><th scope=\"col\">Claim</th><th scope=\"col\">Verdict</th>"
                                    "<th scope=\"col\">What it means</th></tr></thead><tbody>",
                                    rows, "</tbody>")));
}

std::string Box(const CertificateReport& certificate) {
  const verify::Claim* worst = WorstOf(certificate.claims);
  if (worst == nullptr) {
    return VerdictBox("good", "Verified",
                      "Signed by a key that was named as trusted, and every claim that was asked for holds.");
  }
  const std::string about =
      absl::StrCat(ClaimTitle(worst->name), " (", worst->verdict.reason, "): ", worst->verdict.text);
  if (worst->verdict.failed()) return VerdictBox("bad", "Refused: do not rely on this certificate", about);
  return VerdictBox("open", "Left open: something that was asked for could not be checked", about);
}

std::string MetOrNot(const json& predicate) {
  const json& request = predicate["request"];
  const std::string& due = Text(request["due"]);
  if (due.empty()) return "Not stated";
  // Times of one form compare as texts.
  return absl::StrCat(Escape(TimeWords(due)), Text(predicate["issued"]) <= due
                                                  ? " <span class=\"quiet\">(met)</span>"
                                                  : " <span class=\"quiet\">(missed)</span>");
}

std::string RequestedBy(const json& request) {
  if (IsZero(request["idPseudonym"])) return "The request had no id";
  return absl::StrCat("Request with pseudonym ", Code(Text(request["idPseudonym"])));
}

// What, when, on what basis, for whom.
std::string AtAGlance(const json& predicate) {
  const json& request = predicate["request"];
  Terms terms;
  if (predicate.contains("removedCount")) {
    terms.emplace_back("Erased by this certificate", Escape(Tokens(CountOf(predicate["removedCount"]))));
  }
  if (request.contains("tokens")) {
    terms.emplace_back("Erased by the whole request",
                       Escape(absl::StrCat(Tokens(CountOf(request["tokens"])), " of ",
                                           Memories(CountOf(request["memories"])))));
  }
  terms.emplace_back("Request received", Escape(TimeWords(Text(request["received"]))));
  terms.emplace_back("Certificate issued", Escape(TimeWords(Text(predicate["issued"]))));
  if (request.contains("due")) terms.emplace_back("Due", MetOrNot(predicate));
  if (predicate.contains("erasure")) {
    const std::string& basis = Text(request["legalBasis"]);
    terms.emplace_back("Legal basis, as the caller stated it", basis.empty() ? "Not stated" : Escape(basis));
    terms.emplace_back("Keys of what was erased", "Destroyed");
    const json& erasure = predicate["erasure"];
    terms.emplace_back("Sealed bytes in files",
                       erasure.contains("purged")
                           ? absl::StrCat("Gone by ", Escape(TimeWords(Text(erasure["purged"]))))
                           : std::string("A second certificate tells when they are gone"));
  }
  if (request.contains("nonce") && !Text(request["nonce"]).empty()) {
    terms.emplace_back("Nonce of the auditor", Code(Text(request["nonce"])));
  }
  terms.emplace_back("Asked for by", RequestedBy(request));
  terms.emplace_back("Memory", absl::StrCat("Pseudonym ", Code(Text(predicate["memory"]["memory"]))));
  return TermList(terms);
}

std::vector<std::string> Texts(const json& list) {
  std::vector<std::string> texts;
  for (const json& text : list) texts.push_back(Text(text));
  return texts;
}

std::vector<std::string> ProvenOf(const json& predicate) {
  std::vector<std::string> proven = {Text(predicate["exactness"]["reference"])};
  if (predicate.contains("removed") && !predicate["removed"].empty()) {
    proven.emplace_back(
        "The erased tokens were in the memory before, and the memory after is all others and none of them: "
        "this follows "
        "from the digests in the certificate.");
  }
  if (predicate.contains("erasure")) {
    proven.emplace_back(
        "The service states, under its signature, that the keys of what was erased are destroyed.");
    if (predicate["erasure"].contains("purged")) {
      proven.emplace_back("The service states that no database file held the sealed bytes any more.");
    }
  }
  if (predicate.contains("horizon")) proven.push_back(Text(predicate["horizon"]["condition"]));
  return proven;
}

std::string ClaimedAndNot(const json& predicate) {
  return Element("div", "split",
                 absl::StrCat(Element("section", absl::StrCat(Element("h3", "What is proven"),
                                                              BulletList(ProvenOf(predicate)))),
                              Element("section", absl::StrCat(Element("h3", "What is not claimed"),
                                                              BulletList(Texts(predicate["notClaimed"]))))));
}

std::string Residuals(const json& erasure) {
  std::string rows;
  for (const json& residual : erasure["residuals"]) {
    const std::string& expires = Text(residual["expires"]);
    rows += Element("tr", absl::StrCat("<td>", Escape(Text(residual["text"])), "</td><td>",
                                       expires.empty() ? "No promise" : Escape(TimeWords(expires)), "</td>"));
  }
  return absl::StrCat(
      Element("h3", "What may remain, and until when"),
      Element("table", "until",
              absl::StrCat(
                  "<thead><tr><th scope=\"col\">What and where</th><th scope=\"col\">Promised to be gone by"
                  "</th></tr></thead><tbody>",
                  rows, "</tbody>")),
      Element("p", "small quiet", absl::StrCat("Custody of the keys: ", Escape(Text(erasure["custody"])))));
}

bool IsOk(const CertificateReport& certificate, absl::string_view name) {
  return std::any_of(certificate.claims.begin(), certificate.claims.end(),
                     [name](const verify::Claim& claim) { return claim.name == name && claim.verdict.ok(); });
}

std::string LogPosition(const verify::CertificateFile& file, bool verified) {
  if (!file.proof.has_value()) {
    return absl::StrCat(Element("h3", "Place in the transparency log"),
                        Element("p", "There is no proof of the log beside the certificate's file."));
  }
  const certificate::ParsedLogProof parsed = certificate::ParseLogProof(*file.proof);
  if (parsed.reason != certificate::LogReason::kOk) {
    return absl::StrCat(Element("h3", "Place in the transparency log"),
                        Element("p", "The file beside the certificate is no proof of the log."));
  }
  return absl::StrCat(
      Element("h3", "Place in the transparency log"),
      Element("p",
              absl::StrCat("Leaf ", WithCommas(parsed.proof.index), ", by the proof in ",
                           Code(verify::ProofPath(file.file)), ". The checkpoint that the proof leads to, ",
                           verified ? "as the log signed it:" : "as it stands in the file; not verified:")),
      "<pre><code>",
      [&] {
        std::string lines;
        absl::string_view rest = parsed.proof.checkpoint;
        while (!rest.empty()) {
          const size_t end = std::min(rest.find('\n'), rest.size() - 1);
          absl::StrAppend(&lines, Escape(rest.substr(0, end)), "\n");
          rest.remove_prefix(end + 1);
        }
        return lines;
      }(),
      "</code></pre>\n");
}

std::string RemovedTokens(const json& predicate) {
  if (!predicate.contains("removed") || predicate["removed"].empty()) return "";
  const json& removed = predicate["removed"];
  std::string items;
  for (size_t i = 0; i < std::min(removed.size(), kMaxListedTokens); ++i) {
    items += Element("li", Code(Text(removed[i]["commitment"])));
  }
  std::string rest;
  if (removed.size() > kMaxListedTokens) {
    rest = Element("p", absl::StrCat("And ", WithCommas(removed.size() - kMaxListedTokens),
                                     " more, in the certificate."));
  }
  return absl::StrCat(
      Element("h3", "Commitments of the erased tokens"),
      Element("p", "small quiet",
              "Each stands for one token and tells nothing of it. Whoever has the token's receipt can show "
              "that it is meant."),
      Element("ul", "small", items), rest);
}

void AddState(const std::string& title, const json& state, Terms* terms) {
  terms->emplace_back(absl::StrCat("State ", title, ": epoch and digest"),
                      absl::StrCat(Escape(Text(state["epoch"])), ", ", Code(Text(state["stateDigest"]))));
  terms->emplace_back(absl::StrCat("State ", title, ": root of the tokens"), Code(Text(state["tokenRoot"])));
}

std::string Numbers(const json& predicate, const CertificateReport& certificate) {
  const json& memory = predicate["memory"];
  const json& proof = predicate["after"]["proof"];
  const json& issuer = predicate["issuer"];
  Terms terms = {
      {"Certificate",
       absl::StrCat("No. ", Escape(Text(memory["sequence"])), " of this memory, SHA-256 of its payload ",
                    Code(ToHex(AsView(Sha256(certificate.result->payload)))))},
      {"Follows", IsZero(memory["previousPayloadSha256"])
                      ? std::string("Nothing: it is the first of this memory")
                      : absl::StrCat("Payload ", Code(Text(memory["previousPayloadSha256"])))},
      {"Signed by the key", Code(certificate.result->key_id)},
      {"Issuer", Escape(absl::StrCat(Text(issuer["name"]), ", ", Text(issuer["software"]), " ",
                                     Text(issuer["version"]), ", commit ", Text(issuer["commit"])))},
      {"Settings of the service, SHA-256", Code(Text(issuer["configurationSha256"]))}};
  if (predicate.contains("before")) AddState("before", predicate["before"], &terms);
  AddState("after", predicate["after"], &terms);
  terms.emplace_back(
      "Proof of the state after",
      Escape(absl::StrCat(proof["strict"].get<bool>() ? "Every class by a strict inequality"
                                                      : "Some classes as exact equalities",
                          "; ", Text(proof["higherPrecision"]), " decisions beyond double-double, ",
                          Text(proof["ties"]), " exact ties; to a class change ", About(proof["marginLower"]),
                          ", to a weight limit ", About(proof["weightDistanceLower"]),
                          ", duality gap at most ", About(proof["dualityGapUpper"]))));
  terms.emplace_back("What earns the claim", Escape(Text(predicate["exactness"]["arithmetic"])));
  terms.emplace_back("Where it ends", Escape(Text(predicate["exactness"]["boundary"])));
  std::string list = TermList(terms);
  list.insert(list.find("<dl") + 3, " class=\"wide small\"");
  return absl::StrCat(Element("h3", "For the record"), list);
}

}  // namespace

std::string VerdictBox(const std::string& css_class, const std::string& line, const std::string& text) {
  const std::string mark = css_class == "good" ? "&#10003;" : (css_class == "bad" ? "&#10007;" : "?");
  return absl::StrCat("<div class=\"verdict ", css_class, "\"><span class=\"mark\" aria-hidden=\"true\">",
                      mark, "</span><div><p><strong>", Escape(line), "</strong></p><p class=\"body\">",
                      Escape(text), "</p></div></div>\n");
}

std::string VerdictRow(const std::string& about, const Verdict& verdict) {
  const std::string reason =
      verdict.ok() ? "" : absl::StrCat(" <span class=\"quiet small\">", Escape(verdict.reason), "</span>");
  return Element("tr", absl::StrCat("<th scope=\"row\">", Escape(about), "</th><td>", ChipOf(verdict), reason,
                                    "</td><td>", Escape(verdict.text), "</td>"));
}

std::string CssClassOf(const CertificateReport& certificate) {
  if (!certificate.result.ok()) return "bad";
  const verify::Claim* worst = WorstOf(certificate.claims);
  if (worst == nullptr) return "good";
  return worst->verdict.failed() ? "bad" : "open";
}

std::string CertificatePart(const verify::CertificateFile& file, const CertificateReport& certificate,
                            bool first) {
  const std::string css = first ? "first" : "next";
  const std::string over = Element("p", "over", absl::StrCat("Certificate ", Code(certificate.file)));
  if (!certificate.result.ok()) {
    return Element(
        "article", css,
        absl::StrCat(over, Element("h2", "This file could not be read"),
                     VerdictBox("bad", "Not read", std::string(certificate.result.status().message()))));
  }
  if (certificate.result->reason != certificate::VerifyReason::kOk) {
    return Element(
        "article", css,
        absl::StrCat(
            over, Element("h2", "This file is no valid certificate"), Box(certificate),
            Element("p",
                    IsOk(certificate, "signature")
                        ? "What it says is not shown: a key that was named as trusted has signed it, but it "
                          "is not in the form of a certificate, or contradicts itself."
                        : "What it says is not shown, as nobody who was named as trusted has signed it."),
            Verdicts(certificate)));
  }
  const json statement = json::parse(certificate.result->payload, nullptr, /*allow_exceptions=*/false);
  const json& predicate = statement["predicate"];
  const std::string stage = StageWords(predicate);
  std::string part = absl::StrCat(
      over, Element("h2", Escape(KindHeading(predicate))), Element("p", "lead", Escape(Summary(predicate))),
      stage.empty() ? "" : Element("p", Escape(stage)), Box(certificate), AtAGlance(predicate));
  absl::StrAppend(&part,
                  Element("h3", predicate.contains("before") ? "The memory before and after" : "The memory"),
                  PartitionPlot(predicate), ClaimedAndNot(predicate));
  if (predicate.contains("erasure")) part += Residuals(predicate["erasure"]);
  absl::StrAppend(&part, Verdicts(certificate), LogPosition(file, IsOk(certificate, "log")),
                  RemovedTokens(predicate), Numbers(predicate, certificate));
  return Element("article", css, part);
}

}  // namespace expunge::report
