// Delete and Purge.
#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/core/certificates.h"
#include "server/core/change.h"
#include "server/core/lookup.h"
#include "server/core/names.h"
#include "server/core/operations.h"
#include "server/core/requests.h"
#include "server/core/step.h"

namespace expunge::core {
namespace {

// A memory from which some tokens are to go: those at `places`, ascending.
struct Removal {
  Snapshot before;
  std::vector<size_t> places;
};

absl::Status CheckTokenIds(const v1::DeleteRequest& request) {
  EXPUNGE_RETURN_IF_ERROR(CheckBatchSize(static_cast<uint64_t>(request.token_ids_size()), "token_ids"));
  std::set<absl::string_view> seen;
  for (int i = 0; i < request.token_ids_size(); ++i) {
    const std::string field = absl::StrCat("token_ids[", i, "]");
    EXPUNGE_RETURN_IF_ERROR(CheckId(request.token_ids(i), field));
    if (!seen.insert(request.token_ids(i)).second) {
      return MakeError(Reason::kDuplicateInBatch, field, "the request names this token already");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Removal> RemovalOfTokens(const Snapshot& before, const v1::DeleteRequest& request) {
  Removal removal{before, {}};
  for (int i = 0; i < request.token_ids_size(); ++i) {
    const size_t place = before->Find(request.token_ids(i));
    if (place == before->tokens().size()) {
      return MakeError(Reason::kTokenUnknown, absl::StrCat("token_ids[", i, "]"),
                       "the memory has no token of this id");
    }
    removal.places.push_back(place);
  }
  std::sort(removal.places.begin(), removal.places.end());
  return removal;
}

// One for each memory of the tenant that holds tokens of the subject, in the order of their names.
std::vector<Removal> RemovalsOfSubject(const Tenant& tenant, absl::string_view subject) {
  std::vector<Removal> removals;
  for (const Snapshot& before : tenant.All()) {
    Removal removal{before, {}};
    size_t place = 0;
    for (const auto& held : before->tokens()) {
      if (held->Names(subject)) removal.places.push_back(place);
      ++place;
    }
    if (!removal.places.empty()) removals.push_back(std::move(removal));
  }
  return removals;
}

absl::Status SubjectUnknown() {
  return MakeError(Reason::kSubjectUnknown, "subject", "no token of the tenant names this subject");
}

// The answer to a repeated Purge.
absl::StatusOr<v1::PurgeResponse> Repeat(const Context& context, const Tenant& tenant, bool validate_only,
                                         v1::PurgeResponse response) {
  if (validate_only) {
    response.clear_certificates();
    return response;
  }
  for (v1::Certificate& certificate : *response.mutable_certificates()) {
    EXPUNGE_RETURN_IF_ERROR(RestoreEnvelope(context, tenant, &certificate));
  }
  return response;
}

// The answer to a repeated Delete.
absl::StatusOr<v1::DeleteResponse> Repeat(const Context& context, const Tenant& tenant, bool validate_only,
                                          v1::DeleteResponse response) {
  if (validate_only) {
    response.clear_certificate();
    response.clear_state();
    return response;
  }
  EXPUNGE_RETURN_IF_ERROR(RestoreEnvelope(context, tenant, response.mutable_certificate()));
  return response;
}

}  // namespace

absl::StatusOr<v1::DeleteResponse> DeleteTokens(const Context& context, const v1::DeleteRequest& request) {
  const absl::Time received = context.clock();
  EXPUNGE_ASSIGN_OR_RETURN(const MemoryName name, ParseMemoryName(request.parent(), "parent"));
  EXPUNGE_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  EXPUNGE_RETURN_IF_ERROR(CheckBasis(request.basis()));
  EXPUNGE_RETURN_IF_ERROR(CheckTokenIds(request));
  Tenant* tenant = context.tenants.Find(name.tenant);
  if (tenant == nullptr) return MemoryUnknown("parent");

  const std::lock_guard lock(tenant->writer());
  const RequestIdentity identity = IdentifyRequest(context, name.tenant, "Delete", request);
  EXPUNGE_ASSIGN_OR_RETURN(auto remembered, FindResponse<v1::DeleteResponse>(context, *tenant, identity));
  if (remembered.has_value()) {
    return Repeat(context, *tenant, request.validate_only(), *std::move(remembered));
  }
  const Snapshot before = tenant->Find(name.memory);
  if (before == nullptr) return MemoryUnknown("parent");
  EXPUNGE_ASSIGN_OR_RETURN(const Removal removal, RemovalOfTokens(before, request));
  v1::DeleteResponse response;
  response.set_deleted_count(removal.places.size());
  if (request.validate_only()) return response;
  EXPUNGE_RETURN_IF_ERROR(CheckWritable(context));

  EXPUNGE_ASSIGN_OR_RETURN(Step step, StepByRemoving(context, before, removal.places));
  *response.mutable_state() = step.after->ReferenceProto();
  Change change(context, *tenant, identity, received);
  const Snapshot after = step.after;
  change.Put(std::move(step));
  *response.mutable_certificate() = change.Issue(
      *before, after->summary(),
      {certificate::Kind::kDeletion, RemovedTokens(*before, removal.places), request.basis(), ""});
  EXPUNGE_RETURN_IF_ERROR(change.Commit(response));
  EXPUNGE_RETURN_IF_ERROR(change.Seal(response.mutable_certificate()));
  return response;
}

absl::StatusOr<v1::PurgeResponse> PurgeSubject(const Context& context, const v1::PurgeRequest& request) {
  const absl::Time received = context.clock();
  EXPUNGE_ASSIGN_OR_RETURN(const std::string tenant_name, ParseTenantName(request.parent(), "parent"));
  EXPUNGE_RETURN_IF_ERROR(CheckSubject(request.subject(), "subject"));
  EXPUNGE_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  EXPUNGE_RETURN_IF_ERROR(CheckBasis(request.basis()));
  Tenant* tenant = context.tenants.Find(tenant_name);
  if (tenant == nullptr) return SubjectUnknown();

  const std::lock_guard lock(tenant->writer());
  const RequestIdentity identity = IdentifyRequest(context, tenant_name, "Purge", request);
  EXPUNGE_ASSIGN_OR_RETURN(auto remembered, FindResponse<v1::PurgeResponse>(context, *tenant, identity));
  if (remembered.has_value()) {
    return Repeat(context, *tenant, request.validate_only(), *std::move(remembered));
  }
  const std::vector<Removal> removals = RemovalsOfSubject(*tenant, request.subject());
  if (removals.empty()) return SubjectUnknown();
  v1::PurgeResponse response;
  for (const Removal& removal : removals) {
    response.set_deleted_count(response.deleted_count() + removal.places.size());
  }
  if (request.validate_only()) return response;
  EXPUNGE_RETURN_IF_ERROR(CheckWritable(context));

  Change change(context, *tenant, identity, received);
  for (const Removal& removal : removals) {
    EXPUNGE_ASSIGN_OR_RETURN(Step step, StepByRemoving(context, removal.before, removal.places));
    const Snapshot after = step.after;
    change.Put(std::move(step));
    *response.add_certificates() =
        change.Issue(*removal.before, after->summary(),
                     {certificate::Kind::kPurge, RemovedTokens(*removal.before, removal.places),
                      request.basis(), "", response.deleted_count(), removals.size()});
  }
  EXPUNGE_RETURN_IF_ERROR(change.Commit(response));
  for (v1::Certificate& certificate : *response.mutable_certificates()) {
    EXPUNGE_RETURN_IF_ERROR(change.Seal(&certificate));
  }
  return response;
}

}  // namespace expunge::core
