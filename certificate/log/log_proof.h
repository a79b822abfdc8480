// Proofs of inclusion as files (https://c2sp.org/tlog-proof): `NAME.tlog-proof` beside the certificate.
//
//     c2sp.org/tlog-proof@v1
//     extra base64(...)            only if there is any; nothing vouches for it
//     index <decimal>
//     base64(hash)                 from the leaf's sibling up to the root's child
//     (empty line)
//     <checkpoint, verbatim>
#ifndef EXPUNGE_CERTIFICATE_LOG_LOG_PROOF_H_
#define EXPUNGE_CERTIFICATE_LOG_LOG_PROOF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/bytes.h"
#include "certificate/log/checkpoint.h"
#include "certificate/log/log_reason.h"
#include "certificate/log/note.h"

namespace expunge::certificate {

struct LogProof {
  std::string extra;  // empty: none
  uint64_t index = 0;
  std::vector<Digest> hashes;
  std::string checkpoint;  // the signed note
};

[[nodiscard]] std::string EncodeLogProof(const LogProof& proof);

struct ParsedLogProof {
  LogReason reason = LogReason::kEmpty;
  LogProof proof;  // only if kOk; its checkpoint is not looked at
};

// Never crashes, whatever the bytes. Returns: kOk, kEmpty, kTooLarge or kNotAProof. Cost: O(size).
[[nodiscard]] ParsedLogProof ParseLogProof(absl::string_view text);

struct VerifiedLogProof {
  LogReason reason = LogReason::kEmpty;
  // All only if kOk.
  uint64_t index = 0;
  Checkpoint checkpoint;
  std::vector<size_t> signed_by;  // which of the keys, ascending; at least one
};

// Whether a log that one of the keys vouches for has `entry`. Never crashes, whatever the bytes. Returns:
// those of ParseLogProof, OpenCheckpoint and VerifyInclusion, the first in that order. Cost: O(size), log2 n
// hashes, a signature check.
[[nodiscard]] VerifiedLogProof VerifyLogProof(absl::string_view text, absl::string_view entry,
                                              absl::Span<const NoteKey> keys);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_LOG_LOG_PROOF_H_
