// expunge audit export
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/status_macros.h"
#include "client/cli/bundle_arrival.h"
#include "client/cli/commands.h"
#include "client/cli/csv_options.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"
#include "client/cli/views.h"

namespace expunge::cli {
namespace {

// The bundle is as large as the memory.
constexpr absl::Duration kExportPatience = absl::Hours(24);
// It is the personal data itself.
constexpr mode_t kPrivate = 0600;

struct AuditExportOptions {
  std::string memory;
  std::string out;
  std::string digest;
  std::optional<uint64_t> epoch;
  std::string progress = "auto";
};

absl::StatusOr<v1::ExportAuditRequest> RequestFor(const Context& context, const AuditExportOptions& options) {
  v1::ExportAuditRequest request;
  request.set_name(context.MemoryName(options.memory));
  if (options.epoch.has_value()) request.set_expected_epoch(*options.epoch);
  if (options.digest.empty()) return request;
  const auto digest = FromHex(absl::AsciiStrToLower(options.digest));
  if (!digest.has_value() || digest->size() != sizeof(Digest)) {
    return UsageFailure("--state-digest is no digest",
                        "give the 64 hexadecimal digits of after.stateDigest in a certificate");
  }
  request.set_expected_state_digest(*digest);
  return request;
}

absl::Status Export(Context* context, const AuditExportOptions& options) {
  EXPUNGE_ASSIGN_OR_RETURN(const v1::ExportAuditRequest request, RequestFor(*context, options));
  EXPUNGE_ASSIGN_OR_RETURN(const auto file, FileInProgress::Begin(options.out, kPrivate));
  const absl::Duration patience =
      context->options.timeout_s.has_value() ? absl::Seconds(*context->options.timeout_s) : kExportPatience;
  BundleArrival arrival;
  v1::StateReference state;
  uint64_t tokens = 0;
  std::unique_ptr<Progress> progress;
  const auto take = [&](const v1::ExportAuditResponse& answer) -> absl::StatusOr<bool> {
    if (progress == nullptr) {
      state = answer.state();
      tokens = answer.token_count();
      progress = std::make_unique<Progress>(ParseProgressMode(options.progress), "exporting", tokens, stderr);
    }
    arrival.Take(answer.chunk());
    EXPUNGE_RETURN_IF_ERROR(file->Append(answer.chunk()));
    progress->Show(std::min(answer.tokens_sent(), tokens));
    return true;
  };
  EXPUNGE_RETURN_IF_ERROR(context->Client().ExportAudit(request, patience, take));
  progress.reset();
  EXPUNGE_RETURN_IF_ERROR(arrival.Finish());
  EXPUNGE_RETURN_IF_ERROR(file->Finish());
  Json json;
  json["memory"] = request.name();
  json["state"] = StateJson(state);
  json["token_count"] = tokens;
  json["bytes"] = arrival.bytes();
  json["saved_to"] = options.out;
  context->Print(json,
                 absl::StrCat(FormatFields(absl::StrCat("Exported the audit bundle of ", request.name()),
                                           {{"state", StateText(state)},
                                            {"tokens", absl::StrCat(tokens)},
                                            {"size", BytesText(arrival.bytes())},
                                            {"saved to", options.out}}),
                              "It is the personal data itself, with the memory's audit key: keep it as "
                              "you keep the data.\n"));
  return absl::OkStatus();
}

}  // namespace

void AddAuditCommands(CLI::App* app, Context* context) {
  CLI::App* group = app->add_subcommand("audit", "What an auditor needs to recompute a memory");
  group->require_subcommand(1);
  group->footer(
      "Examples:\n"
      "  expunge audit export cancer --out cancer.bundle");
  auto options = std::make_shared<AuditExportOptions>();
  CLI::App* command = group->add_subcommand(
      "export", "Save the audit bundle of a memory: its tokens and its state, enough to solve it again");
  command->add_option("MEMORY", options->memory, "Its name, short or full")->required();
  command->add_option("--out", options->out, "The file, made with mode 0600 once the bundle is whole")
      ->required();
  command->add_option("--state-digest", options->digest,
                      "Only if the memory is in this state: after.stateDigest of a certificate");
  command->add_option("--epoch", options->epoch, "Only if the memory is in this epoch");
  command->add_option("--progress", options->progress, "Draw a progress bar: auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command->footer(
      "The bundle is of one state, whatever changes while it is sent. Certify that state to tie the two "
      "together.\n\n"
      "Examples:\n"
      "  expunge certify cancer --nonce $(openssl rand -hex 16) --out state.json\n"
      "  expunge audit export cancer --out cancer.bundle\n"
      "  expunge-verify --key issuer.pem --bundle cancer.bundle state.json");
  command->callback([=] { context->action = [=] { return Export(context, *options); }; });
}

}  // namespace expunge::cli
