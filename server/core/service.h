// The service without its transport: every call of the wire API as a plain function.
//
// Concurrency.  One writer at a time per tenant; readers take a snapshot (shared_ptr to an immutable
// MemoryView) and never wait for a writer. A change computes the next state beside the present one, commits
// it with everything that belongs to it (tokens, state, certificate payload, answer for the request id) in
// one synced batch, and only then publishes it. Every call validates everything first; a call that fails has
// changed nothing.
#ifndef EXPUNGE_SERVER_CORE_SERVICE_H_
#define EXPUNGE_SERVER_CORE_SERVICE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/engine.h"
#include "base/clock.h"
#include "expunge/v1/admin_service.pb.h"
#include "expunge/v1/memory_service.pb.h"
#include "expunge/v1/unlearning_service.pb.h"
#include "server/core/answer_stream.h"
#include "server/core/keys.h"
#include "server/core/transparency_log.h"
#include "storage/sealed_store.h"

namespace expunge::core {

// The certificate of a memory's end lists all its tokens, in less than 190 bytes each, or 254 in base64, and
// has to fit into an envelope (certificate::kMaxEnvelopeBytes): a memory with more could not be proven to be
// gone.
inline constexpr uint64_t kMostTokensPerMemory = 250'000;

struct ServiceOptions {
  uint64_t max_tokens_per_memory = 100'000;  // at most kMostTokensPerMemory
  uint64_t max_memories_per_tenant = 1'000;
  // What the solvers of all memories may hold between changes, beyond the tokens. A change of a memory whose
  // solver is not kept makes it again from its state.
  uint64_t max_live_solver_bytes = uint64_t{1} << 30;
  // Start-up solves every memory again from nothing and compares all bits; false: only hashes what is stored.
  bool recover_by_solving = true;
  // A file outside the database that the deletion ledger is copied to, before certificates are released
  // (storage/ledger_copy.h); empty: none.
  std::string ledger_copy_file;
  // The log of certificates; and the directory in which it is published as C2SP tiles, empty: nowhere.
  LogOptions log;
  std::string log_directory;
  // Within which time the ciphertext of what was erased leaves the database's files; an attempt begins when
  // the oldest has waited for half of it. Zero: only EraseBytes does it.
  std::chrono::milliseconds erase_bytes_within{0};
  // What computes readouts; and how long a small one may wait for others to be computed with
  // (attention/combiner.h).
  attention::EngineOptions readout;
  std::chrono::microseconds readout_batch_delay{0};
  // Makes what computes readouts. Another one is for tests that watch it.
  std::function<absl::StatusOr<std::unique_ptr<attention::ReadoutEngine>>(const attention::EngineOptions&)>
      make_engine = attention::MakeReadoutEngine;
  // For how long whoever runs the service keeps backups, as certificates say; zero: they say nothing.
  std::chrono::seconds backups_kept_for{0};
};

// Threads: any number of calls at once.
class Service {
 public:
  // Loads every memory of `store` and checks it against its stored digests.
  // Returns: DataLoss naming the memory that does not match; FailedPrecondition if what is to compute
  // readouts cannot be had; errors of the store.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Service>> Open(
      std::unique_ptr<storage::SealedStore> store, SigningKeys keys, Clock clock,
      const ServiceOptions& options = {});
  ~Service();

  // One function a call; errors are those of base/error.h.
  absl::StatusOr<v1::CreateMemoryResponse> CreateMemory(const v1::CreateMemoryRequest& request);
  absl::StatusOr<v1::GetMemoryResponse> GetMemory(const v1::GetMemoryRequest& request);
  absl::StatusOr<v1::ListMemoriesResponse> ListMemories(const v1::ListMemoriesRequest& request);
  absl::StatusOr<v1::DeleteMemoryResponse> DeleteMemory(const v1::DeleteMemoryRequest& request);
  absl::StatusOr<v1::AddResponse> Add(const v1::AddRequest& request);
  absl::StatusOr<v1::EvictResponse> Evict(const v1::EvictRequest& request);
  absl::StatusOr<v1::ReadResponse> Read(const v1::ReadRequest& request);
  // As Read of each request, computed together. Answers as many of the first as one answer could hold
  // together, at least one. REQUIRES: at least one request.
  std::vector<absl::StatusOr<v1::ReadResponse>> ReadGroup(absl::Span<const v1::ReadRequest> requests);
  absl::StatusOr<v1::ListTokensResponse> ListTokens(const v1::ListTokensRequest& request);

  absl::StatusOr<v1::DeleteResponse> Delete(const v1::DeleteRequest& request);
  absl::StatusOr<v1::PurgeResponse> Purge(const v1::PurgeRequest& request);
  absl::StatusOr<v1::CertifyResponse> Certify(const v1::CertifyRequest& request);
  absl::StatusOr<v1::GetCertificateResponse> GetCertificate(const v1::GetCertificateRequest& request);
  absl::StatusOr<v1::ListCertificatesResponse> ListCertificates(const v1::ListCertificatesRequest& request);
  // These two begin: what they return gives the answers, and must go before the service does.
  absl::StatusOr<std::unique_ptr<AnswerStream<v1::WatchCertificatesResponse>>> WatchCertificates(
      const v1::WatchCertificatesRequest& request);
  absl::StatusOr<std::unique_ptr<AnswerStream<v1::ExportAuditResponse>>> ExportAudit(
      const v1::ExportAuditRequest& request);
  absl::StatusOr<v1::GetLogProofResponse> GetLogProof(const v1::GetLogProofRequest& request);
  absl::StatusOr<v1::ListSigningKeysResponse> ListSigningKeys(const v1::ListSigningKeysRequest& request);
  absl::StatusOr<v1::GetErasureStatusResponse> GetErasureStatus(const v1::GetErasureStatusRequest& request);

  absl::StatusOr<v1::CreateBackupResponse> CreateBackup(const v1::CreateBackupRequest& request);
  absl::StatusOr<v1::GetServerStatusResponse> GetServerStatus(const v1::GetServerStatusRequest& request);
  absl::StatusOr<v1::RotateSigningKeyResponse> RotateSigningKey(const v1::RotateSigningKeyRequest& request);

  // Removes the ciphertext of all that was erased before the call from the database's files, and issues the
  // certificates of stage PHYSICALLY_PURGED. Cost: the database is read and written once, if anything is
  // pending. Returns: as Store::EraseDeletedBytes; errors of the store. What is pending then stays so.
  absl::Status EraseBytes();

 private:
  struct Impl;
  explicit Service(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_SERVICE_H_
