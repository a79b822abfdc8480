#include "certificate/log/log_proof.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "certificate/log/merkle.h"
#include "certificate/log/text_lines.h"

namespace expunge::certificate {
namespace {

constexpr absl::string_view kHeader = "c2sp.org/tlog-proof@v1";
constexpr size_t kMaxHashes = 64;  // a tree has fewer than 2^64 leaves

// The lines before the checkpoint.
bool ParseLines(absl::string_view* text, LogProof* proof) {
  std::optional<absl::string_view> line = TakeLine(text);
  if (line != kHeader) return false;
  line = TakeLine(text);
  if (line.has_value() && absl::ConsumePrefix(&*line, "extra ")) {
    std::optional<std::string> extra = FromBase64(*line);
    if (!extra.has_value() || extra->empty()) return false;
    proof->extra = *std::move(extra);
    line = TakeLine(text);
  }
  if (!line.has_value() || !absl::ConsumePrefix(&*line, "index ")) return false;
  const std::optional<uint64_t> index = ParseDecimal(*line);
  if (!index.has_value()) return false;
  proof->index = *index;
  while ((line = TakeLine(text)).has_value()) {
    if (line->empty()) return true;
    const std::optional<Digest> hash = ParseHash(*line);
    if (!hash.has_value() || proof->hashes.size() == kMaxHashes) return false;
    proof->hashes.push_back(*hash);
  }
  return false;
}

}  // namespace

std::string EncodeLogProof(const LogProof& proof) {
  std::string text = absl::StrCat(kHeader, "\n");
  if (!proof.extra.empty()) absl::StrAppend(&text, "extra ", ToBase64(proof.extra), "\n");
  absl::StrAppend(&text, "index ", proof.index, "\n");
  for (const Digest& hash : proof.hashes) absl::StrAppend(&text, ToBase64(AsView(hash)), "\n");
  absl::StrAppend(&text, "\n", proof.checkpoint);
  return text;
}

ParsedLogProof ParseLogProof(absl::string_view text) {
  if (text.empty()) return {LogReason::kEmpty, {}};
  if (text.size() > kMaxNoteBytes) return {LogReason::kTooLarge, {}};
  LogProof proof;
  if (!ParseLines(&text, &proof) || text.empty()) return {LogReason::kNotAProof, {}};
  proof.checkpoint = std::string(text);
  return {LogReason::kOk, std::move(proof)};
}

VerifiedLogProof VerifyLogProof(absl::string_view text, absl::string_view entry,
                                absl::Span<const NoteKey> keys) {
  VerifiedLogProof verified;
  const ParsedLogProof parsed = ParseLogProof(text);
  verified.reason = parsed.reason;
  if (verified.reason != LogReason::kOk) return verified;
  OpenedCheckpoint opened = OpenCheckpoint(parsed.proof.checkpoint, keys);
  verified.reason = opened.reason;
  if (verified.reason != LogReason::kOk) return verified;
  const TreeHead& tree = opened.checkpoint.tree;
  verified.reason =
      VerifyInclusion(HashLogLeaf(entry), parsed.proof.index, tree.size, tree.root, parsed.proof.hashes);
  if (verified.reason != LogReason::kOk) return verified;
  verified.index = parsed.proof.index;
  verified.checkpoint = std::move(opened.checkpoint);
  verified.signed_by = std::move(opened.signed_by);
  return verified;
}

}  // namespace expunge::certificate
