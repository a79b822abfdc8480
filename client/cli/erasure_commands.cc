// expunge delete, expunge purge, expunge erasure status
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/cli/certificate_files.h"
#include "client/cli/commands.h"
#include "client/cli/erasure_options.h"
#include "client/cli/failure.h"
#include "client/cli/views.h"

namespace expunge::cli {
namespace {

struct DeleteOptions {
  std::string memory;
  std::vector<std::string> tokens;
  std::string out;
  ErasureOptions erasure;
};

struct PurgeOptions {
  std::string subject;
  std::string out_dir;
  ErasureOptions erasure;
};

absl::Status Delete(Context* context, const DeleteOptions& options) {
  v1::DeleteRequest request;
  request.set_parent(context->MemoryName(options.memory));
  for (const std::string& token : options.tokens) request.add_token_ids(token);
  request.set_request_id(RequestId(options.erasure.request_id));
  request.set_validate_only(options.erasure.validate_only);
  EXPUNGE_RETURN_IF_ERROR(FillBasis(options.erasure, request.mutable_basis()));
  const auto response = context->Client().Delete(request);
  EXPUNGE_RETURN_IF_ERROR(WithRetryHint(response.status(), request.request_id()));
  Json json;
  json["memory"] = request.parent();
  json["validated_only"] = options.erasure.validate_only;
  json["deleted"] = options.erasure.validate_only ? 0 : response->deleted_count();
  json["request_id"] = request.request_id();
  if (options.erasure.validate_only) {
    context->Print(json, absl::StrCat("Valid: would delete ", Count(options.tokens.size(), "token"), " from ",
                                      request.parent(), "; nothing was changed\n"));
    return absl::OkStatus();
  }
  EXPUNGE_RETURN_IF_ERROR(SaveErasureCertificate(response->certificate(), options.out));
  json["state"] = StateJson(response->state());
  json["certificate"] = CertificateJson(response->certificate());
  json["saved_to"] = options.out.empty() ? Json(nullptr) : Json(options.out);
  Fields fields = {{"state", StateText(response->state())},
                   {"certificate", response->certificate().name()},
                   {"request id", request.request_id()}};
  if (!options.out.empty()) fields.emplace_back("saved to", options.out);
  context->Print(json, FormatFields(absl::StrCat("Deleted ", Count(response->deleted_count(), "token"),
                                                 " from ", request.parent()),
                                    fields));
  return absl::OkStatus();
}

absl::Status Purge(Context* context, const PurgeOptions& options) {
  // Before anything is erased, so that a wrong path cannot cost a certificate.
  EXPUNGE_RETURN_IF_ERROR(MakeDirectory(options.out_dir, "nothing was purged; choose another --out-dir"));
  v1::PurgeRequest request;
  request.set_parent(context->TenantName());
  request.set_subject(options.subject);
  request.set_request_id(RequestId(options.erasure.request_id));
  request.set_validate_only(options.erasure.validate_only);
  EXPUNGE_RETURN_IF_ERROR(FillBasis(options.erasure, request.mutable_basis()));
  const auto response = context->Client().Purge(request);
  EXPUNGE_RETURN_IF_ERROR(WithRetryHint(response.status(), request.request_id()));
  Json json;
  json["tenant"] = request.parent();
  json["validated_only"] = options.erasure.validate_only;
  json["deleted"] = options.erasure.validate_only ? 0 : response->deleted_count();
  json["request_id"] = request.request_id();
  json["certificates"] = Json::array();
  if (options.erasure.validate_only) {
    context->Print(json, absl::StrCat("Valid: ", request.parent(),
                                      " holds tokens of this subject; nothing was changed\n"));
    return absl::OkStatus();
  }
  Fields fields;
  for (const v1::Certificate& certificate : response->certificates()) {
    const std::string path = CertificatePath(options.out_dir, certificate);
    EXPUNGE_RETURN_IF_ERROR(SaveErasureCertificate(certificate, path));
    Json entry = CertificateJson(certificate);
    entry["saved_to"] = path.empty() ? Json(nullptr) : Json(path);
    json["certificates"].push_back(std::move(entry));
    fields.emplace_back("memory", certificate.memory());
    fields.emplace_back("certificate", certificate.name());
    if (!path.empty()) fields.emplace_back("saved to", path);
  }
  fields.emplace_back("request id", request.request_id());
  context->Print(
      json, FormatFields(
                absl::StrCat("Purged ", Count(response->deleted_count(), "token"), " of this subject from ",
                             Count(static_cast<uint64_t>(response->certificates_size()), "memory"), " of ",
                             request.parent()),
                fields));
  return absl::OkStatus();
}

absl::Status ErasureStatus(Context* context) {
  v1::GetErasureStatusRequest request;
  request.set_parent(context->TenantName());
  EXPUNGE_ASSIGN_OR_RETURN(const v1::GetErasureStatusResponse status,
                           context->Client().GetErasureStatus(request));
  const std::string none = "-";
  const std::string oldest = status.has_oldest_age() ? DurationText(status.oldest_age()) : none;
  const std::string within = status.has_promised_within() ? DurationText(status.promised_within()) : none;
  Json json;
  json["tenant"] = request.parent();
  json["pending"] = status.pending_count();
  json["oldest_age"] = status.has_oldest_age() ? Json(oldest) : Json(nullptr);
  json["promised_within"] = status.has_promised_within() ? Json(within) : Json(nullptr);
  json["last_error"] = status.last_error().empty() ? Json(nullptr) : Json(status.last_error());
  Fields fields = {{"oldest has waited", oldest}, {"promised within", within}};
  if (!status.last_error().empty()) fields.emplace_back("last attempt failed", status.last_error());
  context->Print(
      json, FormatFields(absl::StrCat(Count(status.pending_count(), "erasure"), " of ", request.parent(),
                                      " with destroyed keys, whose ciphertext is still to leave the files"),
                         fields));
  return absl::OkStatus();
}

}  // namespace

void AddErasureCommands(CLI::App* app, Context* context) {
  auto del = std::make_shared<DeleteOptions>();
  CLI::App* delete_command =
      app->add_subcommand("delete", "Remove tokens of one memory, all of them or none, and certify it");
  delete_command->add_option("MEMORY", del->memory, "Its name, short or full")->required();
  delete_command->add_option("--token", del->tokens, "Ids of the tokens")->required();
  AddErasureOptions(delete_command, &del->erasure);
  delete_command->add_option("--out", del->out, "Save the certificate here, byte for byte");
  delete_command->footer(
      "Afterwards the memory is, bit for bit, one that never held these tokens.\n\n"
      "Examples:\n"
      "  expunge delete cancer --token fna-007 --validate-only\n"
      "  expunge delete cancer --token fna-007 fna-008 --legal-basis 'GDPR Art. 17(1)(b)' --out "
      "deleted.json");
  delete_command->callback([=] { context->action = [=] { return Delete(context, *del); }; });

  auto purge = std::make_shared<PurgeOptions>();
  CLI::App* purge_command =
      app->add_subcommand("purge", "Remove every token that names a subject, in all memories of the tenant");
  purge_command->add_option("--subject", purge->subject, "The data subject")->required();
  AddErasureOptions(purge_command, &purge->erasure);
  purge_command->add_option("--out-dir", purge->out_dir,
                            "Save the certificates in this directory, one for each memory");
  purge_command->footer(
      "One durable step, and one certificate for each memory that held tokens of the subject.\n\n"
      "Examples:\n"
      "  expunge purge --subject patient-007 --validate-only\n"
      "  expunge purge --subject patient-007 --legal-basis 'GDPR Art. 17(1)(b)' --out-dir certificates");
  purge_command->callback([=] { context->action = [=] { return Purge(context, *purge); }; });

  CLI::App* erasure = app->add_subcommand("erasure", "How far erasures have come");
  erasure->require_subcommand(1);
  CLI::App* status = erasure->add_subcommand(
      "status", "Erasures whose keys are destroyed, and whose ciphertext is still in files");
  status->footer(
      "The second certificate of an erasure, of stage PHYSICALLY_PURGED, is issued when it leaves this "
      "list:\n"
      "expunge cert list shows it.\n\n"
      "Examples:\n"
      "  expunge erasure status\n"
      "  expunge erasure status --output json");
  status->callback([=] { context->action = [=] { return ErasureStatus(context); }; });
}

}  // namespace expunge::cli
