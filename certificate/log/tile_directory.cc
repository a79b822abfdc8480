#include "certificate/log/tile_directory.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/durable_file.h"
#include "base/status_macros.h"
#include "certificate/log/note.h"
#include "certificate/log/tile_files.h"

namespace expunge::certificate {
namespace {

constexpr mode_t kFileMode = 0644;

constexpr size_t kMaxTileBytes = size_t{kTileWidth} * (2 + kMaxEntryBytes);
constexpr size_t kDigestBytes = 32;

// The first `width` hashes or entries of a full tile's bytes.
std::string BeginningOf(const TileName& tile, const std::string& full) {
  if (!tile.entries) return full.substr(0, kDigestBytes * tile.width);
  size_t end = 0;
  for (uint32_t i = 0; i < tile.width && end + 2 <= full.size(); ++i) {
    end +=
        2 + (size_t{static_cast<unsigned char>(full[end])} << 8 | static_cast<unsigned char>(full[end + 1]));
  }
  return full.substr(0, std::min(end, full.size()));
}

// As a file can be after a failure of the power: its end is missing, or zeros. That contradicts nothing.
bool IsCutShort(absl::string_view read, absl::string_view expected) {
  const size_t last = read.find_last_not_of('\0');
  read = last == absl::string_view::npos ? absl::string_view() : read.substr(0, last + 1);
  return read.size() < expected.size() && expected.substr(0, read.size()) == read;
}

absl::Status Fault(const absl::StatusOr<std::string>& read, absl::string_view expected, std::string path,
                   std::vector<TileFault>* faults) {
  const bool missing = absl::IsNotFound(read.status()) || (read.ok() && IsCutShort(*read, expected));
  // A file that is too large differs, too.
  if (!read.ok() && !missing && !absl::IsInvalidArgument(read.status())) return read.status();
  if (!read.ok() || *read != expected) faults->push_back({std::move(path), missing});
  return absl::OkStatus();
}

}  // namespace

std::string TileDirectory::PathOf(absl::string_view path) const { return absl::StrCat(folder_, "/", path); }

void TileDirectory::RemovePartials(const TileName& tile) const {
  TileName partial = tile;
  partial.width = 1;
  const std::string folder = FolderOf(PathOf(TilePath(partial)));
  if (::access(folder.c_str(), F_OK) != 0) return;
  for (; partial.width < kTileWidth; ++partial.width) ::unlink(PathOf(TilePath(partial)).c_str());
  // Fails if anything else is in it, which then stays.
  ::rmdir(folder.c_str());
}

absl::Status TileDirectory::Write(const MerkleLog& log, uint64_t written, const EntryReader& entry,
                                  absl::string_view checkpoint) const {
  EXPUNGE_RETURN_IF_ERROR(MakeFolders(folder_, sync_));
  const std::vector<TileName> tiles = TilesBetween(written, log.size());
  for (const TileName& tile : tiles) {
    EXPUNGE_ASSIGN_OR_RETURN(const std::string contents, TileContents(tile, log, entry));
    const std::string path = PathOf(TilePath(tile));
    EXPUNGE_RETURN_IF_ERROR(MakeFolders(FolderOf(path), sync_));
    EXPUNGE_RETURN_IF_ERROR(ReplaceFile(path, contents, kFileMode, sync_));
  }
  EXPUNGE_RETURN_IF_ERROR(ReplaceFile(PathOf(kCheckpointPath), checkpoint, kFileMode, sync_));
  for (const TileName& tile : tiles) {
    if (tile.width == kTileWidth) RemovePartials(tile);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TileDirectory::ReadCheckpoint() const {
  return ReadWhole(PathOf(kCheckpointPath), kMaxNoteBytes);
}

absl::StatusOr<std::string> TileDirectory::ReadTile(const TileName& tile) const {
  const size_t max_bytes = tile.entries ? kMaxTileBytes : kDigestBytes * kTileWidth;
  absl::StatusOr<std::string> contents = ReadWhole(PathOf(TilePath(tile)), max_bytes);
  if (!absl::IsNotFound(contents.status()) || tile.width == kTileWidth) return contents;
  TileName full = tile;
  full.width = kTileWidth;
  EXPUNGE_ASSIGN_OR_RETURN(const std::string bytes, ReadWhole(PathOf(TilePath(full)), max_bytes));
  return BeginningOf(tile, bytes);
}

absl::Status TileDirectory::ReadEntries(uint64_t size,
                                        const std::function<void(absl::string_view entry)>& take) const {
  for (uint64_t begin = 0; begin < size; begin += kTileWidth) {
    const auto width = static_cast<uint32_t>(std::min<uint64_t>(kTileWidth, size - begin));
    const TileName tile{.entries = true, .index = begin / kTileWidth, .width = width};
    EXPUNGE_ASSIGN_OR_RETURN(const std::string bytes, ReadTile(tile));
    const std::optional<std::vector<std::string>> entries = ParseEntryTile(bytes, width);
    if (!entries.has_value()) {
      return absl::DataLossError(absl::StrCat(PathOf(TilePath(tile)), " does not hold its entries"));
    }
    for (const std::string& entry : *entries) take(entry);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TileFault>> TileDirectory::Check(const MerkleLog& log, const EntryReader& entry,
                                                            absl::string_view checkpoint) const {
  std::vector<TileFault> faults;
  for (const TileName& tile : TilesOf(log.size())) {
    EXPUNGE_ASSIGN_OR_RETURN(const std::string contents, TileContents(tile, log, entry));
    std::string path = TilePath(tile);
    EXPUNGE_RETURN_IF_ERROR(Fault(ReadTile(tile), contents, std::move(path), &faults));
  }
  EXPUNGE_RETURN_IF_ERROR(Fault(ReadCheckpoint(), checkpoint, std::string(kCheckpointPath), &faults));
  return faults;
}

}  // namespace expunge::certificate
