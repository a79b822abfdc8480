// expunge certify, expunge cert get|keys
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/status_macros.h"
#include "client/cli/certificate_files.h"
#include "client/cli/certificate_list_commands.h"
#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"
#include "client/cli/trust.h"
#include "client/cli/views.h"

namespace expunge::cli {
namespace {

struct CertifyOptions {
  std::string memory;
  std::string nonce;
  std::string out;
  std::string request_id;
};

struct KeysOptions {
  std::string out;
  std::string key_id;
};

absl::Status Certify(Context* context, const CertifyOptions& options) {
  v1::CertifyRequest request;
  request.set_name(context->MemoryName(options.memory));
  const auto nonce = FromHex(absl::AsciiStrToLower(options.nonce));
  if (!nonce.has_value())
    return UsageFailure("--nonce is not hexadecimal",
                        "give an even number of digits 0-9 a-f, such as from 'openssl rand -hex 16'");
  request.set_nonce(*nonce);
  request.set_request_id(RequestId(options.request_id));
  const auto response = context->Client().Certify(request);
  EXPUNGE_RETURN_IF_ERROR(WithRetryHint(response.status(), request.request_id()));
  const v1::Certificate& certificate = response->certificate();
  if (!options.out.empty()) EXPUNGE_RETURN_IF_ERROR(SaveCertificate(certificate, options.out));
  Json json;
  json["certificate"] = CertificateJson(certificate);
  json["saved_to"] = options.out.empty() ? Json(nullptr) : Json(options.out);
  json["request_id"] = request.request_id();
  Fields fields = {{"certificate", certificate.name()}, {"request id", request.request_id()}};
  if (!options.out.empty()) fields.emplace_back("saved to", options.out);
  context->Print(json, FormatFields(absl::StrCat("Certified the state of ", request.name()), fields));
  return absl::OkStatus();
}

absl::Status Get(Context* context, const std::string& name, const std::string& out) {
  v1::GetCertificateRequest request;
  request.set_name(context->CertificateName(name));
  EXPUNGE_ASSIGN_OR_RETURN(const v1::GetCertificateResponse response,
                           context->Client().GetCertificate(request));
  const v1::Certificate& certificate = response.certificate();
  if (!out.empty()) EXPUNGE_RETURN_IF_ERROR(SaveCertificate(certificate, out));
  Json json = CertificateJson(certificate);
  const bool has_proof = !certificate.log_proof().empty();
  json["saved_to"] = out.empty() ? Json(nullptr) : Json(out);
  json["proof_saved_to"] = out.empty() || !has_proof ? Json(nullptr) : Json(ProofPath(out));
  if (out.empty()) json["envelope_base64"] = ToBase64(certificate.envelope());
  if (out.empty()) json["log_proof"] = certificate.log_proof();
  // Without --out, exactly the bytes that were signed, so that the output can be sent on to a file.
  if (out.empty()) {
    context->PrintExactly(json, certificate.envelope());
  } else {
    const std::string claim = certificate.has_selection()
                                  ? absl::StrCat("Its claim: ", HorizonText(certificate.selection()), "\n")
                                  : "";
    const std::string proof =
        has_proof ? absl::StrCat(", and its proof of the log to ", ProofPath(out)) : std::string();
    context->Print(json, absl::StrCat("Saved ", certificate.name(), " to ", out, proof, "\n", claim));
  }
  return absl::OkStatus();
}

absl::Status Keys(Context* context, const KeysOptions& options) {
  EXPUNGE_ASSIGN_OR_RETURN(const v1::ListSigningKeysResponse response, context->Client().ListSigningKeys());
  Json json;
  json["keys"] = Json::array();
  std::vector<const v1::SigningKey*> chosen;
  for (const v1::SigningKey& key : response.keys()) {
    if (key.use() != v1::KEY_USE_CERTIFICATE) continue;
    if (!options.key_id.empty() && key.key_id() != options.key_id) continue;
    // One file has one key: unless told otherwise, that of new certificates.
    if (!options.out.empty() && options.key_id.empty() && key.has_retire_time()) continue;
    chosen.push_back(&key);
    json["keys"].push_back({{"key_id", key.key_id()},
                            {"algorithm", key.algorithm()},
                            {"public_key_pem", key.public_key_pem()},
                            {"create_time", TimeText(key.create_time())}});
  }
  if (chosen.empty())
    return UsageFailure("the service lists no such key", "see them all with 'expunge cert keys'");
  if (!options.out.empty() && chosen.size() != 1) {
    return UsageFailure(absl::StrCat("the service lists ", chosen.size(), " keys"),
                        "choose one with --key-id; see them with 'expunge cert keys'");
  }
  if (!options.out.empty())
    EXPUNGE_RETURN_IF_ERROR(WriteFile(options.out, chosen.front()->public_key_pem(), 0644));
  json["saved_to"] = options.out.empty() ? Json(nullptr) : Json(options.out);
  std::string text;
  for (const v1::SigningKey* key : chosen) {
    absl::StrAppend(&text, key->algorithm(), " key ", key->key_id(), ", made ", TimeText(key->create_time()),
                    "\n");
    absl::StrAppend(
        &text, options.out.empty() ? key->public_key_pem() : absl::StrCat("saved to ", options.out, "\n"));
  }
  context->Print(json, text);
  return absl::OkStatus();
}

void AddCertify(CLI::App* app, Context* context) {
  auto options = std::make_shared<CertifyOptions>();
  CLI::App* command = app->add_subcommand("certify", "Certify the present state of a memory");
  command->add_option("MEMORY", options->memory, "Its name, short or full")->required();
  command->add_option("--nonce", options->nonce,
                      "Hexadecimal, at most 64 bytes: chosen by the auditor, copied into the certificate");
  command->add_option("--out", options->out,
                      "Save the certificate here, byte for byte, and its proof of the log beside it");
  command->add_option("--request-id", options->request_id,
                      "Makes the call repeatable (default: random, printed)");
  command->footer(
      "A nonce that nobody could foresee shows that the certificate is not older than the question.\n\n"
      "Examples:\n"
      "  expunge certify cancer --nonce $(openssl rand -hex 16) --out state.json\n"
      "  expunge certify cancer --output json");
  command->callback([=] { context->action = [=] { return Certify(context, *options); }; });
}

void AddGet(CLI::App* group, Context* context) {
  auto name = std::make_shared<std::string>();
  auto out = std::make_shared<std::string>();
  CLI::App* command = group->add_subcommand("get", "Fetch one certificate, byte for byte as signed");
  command->add_option("NAME", *name, "The certificate, short or full name")->required();
  command->add_option("--out", *out,
                      "Save it here, X.json, and its proof of the log beside it, X.tlog-proof (default: the "
                      "certificate alone, to standard output)");
  command->footer(
      "Examples:\n"
      "  expunge cert get 000000000001 --out purged.json\n"
      "  expunge cert get tenants/default/certificates/000000000001 > purged.json");
  command->callback([=] { context->action = [=] { return Get(context, *name, *out); }; });
}

void AddKeys(CLI::App* group, Context* context) {
  auto options = std::make_shared<KeysOptions>();
  CLI::App* command =
      group->add_subcommand("keys", "Show or save the public keys under which certificates verify");
  command->add_option("--out", options->out, "Save the key here, PEM");
  command->add_option("--key-id", options->key_id, "Only this key");
  command->footer(
      "Keep the key in a place that the service cannot write to, and compare its id with the issuer's "
      "word.\n\n"
      "Examples:\n"
      "  expunge cert keys\n"
      "  expunge cert keys --out issuer.pem");
  command->callback([=] { context->action = [=] { return Keys(context, *options); }; });
}

}  // namespace

void AddCertificateCommands(CLI::App* app, Context* context) {
  AddCertify(app, context);
  CLI::App* group = app->add_subcommand("cert", "Fetch, list, watch, read, verify and report certificates");
  group->require_subcommand(1);
  AddGet(group, context);
  AddListCommand(group, context);
  AddWatchCommand(group, context);
  AddExportCommand(group, context);
  AddShowCommand(group, context);
  AddVerifyCommand(group, context);
  AddReportCommand(group, context);
  AddKeys(group, context);
  group->footer(
      "Examples:\n"
      "  expunge cert list\n"
      "  expunge cert watch\n"
      "  expunge cert get 000000000001 --out purged.json\n"
      "  expunge cert keys --out issuer.pem\n"
      "  expunge cert verify purged.json --key issuer.pem\n"
      "  expunge cert report erasure.html purged.json --key issuer.pem");
}

}  // namespace expunge::cli
