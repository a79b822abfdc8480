// Resource names and the ids in them.
//
//     tenants/{tenant}                                     tenants/{tenant}/memories/{memory}
//     tenants/{tenant}/memories/{memory}/tokens/{token}    tenants/{tenant}/certificates/{certificate}
// Ids are 1 to 128 bytes of [A-Za-z0-9._~-], but not "." or ".."; subjects, 1 to 256 bytes of
// [A-Za-z0-9._~@:+-].
//
// Every function that checks takes the path of the field for its error. They return: InvalidArgument with
// kFieldMissing (empty), kTooLong, or kNameMalformed. Cost: O(length). Threads: any number at once.
#ifndef EXPUNGE_SERVER_CORE_NAMES_H_
#define EXPUNGE_SERVER_CORE_NAMES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace expunge::core {

struct MemoryName {
  std::string tenant;
  std::string memory;
};

struct CertificateName {
  std::string tenant;
  uint64_t number = 0;
};

[[nodiscard]] absl::Status CheckId(absl::string_view id, absl::string_view field);
[[nodiscard]] absl::Status CheckSubject(absl::string_view subject, absl::string_view field);
// As CheckId, but empty is fine: the caller gave none.
[[nodiscard]] absl::Status CheckRequestId(absl::string_view request_id);

// The tenant of "tenants/{tenant}".
[[nodiscard]] absl::StatusOr<std::string> ParseTenantName(absl::string_view name, absl::string_view field);
[[nodiscard]] absl::StatusOr<MemoryName> ParseMemoryName(absl::string_view name, absl::string_view field);
// A well-formed name whose last part cannot be that of a certificate has number 0, which no certificate has.
[[nodiscard]] absl::StatusOr<CertificateName> ParseCertificateName(absl::string_view name,
                                                                   absl::string_view field);

[[nodiscard]] std::string FormatMemoryName(absl::string_view tenant, absl::string_view memory);
[[nodiscard]] std::string FormatTokenName(absl::string_view tenant, absl::string_view memory,
                                          absl::string_view token);
// The number in 12 decimal digits, so that the order of the names is that of the numbers.
[[nodiscard]] std::string FormatCertificateName(absl::string_view tenant, uint64_t number);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_NAMES_H_
