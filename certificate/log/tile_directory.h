// A log in a folder (tiles.h), for a file server or a copy.
//
// Tiles first, the checkpoint last, each file all at once: whoever reads the checkpoint finds the tiles of
// its tree. Nothing of the log depends on the folder; what is lost or damaged there is written again.
#ifndef EXPUNGE_CERTIFICATE_LOG_TILE_DIRECTORY_H_
#define EXPUNGE_CERTIFICATE_LOG_TILE_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "certificate/log/merkle.h"
#include "certificate/log/tiles.h"

namespace expunge::certificate {

// A file that is not as the log says.
struct TileFault {
  std::string path;      // within the folder
  bool missing = false;  // or cut short, as a failure of the power leaves it
};

// Threads: one writer at a time; any number of readers.
class TileDirectory {
 public:
  // `folder` is made by the first Write, mode 0755. `sync`: every Write is durable when it returns.
  explicit TileDirectory(std::string folder, bool sync = false) : folder_(std::move(folder)), sync_(sync) {}

  // Writes the tiles of `log` that one of its first `written` leaves lacks (0: all), then `checkpoint`. Where
  // a tile has become full, its partial ones, and nothing else, are removed. REQUIRES: written <= log.size();
  // `checkpoint` is of `log`. Returns: kStorageFailed, errors of `entry`; some tiles may be written then, but
  // not the checkpoint.
  [[nodiscard]] absl::Status Write(const MerkleLog& log, uint64_t written, const EntryReader& entry,
                                   absl::string_view checkpoint) const;

  // The bytes of the file. Returns: NotFound, kStorageFailed, InvalidArgument for more than kMaxNoteBytes.
  [[nodiscard]] absl::StatusOr<std::string> ReadCheckpoint() const;
  // The bytes of the tile; of a partial one that is not there, the beginning of a full one. Returns:
  // NotFound; kStorageFailed; InvalidArgument for more bytes than a tile can have.
  [[nodiscard]] absl::StatusOr<std::string> ReadTile(const TileName& tile) const;
  // All `size` entries, in order, each handed to `take`. Returns: as ReadTile; DataLoss if a bundle is not
  // what it must be.
  [[nodiscard]] absl::Status ReadEntries(uint64_t size,
                                         const std::function<void(absl::string_view entry)>& take) const;

  // Compares every tile of `log`, and the checkpoint, with the files. Returns what is missing or differs, in
  // the order of TilesOf, the checkpoint last; kStorageFailed, errors of `entry`. Cost: reads all files.
  [[nodiscard]] absl::StatusOr<std::vector<TileFault>> Check(const MerkleLog& log, const EntryReader& entry,
                                                             absl::string_view checkpoint) const;

 private:
  [[nodiscard]] std::string PathOf(absl::string_view path) const;
  void RemovePartials(const TileName& tile) const;

  std::string folder_;
  bool sync_;
};

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_LOG_TILE_DIRECTORY_H_
