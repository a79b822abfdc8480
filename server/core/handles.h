// Keys in the store, and pseudonyms: HMAC-SHA256 under the store's secret, so that no file name, manifest or
// log of the database, and no certificate, carries a name. docs/formats/records.md has the layout.
#ifndef EXPUNGE_SERVER_CORE_HANDLES_H_
#define EXPUNGE_SERVER_CORE_HANDLES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/bytes.h"

namespace expunge::core {

inline constexpr absl::string_view kSecretKey = "secret";
inline constexpr absl::string_view kKeySetPrefix = "keys/";
inline constexpr absl::string_view kTenantPrefix = "tenant/";
inline constexpr absl::string_view kLogKey = "log";

[[nodiscard]] Digest TenantHandle(const Digest& secret, absl::string_view tenant);
// Also the pseudonym of the request in certificates.
[[nodiscard]] Digest RequestHandle(const Digest& secret, absl::string_view tenant,
                                   absl::string_view request_id);
[[nodiscard]] Digest BodyMac(const Digest& secret, absl::string_view tenant, absl::string_view method,
                             absl::string_view body);
// Seals the content of a page token.
[[nodiscard]] Digest PageMac(const Digest& secret, absl::string_view query, absl::string_view last);

// Names the store in copies of its deletion ledger.
[[nodiscard]] Digest LedgerOwner(const Digest& secret);

[[nodiscard]] std::string ToBytes(const Digest& digest);
[[nodiscard]] std::string TenantKey(const Digest& tenant_handle);
[[nodiscard]] std::string TokenKey(const Digest& memory_pseudonym, const Digest& token_handle);
// The number is big-endian: the order of the keys is that of the numbers.
[[nodiscard]] std::string CertificateKey(const Digest& tenant_handle, uint64_t number);
// The number at the end of such a key. REQUIRES: it has 8 bytes.
[[nodiscard]] uint64_t CertificateNumber(absl::string_view key);
// The place of an erasure in the deletion ledger, after its first certificate.
[[nodiscard]] inline std::string ErasureKey(const Digest& tenant_handle, uint64_t first_certificate) {
  return CertificateKey(tenant_handle, first_certificate);
}
// The place of a key set, after its sequence.
[[nodiscard]] std::string KeySetKey(uint64_t sequence);
// The place of a leaf in the log, big-endian; and the place in such a key.
[[nodiscard]] std::string LogKey(uint64_t index);
[[nodiscard]] inline uint64_t LogIndex(absl::string_view key) { return CertificateNumber(key); }
[[nodiscard]] std::string RequestKey(const Digest& tenant_handle, const Digest& request_handle);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_HANDLES_H_
