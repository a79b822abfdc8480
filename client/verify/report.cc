#include "client/verify/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/printable.h"
#include "certificate/describe.h"

namespace expunge::verify {
namespace {

using certificate::VerifyReasonName;
using certificate::VerifyReasonText;

std::string Text(absl::string_view text) { return {text.data(), text.size()}; }

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
  return description.ok() ? *description : Text(description.status().message());
}

nlohmann::json Entry(const Verdict& verdict) {
  nlohmann::json entry = {{"file", verdict.file}, {"verified", verdict.verified()}};
  if (!verdict.result.ok()) {
    entry["reason"] = "UNREADABLE";
    entry["message"] = Text(verdict.result.status().message());
    return entry;
  }
  entry["reason"] = Text(VerifyReasonName(verdict.result->reason));
  entry["message"] = Text(VerifyReasonText(verdict.result->reason));
  if (!verdict.verified()) return entry;
  entry["keyId"] = verdict.result->key_id;
  entry["payloadSha256"] = ToHex(AsView(Sha256(verdict.result->payload)));
  entry["statement"] = nlohmann::json::parse(verdict.result->payload, nullptr, /*allow_exceptions=*/false);
  return entry;
}

}  // namespace

std::string TextReport(absl::Span<const Verdict> verdicts) {
  std::string report;
  for (const Verdict& verdict : verdicts) {
    // A file may be named like a verdict.
    const std::string file = Printable(verdict.file);
    if (!verdict.result.ok()) {
      absl::StrAppend(&report, file, ": UNREADABLE: ", Printable(verdict.result.status().message()), "\n");
      continue;
    }
    absl::StrAppend(&report, file, verdict.verified() ? ": VERIFIED (" : ": REFUSED (",
                    VerifyReasonName(verdict.result->reason), "): ", VerifyReasonText(verdict.result->reason),
                    "\n");
    if (!verdict.verified()) continue;
    absl::StrAppend(&report, "  signed by key ", verdict.result->key_id, "\n\n",
                    Indented(Description(verdict.result->payload)));
  }
  return report;
}

std::string JsonReport(absl::Span<const Verdict> verdicts) {
  nlohmann::json entries = nlohmann::json::array();
  for (const Verdict& verdict : verdicts) entries.push_back(Entry(verdict));
  const bool all = std::all_of(verdicts.begin(), verdicts.end(),
                               [](const Verdict& verdict) { return verdict.verified(); });
  const nlohmann::json report = {{"verified", all}, {"certificates", entries}};
  return report.dump(2, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace expunge::verify
