// What the erasing commands have in common.
#ifndef EXPUNGE_CLIENT_CLI_ERASURE_OPTIONS_H_
#define EXPUNGE_CLIENT_CLI_ERASURE_OPTIONS_H_

#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "client/cli/context.h"
#include "expunge/v1/memory_service.pb.h"
#include "expunge/v1/types.pb.h"

namespace expunge::cli {

struct ErasureOptions {
  std::string request_id;
  std::string legal_basis;
  std::string due;
  bool validate_only = false;
};

// Adds --request-id, --legal-basis, --due and --validate-only. REQUIRES: `options` outlives the parsing.
void AddErasureOptions(CLI::App* command, ErasureOptions* options);

// What the certificate says of the request. Returns: a UsageFailure unless --due is a time.
[[nodiscard]] absl::Status FillBasis(const ErasureOptions& options, v1::ErasureBasis* basis);

// Writes the envelope, byte for byte, to `path` unless that is empty, and its proof beside it.
// Returns: a UsageFailure whose message says that the erasure itself is done, and how to get the certificate.
[[nodiscard]] absl::Status SaveErasureCertificate(const v1::Certificate& certificate,
                                                  const std::string& path);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_ERASURE_OPTIONS_H_
