// One durable step of a tenant: everything that belongs to an operation, in one synced batch, and visible to
// readers only once that is written.
//
// Use: Create, Put, Remove and Issue in any order, then Commit once, then Seal. REQUIRES: the tenant's writer
// lock is held from before the first snapshot was read until after Commit. If Commit fails, or is never
// called, nothing has changed, and the solvers of its steps are gone with it.
#ifndef EXPUNGE_SERVER_CORE_CHANGE_H_
#define EXPUNGE_SERVER_CORE_CHANGE_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/core/certificates.h"
#include "server/core/context.h"
#include "server/core/memory.h"
#include "server/core/requests.h"
#include "server/core/step.h"
#include "server/core/tenant.h"
#include "storage/store.h"

namespace expunge::core {

class Change {
 public:
  // `received`: when the request came in.
  Change(const Context& context, Tenant& tenant, RequestIdentity request, absl::Time received);

  // A new memory, without tokens.
  void Create(const Snapshot& created);
  // The memory's next snapshot. Its solver is held for Commit, while all that are held stay within the bound
  // of those that are kept. Cost: O(|S+E|), and the tokens that come and go.
  void Put(Step step);
  // Removes the memory and all its tokens; its certificates stay.
  void Remove(const Snapshot& before);
  // Adds a certificate about the memory of `before`, and returns it without its envelope.
  v1::Certificate Issue(const MemoryView& before, const certificate::StateSummary& after,
                        CertificateContent content);

  // Writes the batch, with `answer` for the request id if there is one, and makes the change visible.
  // `memory_pseudonym`: what the request's record keeps for retries of Add; else empty.
  // Cost: one fsync. Returns: kStorageFailed; kInternal if a payload would not verify.
  [[nodiscard]] absl::Status Commit(const google::protobuf::Message& answer,
                                    absl::string_view memory_pseudonym = "");

  // Puts the envelope into a certificate that Issue returned. REQUIRES: Commit returned OK.
  void Seal(v1::Certificate* certificate) const;

 private:
  Chain& ChainOf(const MemoryView& view);
  void PutState(const Snapshot& snapshot);

  const Context& context_;
  Tenant& tenant_;
  const RequestIdentity request_;
  const absl::Time received_;
  storage::Transaction transaction_;
  uint64_t next_certificate_;
  // By the memory's id: next snapshots (null: removed), next chains, and the memories that these belong to.
  std::map<std::string, Snapshot> snapshots_;
  std::map<std::string, Chain> chains_;
  // Those of the next snapshots, and their bytes; and the snapshots of the memories that are to go.
  std::map<std::string, std::unique_ptr<solver::ExactMemory>> solvers_;
  uint64_t solver_bytes_ = 0;
  std::vector<Snapshot> gone_;
  std::map<std::string, std::shared_ptr<const MemoryIdentity>> identities_;
  std::map<std::string, std::string> payloads_;  // by the certificate's name
};

// Returns: kStorageFailed if an earlier write failed, so that no work is done in vain.
[[nodiscard]] absl::Status CheckWritable(const Context& context);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_CHANGE_H_
