// A log as static files (https://c2sp.org/tlog-tiles): their names, and what is in them.
//
//     checkpoint                        the signed checkpoint
//     tile/<level>/<index>[.p/<width>]  256 hashes, or `width` in the last tile of a level: of the subtrees
//                                       over 256^level leaves
//     tile/entries/<index>[.p/<width>]  the entries themselves, each after its length (2 bytes, big-endian)
//
// An index is written in groups of three digits, all but the last after an "x": 1234067 is x001/x234/067. A
// full tile never changes. A partial one is never changed either: a wider one comes beside it.
#ifndef EXPUNGE_CERTIFICATE_LOG_TILES_H_
#define EXPUNGE_CERTIFICATE_LOG_TILES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/bytes.h"
#include "certificate/log/merkle.h"

namespace expunge::certificate {

inline constexpr uint32_t kTileWidth = 256;
inline constexpr uint32_t kTileHeight = 8;    // 2^8 = kTileWidth
inline constexpr uint32_t kMaxTileLevel = 7;  // a tree has fewer than 2^64 leaves
inline constexpr size_t kMaxEntryBytes = 65535;
inline constexpr absl::string_view kCheckpointPath = "checkpoint";

struct TileName {
  bool entries = false;
  uint32_t level = 0;  // 0 if entries
  uint64_t index = 0;
  uint32_t width = kTileWidth;  // 1 to kTileWidth

  friend bool operator==(const TileName&, const TileName&) = default;
};

// "tile/0/x001/234.p/17". REQUIRES: a width as above.
[[nodiscard]] std::string TilePath(const TileName& tile);
// nullopt unless `path` is TilePath of some tile.
[[nodiscard]] std::optional<TileName> ParseTilePath(absl::string_view path);

// The tiles of a tree of `size` leaves that one of `written` leaves lacks, those of hashes before those of
// entries. REQUIRES: written <= size. Cost: O(their number).
[[nodiscard]] std::vector<TileName> TilesBetween(uint64_t written, uint64_t size);
[[nodiscard]] inline std::vector<TileName> TilesOf(uint64_t size) { return TilesBetween(0, size); }

// Returns entry `index`.
using EntryReader = std::function<absl::StatusOr<std::string>(uint64_t index)>;

// What the file holds. REQUIRES: the log has all that the tile is about. Returns: errors of `entry`;
// InvalidArgument if an entry is longer than kMaxEntryBytes.
[[nodiscard]] absl::StatusOr<std::string> TileContents(const TileName& tile, const MerkleLog& log,
                                                       const EntryReader& entry);

// nullopt unless `bytes` is `width` hashes, or entries.
[[nodiscard]] std::optional<std::vector<Digest>> ParseHashTile(absl::string_view bytes, uint32_t width);
[[nodiscard]] std::optional<std::vector<std::string>> ParseEntryTile(absl::string_view bytes, uint32_t width);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_LOG_TILES_H_
