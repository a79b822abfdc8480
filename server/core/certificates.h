// From a change to its certificate, and from the stored record to what is sent.
//
// The exact payload bytes and their signature are in the batch that makes the change durable; the envelope is
// made from them when it is needed, so it is the same every time, also when the key has retired since. The
// proof is of the newest log, and so another one later.
#ifndef EXPUNGE_SERVER_CORE_CERTIFICATES_H_
#define EXPUNGE_SERVER_CORE_CERTIFICATES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "certificate/statement.h"
#include "expunge/v1/memory_service.pb.h"
#include "expunge/v1/types.pb.h"
#include "server/core/context.h"
#include "server/core/memory.h"
#include "server/core/requests.h"
#include "storage/records.pb.h"

namespace expunge::core {

// What the caller of a change decides about its certificate.
struct CertificateContent {
  certificate::Kind kind = certificate::Kind::kState;
  std::vector<certificate::RemovedToken> removed;  // in any order
  v1::ErasureBasis basis;
  std::string nonce;
  // What the whole request removes, if it goes through more than this memory.
  uint64_t request_tokens = 0;
  uint64_t request_memories = 0;
  double horizon_margin_lower = 0;  // kSelection
};

[[nodiscard]] v1::CertificateKind KindProto(certificate::Kind kind);

// The tokens of `before` at `places`, as certificates name them.
[[nodiscard]] std::vector<certificate::RemovedToken> RemovedTokens(const MemoryView& before,
                                                                   const std::vector<size_t>& places);

struct CertificateOccasion {
  const Context& context;
  const Tenant& tenant;
  const RequestIdentity& request;
  absl::Time received;
  absl::Time issued;
  Chain chain;  // before this certificate
};

// The statement of a change of `before` to a state with the summary `after`.
[[nodiscard]] certificate::Statement MakeStatement(const CertificateOccasion& occasion,
                                                   const MemoryView& before,
                                                   const certificate::StateSummary& after,
                                                   CertificateContent content);

// Without the envelope.
[[nodiscard]] v1::Certificate DescribeRecord(const Tenant& tenant, uint64_t number,
                                             const storage::v1::CertificateRecord& record);
// Its envelope and its proof of inclusion in the log. Returns: errors of the signer of checkpoints.
[[nodiscard]] absl::Status SealInto(const Context& context, const storage::v1::CertificateRecord& record,
                                    v1::Certificate* certificate);
// With both.
[[nodiscard]] absl::StatusOr<v1::Certificate> SealRecord(const Context& context, const Tenant& tenant,
                                                         uint64_t number,
                                                         const storage::v1::CertificateRecord& record);

// Its leaf in the log. Returns: InvalidArgument unless it is signed.
[[nodiscard]] absl::StatusOr<std::string> LeafOf(const storage::v1::CertificateRecord& record);

// The stored record, released or not. Returns: kStorageCorrupt; errors of the store.
[[nodiscard]] absl::StatusOr<storage::v1::CertificateRecord> LoadCertificateRecord(const Context& context,
                                                                                   const Tenant& tenant,
                                                                                   uint64_t number);

// Returns: NotFound (kCertificateUnknown, field "name"); kStorageCorrupt; errors of the store.
[[nodiscard]] absl::StatusOr<v1::Certificate> LoadCertificate(const Context& context, const Tenant& tenant,
                                                              uint64_t number);

// Puts envelope and proof into a certificate of a remembered answer, which has none.
[[nodiscard]] absl::Status RestoreEnvelope(const Context& context, const Tenant& tenant,
                                           v1::Certificate* certificate);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_CERTIFICATES_H_
