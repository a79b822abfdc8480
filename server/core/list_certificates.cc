// GetCertificate, ListCertificates, WatchCertificates.
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/status_macros.h"
#include "server/core/certificate_filter.h"
#include "server/core/certificates.h"
#include "server/core/handles.h"
#include "server/core/lookup.h"
#include "server/core/names.h"
#include "server/core/operations.h"
#include "server/core/paging.h"
#include "server/core/records.h"

namespace expunge::core {
namespace {

// A page ends before it has more than this of payloads, but never before its first certificate.
constexpr size_t kMaxPagePayloadBytes = size_t{2} << 20;
// A watcher that passes over certificates takes a break after as many.
constexpr int kMaxPassedOver = 256;

absl::Status CertificateUnknown(absl::string_view field) {
  return MakeError(Reason::kCertificateUnknown, field, "there is no certificate of this name");
}

absl::Status Unreadable() {
  return MakeError(Reason::kStorageCorrupt, "", "a certificate's record is unreadable");
}

// Fills one page from the certificate after `last` on.
absl::Status FillPage(const Context& context, const Tenant& tenant, const CertificateFilter& filter,
                      uint64_t last, uint32_t page_size, const Pages& pages,
                      v1::ListCertificatesResponse* response) {
  size_t payload_bytes = 0;
  uint64_t final_number = 0;
  absl::Status outcome;
  const uint64_t released = tenant.released();
  const auto visit = [&](absl::string_view key, const storage::OpenRecord& opened) {
    if (CertificateNumber(key) >= released) return false;
    storage::v1::CertificateRecord record;
    if (!ParseRecord(opened, &record)) outcome = Unreadable();
    if (!outcome.ok()) return false;
    if (!filter.Matches(record)) return true;
    payload_bytes += record.payload().size();
    const int count = response->certificates_size();
    if (static_cast<uint32_t>(count) == page_size || (count > 0 && payload_bytes > kMaxPagePayloadBytes)) {
      response->set_next_page_token(pages.Next(CertificateKey(tenant.handle(), final_number)));
      return false;
    }
    final_number = CertificateNumber(key);
    absl::StatusOr<v1::Certificate> certificate = SealRecord(context, tenant, final_number, record);
    outcome = certificate.status();
    if (outcome.ok()) *response->add_certificates() = *std::move(certificate);
    return outcome.ok();
  };
  EXPUNGE_RETURN_IF_ERROR(context.store->Scan(storage::Table::kCertificates, AsView(tenant.handle()),
                                              CertificateKey(tenant.handle(), last + 1), visit));
  return outcome;
}

class Watch final : public AnswerStream<v1::WatchCertificatesResponse> {
 public:
  Watch(const Context& context, std::string tenant, CertificateFilter filter, uint64_t last)
      : context_(context), tenant_(std::move(tenant)), filter_(std::move(filter)), last_(last) {}
  ~Watch() override { context_.releases->Cancel(ticket_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  absl::StatusOr<StreamStep> Next(v1::WatchCertificatesResponse* answer) override {
    seen_ = context_.releases->version();
    const Tenant* tenant = context_.tenants.Find(tenant_);
    if (tenant == nullptr || last_ + 1 >= tenant->released()) return StreamStep::kLater;
    return Look(*tenant, answer);
  }

  void Await(std::function<void()> wake) override {
    ticket_ = context_.releases->Await(seen_, std::move(wake));
  }

 private:
  // REQUIRES: there are released certificates after last_.
  absl::StatusOr<StreamStep> Look(const Tenant& tenant, v1::WatchCertificatesResponse* answer) {
    absl::Status outcome;
    bool found = false;
    int passed_over = 0;
    const uint64_t released = tenant.released();
    const auto visit = [&](absl::string_view key, const storage::OpenRecord& opened) {
      if (CertificateNumber(key) >= released) return false;
      last_ = CertificateNumber(key);
      storage::v1::CertificateRecord record;
      if (!ParseRecord(opened, &record)) outcome = Unreadable();
      if (!outcome.ok()) return false;
      if (!filter_.Matches(record)) return ++passed_over < kMaxPassedOver;
      absl::StatusOr<v1::Certificate> certificate = SealRecord(context_, tenant, last_, record);
      outcome = certificate.status();
      found = outcome.ok();
      if (found) *answer->mutable_certificate() = *std::move(certificate);
      return false;
    };
    EXPUNGE_RETURN_IF_ERROR(context_.store->Scan(storage::Table::kCertificates, AsView(tenant.handle()),
                                                 CertificateKey(tenant.handle(), last_ + 1), visit));
    EXPUNGE_RETURN_IF_ERROR(outcome);
    return found ? StreamStep::kAnswer : StreamStep::kAgain;
  }

  const Context& context_;
  const std::string tenant_;
  const CertificateFilter filter_;
  uint64_t last_;  // the number of the last certificate that was sent or passed over
  uint64_t seen_ = 0;
  ReleaseSignal::Ticket ticket_ = 0;
};

// The number of the certificate that a watcher begins after; 0: none.
absl::StatusOr<uint64_t> StartOf(const Context& context, const std::string& after,
                                 const std::string& tenant_name) {
  if (after.empty()) return uint64_t{0};
  EXPUNGE_ASSIGN_OR_RETURN(const CertificateName name, ParseCertificateName(after, "after"));
  if (name.tenant != tenant_name) {
    return MakeError(Reason::kNameMalformed, "after", "after must be a certificate of the tenant in parent");
  }
  const Tenant* tenant = context.tenants.Find(tenant_name);
  if (tenant == nullptr || name.number == 0 || name.number >= tenant->released()) {
    return CertificateUnknown("after");
  }
  return name.number;
}

}  // namespace

absl::StatusOr<v1::GetCertificateResponse> GetCertificate(const Context& context,
                                                          const v1::GetCertificateRequest& request) {
  EXPUNGE_ASSIGN_OR_RETURN(const CertificateName name, ParseCertificateName(request.name(), "name"));
  const Tenant* tenant = context.tenants.Find(name.tenant);
  if (tenant == nullptr) return CertificateUnknown("name");
  v1::GetCertificateResponse response;
  EXPUNGE_ASSIGN_OR_RETURN(*response.mutable_certificate(), LoadCertificate(context, *tenant, name.number));
  return response;
}

absl::StatusOr<v1::ListCertificatesResponse> ListCertificates(const Context& context,
                                                              const v1::ListCertificatesRequest& request) {
  EXPUNGE_ASSIGN_OR_RETURN(const std::string tenant_name, ParseTenantName(request.parent(), "parent"));
  EXPUNGE_ASSIGN_OR_RETURN(const uint32_t page_size, CheckPageSize(request.page_size()));
  EXPUNGE_ASSIGN_OR_RETURN(const CertificateFilter filter, CertificateFilter::Parse(request, tenant_name));
  // Whatever selects the certificates binds the page token.
  v1::ListCertificatesRequest query = request;
  query.clear_page_size();
  query.clear_page_token();
  const Pages pages(context.secret, {"ListCertificates", query.SerializeAsString()});
  EXPUNGE_ASSIGN_OR_RETURN(const std::string last, pages.Start(request.page_token()));
  v1::ListCertificatesResponse response;
  const Tenant* tenant = context.tenants.Find(tenant_name);
  if (tenant == nullptr) return response;
  EXPUNGE_RETURN_IF_ERROR(FillPage(context, *tenant, filter, last.empty() ? 0 : CertificateNumber(last),
                                   page_size, pages, &response));
  return response;
}

absl::StatusOr<std::unique_ptr<AnswerStream<v1::WatchCertificatesResponse>>> WatchCertificates(
    const Context& context, const v1::WatchCertificatesRequest& request) {
  EXPUNGE_ASSIGN_OR_RETURN(std::string tenant_name, ParseTenantName(request.parent(), "parent"));
  EXPUNGE_ASSIGN_OR_RETURN(CertificateFilter filter,
                           CertificateFilter::Parse(FiltersOf(request), tenant_name));
  EXPUNGE_ASSIGN_OR_RETURN(const uint64_t last, StartOf(context, request.after(), tenant_name));
  return std::make_unique<Watch>(context, std::move(tenant_name), std::move(filter), last);
}

}  // namespace expunge::core
