// Why something of a log was refused: notes, checkpoints and proofs share these.
#ifndef EXPUNGE_CERTIFICATE_LOG_LOG_REASON_H_
#define EXPUNGE_CERTIFICATE_LOG_LOG_REASON_H_

#include "absl/strings/string_view.h"

namespace expunge::certificate {

enum class LogReason {
  kOk,
  kEmpty,
  kTooLarge,           // beyond kMaxNoteBytes
  kNotText,            // not UTF-8, or with control characters
  kNotAProof,          // no tlog-proof: a line is absent, unknown or not in its form
  kNotANote,           // no text, blank line and signature lines
  kTooManySignatures,  // more than kMaxNoteSignatures
  kUnknownLogKey,      // signed by no key of those given
  kBadSignature,       // a signature of a known key does not verify
  kNotACheckpoint,     // signed, but no origin, size and root
  kWrongOrigin,        // signed by a known key, but of another log than the key's
  kIndexBeyondTree,    // the proof is of a leaf that the tree does not have
  kWrongSizes,         // the older tree is the larger
  kWrongProofLength,   // more or fewer hashes than there are on the path
  kRootMismatch,       // the hashes lead to another root
};

// Stable, machine-readable: "OK", "ROOT_MISMATCH", ...
[[nodiscard]] absl::string_view LogReasonName(LogReason reason);
// One sentence for people.
[[nodiscard]] absl::string_view LogReasonText(LogReason reason);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_LOG_LOG_REASON_H_
