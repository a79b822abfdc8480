#include "client/cli/erasure_options.h"

#include "absl/strings/str_cat.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"

namespace expunge::cli {

void AddErasureOptions(CLI::App* command, ErasureOptions* options) {
  command->add_option(
      "--request-id", options->request_id,
      "Makes the call repeatable: the same id and call give the same answer (default: random, printed)");
  command->add_option(
      "--legal-basis", options->legal_basis,
      "Copied into the certificate, such as 'GDPR Art. 17(1)(b)'; nothing that identifies a person");
  command->add_flag("--validate-only", options->validate_only, "Check everything and change nothing");
}

absl::Status SaveErasureCertificate(const v1::Certificate& certificate, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  absl::Status saved = WriteFile(path, certificate.envelope(), 0644);
  if (saved.ok()) return saved;
  return WithHint(WithContext("the erasure is done, but its certificate is not saved", saved),
                  absl::StrCat("get it with 'expunge cert get ", certificate.name(), " --out FILE'"));
}

}  // namespace expunge::cli
