// Evict.
#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
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

absl::Status CheckChoice(const v1::EvictRequest& request) {
  const int choices = (request.token_ids_size() > 0 ? 1 : 0) + (request.count() > 0 ? 1 : 0) +
                      (request.all_reserve() ? 1 : 0);
  if (choices != 1) {
    return MakeError(Reason::kFieldMissing, "token_ids",
                     "exactly one of token_ids, count and all_reserve is required");
  }
  if (request.token_ids_size() == 0) return absl::OkStatus();
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

absl::Status TooFew(uint64_t available) {
  return MakeError(Reason::kTokenInSupport, "count",
                   absl::StrCat("only ", available, " tokens can be dropped without changing the state"));
}

// What the memory lacks is said here, before any work; whether tokens carry weight, the solver says.
absl::StatusOr<solver::EvictionRequest> ChoiceOf(const MemoryView& before, const v1::EvictRequest& request) {
  solver::EvictionRequest choice;
  if (request.all_reserve()) return choice;
  if (request.count() > 0) {
    if (request.count() > before.summary().reserve) return TooFew(before.summary().reserve);
    choice.choice = solver::EvictionRequest::Choice::kDownTo;
    choice.max_tokens = before.tokens().size() - request.count();
    return choice;
  }
  choice.choice = solver::EvictionRequest::Choice::kNamed;
  for (int i = 0; i < request.token_ids_size(); ++i) {
    if (before.Find(request.token_ids(i)) == before.tokens().size()) {
      return MakeError(Reason::kTokenUnknown, absl::StrCat("token_ids[", i, "]"),
                       "the memory has no token of this id");
    }
    choice.ids.push_back(request.token_ids(i));
  }
  return choice;
}

// The solver's fields, in terms of the request.
absl::Status Translate(const absl::Status& status) {
  if (GetReason(status) != Reason::kTokenInSupport) return status;
  const std::string field = GetField(status);
  absl::string_view place = field;
  if (!absl::ConsumePrefix(&place, "ids[")) return status;
  return MakeError(Reason::kTokenInSupport, absl::StrCat("token_ids[", place), status.message());
}

absl::StatusOr<Step> StepOf(const Context& context, const Tenant& tenant, const Snapshot& before,
                            const v1::EvictRequest& request) {
  EXPUNGE_ASSIGN_OR_RETURN(const solver::EvictionRequest choice, ChoiceOf(*before, request));
  absl::StatusOr<Step> step = StepByDropping(context, before, choice, tenant.next_certificate());
  if (!step.ok()) return Translate(step.status());
  if (request.count() > 0 && step->removed.size() != request.count()) return TooFew(step->removed.size());
  if (!step->removed.empty()) return step;
  return MakeError(Reason::kTokenInSupport, "all_reserve", "no token can be dropped: all carry weight");
}

// The answer to a repeated Evict.
absl::StatusOr<v1::EvictResponse> Repeat(const Context& context, const Tenant& tenant, bool validate_only,
                                         v1::EvictResponse response) {
  if (validate_only) {
    response.clear_certificate();
    response.clear_state();
    return response;
  }
  EXPUNGE_RETURN_IF_ERROR(RestoreEnvelope(context, tenant, response.mutable_certificate()));
  return response;
}

}  // namespace

absl::StatusOr<v1::EvictResponse> EvictTokens(const Context& context, const v1::EvictRequest& request) {
  const absl::Time received = context.clock();
  EXPUNGE_ASSIGN_OR_RETURN(const MemoryName name, ParseMemoryName(request.parent(), "parent"));
  EXPUNGE_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  EXPUNGE_RETURN_IF_ERROR(CheckBasis(request.basis()));
  EXPUNGE_RETURN_IF_ERROR(CheckChoice(request));
  Tenant* tenant = context.tenants.Find(name.tenant);
  if (tenant == nullptr) return MemoryUnknown("parent");

  const std::lock_guard lock(tenant->writer());
  const RequestIdentity identity = IdentifyRequest(context, name.tenant, "Evict", request);
  EXPUNGE_ASSIGN_OR_RETURN(auto remembered, FindResponse<v1::EvictResponse>(context, *tenant, identity));
  if (remembered.has_value()) {
    return Repeat(context, *tenant, request.validate_only(), *std::move(remembered));
  }
  const Snapshot before = tenant->Find(name.memory);
  if (before == nullptr) return MemoryUnknown("parent");
  if (!request.validate_only()) EXPUNGE_RETURN_IF_ERROR(CheckWritable(context));
  EXPUNGE_ASSIGN_OR_RETURN(Step step, StepOf(context, *tenant, before, request));
  v1::EvictResponse response;
  response.set_evicted_count(step.removed.size());
  if (request.validate_only()) return response;

  std::vector<size_t> places;
  for (const auto& held : step.removed) places.push_back(before->Find(held->token->id));
  *response.mutable_state() = step.after->ReferenceProto();
  CertificateContent content{certificate::Kind::kSelection, RemovedTokens(*before, places), request.basis(),
                             ""};
  content.horizon_margin_lower = step.after->content().selections.back().claim->margin_lower();
  Change change(context, *tenant, identity, received);
  const Snapshot after = step.after;
  change.Put(std::move(step));
  *response.mutable_certificate() = change.Issue(*before, after->summary(), std::move(content));
  EXPUNGE_RETURN_IF_ERROR(change.Commit(response));
  EXPUNGE_RETURN_IF_ERROR(change.Seal(response.mutable_certificate()));
  return response;
}

}  // namespace expunge::core
