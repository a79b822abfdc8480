// GetLogProof.
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/core/certificates.h"
#include "server/core/handles.h"
#include "server/core/lookup.h"
#include "server/core/names.h"
#include "server/core/operations.h"

namespace expunge::core {
namespace {

// The log grows while one answer is put together: by how often it is tried again, it would have to grow
// between any two looks.
constexpr int kMaxTries = 100;

// The place of the leaf that the request names.
absl::StatusOr<uint64_t> LeafIndexOf(const Context& context, const v1::GetLogProofRequest& request) {
  if (request.has_leaf_index()) {
    const uint64_t size = context.log->size();
    if (request.leaf_index() < size) return request.leaf_index();
    return MakeError(Reason::kOutOfRange, "leaf_index",
                     absl::StrCat("leaf_index is ", request.leaf_index(), "; the log has ", size, " leaves"));
  }
  EXPUNGE_ASSIGN_OR_RETURN(const CertificateName name, ParseCertificateName(request.name(), "name"));
  const Tenant* tenant = context.tenants.Find(name.tenant);
  if (tenant == nullptr || name.number == 0 || name.number >= tenant->released()) {
    return MakeError(Reason::kCertificateUnknown, "name", "there is no certificate of this name");
  }
  EXPUNGE_ASSIGN_OR_RETURN(const storage::v1::CertificateRecord record,
                           LoadCertificateRecord(context, *tenant, name.number));
  return record.log_index();
}

absl::Status CheckRequest(const Context& context, const v1::GetLogProofRequest& request) {
  if (request.has_leaf_index() && !request.name().empty()) {
    return MakeError(Reason::kOutOfRange, "leaf_index", "only one of name and leaf_index may be given");
  }
  const uint64_t size = context.log->size();
  if (request.old_size() <= size) return absl::OkStatus();
  return MakeError(Reason::kOutOfRange, "old_size",
                   absl::StrCat("old_size is ", request.old_size(), "; the log has ", size, " leaves"));
}

}  // namespace

absl::StatusOr<v1::GetLogProofResponse> GetLogProof(const Context& context,
                                                    const v1::GetLogProofRequest& request) {
  EXPUNGE_RETURN_IF_ERROR(CheckRequest(context, request));
  v1::GetLogProofResponse response;
  const bool wants_leaf = request.has_leaf_index() || !request.name().empty();
  if (wants_leaf) {
    EXPUNGE_ASSIGN_OR_RETURN(const uint64_t index, LeafIndexOf(context, request));
    response.set_leaf_index(index);
    EXPUNGE_ASSIGN_OR_RETURN(*response.mutable_leaf(), context.log->Leaf(index));
  }
  for (int i = 0; i < kMaxTries; ++i) {
    EXPUNGE_ASSIGN_OR_RETURN(TransparencyLog::Consistency newest,
                             context.log->ProveConsistency(request.old_size()));
    if (wants_leaf) {
      EXPUNGE_ASSIGN_OR_RETURN(*response.mutable_log_proof(), context.log->Proof(response.leaf_index()));
      // The proof ends with the checkpoint that it is of.
      if (!absl::EndsWith(response.log_proof(), newest.checkpoint)) continue;
    }
    response.set_log_size(newest.size);
    response.set_checkpoint(std::move(newest.checkpoint));
    if (!request.has_old_size()) return response;
    for (const Digest& hash : newest.proof) response.add_consistency_hashes(ToBytes(hash));
    return response;
  }
  return MakeError(Reason::kOverloaded, "", "the log grows faster than it can be proven; try again");
}

}  // namespace expunge::core
