#include "client/report/page.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/report/certificate_part.h"
#include "client/report/how_to_verify.h"
#include "client/report/html.h"
#include "client/report/style.h"
#include "client/report/words.h"

namespace expunge::report {
namespace {

std::string Overall(const verify::Report& report) {
  const size_t count = report.certificates.size();
  const auto verified = static_cast<uint64_t>(
      std::count_if(report.certificates.begin(), report.certificates.end(),
                    [](const verify::CertificateReport& one) { return one.verified(); }));
  const std::string of_all = absl::StrCat(WithCommas(verified), " of ", WithCommas(count),
                                          count == 1 ? " certificate" : " certificates");
  if (report.verified()) {
    return VerdictBox("good", absl::StrCat("Verified: ", of_all),
                      "Signatures, statements and everything else that was asked for were checked when this "
                      "page was made.");
  }
  const bool failed = std::any_of(report.certificates.begin(), report.certificates.end(),
                                  [](const auto& one) { return CssClassOf(one) == "bad"; }) ||
                      std::any_of(report.checks.begin(), report.checks.end(),
                                  [](const auto& check) { return check.claim.verdict.failed(); });
  return failed ? VerdictBox("bad", absl::StrCat("Not verified: ", of_all, " hold"),
                             "Something was refused. The parts below say what, and why.")
                : VerdictBox("open", absl::StrCat("Incomplete: ", of_all, " fully checked"),
                             "Nothing was refused, but something that was asked for could not be checked.");
}

std::string Contents(const verify::Report& report) {
  if (report.certificates.size() < 2) return "";
  std::string rows;
  for (const verify::CertificateReport& one : report.certificates) {
    const std::string css = CssClassOf(one);
    const char* word = css == "good" ? "Verified" : (css == "bad" ? "REFUSED" : "Left open");
    rows += Element("tr", absl::StrCat("<td>", Code(one.file), "</td><td><span class=\"chip ", css, "\">",
                                       word, "</span></td>"));
  }
  return Element(
      "table", absl::StrCat("<thead><tr><th scope=\"col\">Certificate</th><th scope=\"col\">Verdict</th></tr>"
                            "</thead><tbody>",
                            rows, "</tbody>"));
}

std::string Checks(const verify::Report& report) {
  if (report.checks.empty()) return "";
  std::string rows;
  for (const verify::CheckReport& check : report.checks) {
    rows += VerdictRow(ClaimTitle(check.claim.name), check.claim.verdict);
  }
  return absl::StrCat(
      Element("h3", "Checked besides the certificates"),
      Element("table", absl::StrCat("<thead><tr><th scope=\"col\">What</th><th scope=\"col\">Verdict</th>"
                                    "<th scope=\"col\">What it means</th></tr></thead><tbody>",
                                    rows, "</tbody>")));
}

constexpr absl::string_view kHead =
    "<!DOCTYPE html>\n"
    "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\"/>\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
    "<meta name=\"referrer\" content=\"no-referrer\"/>\n"
    "<title>Erasure report</title>\n<style>";

}  // namespace

std::string ReportPage(const verify::Inputs& inputs, const verify::Report& report,
                       const PageOptions& options) {
  std::string html =
      absl::StrCat(kHead, Style(), "</style>\n</head>\n<body>\n<header>\n", Element("p", "over", "Expunge"),
                   Element("h1", "Erasure report"),
                   Element("p", "quiet", absl::StrCat("Made on ", Escape(TimeWords(options.made)))),
                   "</header>\n<main>\n", Overall(report), Contents(report), Checks(report));
  for (size_t i = 0; i < report.certificates.size(); ++i) {
    html += CertificatePart(inputs.certificates[i], report.certificates[i], i == 0);
  }
  absl::StrAppend(
      &html, HowToVerify(inputs, options.paths), "</main>\n",
      Element("footer", absl::StrCat("Made by ", Escape(options.program),
                                     " from the certificate files alone. Names stand as pseudonyms: only the "
                                     "service, and whoever has receipts, can tell whom they mean.")),
      "</body>\n</html>\n");
  return html;
}

}  // namespace expunge::report
