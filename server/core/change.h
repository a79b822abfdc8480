// One durable step of a tenant: everything that belongs to an operation, in one synced batch, and visible to
// readers only once that is written. What the operation erases loses its keys right after, and only then are
// its certificates released.
//
// Use: Create, Put, Remove and Issue in any order, then Commit once, then Seal. REQUIRES: the tenant's writer
// lock is held from before the first snapshot was read until after Commit. If Commit fails before the batch
// is durable, or is never called, nothing has changed, and the solvers of its steps are gone with it.
#ifndef EXPUNGE_SERVER_CORE_CHANGE_H_
#define EXPUNGE_SERVER_CORE_CHANGE_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/core/certificates.h"
#include "server/core/context.h"
#include "server/core/memory.h"
#include "server/core/requests.h"
#include "server/core/step.h"
#include "server/core/tenant.h"
#include "storage/sealed_store.h"

namespace expunge::core {

class Change {
 public:
  // `received`: when the request came in.
  Change(const Context& context, Tenant& tenant, RequestIdentity request, absl::Time received);

  // A new memory, without tokens.
  void Create(const Snapshot& created);
  // The memory's next snapshot. Its solver is held for Commit, while all that are held stay within the bound
  // of those that are kept. If tokens go, the memory's records get a new key, and the old one is destroyed.
  // REQUIRES: the added tokens have their keys. Cost: O(|S+E|), and the tokens that come and go.
  void Put(Step step);
  // Removes the memory and all its tokens; its certificates stay.
  void Remove(const Snapshot& before);
  // Adds a certificate about the memory of `before`, and returns it without its envelope.
  v1::Certificate Issue(const MemoryView& before, const certificate::StateSummary& after,
                        CertificateContent content);
  // Adds the certificate of stage PHYSICALLY_PURGED that completes the tenant's certificate `number`.
  // Returns: kStorageCorrupt if `first` is none that can be completed; errors of the store.
  [[nodiscard]] absl::Status Complete(uint64_t number, const storage::v1::CertificateRecord& first);
  // Writes an entry of the deletion ledger: one that has changed, or is carried out again.
  void PutErasure(uint64_t first_certificate, storage::v1::ErasureRecord erasure);

  // For carrying out again what a ledger copy reports (restore.h): a certificate that was issued then, and an
  // answer that was given then, as they were. REQUIRES: `number` is the tenant's next.
  void Reissue(uint64_t number, storage::v1::CertificateRecord record);
  void PutAnswer(absl::string_view request_handle, storage::v1::RequestRecord record);
  // The memory's state as it is, under another number. REQUIRES: the same tokens.
  void Renumber(const Snapshot& renumbered);

  // Signs the certificates; writes the batch, with their leaves in the log, and `answer` for the request id
  // if there is one; makes the change visible; destroys the keys of what is gone; and releases the
  // certificates. `memory_pseudonym`: what the request's record keeps for retries of Add; else empty. Cost:
  // one fsync, and a second one if anything was erased; one for the ledger's copy and two for that of the
  // checkpoint, if there are any and a certificate was issued; one more when the pool of keys has run out.
  // Returns: kStorageFailed; kInternal if a payload would not verify; errors of the signer, before anything
  // was written. After an error in destroying keys, or of a copy, the change is durable, and its certificates
  // are withheld until a restart has finished it.
  [[nodiscard]] absl::Status Commit(const google::protobuf::Message& answer,
                                    absl::string_view memory_pseudonym = "");

  // Puts envelope and log proof into a certificate that Issue returned. REQUIRES: Commit returned OK.
  // Returns: errors of the signer of checkpoints; the change is durable, and a retry gets the proof.
  [[nodiscard]] absl::Status Seal(v1::Certificate* certificate) const;

 private:
  struct TokenChange {
    std::shared_ptr<const MemoryIdentity> memory;
    HeldTokens added;
    HeldTokens removed;
  };

  Chain& ChainOf(const std::shared_ptr<const MemoryIdentity>& memory);
  // The end of the chain of a memory that is gone.
  [[nodiscard]] absl::StatusOr<Chain> ChainOfGone(const Digest& pseudonym);
  v1::Certificate AddCertificate(storage::v1::CertificateRecord record, Chain* chain);
  // When its certificates say that they were issued.
  [[nodiscard]] absl::Time Issued();
  // The parts of Commit.
  [[nodiscard]] absl::Status TakeKeys();
  [[nodiscard]] absl::Status SealTokens();
  [[nodiscard]] absl::Status SealMemories();
  [[nodiscard]] absl::Status SignCertificates(TransparencyLog::Turn* turn);
  [[nodiscard]] absl::Status SealTenant();
  [[nodiscard]] absl::Status SealLedger();
  [[nodiscard]] absl::Status SealAnswers(const google::protobuf::Message& answer,
                                         absl::string_view memory_pseudonym);
  // Seals a record under the tenant's key, and notes it for the ledger's copy.
  [[nodiscard]] absl::Status PutInLedger(storage::Table table, std::string key,
                                         const google::protobuf::MessageLite& record);
  // What every change that issues certificates leaves outside the database.
  [[nodiscard]] bool CopiesLedger() const {
    return context_.ledger_copy != nullptr && !certificates_.empty();
  }
  [[nodiscard]] absl::Status CopyLedger();
  // What follows once the batch is written, but for the keys.
  void Publish();
  void PublishSupport(const Snapshot& before, const Snapshot& after);
  [[nodiscard]] storage::KeyName TenantKeyName() const { return {storage::kMasterSlot, tenant_.key_slot()}; }

  const Context& context_;
  Tenant& tenant_;
  const RequestIdentity request_;
  const absl::Time received_;
  std::optional<KeyRing::Ticket> ticket_;
  storage::Transaction transaction_;
  uint64_t next_certificate_;
  // By the memory's id: next snapshots (null: removed), next chains, and the memories that these belong to.
  std::map<std::string, Snapshot> snapshots_;
  std::map<std::string, Chain> chains_;
  std::map<std::string, std::shared_ptr<const MemoryIdentity>> identities_;
  std::map<std::string, Chain> gone_chains_;  // by pseudonym
  std::vector<TokenChange> token_changes_;
  // Memories whose records get a new key, and the keys of all that change.
  std::set<std::string> rekeyed_;
  std::map<std::string, storage::Slot> memory_keys_;
  std::vector<storage::Slot> destroyed_;
  // Solvers of the next snapshots, and their bytes; and the snapshots of the memories that are to go.
  std::map<std::string, std::unique_ptr<solver::ExactMemory>> solvers_;
  uint64_t solver_bytes_ = 0;
  std::vector<Snapshot> gone_;
  std::map<uint64_t, storage::v1::CertificateRecord> certificates_;
  std::map<uint64_t, storage::v1::ErasureRecord> erasures_;
  std::map<std::string, storage::v1::RequestRecord> answers_;  // by the request's handle
  storage::LedgerEntry ledger_;                                // what the copy gets
};

// Returns: kStorageFailed if an earlier write failed, so that no work is done in vain, and no certificate is
// given out whose keys may still be there.
[[nodiscard]] absl::Status CheckWritable(const Context& context);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_CHANGE_H_
