// EraseDeletedBytes on databases that are set up in other ways than Store's: with compression, with less than
// all of its steps (each step is needed: without it the canary is found), and with deletions held back.
#include "storage/erase_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "storage/database_options.h"
#include "tests/storage/canary.h"
#include "tests/support/byte_search.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

namespace fs = std::filesystem;
using test_support::EncodingsOfBytes;
using test_support::Hit;
using test_support::Pattern;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::IsEmpty;

const std::string& Key() {
  static const auto& key = *new std::string(std::string(1, '\0') + Canary(1));
  return key;
}
const std::string& Value() {
  static const auto& value = *new std::string(Canary(2));
  return value;
}

// A database with the canary among records that compress well.
class EraseBytesTest : public ::testing::Test {
 protected:
  ~EraseBytesTest() override { Close(); }

  void Open(rocksdb::CompressionType compression,
            const rocksdb::DBOptions& options = DatabaseOptions(nullptr)) {
    rocksdb::DBOptions creating = options;
    creating.create_if_missing = true;
    family_options_ = FamilyOptions();
    family_options_.compression = compression;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : ColumnFamilyNames()) families.emplace_back(name, family_options_);
    rocksdb::DB* raw = nullptr;
    const rocksdb::Status opened = rocksdb::DB::Open(creating, path(), families, &handles_, &raw);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    database_.reset(raw);
  }

  void Close() {
    for (rocksdb::ColumnFamilyHandle* handle : handles_) database_->DestroyColumnFamilyHandle(handle);
    handles_.clear();
    database_.reset();
  }

  // The canary and 500 others, in the last level, and then the canary deleted: in the log.
  void FillAndDelete() {
    Fill();
    Delete();
  }

  void Fill() {
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(database_->Put({}, tokens(), "k" + std::to_string(i), std::string(200, 'v')).ok());
    }
    ASSERT_TRUE(database_->Put({}, tokens(), Key(), Value()).ok());
    ASSERT_TRUE(database_->Flush({}, handles_).ok());
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    ASSERT_TRUE(database_->CompactRange(options, tokens(), nullptr, nullptr).ok());
  }

  void Delete() { ASSERT_TRUE(database_->Delete({}, tokens(), Key()).ok()); }

  [[nodiscard]] rocksdb::ColumnFamilyHandle* tokens() const { return handles_[2]; }
  [[nodiscard]] std::string path() const { return directory_ / "records"; }

  static std::vector<Pattern> Patterns() { return {{"key", Key().substr(1)}, {"value", Value()}}; }

  // What is in the table files when they are decompressed: "key", "value", "tombstone".
  [[nodiscard]] std::set<std::string> InsideTables() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(path())) {
      if (entry.path().extension() != ".sst") continue;
      rocksdb::SstFileReader reader(rocksdb::Options(DatabaseOptions(nullptr), family_options_));
      EXPECT_TRUE(reader.Open(entry.path().string()).ok());
      if (reader.GetTableProperties()->num_deletions > 0) found.insert("tombstone");
      const std::unique_ptr<rocksdb::Iterator> cursor(reader.NewIterator({}));
      for (cursor->SeekToFirst(); cursor->Valid(); cursor->Next()) {
        if (cursor->key() == Key()) found.insert("key");
        if (cursor->value() == Value()) found.insert("value");
      }
      EXPECT_TRUE(cursor->status().ok());
    }
    return found;
  }

  void ExpectSurvivors() const {
    std::string value;
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(database_->Get({}, tokens(), "k" + std::to_string(i), &value).ok());
      EXPECT_EQ(value, std::string(200, 'v'));
    }
  }

  test_support::TemporaryDirectory directory_;
  rocksdb::ColumnFamilyOptions family_options_;
  std::unique_ptr<rocksdb::DB> database_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
};

class CompressionTest : public EraseBytesTest,
                        public ::testing::WithParamInterface<rocksdb::CompressionType> {};

