// Certify, GetCertificate, ListCertificates, ListSigningKeys.
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/core/certificates.h"
#include "server/core/change.h"
#include "server/core/handles.h"
#include "server/core/lookup.h"
#include "server/core/names.h"
#include "server/core/operations.h"
#include "server/core/paging.h"
#include "server/core/records.h"
#include "server/core/requests.h"
#include "server/core/times.h"

namespace expunge::core {
namespace {

constexpr size_t kMaxNonceBytes = 64;
// A page ends before it has more than this of payloads, but never before its first certificate.
constexpr size_t kMaxPagePayloadBytes = size_t{2} << 20;

absl::Status CheckNonce(const std::string& nonce) {
  if (nonce.size() <= kMaxNonceBytes) return absl::OkStatus();
  return MakeError(
      Reason::kTooLong, "nonce",
      absl::StrCat("nonce has ", nonce.size(), " bytes; at most ", kMaxNonceBytes, " are allowed"));
}

// Which certificates a list shall have. An empty memory and an unspecified kind mean all.
struct Filter {
  std::string memory;
  v1::CertificateKind kind = v1::CERTIFICATE_KIND_UNSPECIFIED;

  [[nodiscard]] bool Matches(const storage::v1::CertificateRecord& record) const {
    if (!memory.empty() && record.memory() != memory) return false;
    return kind == v1::CERTIFICATE_KIND_UNSPECIFIED || record.kind() == static_cast<uint32_t>(kind);
  }
};

absl::StatusOr<Filter> ParseFilter(const v1::ListCertificatesRequest& request, const std::string& tenant) {
  Filter filter;
  filter.kind = request.kind();
  if (!v1::CertificateKind_IsValid(request.kind())) {
    return MakeError(Reason::kOutOfRange, "kind", "kind is none of the kinds of certificates");
  }
  if (request.memory().empty()) return filter;
  EXPUNGE_ASSIGN_OR_RETURN(const MemoryName name, ParseMemoryName(request.memory(), "memory"));
  if (name.tenant != tenant) {
    return MakeError(Reason::kNameMalformed, "memory", "memory must be one of the tenant in parent");
  }
  filter.memory = name.memory;
  return filter;
}

// Fills one page from the certificate after `last` on.
absl::Status FillPage(const Context& context, const Tenant& tenant, const Filter& filter, uint64_t last,
                      uint32_t page_size, const Pages& pages, v1::ListCertificatesResponse* response) {
  size_t payload_bytes = 0;
  uint64_t final_number = 0;
  bool readable = true;
  const uint64_t released = tenant.released();
  const auto visit = [&](absl::string_view key, const storage::OpenRecord& opened) {
    if (CertificateNumber(key) >= released) return false;
    storage::v1::CertificateRecord record;
    readable = ParseRecord(opened, &record);
    if (!readable) return false;
    if (!filter.Matches(record)) return true;
    payload_bytes += record.payload().size();
    const int count = response->certificates_size();
    if (static_cast<uint32_t>(count) == page_size || (count > 0 && payload_bytes > kMaxPagePayloadBytes)) {
      response->set_next_page_token(pages.Next(CertificateKey(tenant.handle(), final_number)));
      return false;
    }
    final_number = CertificateNumber(key);
    *response->add_certificates() = SealRecord(context, tenant, final_number, record);
    return true;
  };
  EXPUNGE_RETURN_IF_ERROR(context.store->Scan(storage::Table::kCertificates, AsView(tenant.handle()),
                                              CertificateKey(tenant.handle(), last + 1), visit));
  if (readable) return absl::OkStatus();
  return MakeError(Reason::kStorageCorrupt, "", "a certificate's record is unreadable");
}

}  // namespace

absl::StatusOr<v1::CertifyResponse> CertifyState(const Context& context, const v1::CertifyRequest& request) {
  const absl::Time received = context.clock();
  EXPUNGE_ASSIGN_OR_RETURN(const MemoryName name, ParseMemoryName(request.name(), "name"));
  EXPUNGE_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  EXPUNGE_RETURN_IF_ERROR(CheckNonce(request.nonce()));
  Tenant* tenant = context.tenants.Find(name.tenant);
  if (tenant == nullptr) return MemoryUnknown("name");

  const std::lock_guard lock(tenant->writer());
  const RequestIdentity identity = IdentifyRequest(context, name.tenant, "Certify", request);
  EXPUNGE_ASSIGN_OR_RETURN(auto remembered, FindResponse<v1::CertifyResponse>(context, *tenant, identity));
  if (remembered.has_value()) {
    EXPUNGE_RETURN_IF_ERROR(RestoreEnvelope(context, *tenant, remembered->mutable_certificate()));
    return *std::move(remembered);
  }
  const Snapshot present = tenant->Find(name.memory);
  if (present == nullptr) return MemoryUnknown("name");
  EXPUNGE_RETURN_IF_ERROR(CheckWritable(context));
  v1::CertifyResponse response;
  Change change(context, *tenant, identity, received);
  *response.mutable_certificate() =
      change.Issue(*present, present->summary(), {certificate::Kind::kState, {}, "", request.nonce()});
  EXPUNGE_RETURN_IF_ERROR(change.Commit(response));
  change.Seal(response.mutable_certificate());
  return response;
}

absl::StatusOr<v1::GetCertificateResponse> GetCertificate(const Context& context,
                                                          const v1::GetCertificateRequest& request) {
  EXPUNGE_ASSIGN_OR_RETURN(const CertificateName name, ParseCertificateName(request.name(), "name"));
  const Tenant* tenant = context.tenants.Find(name.tenant);
  if (tenant == nullptr) {
    return MakeError(Reason::kCertificateUnknown, "name", "there is no certificate of this name");
  }
  v1::GetCertificateResponse response;
  EXPUNGE_ASSIGN_OR_RETURN(*response.mutable_certificate(), LoadCertificate(context, *tenant, name.number));
  return response;
}

absl::StatusOr<v1::ListCertificatesResponse> ListCertificates(const Context& context,
                                                              const v1::ListCertificatesRequest& request) {
  EXPUNGE_ASSIGN_OR_RETURN(const std::string tenant_name, ParseTenantName(request.parent(), "parent"));
  EXPUNGE_ASSIGN_OR_RETURN(const uint32_t page_size, CheckPageSize(request.page_size()));
  EXPUNGE_ASSIGN_OR_RETURN(const Filter filter, ParseFilter(request, tenant_name));
  const Pages pages(context.secret, {"ListCertificates", tenant_name, request.memory(),
                                     v1::CertificateKind_Name(request.kind())});
  EXPUNGE_ASSIGN_OR_RETURN(const std::string last, pages.Start(request.page_token()));
  v1::ListCertificatesResponse response;
  const Tenant* tenant = context.tenants.Find(tenant_name);
  if (tenant == nullptr) return response;
  EXPUNGE_RETURN_IF_ERROR(FillPage(context, *tenant, filter, last.empty() ? 0 : CertificateNumber(last),
                                   page_size, pages, &response));
  return response;
}

absl::StatusOr<v1::ListSigningKeysResponse> ListSigningKeys(const Context& context) {
  v1::ListSigningKeysResponse response;
  bool readable = true;
  const auto visit = [&](absl::string_view, const storage::OpenRecord& opened) {
    storage::v1::SigningKeyRecord record;
    readable = ParseRecord(opened, &record);
    if (!readable) return false;
    v1::SigningKey* key = response.add_keys();
    key->set_key_id(record.key_id());
    key->set_algorithm("Ed25519");
    key->set_public_key_pem(record.public_key_pem());
    *key->mutable_create_time() = TimestampProto(absl::FromUnixNanos(record.create_time_unix_nanos()));
    return true;
  };
  EXPUNGE_RETURN_IF_ERROR(context.store->Scan(storage::Table::kMeta, kSigningKeyPrefix, "", visit));
  if (readable) return response;
  return MakeError(Reason::kStorageCorrupt, "", "a signing key's record is unreadable");
}

}  // namespace expunge::core
