// Checkpoints (https://c2sp.org/tlog-checkpoint): what a log says of itself, as a signed note.
//
//     <origin>
//     <size, decimal>
//     base64(root)
//
// Ours have no extension lines, and the name of the log's key is the origin. Others may have extension lines,
// which are passed over: what they say is not checked by anything.
#ifndef EXPUNGE_CERTIFICATE_LOG_CHECKPOINT_H_
#define EXPUNGE_CERTIFICATE_LOG_CHECKPOINT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/bytes.h"
#include "certificate/log/log_reason.h"
#include "certificate/log/merkle.h"
#include "certificate/log/note.h"

namespace expunge::certificate {

struct Checkpoint {
  std::string origin;
  TreeHead tree;

  friend bool operator==(const Checkpoint& a, const Checkpoint& b) {
    return a.origin == b.origin && a.tree.size == b.tree.size && a.tree.root == b.tree.root;
  }
};

// The text that is signed. REQUIRES: the origin is one line, not empty.
[[nodiscard]] std::string CheckpointText(const Checkpoint& checkpoint);

// nullopt unless `text` is a checkpoint's text, with or without extension lines.
[[nodiscard]] std::optional<Checkpoint> ParseCheckpointText(absl::string_view text);

// The checkpoint of the log that is called as the signer's key, whose tree this is. Returns: as SignNote.
[[nodiscard]] absl::StatusOr<std::string> SignCheckpoint(const TreeHead& tree, const NoteSigner& signer);

struct OpenedCheckpoint {
  LogReason reason = LogReason::kEmpty;
  // Both only if kOk.
  Checkpoint checkpoint;
  std::vector<size_t> signed_by;  // which of the keys, ascending; at least one
};

// Never crashes, whatever the bytes. Returns: those of OpenNote; kNotACheckpoint; kWrongOrigin if none of the
// keys that signed has the checkpoint's origin as its name. Cost: as OpenNote.
[[nodiscard]] OpenedCheckpoint OpenCheckpoint(absl::string_view note, absl::Span<const NoteKey> keys);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_LOG_CHECKPOINT_H_