TEST_P(CompressionTest, LeavesNothingRawOrDecompressed) {
  const std::vector<rocksdb::CompressionType> supported = rocksdb::GetSupportedCompressions();
  ASSERT_THAT(supported, Contains(GetParam()));
  Open(GetParam());
  FillAndDelete();
  const std::set<std::string> both = {"key", "value"};
  EXPECT_EQ(InsideTables(), both);
  EXPECT_EQ(Found(path(), Patterns()), both);
  const absl::Status erased = EraseDeletedBytes(*database_, handles_);
  ASSERT_TRUE(erased.ok()) << erased;
  EXPECT_THAT(InsideTables(), IsEmpty());
  EXPECT_THAT(Found(path(), EncodingsOfBytes(Key().substr(1))), IsEmpty());
  EXPECT_THAT(Found(path(), EncodingsOfBytes(Value())), IsEmpty());
  ExpectSurvivors();
  Close();
  Open(GetParam());
  EXPECT_THAT(Found(path(), Patterns()), IsEmpty());
  ExpectSurvivors();
}

INSTANTIATE_TEST_SUITE_P(Compressions, CompressionTest,
                         ::testing::Values(rocksdb::kNoCompression, rocksdb::kSnappyCompression,
                                           rocksdb::kLZ4Compression, rocksdb::kZSTD),
                         [](const auto& compression) {
                           switch (compression.param) {
                             case rocksdb::kSnappyCompression:
                               return "Snappy";
                             case rocksdb::kLZ4Compression:
                               return "Lz4";
                             case rocksdb::kZSTD:
                               return "Zstd";
                             default:
                               return "None";
                           }
                         });

// Without kForce: a file whose records a reader's snapshot kept when it was written is moved as it is.
TEST_F(EraseBytesTest, RocksDbsOwnCompactionLeavesTheDeletedValueInATable) {
  Open(rocksdb::kNoCompression);
  ASSERT_TRUE(database_->Put({}, tokens(), Key(), Value()).ok());
  const rocksdb::Snapshot* const snapshot = database_->GetSnapshot();
  Delete();
  ASSERT_TRUE(database_->Flush({}, handles_).ok());
  database_->ReleaseSnapshot(snapshot);
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    ASSERT_TRUE(database_->CompactRange({}, handle, nullptr, nullptr).ok());
  }
  EXPECT_THAT(test_support::SearchFiles(path(), {{"value", Value()}}),
              ElementsAre(Field(&Hit::file, EndsWith(".sst"))));
  EXPECT_EQ(EraseDeletedBytes(*database_, handles_), absl::OkStatus());
  EXPECT_THAT(Found(path(), Patterns()), IsEmpty());
}

// Without flushing all: the others' records keep the log that the value is in.
TEST_F(EraseBytesTest, FlushingOneFamilyLeavesTheDeletedValueInTheLog) {
  Open(rocksdb::kNoCompression);
  ASSERT_TRUE(database_->Put({}, handles_[0], "another", "record").ok());
  ASSERT_TRUE(database_->Put({}, tokens(), Key(), Value()).ok());
  Delete();
  ASSERT_TRUE(database_->Flush({}, tokens()).ok());
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  ASSERT_TRUE(database_->CompactRange(options, tokens(), nullptr, nullptr).ok());
  EXPECT_THAT(test_support::SearchFiles(path(), {{"value", Value()}}),
              ElementsAre(Field(&Hit::file, EndsWith(".log"))));
  EXPECT_EQ(EraseDeletedBytes(*database_, handles_), absl::OkStatus());
  EXPECT_THAT(Found(path(), Patterns()), IsEmpty());
}

// Without step 3 the MANIFEST, which begins with the state before the compaction, names the deleted key.
TEST_F(EraseBytesTest, ForcedCompactionAloneLeavesTheKeyInTheManifest) {
  Open(rocksdb::kNoCompression);
  ASSERT_TRUE(database_->Put({}, tokens(), Key(), Value()).ok());
  ASSERT_TRUE(database_->Flush({}, handles_).ok());
  Delete();
  ASSERT_TRUE(database_->Flush({}, handles_).ok());
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  ASSERT_TRUE(database_->CompactRange(options, tokens(), nullptr, nullptr).ok());
  EXPECT_THAT(InsideTables(), IsEmpty());
  EXPECT_THAT(Found(path(), Patterns()), ElementsAre("key"));
}

