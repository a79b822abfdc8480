// CreateMemory, GetMemory, ListMemories, DeleteMemory.
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/core/certificates.h"
#include "server/core/change.h"
#include "server/core/config.h"
#include "server/core/handles.h"
#include "server/core/lookup.h"
#include "server/core/names.h"
#include "server/core/operations.h"
#include "server/core/paging.h"
#include "server/core/requests.h"

namespace expunge::core {
namespace {

// REQUIRES: the tenant's writer lock is held.
absl::Status CheckRoomForMemory(const Context& context, const Tenant& tenant, const std::string& memory) {
  if (tenant.Find(memory) != nullptr) {
    return MakeError(Reason::kMemoryExists, "memory_id", "the tenant has a memory of this name");
  }
  if (tenant.All().size() < context.options.max_memories_per_tenant) return absl::OkStatus();
  return MakeError(Reason::kTenantFull, "parent",
                   absl::StrCat("the tenant has ", context.options.max_memories_per_tenant,
                                " memories, the most that it may have; delete one first"));
}

}  // namespace

absl::StatusOr<v1::CreateMemoryResponse> CreateMemory(Context& context,
                                                      const v1::CreateMemoryRequest& request) {
  const absl::Time received = context.clock();
  EXPUNGE_ASSIGN_OR_RETURN(const std::string tenant_name, ParseTenantName(request.parent(), "parent"));
  EXPUNGE_RETURN_IF_ERROR(CheckId(request.memory_id(), "memory_id"));
  EXPUNGE_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  if (!request.has_config()) return MakeError(Reason::kFieldMissing, "config", "config is required");
  EXPUNGE_ASSIGN_OR_RETURN(const solver::Config config, ConfigFromProto(request.config()));

  Tenant& tenant = context.tenants.FindOrAdd(tenant_name, TenantHandle(context.secret, tenant_name));
  const std::lock_guard lock(tenant.writer());
  const RequestIdentity identity = IdentifyRequest(context, tenant_name, "CreateMemory", request);
  EXPUNGE_ASSIGN_OR_RETURN(auto remembered,
                           FindResponse<v1::CreateMemoryResponse>(context, tenant, identity));
  if (remembered.has_value()) return *std::move(remembered);
  EXPUNGE_RETURN_IF_ERROR(CheckRoomForMemory(context, tenant, request.memory_id()));
  EXPUNGE_RETURN_IF_ERROR(CheckWritable(context));
  EXPUNGE_RETURN_IF_ERROR(context.store->database().CheckRoom(request.ByteSizeLong()));

  EXPUNGE_ASSIGN_OR_RETURN(const Snapshot created,
                           EmptyView(MakeIdentity(tenant_name, request.memory_id(), config, received), 0));
  v1::CreateMemoryResponse response;
  *response.mutable_memory() = created->ToProto(false);
  Change change(context, tenant, identity, received);
  change.Create(created);
  EXPUNGE_RETURN_IF_ERROR(change.Commit(response));
  return response;
}

absl::StatusOr<v1::GetMemoryResponse> GetMemory(const Context& context, const v1::GetMemoryRequest& request) {
  if (!v1::MemoryView_IsValid(request.view())) {
    return MakeError(Reason::kOutOfRange, "view", "view is none of the views of memories");
  }
  EXPUNGE_ASSIGN_OR_RETURN(const Snapshot snapshot, FindMemory(context, request.name(), "name"));
  v1::GetMemoryResponse response;
  *response.mutable_memory() = snapshot->ToProto(request.view() == v1::MEMORY_VIEW_FULL);
  return response;
}

absl::StatusOr<v1::ListMemoriesResponse> ListMemories(const Context& context,
                                                      const v1::ListMemoriesRequest& request) {
  EXPUNGE_ASSIGN_OR_RETURN(const std::string tenant_name, ParseTenantName(request.parent(), "parent"));
  EXPUNGE_ASSIGN_OR_RETURN(const uint32_t page_size, CheckPageSize(request.page_size()));
  const Pages pages(context.secret, {"ListMemories", tenant_name});
  EXPUNGE_ASSIGN_OR_RETURN(const std::string last, pages.Start(request.page_token()));
  v1::ListMemoriesResponse response;
  const Tenant* tenant = context.tenants.Find(tenant_name);
  if (tenant == nullptr) return response;
  for (const Snapshot& snapshot : tenant->All()) {
    if (snapshot->identity().memory <= last) continue;
    const int count = response.memories_size();
    if (static_cast<uint32_t>(count) == page_size) {
      const absl::StatusOr<MemoryName> name = ParseMemoryName(response.memories(count - 1).name(), "name");
      response.set_next_page_token(pages.Next(name.value().memory));
      break;
    }
    *response.add_memories() = snapshot->ToProto(false);
  }
  return response;
}

absl::StatusOr<v1::DeleteMemoryResponse> DeleteMemory(const Context& context,
                                                      const v1::DeleteMemoryRequest& request) {
  const absl::Time received = context.clock();
  EXPUNGE_ASSIGN_OR_RETURN(const MemoryName name, ParseMemoryName(request.name(), "name"));
  EXPUNGE_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  EXPUNGE_RETURN_IF_ERROR(CheckBasis(request.basis()));
  Tenant* tenant = context.tenants.Find(name.tenant);
  if (tenant == nullptr) return MemoryUnknown("name");

  const std::lock_guard lock(tenant->writer());
  const RequestIdentity identity = IdentifyRequest(context, name.tenant, "DeleteMemory", request);
  EXPUNGE_ASSIGN_OR_RETURN(auto remembered,
                           FindResponse<v1::DeleteMemoryResponse>(context, *tenant, identity));
  if (remembered.has_value()) {
    if (request.validate_only()) return v1::DeleteMemoryResponse();
    EXPUNGE_RETURN_IF_ERROR(RestoreEnvelope(context, *tenant, remembered->mutable_certificate()));
    return *std::move(remembered);
  }
  const Snapshot before = tenant->Find(name.memory);
  if (before == nullptr) return MemoryUnknown("name");
  v1::DeleteMemoryResponse response;
  if (request.validate_only()) return response;
  EXPUNGE_RETURN_IF_ERROR(CheckWritable(context));

  EXPUNGE_ASSIGN_OR_RETURN(const Snapshot empty, EmptyView(before->shared_identity(), before->epoch() + 1));
  std::vector<size_t> all_places(before->tokens().size());
  std::iota(all_places.begin(), all_places.end(), size_t{0});
  Change change(context, *tenant, identity, received);
  change.Remove(before);
  *response.mutable_certificate() = change.Issue(
      *before, empty->summary(),
      {certificate::Kind::kMemoryDeletion, RemovedTokens(*before, all_places), request.basis(), ""});
  EXPUNGE_RETURN_IF_ERROR(change.Commit(response));
  EXPUNGE_RETURN_IF_ERROR(change.Seal(response.mutable_certificate()));
  return response;
}

}  // namespace expunge::core
