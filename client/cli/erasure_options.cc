#include "client/cli/erasure_options.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cli/certificate_files.h"
#include "client/cli/failure.h"

namespace expunge::cli {

void AddErasureOptions(CLI::App* command, ErasureOptions* options) {
  command->add_option(
      "--request-id", options->request_id,
      "Makes the call repeatable: the same id and call give the same answer (default: random, printed)");
  command->add_option(
      "--legal-basis", options->legal_basis,
      "Copied into the certificate, such as 'GDPR Art. 17(1)(b)'; nothing that identifies a person");
  command->add_option(
      "--due", options->due,
      "Until when the request has to be met, copied into the certificate: such as 2026-03-01 or "
      "2026-03-01T12:00:00Z");
  command->add_flag("--validate-only", options->validate_only, "Check everything and change nothing");
}

absl::Status FillBasis(const ErasureOptions& options, v1::ErasureBasis* basis) {
  basis->set_legal_basis(options.legal_basis);
  if (options.due.empty()) return absl::OkStatus();
  absl::Time due;
  if (!absl::ParseTime("%E4Y-%m-%d", options.due, &due, nullptr) &&
      !absl::ParseTime("%E4Y-%m-%dT%H:%M:%S%Ez", options.due, &due, nullptr)) {
    return UsageFailure("--due is not a time",
                        "write it as 2026-03-01 (the day's beginning, in UTC) or 2026-03-01T12:00:00Z");
  }
  basis->mutable_due()->set_seconds(absl::ToUnixSeconds(due));
  return absl::OkStatus();
}

absl::Status SaveErasureCertificate(const v1::Certificate& certificate, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  absl::Status saved = SaveCertificate(certificate, path);
  if (saved.ok()) return saved;
  return WithHint(WithContext("the erasure is done, but its certificate is not saved", saved),
                  absl::StrCat("get it with 'expunge cert get ", certificate.name(), " --out FILE'"));
}

}  // namespace expunge::cli
