#include "client/verify/log_view.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "certificate/log/log_proof.h"
#include "certificate/log/tile_directory.h"
#include "certificate/log/tiles.h"

namespace expunge::verify {
namespace {

using certificate::Checkpoint;
using certificate::LogReason;
using certificate::TileDirectory;
using certificate::TileName;

Verdict Refuse(LogReason reason) {
  // What the hashes show is that the log does not have it.
  const absl::string_view name = reason == LogReason::kRootMismatch ? "NOT_IN_LOG" : LogReasonName(reason);
  return Failed(name, LogReasonText(reason));
}

// The hash tiles, against the tree that the entries make. (These are read already.)
std::optional<std::string> FaultyTile(const TileDirectory& folder, const certificate::MerkleLog& tree) {
  const certificate::EntryReader none = [](uint64_t) -> absl::StatusOr<std::string> { return std::string(); };
  for (const TileName& tile : certificate::TilesOf(tree.size())) {
    if (tile.entries) continue;
    const auto read = folder.ReadTile(tile);
    const auto expected = certificate::TileContents(tile, tree, none);
    if (!read.ok() || *read != *expected) return certificate::TilePath(tile);
  }
  return std::nullopt;
}

}  // namespace

Verdict LogView::ReadCopy(const std::string& folder) {
  copy_given_ = true;
  const auto note = TileDirectory(folder).ReadCheckpoint();
  if (!note.ok()) return Failed("LOG_INCOMPLETE", note.status().message());
  if (trust_.log_keys().empty()) return LeftOpen("NO_LOG_KEY", "no key of the log is given");
  const auto opened = OpenCheckpoint(*note, trust_.log_keys());
  if (opened.reason != LogReason::kOk) return Refuse(opened.reason);
  if (auto refused = Add(opened.checkpoint, opened.signed_by); refused.has_value())
    return *std::move(refused);
  return ReadEntries(folder, opened.checkpoint);
}

Verdict LogView::ReadEntries(const std::string& folder, const Checkpoint& checkpoint) {
  const TileDirectory files(folder);
  Copy copy;
  copy.checkpoint = checkpoint;
  const absl::Status read = files.ReadEntries(checkpoint.tree.size, [&copy](absl::string_view entry) {
    const Digest hash = certificate::HashLogLeaf(entry);
    copy.places.emplace(hash, copy.tree.size());
    copy.tree.Append(hash);
  });
  if (!read.ok()) return Failed(absl::IsDataLoss(read) ? "LOG_DAMAGED" : "LOG_INCOMPLETE", read.message());
  if (copy.tree.Root() != checkpoint.tree.root) {
    return Failed("LOG_DAMAGED", "the entries do not have the root that the checkpoint states");
  }
  if (const auto faulty = FaultyTile(files, copy.tree); faulty.has_value()) {
    return Failed("LOG_DAMAGED", absl::StrCat(*faulty, " is missing, or not what follows from the entries"));
  }
  copy_ = std::move(copy);
  return Ok(absl::StrCat(checkpoint.tree.size, " entries have the root that the log's checkpoint signs"));
}

std::optional<Verdict> LogView::Add(const Checkpoint& checkpoint, const std::vector<size_t>& signed_by) {
  if (auto refused = trust_.CheckCheckpoint(checkpoint, signed_by); refused.has_value()) return refused;
  const auto& [known, added] =
      roots_.emplace(std::make_pair(checkpoint.origin, checkpoint.tree.size), checkpoint.tree.root);
  if (!added && known->second != checkpoint.tree.root) {
    return Failed("LOG_FORKED", "two checkpoints of one log and one size have different roots");
  }
  const bool in_copy = copy_.has_value() && copy_->checkpoint.origin == checkpoint.origin &&
                       checkpoint.tree.size <= copy_->tree.size();
  if (in_copy && copy_->tree.Root(checkpoint.tree.size) != checkpoint.tree.root) {
    return Failed("LOG_FORKED", "the copy of the log does not begin as the checkpoint says");
  }
  return std::nullopt;
}

Verdict LogView::CheckOldCheckpoint(absl::string_view note) {
  if (trust_.log_keys().empty()) return LeftOpen("NO_LOG_KEY", "no key of the log is given");
  const auto opened = OpenCheckpoint(note, trust_.log_keys());
  if (opened.reason != LogReason::kOk) return Refuse(opened.reason);
  if (auto refused = Add(opened.checkpoint, opened.signed_by); refused.has_value())
    return *std::move(refused);
  if (!copy_.has_value()) return LeftOpen("NO_LOG", "only a copy of the log that verifies can show it");
  if (opened.checkpoint.origin != copy_->checkpoint.origin) {
    return LeftOpen("ANOTHER_LOG", "the copy is of a log of another origin");
  }
  if (opened.checkpoint.tree.size > copy_->tree.size()) {
    return Failed("LOG_ROLLED_BACK", absl::StrCat("the log had ", opened.checkpoint.tree.size,
                                                  " entries, and the copy has ", copy_->tree.size()));
  }
  return Ok(absl::StrCat("the log still begins with the ", opened.checkpoint.tree.size,
                         " entries of this checkpoint"));
}

std::optional<uint64_t> LogView::PlaceInCopy(absl::string_view entry) const {
  const auto place = copy_->places.find(certificate::HashLogLeaf(entry));
  return place == copy_->places.end() ? std::nullopt : std::optional<uint64_t>(place->second);
}

LogView::Found LogView::FoundAt(uint64_t place, absl::string_view origin, absl::string_view text) const {
  if (!trust_.CountsPlacesIn(origin)) return {Ok(text), std::nullopt, /*in_another_log=*/true};
  return {Ok(text), place};
}

LogView::Found LogView::FindInCopy(absl::string_view entry) const {
  if (!copy_.has_value()) {
    return {
        LeftOpen("NO_PROOF", copy_given_ ? "there is no proof beside it, and the copy of the log is refused"
                                         : "there is no proof (.tlog-proof) beside it"),
        std::nullopt};
  }
  const std::optional<uint64_t> place = PlaceInCopy(entry);
  if (!place.has_value()) return {Failed("NOT_IN_LOG", "the copy of the log does not have it"), std::nullopt};
  return FoundAt(*place, copy_->checkpoint.origin, absl::StrCat("entry ", *place, " of the copy of the log"));
}

LogView::Found LogView::CheckEntry(absl::string_view entry, const std::optional<std::string>& proof) {
  if (trust_.log_keys().empty()) {
    return {NotChecked("NO_LOG_KEY", "no key of the log is given"), std::nullopt};
  }
  if (!proof.has_value()) return FindInCopy(entry);
  const auto verified = VerifyLogProof(*proof, entry, trust_.log_keys());
  if (verified.reason != LogReason::kOk) return {Refuse(verified.reason), std::nullopt};
  if (auto refused = Add(verified.checkpoint, verified.signed_by); refused.has_value()) {
    return {*std::move(refused), std::nullopt};
  }
  const bool beyond_copy = copy_.has_value() && copy_->checkpoint.origin == verified.checkpoint.origin &&
                           verified.checkpoint.tree.size > copy_->tree.size();
  if (beyond_copy && PlaceInCopy(entry) != verified.index) {
    return {LeftOpen("LOG_BEHIND", "the proof is of a larger log than the copy, which may be another one"),
            std::nullopt};
  }
  return FoundAt(verified.index, verified.checkpoint.origin,
                 absl::StrCat("entry ", verified.index, " of the ", verified.checkpoint.tree.size,
                              " that the log's checkpoint signs"));
}

}  // namespace expunge::verify
