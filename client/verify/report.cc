#include "client/verify/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/printable.h"
#include "certificate/describe.h"

namespace expunge::verify {
namespace {

using nlohmann::json;

std::string Indented(absl::string_view text) {
  std::string indented;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::StrAppend(&indented, line.empty() ? "" : "  ", line, "\n");
  }
  return indented;
}

std::string Description(absl::string_view payload) {
  // A verified payload has passed the same check that the description begins with.
  const absl::StatusOr<std::string> description = certificate::DescribePayload(payload);
  return description.ok() ? *description : std::string(description.status().message());
}

// "FAILED NOT_IN_LOG", "OK".
std::string OutcomeText(const Verdict& verdict) {
  return verdict.ok() ? "OK" : absl::StrCat(OutcomeName(verdict.outcome), " ", verdict.reason);
}

std::string ClaimLine(const Claim& claim) {
  return absl::StrFormat("  %-11s %s: %s\n", claim.name, OutcomeText(claim.verdict),
                         Printable(claim.verdict.text));
}

std::string CertificateText(const CertificateReport& certificate) {
  // A file may be named like a verdict.
  const std::string file = Printable(certificate.file);
  if (!certificate.result.ok()) {
    return absl::StrCat(file, ": UNREADABLE: ", Printable(certificate.result.status().message()), "\n");
  }
  const Claim* worst = WorstOf(certificate.claims);
  const absl::string_view reason = worst == nullptr ? "OK" : absl::string_view(worst->verdict.reason);
  const absl::string_view text = worst == nullptr ? VerifyReasonText(certificate.result->reason)
                                                  : absl::string_view(worst->verdict.text);
  const absl::string_view word = worst == nullptr          ? "VERIFIED"
                                 : worst->verdict.failed() ? "REFUSED"
                                                           : "LEFT OPEN";
  std::string lines = absl::StrCat(file, ": ", word, " (", reason, "): ", Printable(text), "\n");
  if (certificate.result->reason != certificate::VerifyReason::kOk) return lines;
  absl::StrAppend(&lines, "  signed by key ", certificate.result->key_id, "\n");
  for (const Claim& claim : certificate.claims) lines += ClaimLine(claim);
  if (worst == nullptr) absl::StrAppend(&lines, "\n", Indented(Description(certificate.result->payload)));
  return lines;
}

json ClaimObject(const Verdict& verdict) {
  return {{"verdict", std::string(OutcomeName(verdict.outcome))},
          {"reason", verdict.reason},
          {"message", verdict.text}};
}

json CertificateObject(const CertificateReport& certificate) {
  json entry = {{"file", certificate.file}, {"verified", certificate.verified()}};
  if (!certificate.result.ok()) {
    entry["reason"] = "UNREADABLE";
    entry["message"] = std::string(certificate.result.status().message());
    return entry;
  }
  const Claim* worst = WorstOf(certificate.claims);
  entry["reason"] = worst == nullptr ? "OK" : worst->verdict.reason;
  entry["message"] =
      worst == nullptr ? std::string(VerifyReasonText(certificate.result->reason)) : worst->verdict.text;
  entry["claims"] = json::object();
  for (const Claim& claim : certificate.claims) entry["claims"][claim.name] = ClaimObject(claim.verdict);
  if (certificate.result->reason != certificate::VerifyReason::kOk) return entry;
  entry["keyId"] = certificate.result->key_id;
  entry["payloadSha256"] = ToHex(AsView(Sha256(certificate.result->payload)));
  entry["statement"] = json::parse(certificate.result->payload, nullptr, /*allow_exceptions=*/false);
  return entry;
}

}  // namespace

bool Report::verified() const {
  return std::all_of(checks.begin(), checks.end(),
                     [](const CheckReport& check) { return check.claim.verdict.good(); }) &&
         std::all_of(certificates.begin(), certificates.end(),
                     [](const CertificateReport& certificate) { return certificate.verified(); });
}

bool Report::refused() const {
  return std::any_of(checks.begin(), checks.end(),
                     [](const CheckReport& check) { return !check.claim.verdict.good(); }) ||
         std::any_of(certificates.begin(), certificates.end(),
                     [](const CertificateReport& certificate) { return certificate.refused(); });
}

std::string TextReport(const Report& report) {
  std::string text;
  for (const CheckReport& check : report.checks) {
    absl::StrAppend(&text, Printable(check.file), ": ", check.claim.name, ": ",
                    OutcomeText(check.claim.verdict), ": ", Printable(check.claim.verdict.text), "\n");
  }
  for (const CertificateReport& certificate : report.certificates) text += CertificateText(certificate);
  return text;
}

std::string JsonReport(const Report& report) {
  json certificates = json::array();
  for (const CertificateReport& certificate : report.certificates) {
    certificates.push_back(CertificateObject(certificate));
  }
  json checks = json::object();
  for (const CheckReport& check : report.checks) {
    checks[check.claim.name] = ClaimObject(check.claim.verdict);
    checks[check.claim.name]["file"] = check.file;
  }
  const json document = {{"verified", report.verified()}, {"certificates", certificates}, {"checks", checks}};
  return document.dump(2, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace) + "\n";
}

}  // namespace expunge::verify
