#include "certificate/log/tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/certificate/log/log_fixtures.h"

namespace expunge::certificate {
namespace {

using testing::Entries;
using testing::FixedEntries;
using testing::LogOf;

EntryReader ReaderOf(const Entries& entries) {
  return [&entries](uint64_t index) -> absl::StatusOr<std::string> { return entries[index]; };
}

std::vector<std::string> Paths(const std::vector<TileName>& tiles) {
  std::vector<std::string> paths;
  paths.reserve(tiles.size());
  for (const TileName& tile : tiles) paths.push_back(TilePath(tile));
  return paths;
}

TEST(TilePathTest, IsAsPublished) {
  EXPECT_EQ(TilePath({.level = 0, .index = 1234067}), "tile/0/x001/x234/067");
  EXPECT_EQ(TilePath({.level = 3, .index = 0}), "tile/3/000");
  EXPECT_EQ(TilePath({.level = 0, .index = 999}), "tile/0/999");
  EXPECT_EQ(TilePath({.level = 0, .index = 1000}), "tile/0/x001/000");
  EXPECT_EQ(TilePath({.level = 1, .index = 1234067, .width = 17}), "tile/1/x001/x234/067.p/17");
  EXPECT_EQ(TilePath({.entries = true, .index = 5, .width = 255}), "tile/entries/005.p/255");
}

TEST(TilePathTest, IsReadBackInThatFormAlone) {
  for (const uint64_t index : {uint64_t{0}, uint64_t{7}, uint64_t{999}, uint64_t{1000}, UINT64_MAX}) {
    for (const uint32_t width : {1U, 255U, 256U}) {
      for (const TileName& tile : {TileName{.level = 7, .index = index, .width = width},
                                   TileName{.entries = true, .index = index, .width = width}}) {
        EXPECT_EQ(ParseTilePath(TilePath(tile)), tile) << TilePath(tile);
      }
    }
  }
  for (const char* path : {"",
                           "tile",
                           "tile/0",
                           "tile/0/",
                           "tile/0/1",
                           "tile/0/0001",
                           "tile/00/001",
                           "tile/8/000",
                           "tile/-1/000",
                           "tile/0/x000/001",
                           "tile/0/001/002",
                           "tile/0/x001",
                           "tile/0/x001/",
                           "tile/0/001.p",
                           "tile/0/001.p/",
                           "tile/0/001.p/0",
                           "tile/0/001.p/256",
                           "tile/0/001.p/01",
                           "tile/0/001/",
                           "/tile/0/001",
                           "tile/0/00a",
                           "tile/entries/1",
                           "tile/data/001",
                           "checkpoint",
                           "tile/0/x018/x446/x744/x073/x709/x551/616",
                           "tile/0/x999/x018/x446/x744/x073/x709/x551/615",
                           "tile/0/../000"}) {
    EXPECT_FALSE(ParseTilePath(path).has_value()) << path;
  }
}

TEST(TilesTest, AreThoseOfThePublishedExamples) {
  const std::vector<TileName> tiles = TilesOf(70000);
  const auto count = [&tiles](uint32_t level, bool full) {
    return std::count_if(tiles.begin(), tiles.end(), [level, full](const TileName& tile) {
      return !tile.entries && tile.level == level && (tile.width == kTileWidth) == full;
    });
  };
  EXPECT_EQ(count(0, true), 273);
  EXPECT_EQ(count(0, false), 1);
  EXPECT_EQ(count(1, true), 1);
  EXPECT_EQ(count(1, false), 1);
  EXPECT_EQ(count(2, true), 0);
  EXPECT_EQ(count(2, false), 1);
  const std::vector<std::string> paths = Paths(tiles);
  for (const char* path :
       {"tile/0/273.p/112", "tile/1/001.p/17", "tile/2/000.p/1", "tile/entries/273.p/112"}) {
    EXPECT_EQ(std::count(paths.begin(), paths.end(), path), 1) << path;
  }
  EXPECT_EQ(Paths(TilesOf(256)),
            (std::vector<std::string>{"tile/0/000", "tile/1/000.p/1", "tile/entries/000"}));
  EXPECT_TRUE(TilesOf(0).empty());
}

TEST(TilesTest, BetweenTwoSizesAreThoseThatTheOlderTreeLacks) {
  for (const uint64_t size : {0, 1, 2, 255, 256, 257, 511, 512, 700, 65536, 65537}) {
    const std::vector<std::string> all = Paths(TilesOf(size));
    for (const uint64_t written : {0, 1, 2, 255, 256, 257, 511, 512, 700, 65535, 65536, 65537}) {
      if (written > size) continue;
      const std::vector<std::string> before = Paths(TilesOf(written));
      const std::set<std::string> had(before.begin(), before.end());
      std::vector<std::string> expected;
      std::copy_if(all.begin(), all.end(), std::back_inserter(expected),
                   [&had](const std::string& path) { return had.count(path) == 0; });
      EXPECT_EQ(Paths(TilesBetween(written, size)), expected) << written << " to " << size;
    }
  }
}

TEST(TilesTest, HoldSubtreesAndEntries) {
  const Entries entries = FixedEntries(600);
  const MerkleLog log = LogOf(entries);
  for (const TileName& tile : TilesOf(600)) {
    const std::string contents = TileContents(tile, log, ReaderOf(entries)).value();
    if (tile.entries) {
      const auto read = ParseEntryTile(contents, tile.width);
      ASSERT_TRUE(read.has_value());
      EXPECT_TRUE(std::equal(read->begin(), read->end(),
                             entries.begin() + static_cast<ptrdiff_t>(tile.index * kTileWidth)));
      continue;
    }
    const auto hashes = ParseHashTile(contents, tile.width);
    ASSERT_TRUE(hashes.has_value());
    const size_t leaves = tile.level == 0 ? 1 : 256;
    for (size_t i = 0; i < hashes->size(); ++i) {
      const size_t begin = (tile.index * kTileWidth + i) * leaves;
      EXPECT_EQ((*hashes)[i], testing::OracleRoot(absl::MakeConstSpan(entries).subspan(begin, leaves)));
    }
  }
}

TEST(TilesTest, RefuseLongEntries) {
  const Entries entries = {std::string(65535, 'x'), std::string(65536, 'x')};
  const MerkleLog log = LogOf(entries);
  EXPECT_TRUE(TileContents({.entries = true, .width = 1}, log, ReaderOf(entries)).ok());
  EXPECT_TRUE(
      absl::IsInvalidArgument(TileContents({.entries = true, .width = 2}, log, ReaderOf(entries)).status()));
}

TEST(TilesTest, AreReadInTheirFormAlone) {
  const std::string two = absl::StrCat(std::string("\0\3abc", 5), std::string("\0\0", 2));
  EXPECT_EQ(ParseEntryTile(two, 2), (std::vector<std::string>{"abc", ""}));
  EXPECT_FALSE(ParseEntryTile(two, 1).has_value());
  EXPECT_FALSE(ParseEntryTile(two, 3).has_value());
  for (size_t length = 0; length < two.size(); ++length) {
    EXPECT_FALSE(ParseEntryTile(two.substr(0, length), 2).has_value());
  }
  EXPECT_TRUE(ParseHashTile(std::string(64, 'x'), 2).has_value());
  for (const size_t length : {0, 63, 65, 96}) {
    EXPECT_FALSE(ParseHashTile(std::string(length, 'x'), 2).has_value());
  }
}

}  // namespace
}  // namespace expunge::certificate
