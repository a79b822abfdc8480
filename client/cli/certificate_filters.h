// The options by which 'cert list', 'cert watch' and 'cert export' choose certificates.
#ifndef EXPUNGE_CLIENT_CLI_CERTIFICATE_FILTERS_H_
#define EXPUNGE_CLIENT_CLI_CERTIFICATE_FILTERS_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/context.h"
#include "expunge/v1/unlearning_service.pb.h"

namespace expunge::cli {

struct CertificateFilters {
  std::string memory;
  std::string kind;
  std::string stage;
  std::string since;
  std::string until;
  std::vector<std::string> commitments;
  std::vector<std::string> receipts;
};

// Adds --memory, --kind, --stage, --since, --until, --commitment and --receipts. REQUIRES: `filters` outlives
// the parsing.
void AddCertificateFilters(CLI::App* command, CertificateFilters* filters);

// As a request. Returns: a UsageFailure that names the option.
[[nodiscard]] absl::StatusOr<v1::ListCertificatesRequest> ListRequestFor(const Context& context,
                                                                         const CertificateFilters& filters);
// The same filters, for a watch.
[[nodiscard]] v1::WatchCertificatesRequest WatchRequestFor(const v1::ListCertificatesRequest& request);

// "2026-05-28" (its first second) or "2026-05-28T20:26:40Z", in UTC. Returns: a UsageFailure that names the
// option.
[[nodiscard]] absl::StatusOr<google::protobuf::Timestamp> ParseTimeOption(absl::string_view option,
                                                                          absl::string_view text);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_CERTIFICATE_FILTERS_H_
