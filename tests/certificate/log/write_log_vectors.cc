// Writes what certificate/log makes of a fixed log, for other programs to verify:
//   write_log_vectors FOLDER
//     vectors.json  roots, proofs of all pairs up to kSizes, checkpoints
//     tiles_*/      the tiles of logs with two levels
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "certificate/log/checkpoint.h"
#include "certificate/log/merkle.h"
#include "certificate/log/tile_directory.h"
#include "certificate/log/tiles.h"
#include "tests/certificate/fixtures.h"
#include "tests/certificate/log/log_fixtures.h"

namespace expunge::certificate::testing {
namespace {

using nlohmann::json;

constexpr size_t kSizes = 130;
constexpr size_t kTiledSizes[] = {513, 700};

json HexList(const std::vector<Digest>& digests) {
  json list = json::array();
  for (const Digest& digest : digests) list.push_back(ToHex(AsView(digest)));
  return list;
}

std::string Hex(const Digest& digest) { return ToHex(AsView(digest)); }

json Proofs(const Entries& entries, const MerkleLog& log) {
  json inclusion = json::array();
  json consistency = json::array();
  json roots = json::array();
  json hex_entries = json::array();
  for (const std::string& entry : entries) hex_entries.push_back(ToHex(entry));
  for (size_t size = 0; size <= kSizes; ++size) {
    roots.push_back(Hex(log.Root(size)));
    for (size_t index = 0; index < size; ++index) {
      inclusion.push_back(
          {{"index", index}, {"size", size}, {"hashes", HexList(log.InclusionProof(index, size))}});
    }
    for (size_t old_size = 1; old_size <= size; ++old_size) {
      consistency.push_back(
          {{"old", old_size}, {"size", size}, {"hashes", HexList(log.ConsistencyProof(old_size, size))}});
    }
  }
  return {{"entries", hex_entries}, {"roots", roots}, {"inclusion", inclusion}, {"consistency", consistency}};
}

json Checkpoints(const MerkleLog& log) {
  json checkpoints = json::array();
  for (const size_t size : {0, 1, 64, 130}) {
    const TreeHead tree{size, log.Root(size)};
    checkpoints.push_back({{"size", size}, {"note", SignCheckpoint(tree, FixedSigner()).value()}});
  }
  return checkpoints;
}

json Paths() {
  json paths = json::array();
  for (const uint64_t index : {0, 7, 255, 999, 1000, 1234067}) {
    for (const uint32_t width : {1U, 255U, 256U}) {
      const TileName hashes{.level = 1, .index = index, .width = width};
      const TileName entries{.entries = true, .index = index, .width = width};
      paths.push_back(
          {{"index", index}, {"width", width}, {"hashes", TilePath(hashes)}, {"entries", TilePath(entries)}});
    }
  }
  return paths;
}

absl::Status WriteTiles(const std::string& folder, size_t size) {
  const Entries entries = FixedEntries(size);
  const MerkleLog log = LogOf(entries);
  const EntryReader reader = [&entries](uint64_t index) -> absl::StatusOr<std::string> {
    return entries[index];
  };
  EXPUNGE_ASSIGN_OR_RETURN(const std::string checkpoint, SignCheckpoint({size, log.Root()}, FixedSigner()));
  return TileDirectory(folder).Write(log, 0, reader, checkpoint);
}

int Run(const std::string& folder) {
  const Entries entries = FixedEntries(kSizes);
  const MerkleLog log = LogOf(entries);
  json vectors = Proofs(entries, log);
  vectors["checkpoints"] = Checkpoints(log);
  vectors["origin"] = std::string(kOrigin);
  vectors["vkey"] = FixedSigner().key.ToText();
  vectors["paths"] = Paths();
  WriteBytes(absl::StrCat(folder, "/vectors.json"), vectors.dump());

  for (const size_t size : kTiledSizes) {
    const absl::Status written = WriteTiles(absl::StrCat(folder, "/tiles_", size), size);
    if (written.ok()) continue;
    std::fprintf(stderr, "%s\n", std::string(written.message()).c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace expunge::certificate::testing

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_log_vectors FOLDER\n");
    return 2;
  }
  try {
    return expunge::certificate::testing::Run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_log_vectors: %s\n", error.what());
    return 1;
  }
}
