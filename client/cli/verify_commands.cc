// expunge cert show|verify
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "certificate/describe.h"
#include "certificate/key_chain.h"
#include "certificate/log/checkpoint.h"
#include "certificate/log/log_proof.h"
#include "client/cli/certificate_files.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"
#include "client/cli/trust.h"
#include "client/verify/audit.h"
#include "client/verify/inputs.h"

namespace expunge::cli {
namespace {

struct ShowOptions {
  std::string name;
  std::string file;
  std::vector<std::string> keys;
  std::string key_sets;
};

struct VerifyOptions {
  std::vector<std::string> files;
  std::vector<std::string> keys;
};

// What is shown, as the verifier wants it: first the certificate, then perhaps the second stage of its
// removal.
struct Subject {
  verify::Inputs inputs;
  std::string completed_by;  // the name of that second stage; empty: there is none, or nobody knows
};

// What the service says of itself: its key sets, if it has any, and its keys.
absl::Status AddServiceKeys(Context* context, verify::Inputs* inputs) {
  EXPUNGE_ASSIGN_OR_RETURN(const v1::ListSigningKeysResponse listed, context->Client().ListSigningKeys());
  for (const auto& key : listed.keys()) {
    if (key.use() != v1::KEY_USE_CERTIFICATE) continue;
    EXPUNGE_ASSIGN_OR_RETURN(auto parsed, certificate::PublicKey::FromPem(key.public_key_pem()));
    inputs->keys.push_back(std::move(parsed));
  }
  if (listed.key_sets().empty()) return absl::OkStatus();
  const std::vector<std::string> sets(listed.key_sets().begin(), listed.key_sets().end());
  inputs->key_sets = verify::NamedBytes{"key sets of the service", certificate::KeysFile(sets)};
  return absl::OkStatus();
}

verify::CertificateFile FileOf(const v1::Certificate& certificate) {
  verify::CertificateFile file{certificate.name(), certificate.envelope(), std::nullopt};
  if (!certificate.log_proof().empty()) file.proof = certificate.log_proof();
  return file;
}

// The certificate of the second stage, if it has been issued.
absl::Status AddSecondStage(Context* context, const v1::Certificate& first, Subject* subject) {
  if (first.stage() != v1::ERASURE_STAGE_KEY_DESTROYED) return absl::OkStatus();
  v1::ListCertificatesRequest request;
  request.set_parent(context->TenantName());
  request.set_memory(first.memory());
  request.set_stage(v1::ERASURE_STAGE_PHYSICALLY_PURGED);
  *request.mutable_create_time_start() = first.create_time();
  return context->Client().EachCertificate(request, [&](const v1::Certificate& certificate) {
    if (certificate.completes() != first.name()) return absl::OkStatus();
    subject->completed_by = certificate.name();
    subject->inputs.certificates.push_back(FileOf(certificate));
    return absl::OkStatus();
  });
}

absl::StatusOr<Subject> FetchSubject(Context* context, const std::string& name) {
  v1::GetCertificateRequest request;
  request.set_name(context->CertificateName(name));
  EXPUNGE_ASSIGN_OR_RETURN(const v1::GetCertificateResponse response,
                           context->Client().GetCertificate(request));
  Subject subject;
  subject.inputs.certificates.push_back(FileOf(response.certificate()));
  EXPUNGE_RETURN_IF_ERROR(AddSecondStage(context, response.certificate(), &subject));
  return subject;
}

absl::StatusOr<Subject> ReadSubject(const std::string& path) {
  verify::CertificateFile file{path, "", std::nullopt};
  EXPUNGE_ASSIGN_OR_RETURN(file.envelope, ReadCertificate(path));
  const absl::StatusOr<std::string> proof = ReadFile(ProofPath(path), certificate::kMaxNoteBytes);
  if (proof.ok()) file.proof = *proof;
  Subject subject;
  subject.inputs.certificates.push_back(std::move(file));
  return subject;
}

// The payload as JSON; it has just been verified, so it parses.
Json PayloadJson(const std::string& payload) {
  Json json = Json::parse(payload, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json(nullptr) : json;
}

// "12 of 0 to 40", from a proof that is beside the certificate; empty without one.
std::string LogPlace(const verify::CertificateFile& file) {
  if (!file.proof.has_value()) return "";
  const certificate::ParsedLogProof parsed = certificate::ParseLogProof(*file.proof);
  if (parsed.reason != certificate::LogReason::kOk) return "";
  std::string place = absl::StrCat("leaf ", parsed.proof.index);
  const absl::string_view note = parsed.proof.checkpoint;
  const auto checkpoint = certificate::ParseCheckpointText(note.substr(0, note.find("\n\n") + 1));
  if (!checkpoint.has_value()) return place;
  return absl::StrCat(place, " of ", checkpoint->tree.size, " in the log ", checkpoint->origin);
}

absl::Status PrintSubject(Context* context, const Subject& subject, const verify::CertificateReport& report,
                          bool keys_of_service) {
  const auto words = certificate::DescribePayload(report.result->payload);
  if (!words.ok())
    return Refusal("MALFORMED_STATEMENT", words.status().message(),
                   "use an expunge of the certificate's version");
  const std::string place = LogPlace(subject.inputs.certificates.front());
  Json json;
  json["key_id"] = report.result->key_id;
  json["key_from"] = keys_of_service ? "service" : "file";
  json["claims"] = Json::object();
  Fields fields;
  for (const verify::Claim& claim : report.claims) {
    const verify::Verdict& verdict = claim.verdict;
    const std::string outcome(verify::OutcomeName(verdict.outcome));
    json["claims"][claim.name] = {
        {"verdict", outcome}, {"reason", verdict.reason}, {"message", verdict.text}};
    fields.emplace_back(
        claim.name,
        absl::StrCat(verdict.ok() ? "OK" : absl::StrCat(outcome, " ", verdict.reason), ": ", verdict.text));
  }
  json["log_place"] = place.empty() ? Json(nullptr) : Json(place);
  json["completed_by"] = subject.completed_by.empty() ? Json(nullptr) : Json(subject.completed_by);
  json["description"] = *words;
  json["statement"] = PayloadJson(report.result->payload);
  if (!place.empty()) fields.emplace_back("log", place);
  if (!subject.completed_by.empty()) fields.emplace_back("second stage", subject.completed_by);
  const std::string trust = keys_of_service
                                ? "a key that the service itself lists; name the key you trust with --key"
                                : "the key you named";
  context->Print(json, absl::StrCat(*words, "\n", FormatFields("Verified now", fields), "\nVerified with ",
                                    trust, " (", report.result->key_id, ")\n"));
  return absl::OkStatus();
}

// A certificate that is shown, or completes it.
absl::Status CheckVerified(const verify::CertificateReport& certificate) {
  EXPUNGE_RETURN_IF_ERROR(certificate.result.status());
  EXPUNGE_RETURN_IF_ERROR(AsStatus(*certificate.result));
  const verify::Claim* worst = WorstOf(certificate.claims);
  if (worst == nullptr || !worst->verdict.failed()) return absl::OkStatus();
  return Refusal(worst->verdict.reason,
                 absl::StrCat("the certificate does not verify: ", worst->verdict.text),
                 "do not rely on this file, and ask its issuer");
}

// What was given beside it, such as key sets.
absl::Status CheckGood(const verify::CheckReport& check) {
  const verify::Verdict& verdict = check.claim.verdict;
  if (verdict.good()) return absl::OkStatus();
  return Refusal(verdict.reason, absl::StrCat(check.file, " does not verify: ", verdict.text),
                 "do not rely on this file, and ask its issuer");
}

absl::Status Show(Context* context, const ShowOptions& options) {
  if (options.name.empty() == options.file.empty()) {
    return UsageFailure("which certificate?", "give either a name from 'expunge cert list' or --file FILE");
  }
  EXPUNGE_ASSIGN_OR_RETURN(Subject subject, options.file.empty() ? FetchSubject(context, options.name)
                                                                 : ReadSubject(options.file));
  if (options.keys.empty()) {
    EXPUNGE_RETURN_IF_ERROR(AddServiceKeys(context, &subject.inputs));
  } else {
    EXPUNGE_ASSIGN_OR_RETURN(subject.inputs.keys, LoadPublicKeys(options.keys));
  }
  if (!options.key_sets.empty()) {
    EXPUNGE_ASSIGN_OR_RETURN(std::string sets, ReadFile(options.key_sets, certificate::kMaxKeysFileBytes));
    subject.inputs.key_sets = verify::NamedBytes{options.key_sets, std::move(sets)};
  }
  const verify::Report report = verify::Audit(subject.inputs);
  const verify::CertificateReport& shown = report.certificates.front();
  for (const verify::CertificateReport& certificate : report.certificates) {
    EXPUNGE_RETURN_IF_ERROR(CheckVerified(certificate));
  }
  for (const verify::CheckReport& check : report.checks) EXPUNGE_RETURN_IF_ERROR(CheckGood(check));
  return PrintSubject(context, subject, shown, options.keys.empty());
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
  command->add_option("--keys", options->key_sets,
                      "Published key sets (keys.json; default without --key: those of the service)");
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
