// Certify.
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
#include "server/core/records.h"
#include "server/core/requests.h"
#include "server/core/times.h"

namespace expunge::core {
namespace {

constexpr size_t kMaxNonceBytes = 64;

absl::Status CheckNonce(const std::string& nonce) {
  if (nonce.size() <= kMaxNonceBytes) return absl::OkStatus();
  return MakeError(
      Reason::kTooLong, "nonce",
      absl::StrCat("nonce has ", nonce.size(), " bytes; at most ", kMaxNonceBytes, " are allowed"));
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
      change.Issue(*present, present->summary(), {certificate::Kind::kState, {}, {}, request.nonce()});
  EXPUNGE_RETURN_IF_ERROR(change.Commit(response));
  EXPUNGE_RETURN_IF_ERROR(change.Seal(response.mutable_certificate()));
  return response;
}

}  // namespace expunge::core
