#include "certificate/log/tile_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/certificate/fixtures.h"
#include "tests/certificate/log/log_fixtures.h"

namespace expunge::certificate {
namespace {

using testing::Entries;
using testing::FixedEntries;
using testing::LogOf;
using testing::ReadBytes;
using testing::WriteBytes;

class TileDirectoryTest : public ::testing::Test {
 protected:
  TileDirectoryTest() : folder_(absl::StrCat(::testing::TempDir(), "tiles_", Name(), ::getpid())) {
    std::filesystem::remove_all(folder_);
  }
  ~TileDirectoryTest() override { std::filesystem::remove_all(folder_); }

  static std::string Name() { return ::testing::UnitTest::GetInstance()->current_test_info()->name(); }

  EntryReader Reader() const {
    return [this](uint64_t index) -> absl::StatusOr<std::string> { return entries_[index]; };
  }
  MerkleLog Log(size_t size) const { return LogOf(absl::MakeConstSpan(entries_).first(size)); }
  absl::Status Write(size_t written, size_t size) const {
    return TileDirectory(folder_).Write(Log(size), written, Reader(), Checkpoint(size));
  }
  static std::string Checkpoint(size_t size) { return absl::StrCat("checkpoint of ", size, "\n"); }
  std::string Path(absl::string_view path) const { return absl::StrCat(folder_, "/", path); }

  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& item : std::filesystem::recursive_directory_iterator(folder_)) {
      if (!item.is_regular_file()) continue;
      files[std::filesystem::relative(item.path(), folder_)] = ReadBytes(item.path());
    }
    return files;
  }

  const Entries entries_ = FixedEntries(600);
  const std::string folder_;
};

TEST_F(TileDirectoryTest, HoldsTheTilesOfTheTree) {
  ASSERT_TRUE(Write(0, 600).ok());
  std::map<std::string, std::string> expected = {{"checkpoint", Checkpoint(600)}};
  for (const TileName& tile : TilesOf(600)) {
    expected[TilePath(tile)] = TileContents(tile, Log(600), Reader()).value();
  }
  EXPECT_EQ(Files(), expected);
}

TEST_F(TileDirectoryTest, GrowsOneByOneToTheSameFilesAndOlderPartials) {
  for (size_t size = 1; size <= 520; ++size) ASSERT_TRUE(Write(size - 1, size).ok());
  const auto grown = Files();
  std::filesystem::remove_all(folder_);
  ASSERT_TRUE(Write(0, 520).ok());
  for (const auto& [path, contents] : Files()) EXPECT_EQ(grown.at(path), contents) << path;
  // A partial tile stays until it is full: each size had a checkpoint.
  for (const auto& [path, contents] : grown) {
    EXPECT_FALSE(absl::StartsWith(path, "tile/0/000.p") || absl::StartsWith(path, "tile/entries/001.p"))
        << path;
  }
  for (size_t width = 1; width <= 8; ++width) {
    EXPECT_EQ(grown.count(absl::StrCat("tile/0/002.p/", width)), 1);
    EXPECT_EQ(grown.count(absl::StrCat("tile/entries/002.p/", width)), 1);
  }
}

TEST_F(TileDirectoryTest, SaysWhatIsMissingOrDiffers) {
  const TileDirectory directory(folder_);
  ASSERT_TRUE(Write(0, 600).ok());
  const auto faults = [&] { return directory.Check(Log(600), Reader(), Checkpoint(600)).value(); };
  EXPECT_TRUE(faults().empty());
  for (const auto& [path, contents] : Files()) {
    std::filesystem::remove(Path(path));
    ASSERT_EQ(faults().size(), 1) << path;
    EXPECT_EQ(faults()[0].path, path);
    EXPECT_TRUE(faults()[0].missing);
    for (const std::string& other :
         {contents + "x", contents.substr(1), "X" + contents.substr(1), contents + std::string(1, '\0')}) {
      WriteBytes(Path(path), other);
      ASSERT_EQ(faults().size(), 1) << path;
      EXPECT_EQ(faults()[0].path, path);
      EXPECT_FALSE(faults()[0].missing);
    }
    // As a failure of the power can leave it.
    for (const std::string& cut : {std::string(), contents.substr(0, contents.size() / 2),
                                   contents.substr(0, 1) + std::string(contents.size() - 1, '\0'),
                                   std::string(contents.size(), '\0')}) {
      WriteBytes(Path(path), cut);
      ASSERT_EQ(faults().size(), 1) << path;
      EXPECT_TRUE(faults()[0].missing);
    }
    WriteBytes(Path(path), contents);
  }
  std::string large;
  large.resize(20'000'000, 'x');
  WriteBytes(Path("tile/1/000.p/2"), large);
  EXPECT_EQ(faults().size(), 1);
  // All is written again.
  ASSERT_TRUE(Write(0, 600).ok());
  EXPECT_TRUE(faults().empty());
}

