// expunge cert show|verify
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "certificate/describe.h"
#include "client/cli/failure.h"
#include "client/cli/trust.h"

namespace expunge::cli {
namespace {

struct ShowOptions {
  std::string name;
  std::string file;
  std::vector<std::string> keys;
};

struct VerifyOptions {
  std::vector<std::string> files;
  std::vector<std::string> keys;
};

absl::StatusOr<std::string> FetchEnvelope(Context* context, const std::string& name) {
  v1::GetCertificateRequest request;
  request.set_name(context->CertificateName(name));
  EXPUNGE_ASSIGN_OR_RETURN(const v1::GetCertificateResponse response,
                           context->Client().GetCertificate(request));
  return response.certificate().envelope();
}

// The payload as JSON; it has just been verified, so it parses.
Json PayloadJson(const std::string& payload) {
  Json json = Json::parse(payload, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json(nullptr) : json;
}

absl::Status Show(Context* context, const ShowOptions& options) {
  if (options.name.empty() == options.file.empty()) {
    return UsageFailure("which certificate?", "give either a name from 'expunge cert list' or --file FILE");
  }
  EXPUNGE_ASSIGN_OR_RETURN(const std::string envelope, options.file.empty()
                                                           ? FetchEnvelope(context, options.name)
                                                           : ReadCertificate(options.file));
  EXPUNGE_ASSIGN_OR_RETURN(const auto keys,
                           options.keys.empty() ? FetchPublicKeys(context) : LoadPublicKeys(options.keys));
  const certificate::VerifyResult result = certificate::VerifyEnvelope(envelope, keys);
  EXPUNGE_RETURN_IF_ERROR(AsStatus(result));
  const auto words = certificate::DescribePayload(result.payload);
  if (!words.ok())
    return Refusal("MALFORMED_STATEMENT", words.status().message(),
                   "use an expunge of the certificate's version");
  const std::string trust = options.keys.empty()
                                ? "a key that the service itself lists; name the key you trust with --key"
                                : "the key you named";
  Json json;
  json["key_id"] = result.key_id;
  json["key_from"] = options.keys.empty() ? "service" : "file";
  json["description"] = *words;
  json["statement"] = PayloadJson(result.payload);
  context->Print(json, absl::StrCat(*words, "\nVerified with ", trust, " (", result.key_id, ")\n"));
  return absl::OkStatus();
}

struct FileVerdict {
  absl::Status status;  // not ok: refused, or unreadable
  std::string reason;   // of the verifier, or UNREADABLE
  std::string words;
  std::string key_id;  // "" unless it verified
};

FileVerdict VerifyFile(const std::string& file, absl::Span<const certificate::PublicKey> keys) {
  const absl::StatusOr<std::string> envelope = ReadCertificate(file);
  if (!envelope.ok()) {
    return {envelope.status(), "UNREADABLE", std::string(envelope.status().message()), ""};
  }
  const certificate::VerifyResult result = certificate::VerifyEnvelope(*envelope, keys);
  return {AsStatus(result), std::string(certificate::VerifyReasonName(result.reason)),
          std::string(certificate::VerifyReasonText(result.reason)), result.key_id};
}

absl::Status Verify(Context* context, const VerifyOptions& options) {
  EXPUNGE_ASSIGN_OR_RETURN(const auto keys, LoadPublicKeys(options.keys));
  Json json;
  json["verified"] = true;
  json["certificates"] = Json::array();
  std::string text;
  absl::Status refused;
  absl::Status unreadable;
  for (const std::string& file : options.files) {
    const FileVerdict verdict = VerifyFile(file, keys);
    json["certificates"].push_back({{"file", file},
                                    {"verified", verdict.status.ok()},
                                    {"reason", verdict.reason},
                                    {"message", verdict.words},
                                    {"key_id", verdict.key_id}});
    absl::StrAppend(&text, Printable(file), verdict.status.ok() ? ": VERIFIED (" : ": REFUSED (",
                    verdict.reason, "): ", verdict.words, "\n");
    if (verdict.status.ok()) continue;
    json["verified"] = false;
    (ExitCodeOf(verdict.status) == kExitRefused ? refused : unreadable) = WithContext(file, verdict.status);
  }
  context->Print(json, text);
  return refused.ok() ? unreadable : refused;
}

}  // namespace

void AddShowCommand(CLI::App* group, Context* context) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command = group->add_subcommand("show", "Verify a certificate, then say in words what it says");
  command->add_option("NAME", options->name, "The certificate, short or full name");
  command->add_option("--file", options->file, "A certificate file instead");
  command->add_option("--key", options->keys,
                      "Public keys you trust, PEM files (default: the keys that the service lists)");
  command->footer(
      "Examples:\n"
      "  expunge cert show 000000000001\n"
      "  expunge cert show --file purged.json --key issuer.pem");
  command->callback([=] { context->action = [=] { return Show(context, *options); }; });
}

void AddVerifyCommand(CLI::App* group, Context* context) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command =
      group->add_subcommand("verify", "Check certificate files against public keys; needs no service");
  command->add_option("FILE", options->files, "Certificate files")->required();
  command->add_option("--key", options->keys, "Public keys you trust, PEM files; may be repeated")
      ->required()
      ->allow_extra_args(false);
  command->footer(
      "Exit code 0 only if every file verifies; 1 if one is refused; 2 if one cannot be read. Each file's "
      "reason is "
      "printed.\n\n"
      "Examples:\n"
      "  expunge cert verify purged.json --key issuer.pem\n"
      "  expunge cert verify certificates/*.json --key issuer-2025.pem --key issuer-2026.pem --output json");
  command->callback([=] { context->action = [=] { return Verify(context, *options); }; });
}

}  // namespace expunge::cli
