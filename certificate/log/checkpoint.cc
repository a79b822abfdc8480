#include "certificate/log/checkpoint.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "certificate/log/text_lines.h"

namespace expunge::certificate {

std::string CheckpointText(const Checkpoint& checkpoint) {
  return absl::StrCat(checkpoint.origin, "\n", checkpoint.tree.size, "\n",
                      ToBase64(AsView(checkpoint.tree.root)), "\n");
}

std::optional<Checkpoint> ParseCheckpointText(absl::string_view text) {
  const std::optional<absl::string_view> origin = TakeLine(&text);
  const std::optional<absl::string_view> size_line = origin.has_value() ? TakeLine(&text) : std::nullopt;
  const std::optional<absl::string_view> root_line = size_line.has_value() ? TakeLine(&text) : std::nullopt;
  if (!root_line.has_value() || origin->empty()) return std::nullopt;
  const std::optional<uint64_t> size = ParseDecimal(*size_line);
  const std::optional<Digest> root = ParseHash(*root_line);
  if (!size.has_value() || !root.has_value()) return std::nullopt;
  while (!text.empty()) {
    const std::optional<absl::string_view> extension = TakeLine(&text);
    if (!extension.has_value() || extension->empty()) return std::nullopt;
  }
  return Checkpoint{std::string(*origin), {*size, *root}};
}

absl::StatusOr<std::string> SignCheckpoint(const TreeHead& tree, const NoteSigner& signer) {
  return SignNote(CheckpointText({signer.key.name(), tree}), {&signer, 1});
}

OpenedCheckpoint OpenCheckpoint(absl::string_view note, absl::Span<const NoteKey> keys) {
  OpenedCheckpoint opened;
  OpenedNote signed_note = OpenNote(note, keys);
  opened.reason = signed_note.reason;
  if (opened.reason != LogReason::kOk) return opened;
  std::optional<Checkpoint> checkpoint = ParseCheckpointText(signed_note.text);
  if (!checkpoint.has_value()) {
    opened.reason = LogReason::kNotACheckpoint;
    return opened;
  }
  for (const size_t key : signed_note.signed_by) {
    if (keys[key].name() == checkpoint->origin) opened.signed_by.push_back(key);
  }
  if (opened.signed_by.empty()) {
    opened.reason = LogReason::kWrongOrigin;
    return opened;
  }
  opened.checkpoint = *std::move(checkpoint);
  return opened;
}

}  // namespace expunge::certificate