TEST_F(TileDirectoryTest, ReadsEntriesAlsoOfSmallerTrees) {
  const TileDirectory directory(folder_);
  ASSERT_TRUE(Write(0, 600).ok());
  for (const size_t size : {0, 1, 200, 256, 257, 512, 600}) {
    Entries read;
    // The partial tiles of smaller trees are the beginnings of full ones.
    if (size % 256 != 0 && size > 512 && size != 600) continue;
    ASSERT_TRUE(
        directory.ReadEntries(size, [&read](absl::string_view entry) { read.emplace_back(entry); }).ok());
    EXPECT_EQ(read, Entries(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(size)));
  }
  EXPECT_EQ(directory.ReadTile({.level = 0, .index = 1, .width = 3}).value(),
            ReadBytes(Path("tile/0/001")).substr(0, 96));
  EXPECT_TRUE(absl::IsNotFound(directory.ReadEntries(601, [](absl::string_view) {})));
  WriteBytes(Path("tile/entries/001"), "damaged");
  EXPECT_TRUE(absl::IsDataLoss(directory.ReadEntries(600, [](absl::string_view) {})));
}

TEST_F(TileDirectoryTest, RemovesNothingThatItDidNotWrite) {
  ASSERT_TRUE(Write(0, 255).ok());
  WriteBytes(Path("readme"), "mine");
  WriteBytes(Path("tile/0/000.p/note"), "mine");
  ASSERT_TRUE(Write(255, 256).ok());
  EXPECT_EQ(ReadBytes(Path("readme")), "mine");
  EXPECT_EQ(ReadBytes(Path("tile/0/000.p/note")), "mine");
  EXPECT_FALSE(std::filesystem::exists(Path("tile/0/000.p/255")));
  EXPECT_FALSE(std::filesystem::exists(Path("tile/entries/000.p")));
}

TEST_F(TileDirectoryTest, IsReadableByOthersWhateverTheMask) {
  const mode_t mask = ::umask(0077);
  const absl::Status written =
      TileDirectory(folder_, /*sync=*/true).Write(Log(300), 0, Reader(), Checkpoint(300));
  ::umask(mask);
  ASSERT_TRUE(written.ok()) << written;
  for (const auto& item : std::filesystem::recursive_directory_iterator(folder_)) {
    const auto mode = static_cast<unsigned>(item.status().permissions());
    EXPECT_EQ(mode, item.is_directory() ? 0755U : 0644U) << item.path();
  }
}

TEST_F(TileDirectoryTest, WritesNoCheckpointIfATileFails) {
  ASSERT_TRUE(Write(0, 100).ok());
  const EntryReader failing = [](uint64_t) -> absl::StatusOr<std::string> {
    return absl::DataLossError("no entry");
  };
  EXPECT_TRUE(absl::IsDataLoss(TileDirectory(folder_).Write(Log(101), 100, failing, Checkpoint(101))));
  EXPECT_EQ(TileDirectory(folder_).ReadCheckpoint().value(), Checkpoint(100));
  // A file in the way of a folder.
  std::filesystem::remove_all(Path("tile/1"));
  WriteBytes(Path("tile/1"), "in the way");
  EXPECT_FALSE(Write(100, 300).ok());
  EXPECT_EQ(TileDirectory(folder_).ReadCheckpoint().value(), Checkpoint(100));
}

TEST_F(TileDirectoryTest, IsNotThereBeforeTheFirstWrite) {
  EXPECT_TRUE(absl::IsNotFound(TileDirectory(folder_).ReadCheckpoint().status()));
  EXPECT_EQ(TileDirectory(folder_).Check(Log(3), Reader(), Checkpoint(3)).value().size(), 3);
  ASSERT_TRUE(Write(0, 0).ok());
  EXPECT_EQ(Files(), (std::map<std::string, std::string>{{"checkpoint", Checkpoint(0)}}));
}

}  // namespace
}  // namespace expunge::certificate
