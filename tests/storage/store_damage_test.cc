// What a crash and what damage leave on the disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/store.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

namespace fs = std::filesystem;

constexpr int kRecords = 8;

std::string ValueOf(int index) { return std::string(300, static_cast<char>('a' + index)); }

// Writes records 0 to 7, one batch each of two tables, and closes the store: all is in the log alone.
void Fill(const std::string& path) {
  auto store = Store::Open(path);
  ASSERT_TRUE(store.ok()) << store.status();
  for (int i = 0; i < kRecords; ++i) {
    Transaction transaction;
    transaction.Put(Table::kTokens, "key" + std::to_string(i), ValueOf(i));
    transaction.Put(Table::kStates, "key" + std::to_string(i), ValueOf(i));
    ASSERT_TRUE((*store)->Commit(std::move(transaction)).ok());
  }
}

// The file of `path` with this extension that has the most bytes.
fs::path LargestFile(const std::string& path, const std::string& extension) {
  fs::path largest;
  uintmax_t size = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (!entry.is_regular_file() || entry.path().extension() != extension || entry.file_size() <= size)
      continue;
    largest = entry.path();
    size = entry.file_size();
  }
  return largest;
}

void FlipByte(const fs::path& file, std::streamoff offset) {
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekg(offset);
  const int byte = stream.get();
  ASSERT_NE(byte, EOF);
  stream.seekp(offset);
  stream.put(static_cast<char>(byte ^ 0x10));
}

TEST(StoreDamageTest, ATornTailOfTheLogLosesOnlyTheUnfinishedBatch) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory / "data";
  Fill(path);
  const fs::path log = LargestFile(path, ".log");
  const uintmax_t full = fs::file_size(log);
  // Every cut within the last batch, which has more than 600 bytes.
  for (uintmax_t cut = 1; cut < 600; cut += 37) {
    SCOPED_TRACE(cut);
    const std::string copy = directory / "copy";
    fs::remove_all(copy);
    fs::copy(path, copy, fs::copy_options::recursive);
    fs::resize_file(LargestFile(copy, ".log"), full - cut);
    const auto store = Store::Open(copy);
    ASSERT_TRUE(store.ok()) << store.status();
    for (int i = 0; i < kRecords; ++i) {
      const std::string key = "key" + std::to_string(i);
      const bool whole = i < kRecords - 1;
      EXPECT_EQ((*store)->Get(Table::kTokens, key).ok(), whole);
      EXPECT_EQ((*store)->Get(Table::kStates, key).ok(), whole);
    }
  }
}

TEST(StoreDamageTest, AFlippedByteInTheLogIsDataLoss) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory / "data";
  Fill(path);
  const fs::path log = LargestFile(path, ".log");
  const auto size = static_cast<std::streamoff>(fs::file_size(log));
  // In the middle, and in the last batch: both were acknowledged.
  for (const std::streamoff offset : {size / 2, size - 100}) {
    SCOPED_TRACE(offset);
    const std::string copy = directory / "copy";
    fs::remove_all(copy);
    fs::copy(path, copy, fs::copy_options::recursive);
    FlipByte(LargestFile(copy, ".log"), offset);
    const absl::Status status = Store::Open(copy).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  }
}

TEST(StoreDamageTest, AFlippedByteInATableFileIsDataLossWhenRead) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory / "data";
  Fill(path);
  ASSERT_TRUE(Store::Open(path).ok());  // recovery moves the log into table files
  const std::string needle = ValueOf(3);
  bool flipped = false;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.path().extension() != ".sst") continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    const size_t at = bytes.find(needle);
    if (at == std::string::npos) continue;
    FlipByte(entry.path(), static_cast<std::streamoff>(at) + 7);
    flipped = true;
  }
  ASSERT_TRUE(flipped);
  const auto store = Store::Open(path);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE(absl::IsDataLoss((*store)->Get(Table::kTokens, "key3").status()));
  const absl::Status scanned =
      (*store)->Scan(Table::kTokens, "", "", [](absl::string_view, absl::string_view) { return true; });
  EXPECT_TRUE(absl::IsDataLoss(scanned)) << scanned;
}

TEST(StoreDamageTest, AMissingTableFileRefusesToOpen) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory / "data";
  Fill(path);
  ASSERT_TRUE(Store::Open(path).ok());
  fs::remove(LargestFile(path, ".sst"));
  EXPECT_FALSE(Store::Open(path).ok());
}

TEST(StoreDamageTest, WithoutCurrentNothingIsServedAndNothingDeleted) {
  for (const bool in_tables : {false, true}) {
    const test_support::TemporaryDirectory directory;
    const std::string path = directory / "data";
    Fill(path);
    if (in_tables) {
      ASSERT_TRUE(Store::Open(path).ok());
    }
    const fs::path current = fs::path(path) / "records" / "CURRENT";
    fs::rename(current, directory / "kept");
    for (int start = 0; start < 3; ++start)
      EXPECT_TRUE(absl::IsDataLoss(Store::Open(path).status())) << start;
    fs::rename(directory / "kept", current);
    const auto store = Store::Open(path);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->Get(Table::kTokens, "key7").value_or(""), ValueOf(7));
  }
}

TEST(StoreDamageTest, AFirstStartThatWasCutShortIsDoneAgain) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory / "data";
  fs::create_directories(fs::path(path) / "records");
  for (const char* file : {"MANIFEST-000001", "IDENTITY", "LOG", "LOCK"}) {
    std::ofstream(fs::path(path) / "records" / file) << "x";
  }
  Fill(path);
  const auto store = Store::Open(path);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->Get(Table::kTokens, "key7").value_or(""), ValueOf(7));
}

}  // namespace
}  // namespace expunge::storage
