// After EraseDeletedBytes no file holds what was deleted. Every search has a control that must find it
// before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "base/error.h"
#include "storage/store.h"
#include "tests/storage/canary.h"
#include "tests/storage/failing_env.h"
#include "tests/support/byte_search.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

namespace fs = std::filesystem;
using test_support::Hit;
using test_support::SearchFiles;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StoreEraseTest : public ::testing::Test {
 protected:
  void Open(const StoreOptions& options = {}) {
    store_.reset();
    store_ = OpenStore(path(), options);
    ASSERT_NE(store_, nullptr);
  }

  [[nodiscard]] std::string path() const { return directory_ / "data"; }

  void ExpectClean() const {
    EXPECT_THAT(SearchFiles(path(), EncodedCanaries()), IsEmpty());
    for (const auto& entry : fs::directory_iterator(path() + "/records")) {
      EXPECT_FALSE(absl::StrContains(entry.path().filename().string(), ".trash")) << entry.path();
    }
  }

  // Whether all canaries, keys and values, are in some file as they are.
  void ExpectAllFound() const { EXPECT_EQ(Found(path(), RawCanaries()), Names(RawCanaries())); }

  void Put(Table table, absl::string_view key, absl::string_view value) {
    Transaction transaction;
    transaction.Put(table, key, value);
    ASSERT_TRUE(store_->Commit(std::move(transaction)).ok());
  }

  test_support::TemporaryDirectory directory_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreEraseTest, ErasesDeletedKeysAndValuesOfEveryTableFromTheLog) {
  Open();
  PutRecords(*store_);
  ExpectAllFound();
  DeleteCanaries(*store_);
  ExpectAllFound();
  ASSERT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
  ExpectClean();
  ExpectOnlySurvivors(*store_);
  Open();
  ExpectClean();
  ExpectOnlySurvivors(*store_);
  store_.reset();
  ExpectClean();
}

TEST_F(StoreEraseTest, ErasesDeletedKeysAndValuesFromTheLastLevelAndTheManifest) {
  Open();
  PutRecords(*store_);
  // Puts everything into the last level.
  ASSERT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
  DeleteCanaries(*store_);
  ExpectAllFound();
  const std::vector<Hit> hits = SearchFiles(path(), RawCanaries());
  EXPECT_THAT(hits, Contains(Field(&Hit::file, HasSubstr("MANIFEST"))));
  EXPECT_THAT(hits, Contains(Field(&Hit::file, HasSubstr(".sst"))));
  EXPECT_THAT(hits, Contains(Field(&Hit::file, HasSubstr(".log"))));
  const absl::Status erased = store_->EraseDeletedBytes();
  ASSERT_TRUE(erased.ok()) << erased;
  ExpectClean();
  ExpectOnlySurvivors(*store_);
  Open();
  ExpectClean();
  ExpectOnlySurvivors(*store_);
}

TEST_F(StoreEraseTest, ErasesOverwrittenValues) {
  Open();
  PutRecords(*store_);
  ASSERT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
  for (const Table table : AllTables()) Put(table, CanaryKey(table), "another");
  ExpectAllFound();
  ASSERT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
  for (const Table table : AllTables()) {
    EXPECT_EQ(store_->Get(table, CanaryKey(table)).value(), "another");
  }
  for (const std::string& found : Found(path(), RawCanaries())) EXPECT_THAT(found, HasSubstr("key"));
}

// The log of a deleted record stays while any table has records in it that were not flushed; and a table that
// never had records must not hold it, either.
TEST_F(StoreEraseTest, ErasesWhatOneTableDeletedWhileOthersHoldTheLog) {
  Open();
  const Table table = Table::kTokens;
  for (int round = 0; round < 3; ++round) {
    Put(table, CanaryKey(table), CanaryValue(table));
    Put(Table::kStates, "kept", "value of round " + std::to_string(round));
    Transaction transaction;
    transaction.Delete(table, CanaryKey(table));
    ASSERT_TRUE(store_->Commit(std::move(transaction)).ok());
    EXPECT_THAT(Found(path(), RawCanaries()), SizeIs(2));
    ASSERT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
    ExpectClean();
  }
  EXPECT_EQ(store_->Get(Table::kStates, "kept").value(), "value of round 2");
}

TEST_F(StoreEraseTest, SucceedsWhenThereIsNothingToErase) {
  Open();
  ASSERT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
  ASSERT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
  ASSERT_TRUE(store_->Commit(Transaction()).ok());
  ASSERT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
  Open();
  ASSERT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
}

TEST_F(StoreEraseTest, RemovesTheInfoLogsOfEarlierRuns) {
  const auto old_logs = [this] {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(path() + "/records")) {
      count += absl::StartsWith(entry.path().filename().string(), "LOG.old.") ? 1 : 0;
    }
    return count;
  };
  Open();
  Open();
  Open();
  EXPECT_GT(old_logs(), 0);
  ASSERT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
  EXPECT_EQ(old_logs(), 0);
}

