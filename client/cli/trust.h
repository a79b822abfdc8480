// Verifying certificates against public keys that the caller names.
#ifndef EXPUNGE_CLIENT_CLI_TRUST_H_
#define EXPUNGE_CLIENT_CLI_TRUST_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "certificate/envelope.h"
#include "certificate/signing_key.h"
#include "client/cli/context.h"

namespace expunge::cli {

// Reads one PEM public key from each file. Returns: a UsageFailure that names the file.
[[nodiscard]] absl::StatusOr<std::vector<certificate::PublicKey>> LoadPublicKeys(
    absl::Span<const std::string> paths);

// The bytes of a certificate file. Returns: a UsageFailure if it cannot be read.
[[nodiscard]] absl::StatusOr<std::string> ReadCertificate(const std::string& path);

// OK, or a Refusal with the verifier's reason.
[[nodiscard]] absl::Status AsStatus(const certificate::VerifyResult& result);

// expunge cert show|verify|report
void AddShowCommand(CLI::App* group, Context* context);
void AddVerifyCommand(CLI::App* group, Context* context);
void AddReportCommand(CLI::App* group, Context* context);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_TRUST_H_
