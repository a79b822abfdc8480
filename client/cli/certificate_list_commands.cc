#include "client/cli/certificate_list_commands.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "client/cli/certificate_files.h"
#include "client/cli/certificate_filters.h"
#include "client/cli/failure.h"
#include "client/cli/views.h"
#include "client/cpp/status.h"

namespace expunge::cli {
namespace {

constexpr uint32_t kPageSize = 1000;
// Pages of certificates for files are short, as each has its envelope.
constexpr uint32_t kExportPageSize = 100;
constexpr absl::Duration kFirstPause = absl::Seconds(1);
constexpr absl::Duration kLongestPause = absl::Seconds(30);

struct WatchOptions {
  CertificateFilters filters;
  std::string after;
  std::string out_dir;
  uint64_t count = 0;  // 0: no end
  bool keep_trying = false;
};

struct ExportOptions {
  CertificateFilters filters;
  std::string directory;
};

std::vector<std::string> Row(const v1::Certificate& certificate) {
  return {LastPart(certificate.name()), KindName(certificate.kind()), StageName(certificate.stage()),
          certificate.memory(), TimeText(certificate.create_time())};
}

absl::Status List(Context* context, const CertificateFilters& filters) {
  EXPUNGE_ASSIGN_OR_RETURN(v1::ListCertificatesRequest request, ListRequestFor(*context, filters));
  request.set_page_size(kPageSize);
  Json json;
  json["certificates"] = Json::array();
  std::vector<std::vector<std::string>> rows;
  EXPUNGE_RETURN_IF_ERROR(context->Client().EachCertificate(request, [&](const v1::Certificate& certificate) {
    json["certificates"].push_back(CertificateJson(certificate));
    rows.push_back(Row(certificate));
    return absl::OkStatus();
  }));
  context->Print(json, absl::StrCat(FormatTable({"CERTIFICATE", "KIND", "STAGE", "MEMORY", "ISSUED"}, rows),
                                    Count(rows.size(), "certificate"), " of ", context->TenantName(), "\n"));
  return absl::OkStatus();
}

absl::Status Export(Context* context, const ExportOptions& options) {
  EXPUNGE_ASSIGN_OR_RETURN(v1::ListCertificatesRequest request, ListRequestFor(*context, options.filters));
  EXPUNGE_RETURN_IF_ERROR(MakeDirectory(options.directory, "choose another directory"));
  request.set_page_size(kExportPageSize);
  Json json;
  json["directory"] = options.directory;
  json["certificates"] = Json::array();
  uint64_t proofs = 0;
  const auto save = [&](const v1::Certificate& certificate) -> absl::Status {
    const std::string path = CertificatePath(options.directory, certificate);
    EXPUNGE_RETURN_IF_ERROR(SaveNamedCertificate(certificate, path));
    if (!certificate.log_proof().empty()) ++proofs;
    Json entry = CertificateJson(certificate);
    entry["saved_to"] = path;
    json["certificates"].push_back(std::move(entry));
    return absl::OkStatus();
  };
  EXPUNGE_RETURN_IF_ERROR(context->Client().EachCertificate(request, save));
  const std::string saved = Count(json["certificates"].size(), "certificate");
  context->Print(json, absl::StrCat("Saved ", saved, " of ", context->TenantName(), " and ",
                                    Count(proofs, "proof"), " of the log to ", options.directory, "\n"));
  return absl::OkStatus();
}

// One line for each certificate, at once: for people, or a JSON object a line.
void PrintWatched(const Context& context, const v1::Certificate& certificate, const std::string& path) {
  if (context.json()) {
    Json json = CertificateJson(certificate);
    json["saved_to"] = path.empty() ? Json(nullptr) : Json(path);
    absl::PrintF("%s\n", json.dump(-1, ' ', true, Json::error_handler_t::replace));
  } else {
    const std::vector<std::string> row = Row(certificate);
    std::string line = row[0];
    for (const size_t column : {size_t{4}, size_t{1}, size_t{2}, size_t{3}}) {
      if (!row[column].empty()) absl::StrAppend(&line, "  ", Printable(row[column]));
    }
    absl::PrintF("%s\n", line);
  }
  static_cast<void>(std::fflush(stdout));
}

// Whether a service that was reached may be back in a moment. The stream's own end under --timeout is none of
// these.
bool MayComeBack(const absl::Status& status, bool reached) {
  return absl::IsUnavailable(status) && (reached || client::GetOrigin(status) == client::Origin::kService);
}

absl::Status Watch(Context* context, const WatchOptions& options) {
  EXPUNGE_ASSIGN_OR_RETURN(const v1::ListCertificatesRequest filters,
                           ListRequestFor(*context, options.filters));
  EXPUNGE_RETURN_IF_ERROR(MakeDirectory(options.out_dir, "choose another --out-dir"));
  v1::WatchCertificatesRequest request = WatchRequestFor(filters);
  if (!options.after.empty()) request.set_after(context->CertificateName(options.after));
  const absl::Duration patience = context->options.timeout_s.has_value()
                                      ? absl::Seconds(*context->options.timeout_s)
                                      : absl::InfiniteDuration();
  uint64_t seen = 0;
  absl::Duration pause = kFirstPause;
  const auto take = [&](const v1::WatchCertificatesResponse& answer) -> absl::StatusOr<bool> {
    const v1::Certificate& certificate = answer.certificate();
    const std::string path = CertificatePath(options.out_dir, certificate);
    if (!path.empty()) EXPUNGE_RETURN_IF_ERROR(SaveNamedCertificate(certificate, path));
    PrintWatched(*context, certificate, path);
    request.set_after(certificate.name());
    pause = kFirstPause;
    return ++seen != options.count;
  };
  while (true) {
    // `take` moves `request` on while the call runs.
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const v1::WatchCertificatesRequest from_here = request;
    absl::Status ended = context->Client().WatchCertificates(from_here, patience, take);
    if (ended.ok() || !options.keep_trying || !MayComeBack(ended, seen > 0)) {
      if (ended.ok() || request.after().empty()) return ended;
      return WithHint(ended, absl::StrCat("go on with --after ", LastPart(request.after())));
    }
    absl::FPrintF(stderr, "expunge: %s; trying again in %d s\n", Printable(std::string(ended.message())),
                  absl::ToInt64Seconds(pause));
    absl::SleepFor(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace

void AddListCommand(CLI::App* group, Context* context) {
  auto filters = std::make_shared<CertificateFilters>();
  CLI::App* command = group->add_subcommand("list", "List the certificates of the tenant, oldest first");
  AddCertificateFilters(command, filters.get());
  command->footer(
      "Examples:\n"
      "  expunge cert list\n"
      "  expunge cert list --memory cancer --kind PURGE --output json\n"
      "  expunge cert list --since 2026-05-01 --until 2026-06-01 --stage PHYSICALLY_PURGED\n"
      "  expunge cert list --receipts patient-007.receipts");
  command->callback([=] { context->action = [=] { return List(context, *filters); }; });
}

void AddWatchCommand(CLI::App* group, Context* context) {
  auto options = std::make_shared<WatchOptions>();
  CLI::App* command = group->add_subcommand(
      "watch", "Show every certificate, and then each new one as soon as it is released");
  AddCertificateFilters(command, &options->filters);
  command->add_option("--after", options->after,
                      "Begin after this certificate: the last one that you have (default: with the first)");
  command->add_option("--out-dir", options->out_dir, "Also save each in this directory, with its proof");
  command->add_option("--count", options->count, "End after as many (default: go on until stopped)");
  command->add_flag(
      "--keep-trying", options->keep_trying,
      "Once something has come: whenever the service goes away, connect again, and go on without a gap");
  command->footer(
      "One line for each certificate; with --output json, one JSON object a line. --timeout ends the "
      "watch.\n\n"
      "Examples:\n"
      "  expunge cert watch --keep-trying --out-dir certificates\n"
      "  expunge cert watch --after 000000000041 --kind PURGE --output json");
  command->callback([=] { context->action = [=] { return Watch(context, *options); }; });
}

void AddExportCommand(CLI::App* group, Context* context) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command =
      group->add_subcommand("export", "Save certificates into a directory, each with its proof of the log");
  command
      ->add_option("DIR", options->directory, "Made if it does not exist; files of these names are replaced")
      ->required();
  AddCertificateFilters(command, &options->filters);
  command->footer(
      "A directory of all certificates shows expunge-verify that none is missing.\n\n"
      "Examples:\n"
      "  expunge cert export certificates\n"
      "  expunge cert export of-patient-007 --receipts patient-007.receipts");
  command->callback([=] { context->action = [=] { return Export(context, *options); }; });
}

}  // namespace expunge::cli