TEST_F(StoreEraseTest, ErasesWhileCommitsGoOn) {
  constexpr int kKept = 50;
  Open();
  PutRecords(*store_);
  std::atomic<bool> stop = false;
  int written = 0;
  std::thread writer([&] {
    for (; !stop; ++written) {
      Transaction transaction;
      transaction.Put(Table::kTokens, "w" + std::to_string(written), std::string(20000, 'w'));
      transaction.Put(Table::kStates, "w", std::to_string(written));
      if (written >= kKept) transaction.Delete(Table::kTokens, "w" + std::to_string(written - kKept));
      ASSERT_TRUE(store_->Commit(std::move(transaction)).ok());
    }
  });
  for (int round = 0; round < 4; ++round) {
    PutRecords(*store_);
    if (round % 2 == 1) {
      EXPECT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
    }
    DeleteCanaries(*store_);
    ExpectAllFound();
    const absl::Status erased = store_->EraseDeletedBytes();
    EXPECT_TRUE(erased.ok()) << erased;
    ExpectClean();
  }
  stop = true;
  writer.join();
  ExpectOnlySurvivors(*store_);
  EXPECT_GT(written, kKept);
  for (int i = 0; i < written; ++i) {
    EXPECT_EQ(store_->Get(Table::kTokens, "w" + std::to_string(i)).ok(), i >= written - kKept) << i;
  }
  std::printf("%d commits meanwhile\n", written);
}

TEST_F(StoreEraseTest, ReportsAReaderThatHoldsOldFilesAndSucceedsAfterIt) {
  Open();
  PutRecords(*store_);
  ASSERT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
  std::promise<void> reading;
  std::promise<void> go_on;
  std::thread reader([&] {
    bool first = true;
    EXPECT_TRUE(store_
                    ->Scan(Table::kTokens, "", "",
                           [&](absl::string_view, absl::string_view) {
                             if (std::exchange(first, false)) {
                               reading.set_value();
                               go_on.get_future().wait();
                             }
                             return true;
                           })
                    .ok());
  });
  reading.get_future().wait();
  DeleteCanaries(*store_);
  const absl::Status held = store_->EraseDeletedBytes();
  EXPECT_EQ(GetReason(held), Reason::kStorageFailed) << held;
  EXPECT_THAT(Found(path(), RawCanaries()),
              Contains("value " + std::to_string(static_cast<int>(Table::kTokens))));
  EXPECT_TRUE(store_->writable());
  go_on.set_value();
  reader.join();
  const absl::Status erased = store_->EraseDeletedBytes();
  EXPECT_TRUE(erased.ok()) << erased;
  ExpectClean();
  ExpectOnlySurvivors(*store_);
}

TEST_F(StoreEraseTest, MakesNoClaimWhileAFileIsThereThatIsNotTheDatabases) {
  Open();
  PutRecords(*store_);
  DeleteCanaries(*store_);
  for (const char* name : {"000004.log.bak", "000001.sst.trash", "archive", "000001.blob"}) {
    const std::string stray = path() + "/records/" + name;
    std::ofstream(stray) << "a copy";
    const absl::Status status = store_->EraseDeletedBytes();
    // RocksDB itself removes what has a name of its own.
    if (fs::exists(stray)) {
      EXPECT_EQ(GetReason(status), Reason::kStorageFailed) << name;
      EXPECT_THAT(std::string(status.message()), HasSubstr(name));
    } else {
      EXPECT_TRUE(status.ok()) << name << status;
    }
    fs::remove(stray);
  }
  EXPECT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
  ExpectClean();
}

TEST_F(StoreEraseTest, NamesADamagedTable) {
  Open();
  PutRecords(*store_);
  ASSERT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
  store_.reset();
  const std::string value = CanaryValue(Table::kTokens);
  const std::vector<Hit> hits = SearchFiles(path(), std::vector<test_support::Pattern>{{"value", value}});
  ASSERT_THAT(hits, SizeIs(1));
  {
    std::fstream file(hits[0].file, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(hits[0].offset));
    file.put(static_cast<char>(value[0] ^ 1));
  }
  Open();
  DeleteCanaries(*store_);
  const absl::Status status = store_->EraseDeletedBytes();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST_F(StoreEraseTest, RefusesAfterAFailedCommit) {
  testing::Faults faults;
  const std::unique_ptr<rocksdb::Env> env = testing::MakeFailingEnv(&faults);
  StoreOptions options;
  options.env = env.get();
  Open(options);
  PutRecords(*store_);
  faults.sync = true;
  Transaction transaction;
  transaction.Delete(Table::kTokens, CanaryKey(Table::kTokens));
  EXPECT_FALSE(store_->Commit(std::move(transaction)).ok());
  faults.sync = false;
  EXPECT_EQ(GetReason(store_->EraseDeletedBytes()), Reason::kStorageFailed);
  Open(options);
  DeleteCanaries(*store_);
  EXPECT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
  ExpectClean();
  store_.reset();
}

// A disk that is nearly full.
class FullFileSystem : public rocksdb::FileSystemWrapper {
 public:
  FullFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "FullFileSystem"; }
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions& options, uint64_t* free,
                                 rocksdb::IODebugContext* debug) override {
    if (!full) return FileSystemWrapper::GetFreeSpace(path, options, free, debug);
    *free = 1000;
    return rocksdb::IOStatus::OK();
  }
  std::atomic<bool> full = false;
};

TEST_F(StoreEraseTest, DoesNotBeginWithoutSpaceAndStaysWritable) {
  const auto disk = std::make_shared<FullFileSystem>();
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(disk);
  StoreOptions options;
  options.env = env.get();
  Open(options);
  PutRecords(*store_);
  disk->full = true;
  const absl::Status full = store_->EraseDeletedBytes();
  EXPECT_EQ(GetReason(full), Reason::kStorageFailed);
  EXPECT_THAT(std::string(full.message()), HasSubstr("free disk space"));
  EXPECT_TRUE(store_->writable());
  DeleteCanaries(*store_);
  disk->full = false;
  EXPECT_EQ(store_->EraseDeletedBytes(), absl::OkStatus());
  ExpectClean();
  store_.reset();
}

}  // namespace
}  // namespace expunge::storage
