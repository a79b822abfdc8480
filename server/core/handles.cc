#include "server/core/handles.h"

#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace expunge::core {
namespace {

constexpr size_t kNumberBytes = 8;

Digest KeyedHash(const Digest& secret, std::initializer_list<absl::string_view> parts) {
  std::string message;
  for (const absl::string_view part : parts) AppendField(part, &message);
  return HmacSha256(AsView(secret), message);
}

}  // namespace

Digest TenantHandle(const Digest& secret, absl::string_view tenant) {
  return KeyedHash(secret, {"expunge tenant v1", tenant});
}

Digest RequestHandle(const Digest& secret, absl::string_view tenant, absl::string_view request_id) {
  return KeyedHash(secret, {"expunge request v1", tenant, request_id});
}

Digest BodyMac(const Digest& secret, absl::string_view tenant, absl::string_view method,
               absl::string_view body) {
  return KeyedHash(secret, {"expunge request body v1", tenant, method, body});
}

Digest PageMac(const Digest& secret, absl::string_view query, absl::string_view last) {
  return KeyedHash(secret, {"expunge page v1", query, last});
}

Digest LedgerOwner(const Digest& secret) { return KeyedHash(secret, {"expunge ledger owner v1"}); }

std::string ToBytes(const Digest& digest) { return {digest.begin(), digest.end()}; }

std::string TenantKey(const Digest& tenant_handle) {
  return absl::StrCat(kTenantPrefix, AsView(tenant_handle));
}

std::string TokenKey(const Digest& memory_pseudonym, const Digest& token_handle) {
  return absl::StrCat(AsView(memory_pseudonym), AsView(token_handle));
}

std::string LogKey(uint64_t index) {
  std::string key;
  for (size_t i = kNumberBytes; i-- > 0;) key.push_back(static_cast<char>(index >> (8 * i) & 0xff));
  return key;
}

std::string KeySetKey(uint64_t sequence) { return absl::StrCat(kKeySetPrefix, LogKey(sequence)); }

std::string CertificateKey(const Digest& tenant_handle, uint64_t number) {
  return ToBytes(tenant_handle) + LogKey(number);
}

uint64_t CertificateNumber(absl::string_view key) {
  uint64_t number = 0;
  for (const char byte : key.substr(key.size() - kNumberBytes)) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

std::string RequestKey(const Digest& tenant_handle, const Digest& request_handle) {
  return absl::StrCat(AsView(tenant_handle), AsView(request_handle));
}

}  // namespace expunge::core
