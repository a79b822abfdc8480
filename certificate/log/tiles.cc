#include "certificate/log/tiles.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "certificate/log/text_lines.h"

namespace expunge::certificate {
namespace {

constexpr size_t kDigestBytes = 32;
constexpr size_t kLengthBytes = 2;

// Three digits, as they end an index.
std::optional<uint64_t> TakeGroup(absl::string_view* path) {
  if (path->size() < 3) return std::nullopt;
  uint64_t value = 0;
  for (const char digit : path->substr(0, 3)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = 10 * value + static_cast<uint64_t>(digit - '0');
  }
  path->remove_prefix(3);
  return value;
}

// x001/x234/067
std::optional<uint64_t> TakeIndex(absl::string_view* path) {
  uint64_t index = 0;
  bool more = true;
  while (more) {
    more = absl::ConsumePrefix(path, "x");
    const std::optional<uint64_t> group = TakeGroup(path);
    if (!group.has_value() || (more && !absl::ConsumePrefix(path, "/"))) return std::nullopt;
    if (index > (UINT64_MAX - *group) / 1000) return std::nullopt;
    index = 1000 * index + *group;
  }
  return index;
}

// The tiles of one level, or of entries, over `count` hashes or entries of which `written` are written.
void AppendLevel(const TileName& first, uint64_t written, uint64_t count, std::vector<TileName>* tiles) {
  if (written == count) return;
  for (uint64_t index = written / kTileWidth; index * kTileWidth < count; ++index) {
    TileName tile = first;
    tile.index = index;
    tile.width = static_cast<uint32_t>(std::min<uint64_t>(kTileWidth, count - index * kTileWidth));
    tiles->push_back(tile);
  }
}

}  // namespace

std::string TilePath(const TileName& tile) {
  std::string index = absl::StrFormat("%03d", tile.index % 1000);
  for (uint64_t rest = tile.index / 1000; rest > 0; rest /= 1000) {
    index = absl::StrFormat("x%03d/%s", rest % 1000, index);
  }
  const std::string level = tile.entries ? "entries" : absl::StrCat(tile.level);
  const std::string width = tile.width == kTileWidth ? "" : absl::StrCat(".p/", tile.width);
  return absl::StrCat("tile/", level, "/", index, width);
}

std::optional<TileName> ParseTilePath(absl::string_view path) {
  const absl::string_view whole = path;
  TileName tile;
  if (!absl::ConsumePrefix(&path, "tile/")) return std::nullopt;
  const size_t slash = path.find('/');
  if (slash == absl::string_view::npos) return std::nullopt;
  tile.entries = path.substr(0, slash) == "entries";
  if (!tile.entries) {
    const std::optional<uint64_t> level = ParseDecimal(path.substr(0, slash));
    if (!level.has_value() || *level > kMaxTileLevel) return std::nullopt;
    tile.level = static_cast<uint32_t>(*level);
  }
  path.remove_prefix(slash + 1);
  const std::optional<uint64_t> index = TakeIndex(&path);
  if (!index.has_value()) return std::nullopt;
  tile.index = *index;
  if (absl::ConsumePrefix(&path, ".p/")) {
    const std::optional<uint64_t> width = ParseDecimal(path);
    if (!width.has_value() || *width == 0 || *width >= kTileWidth) return std::nullopt;
    tile.width = static_cast<uint32_t>(*width);
    path = "";
  }
  if (!path.empty() || TilePath(tile) != whole) return std::nullopt;
  return tile;
}

std::vector<TileName> TilesBetween(uint64_t written, uint64_t size) {
  std::vector<TileName> tiles;
  for (uint32_t level = 0; level <= kMaxTileLevel; ++level) {
    const uint32_t shift = kTileHeight * level;
    AppendLevel({.level = level}, written >> shift, size >> shift, &tiles);
  }
  AppendLevel({.entries = true}, written, size, &tiles);
  return tiles;
}

absl::StatusOr<std::string> TileContents(const TileName& tile, const MerkleLog& log,
                                         const EntryReader& entry) {
  std::string contents;
  const uint64_t first = tile.index * kTileWidth;
  for (uint64_t i = first; i < first + tile.width; ++i) {
    if (!tile.entries) {
      absl::StrAppend(&contents, AsView(log.Subtree(kTileHeight * tile.level, i)));
      continue;
    }
    EXPUNGE_ASSIGN_OR_RETURN(const std::string bytes, entry(i));
    if (bytes.size() > kMaxEntryBytes) {
      return absl::InvalidArgumentError("an entry of a log has at most 65535 bytes");
    }
    contents.push_back(static_cast<char>(bytes.size() >> 8));
    contents.push_back(static_cast<char>(bytes.size() & 0xff));
    contents += bytes;
  }
  return contents;
}

std::optional<std::vector<Digest>> ParseHashTile(absl::string_view bytes, uint32_t width) {
  if (bytes.size() != kDigestBytes * width) return std::nullopt;
  std::vector<Digest> hashes;
  hashes.reserve(width);
  for (; !bytes.empty(); bytes.remove_prefix(kDigestBytes)) {
    hashes.push_back(*DigestFromBytes(bytes.substr(0, kDigestBytes)));
  }
  return hashes;
}

std::optional<std::vector<std::string>> ParseEntryTile(absl::string_view bytes, uint32_t width) {
  std::vector<std::string> entries;
  while (!bytes.empty()) {
    if (bytes.size() < kLengthBytes || entries.size() == width) return std::nullopt;
    const size_t length =
        size_t{static_cast<unsigned char>(bytes[0])} << 8 | static_cast<unsigned char>(bytes[1]);
    bytes.remove_prefix(kLengthBytes);
    if (bytes.size() < length) return std::nullopt;
    entries.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  if (entries.size() != width) return std::nullopt;
  return entries;
}

}  // namespace expunge::certificate
