// Targets of the log's formats.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "certificate/log/checkpoint.h"
#include "certificate/log/log_proof.h"
#include "certificate/log/merkle.h"
#include "certificate/log/note.h"
#include "certificate/log/tiles.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

namespace expunge::fuzz {

using certificate::LogReason;

void RunCheckpoint(absl::string_view bytes) {
  const std::optional<certificate::Checkpoint> checkpoint = certificate::ParseCheckpointText(bytes);
  if (!checkpoint.has_value()) return;
  const std::string text = CheckpointText(*checkpoint);
  Require(bytes.substr(0, text.size()) == text, "a checkpoint has one form, but for extension lines");
}

void RunEntryTile(absl::string_view bytes) {
  for (const uint32_t width : {1U, 3U, 256U}) {
    const auto entries = certificate::ParseEntryTile(bytes, width);
    if (!entries.has_value()) continue;
    std::string again;
    for (const std::string& entry : *entries) {
      again.push_back(static_cast<char>(entry.size() >> 8));
      again.push_back(static_cast<char>(entry.size() & 0xff));
      again += entry;
    }
    Require(again == bytes && entries->size() == width, "a bundle of entries has one form");
  }
}

void RunHashTile(absl::string_view bytes) {
  const auto width = static_cast<uint32_t>(bytes.size() / 32);
  const auto hashes = certificate::ParseHashTile(bytes, width);
  Require(hashes.has_value() == (bytes.size() % 32 == 0), "a tile is whole hashes");
}

void RunLogProof(absl::string_view bytes) {
  const certificate::ParsedLogProof parsed = certificate::ParseLogProof(bytes);
  if (parsed.reason == LogReason::kOk) {
    Require(EncodeLogProof(parsed.proof) == bytes, "a proof has one form");
  }
  const auto verified = certificate::VerifyLogProof(bytes, LoggedEntry(), TrustedLogKeys());
  Require(verified.reason != LogReason::kOk || verified.index == 1, "an entry has one place");
}

void RunMerkle(absl::string_view bytes) {
  if (bytes.size() < 16) return;
  const uint64_t index = ReadU64(bytes);
  const uint64_t size = ReadU64(bytes.substr(8));
  std::vector<Digest> hashes;
  for (absl::string_view rest = bytes.substr(16); rest.size() >= 32; rest.remove_prefix(32)) {
    hashes.push_back(*DigestFromBytes(rest.substr(0, 32)));
  }
  // No proof leads to this root.
  const Digest root{};
  Require(certificate::VerifyInclusion(certificate::HashLogLeaf("x"), index, size, root, hashes) !=
              LogReason::kOk,
          "nothing is in a tree that nobody made");
  const certificate::TreeHead older{index, certificate::EmptyLogRoot()};
  const LogReason grown = VerifyConsistency(older, {size, root}, hashes);
  Require(grown != LogReason::kOk || (index == 0 && hashes.empty() && size > 0), "only from no leaves");
}

void RunNote(absl::string_view bytes) {
  const certificate::OpenedNote opened = certificate::OpenNote(bytes, TrustedLogKeys());
  Require((opened.reason == LogReason::kOk) == !opened.signed_by.empty(),
          "a note is opened if somebody signed");
  Require(bytes.substr(0, opened.text.size()) == opened.text, "the text is the note's beginning");
  (void)certificate::OpenCheckpoint(bytes, TrustedLogKeys());
}

void RunTilePath(absl::string_view bytes) {
  const auto tile = certificate::ParseTilePath(bytes);
  Require(!tile.has_value() || certificate::TilePath(*tile) == bytes, "a path has one form");
}

void RunVkey(absl::string_view bytes) {
  const auto key = certificate::NoteKey::Parse(bytes);
  Require(!key.ok() || key->ToText() == bytes, "a vkey has one form");
}

}  // namespace expunge::fuzz
