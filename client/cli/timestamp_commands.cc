// expunge log timestamp, expunge log verify-timestamp
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "certificate/timestamp/timestamp.h"
#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"
#include "client/cli/http.h"

namespace expunge::cli {
namespace {

using certificate::Timestamp;
using certificate::TimestampReason;

constexpr size_t kMaxCheckpointBytes = size_t{1} << 20;
constexpr size_t kMaxCaBytes = size_t{1} << 20;
constexpr absl::string_view kQuerySuffix = ".tsq";
constexpr absl::string_view kResponseSuffix = ".tsr";

struct TimestampOptions {
  std::string checkpoint;
  std::string url;
  std::string authority_file;
};

struct VerifyOptions {
  std::string checkpoint;
  std::string response;
  std::string authority_file;
};

std::string StampText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

absl::Status AsStatus(const Timestamp& stamp, const std::string& path) {
  if (stamp.reason == TimestampReason::kOk) return absl::OkStatus();
  return Refusal(
      certificate::TimestampReasonName(stamp.reason),
      absl::StrCat(path, ": ", certificate::TimestampReasonText(stamp.reason)),
      stamp.reason == TimestampReason::kUntrusted
          ? "give the certificate of the authority's CA with --tsa-ca, from a source that you trust"
          : "do not rely on it: ask for another one with 'expunge log timestamp'");
}

// The response, which answers the query; with --tsa-ca also who signed it.
absl::StatusOr<Timestamp> Check(const TimestampOptions& options, absl::string_view checkpoint,
                                absl::string_view query, absl::string_view response) {
  Timestamp stamp = certificate::ReadTimestamp(checkpoint, response, query);
  EXPUNGE_RETURN_IF_ERROR(AsStatus(stamp, options.url));
  if (options.authority_file.empty()) return stamp;
  EXPUNGE_ASSIGN_OR_RETURN(const std::string authorities, ReadFile(options.authority_file, kMaxCaBytes));
  stamp = certificate::VerifyTimestamp(checkpoint, response, authorities);
  EXPUNGE_RETURN_IF_ERROR(AsStatus(stamp, options.url));
  return stamp;
}

absl::Status MakeTimestamp(const Context& context, const TimestampOptions& options) {
  EXPUNGE_ASSIGN_OR_RETURN(const std::string checkpoint, ReadFile(options.checkpoint, kMaxCheckpointBytes));
  const std::string query = certificate::MakeTimestampQuery(checkpoint);
  const std::string query_file = absl::StrCat(options.checkpoint, kQuerySuffix);
  EXPUNGE_RETURN_IF_ERROR(WriteFile(query_file, query, 0644));
  Json json;
  json["checkpoint"] = options.checkpoint;
  json["query"] = query_file;
  json["response"] = nullptr;
  if (options.url.empty()) {
    context.Print(json, absl::StrCat("Query saved to ", query_file,
                                     ". Send it to a time-stamping authority (HTTP POST, application/"
                                     "timestamp-query), and save the answer as ",
                                     options.checkpoint, kResponseSuffix, ".\n"));
    return absl::OkStatus();
  }
  HttpRequest request;
  request.url = options.url;
  request.content_type = "application/timestamp-query";
  request.accept = "application/timestamp-reply";
  request.body = query;
  if (context.options.timeout_s.has_value()) request.timeout = absl::Seconds(*context.options.timeout_s);
  EXPUNGE_ASSIGN_OR_RETURN(const std::string response, Post(request));
  EXPUNGE_ASSIGN_OR_RETURN(const Timestamp stamp, Check(options, checkpoint, query, response));
  const std::string response_file = absl::StrCat(options.checkpoint, kResponseSuffix);
  EXPUNGE_RETURN_IF_ERROR(WriteFile(response_file, response, 0644));
  json["response"] = response_file;
  json["time"] = StampText(stamp.time);
  json["verified"] = !options.authority_file.empty();
  context.Print(
      json, absl::StrCat("Stamped ", StampText(stamp.time), ", saved to ", response_file, "\n",
                         options.authority_file.empty() ? "Who signed it was not checked: give --tsa-ca.\n"
                                                        : absl::StrCat("Signed by ", stamp.authority, "\n")));
  return absl::OkStatus();
}

absl::Status Verify(const Context& context, const VerifyOptions& options) {
  const std::string response_file =
      options.response.empty() ? absl::StrCat(options.checkpoint, kResponseSuffix) : options.response;
  EXPUNGE_ASSIGN_OR_RETURN(const std::string checkpoint, ReadFile(options.checkpoint, kMaxCheckpointBytes));
  EXPUNGE_ASSIGN_OR_RETURN(const std::string response,
                           ReadStart(response_file, certificate::kMaxTimestampBytes + 1));
  EXPUNGE_ASSIGN_OR_RETURN(const std::string authorities, ReadFile(options.authority_file, kMaxCaBytes));
  const Timestamp stamp = certificate::VerifyTimestamp(checkpoint, response, authorities);
  EXPUNGE_RETURN_IF_ERROR(AsStatus(stamp, response_file));
  Json json;
  json["checkpoint"] = options.checkpoint;
  json["response"] = response_file;
  json["time"] = StampText(stamp.time);
  json["authority"] = stamp.authority;
  context.Print(json, absl::StrCat("The log was in this state by ", StampText(stamp.time),
                                   ", by the clock of ", stamp.authority, "\n"));
  return absl::OkStatus();
}

void AddTimestamp(CLI::App* group, Context* context) {
  auto options = std::make_shared<TimestampOptions>();
  CLI::App* command =
      group->add_subcommand("timestamp", "Have a third party state when a checkpoint was there (RFC 3161)");
  command->add_option("CHECKPOINT", options->checkpoint, "A checkpoint of the log, saved in a file")
      ->required();
  command
      ->add_option(
          "--tsa", options->url,
          "URL of a time-stamping authority; without it, the query is only saved, to be sent by hand")
      ->check(CLI::Validator(
          [](std::string& text) {
            return text.rfind("http://", 0) == 0 || text.rfind("https://", 0) == 0
                       ? ""
                       : "must be http:// or https://";
          },
          "URL"));
  command->add_option("--tsa-ca", options->authority_file, "Certificates (PEM) that the answer must lead to");
  command->footer(
      "The authority learns a SHA-256, and nothing else. The query is saved as CHECKPOINT.tsq, the answer "
      "as\n"
      "CHECKPOINT.tsr. One time-stamp dates every certificate in the log up to its checkpoint.\n\n"
      "Examples:\n"
      "  expunge log timestamp checkpoint\n"
      "  expunge log timestamp checkpoint --tsa https://tsa.example.org --tsa-ca tsa-ca.pem");
  command->callback([=] { context->action = [=] { return MakeTimestamp(*context, *options); }; });
}

void AddVerifyTimestamp(CLI::App* group, Context* context) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command =
      group->add_subcommand("verify-timestamp", "Check such a time-stamp, without the service");
  command->add_option("CHECKPOINT", options->checkpoint, "The checkpoint that was stamped")->required();
  command->add_option("--response", options->response, "The authority's answer (default: CHECKPOINT.tsr)");
  command->add_option("--tsa-ca", options->authority_file, "Certificates (PEM) of authorities that you trust")
      ->required();
  command->footer(
      "The same with OpenSSL: openssl ts -verify -data CHECKPOINT -in CHECKPOINT.tsr -CAfile tsa-ca.pem\n\n"
      "Examples:\n"
      "  expunge log verify-timestamp checkpoint --tsa-ca tsa-ca.pem");
  command->callback([=] { context->action = [=] { return Verify(*context, *options); }; });
}

}  // namespace

void AddLogCommands(CLI::App* app, Context* context) {
  CLI::App* log =
      app->add_subcommand("log", "The log of certificates: proofs, and time-stamps of its checkpoints");
  log->require_subcommand(1);
  AddLogProofCommand(log, context);
  AddTimestamp(log, context);
  AddVerifyTimestamp(log, context);
  log->footer(
      "Examples:\n"
      "  expunge log proof --checkpoint-out checkpoint\n"
      "  expunge log timestamp checkpoint --tsa https://tsa.example.org");
}

}  // namespace expunge::cli
