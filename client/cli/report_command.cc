// expunge cert report
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"
#include "client/cli/pdf.h"
#include "client/cli/trust.h"
#include "client/report/page.h"
#include "client/verify/audit.h"
#include "client/verify/inputs.h"

namespace expunge::cli {
namespace {

constexpr mode_t kPublic = 0644;

struct ReportOptions {
  std::string out;
  verify::Paths paths;
  bool pdf = false;
};

std::string PdfPath(const std::string& html) {
  return absl::StrCat(absl::StripSuffix(absl::StripSuffix(html, ".html"), ".htm"), ".pdf");
}

absl::Status MakeReport(Context* context, const ReportOptions& options) {
  const absl::StatusOr<verify::Inputs> inputs = verify::ReadInputs(options.paths);
  if (!inputs.ok()) return UsageFailure(inputs.status().message(), "check the path");
  const verify::Report report = verify::Audit(*inputs);
  const std::string html =
      report::ReportPage(*inputs, report, {absl::Now(), "expunge " EXPUNGE_VERSION, options.paths});
  EXPUNGE_RETURN_IF_ERROR(WriteFile(options.out, html, kPublic));
  const std::string pdf = options.pdf ? PdfPath(options.out) : std::string();
  if (options.pdf) EXPUNGE_RETURN_IF_ERROR(PrintToPdf(options.out, pdf));
  Json json;
  json["verified"] = report.verified();
  json["certificates"] = report.certificates.size();
  json["saved_to"] = options.out;
  json["pdf_saved_to"] = options.pdf ? Json(pdf) : Json(nullptr);
  context->Print(json,
                 absl::StrCat("Saved a report of ", Count(report.certificates.size(), "certificate"), " to ",
                              options.out, options.pdf ? absl::StrCat(" and ", pdf) : std::string(), "\n"));
  if (report.verified()) return absl::OkStatus();
  return Refusal("NOT_VERIFIED", "not every certificate is verified: the report says which, and why",
                 "see the same in the terminal with 'expunge-verify'");
}

}  // namespace

void AddReportCommand(CLI::App* group, Context* context) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = group->add_subcommand(
      "report", "Verify certificates, and write what they say as a page for people; needs no service");
  command->add_option("OUT", options->out, "The page: HTML that stands alone and prints well")->required();
  command
      ->add_option("CERT", options->paths.certificates,
                   "Certificates, or folders of them, each with its .tlog-proof beside it")
      ->required();
  command->add_option("--key", options->paths.keys, "Public keys you trust, PEM files; may be repeated")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--keys", options->paths.key_sets,
                      "Published key sets (keys.json): also check keys' times and the log");
  command->add_option("--log-key", options->paths.log_keys, "Key of the log, a vkey or a file with one")
      ->allow_extra_args(false);
  command->add_option("--log", options->paths.log, "A copy of the log's files");
  command->add_option("--old-checkpoint", options->paths.old_checkpoint, "A checkpoint that you kept");
  command->add_option("--receipts", options->paths.receipts,
                      "Receipts: do the certificates name their tokens?");
  command->add_option("--bundle", options->paths.bundle, "An audit bundle: solve it again, and compare");
  command->add_flag("--pdf", options->pdf, "Also print it to PDF, OUT with .pdf, with Chromium");
  command->footer(
      "What was erased, when, on what basis; what is proven and what is not; the verdicts of a verification "
      "made "
      "now; and how to repeat it. Exit code 1 if something does not verify: the page is written all the "
      "same, and "
      "says so.\n\n"
      "Examples:\n"
      "  expunge cert report erasure.html purged.json --key issuer.pem\n"
      "  expunge cert report --pdf audit.html certificates --key issuer.pem --keys keys/keys.json");
  command->callback([=] { context->action = [=] { return MakeReport(context, *options); }; });
}

}  // namespace expunge::cli