TEST_F(EraseBytesTest, MakesNoClaimWhenTheManifestIsNotBegunAnew) {
  rocksdb::DBOptions options = DatabaseOptions(nullptr);
  options.max_manifest_file_size = uint64_t{1} << 30;
  Open(rocksdb::kNoCompression, options);
  FillAndDelete();
  EXPECT_EQ(GetReason(EraseDeletedBytes(*database_, handles_)), Reason::kStorageFailed);
  EXPECT_THAT(Found(path(), Patterns()), ElementsAre("key"));
}

TEST_F(EraseBytesTest, MakesNoClaimWhenLogsAreArchived) {
  rocksdb::DBOptions options = DatabaseOptions(nullptr);
  options.WAL_ttl_seconds = 3600;
  Open(rocksdb::kNoCompression, options);
  FillAndDelete();
  EXPECT_EQ(GetReason(EraseDeletedBytes(*database_, handles_)), Reason::kStorageFailed);
  EXPECT_THAT(Found(path(), Patterns()), testing::Not(IsEmpty()));
}

TEST_F(EraseBytesTest, MakesNoClaimWhileASnapshotKeepsTheRecord) {
  Open(rocksdb::kNoCompression);
  for (const bool deleted_before : {false, true}) {
    ASSERT_TRUE(database_->Put({}, tokens(), Key(), Value()).ok());
    if (deleted_before) Delete();
    const rocksdb::Snapshot* const snapshot = database_->GetSnapshot();
    if (!deleted_before) Delete();
    const absl::Status status = EraseDeletedBytes(*database_, handles_);
    EXPECT_EQ(GetReason(status), Reason::kStorageFailed) << status;
    database_->ReleaseSnapshot(snapshot);
    EXPECT_EQ(EraseDeletedBytes(*database_, handles_), absl::OkStatus());
    EXPECT_THAT(Found(path(), Patterns()), IsEmpty());
  }
}

// A backup holds them back while it copies.
TEST_F(EraseBytesTest, MakesNoClaimWhileDeletionsAreHeldBack) {
  Open(rocksdb::kNoCompression);
  FillAndDelete();
  ASSERT_TRUE(database_->DisableFileDeletions().ok());
  EXPECT_EQ(GetReason(EraseDeletedBytes(*database_, handles_)), Reason::kStorageFailed);
  EXPECT_THAT(Found(path(), Patterns()), testing::SizeIs(2));
  ASSERT_TRUE(database_->EnableFileDeletions(/*force=*/false).ok());
  EXPECT_EQ(EraseDeletedBytes(*database_, handles_), absl::OkStatus());
  EXPECT_THAT(Found(path(), Patterns()), IsEmpty());
}

// Otherwise levels would fill up from then on.
TEST_F(EraseBytesTest, LeavesAutomaticCompactionsOn) {
  Open(rocksdb::kNoCompression);
  FillAndDelete();
  const auto expect_on = [this] {
    for (rocksdb::ColumnFamilyHandle* handle : handles_) {
      rocksdb::ColumnFamilyDescriptor descriptor;
      ASSERT_TRUE(handle->GetDescriptor(&descriptor).ok());
      EXPECT_FALSE(descriptor.options.disable_auto_compactions);
    }
  };
  ASSERT_EQ(EraseDeletedBytes(*database_, handles_), absl::OkStatus());
  expect_on();
  ASSERT_TRUE(database_->DisableFileDeletions().ok());
  ASSERT_TRUE(database_->Delete({}, tokens(), "k1").ok());
  ASSERT_FALSE(EraseDeletedBytes(*database_, handles_).ok());
  expect_on();
}

}  // namespace
}  // namespace expunge::storage
