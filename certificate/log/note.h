// Signed notes (https://c2sp.org/signed-note): text, an empty line, and signature lines.
//
//     <text, every line ended>
//     (empty line)
//     — <key name> base64(key hash | signature)
//
//     key hash = first 4 bytes of SHA-256(key name | "\n" | 0x01 | public key)      Ed25519
//     vkey     = <key name>+<key hash, 8 hexadecimal digits>+base64(0x01 | public key)
//
// A signature is made over the text alone. Signatures of unknown keys are ignored, so that others may add
// theirs; one of a known key that does not verify condemns the note.
#ifndef EXPUNGE_CERTIFICATE_LOG_NOTE_H_
#define EXPUNGE_CERTIFICATE_LOG_NOTE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "certificate/log/log_reason.h"
#include "certificate/signing_key.h"

namespace expunge::certificate {

inline constexpr size_t kMaxNoteBytes = size_t{1} << 20;
inline constexpr size_t kMaxNoteSignatures = 100;

// A name and the Ed25519 key that signs under it. Copies share the key. Threads: any number at once.
class NoteKey {
 public:
  // InvalidArgument unless `name` is one: not empty, UTF-8, without spaces, control characters and "+".
  [[nodiscard]] static absl::StatusOr<NoteKey> Create(absl::string_view name, PublicKey key);
  // From a vkey, in its one form, without a line end. InvalidArgument for anything else, or another hash.
  [[nodiscard]] static absl::StatusOr<NoteKey> Parse(absl::string_view vkey);

  // The vkey.
  [[nodiscard]] std::string ToText() const;
  [[nodiscard]] const std::string& name() const { return name_; }
  // 4 bytes.
  [[nodiscard]] const std::string& hash() const { return hash_; }
  [[nodiscard]] const PublicKey& key() const { return key_; }

 private:
  NoteKey(std::string name, std::string hash, PublicKey key)
      : name_(std::move(name)), hash_(std::move(hash)), key_(std::move(key)) {}
  std::string name_;
  std::string hash_;
  PublicKey key_;
};

// `sign` returns the 64 bytes of the signature of its argument under `key`: the private key may be elsewhere.
struct NoteSigner {
  NoteKey key;
  std::function<absl::StatusOr<std::string>(absl::string_view message)> sign;
};

// The note of `text` with a signature of each signer, in their order. The same text and keys always give the
// same bytes. REQUIRES: at least one signer, at most kMaxNoteSignatures. Returns: InvalidArgument if `text`
// is not UTF-8 in whole lines without control characters; Internal if a signature does not verify; errors of
// `sign`.
[[nodiscard]] absl::StatusOr<std::string> SignNote(absl::string_view text,
                                                   absl::Span<const NoteSigner> signers);

struct OpenedNote {
  LogReason reason = LogReason::kEmpty;
  std::string text;               // only if kOk
  std::vector<size_t> signed_by;  // which of the keys, ascending; at least one; only if kOk
};

// Never crashes, whatever the bytes. Returns: kOk, kEmpty, kTooLarge, kNotText, kNotANote,
// kTooManySignatures, kBadSignature or kUnknownLogKey. Cost: O(size), a signature check for each signature of
// a known key.
[[nodiscard]] OpenedNote OpenNote(absl::string_view note, absl::Span<const NoteKey> keys);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_LOG_NOTE_H_
