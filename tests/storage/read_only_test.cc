// Stores that are opened to be looked at alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "storage/checkpoint.h"
#include "tests/storage/backup_support.h"
#include "tests/storage/canary.h"
#include "tests/support/files.h"
#include "tests/support/tree_state.h"

namespace expunge::storage {
namespace {

namespace fs = std::filesystem;
using test_support::TreeState;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ReadOnlyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(directory_ / "live");
    reading_.store.read_only = true;
  }
  // Some records in tables, the last ones in the log alone.
  void Fill() {
    const auto store = OpenSealed(live_);
    ASSERT_NE(store, nullptr);
    Tokens tokens(store.get(), "acme");
    for (int i = 0; i < 10; ++i) tokens.Add(std::to_string(i));
    ASSERT_TRUE(store->database().EraseDeletedBytes().ok());
    tokens.Add("in the log");
    tokens.Remove("3");
    content_ = ContentOf(*store);
    sequence_ = store->database().sequence();
  }

  test_support::TemporaryDirectory directory_;
  const SealedStoreOptions live_ = Under(directory_ / "live");
  SealedStoreOptions reading_ = live_;
  std::map<std::string, std::string> content_;
  uint64_t sequence_ = 0;
};

TEST_F(ReadOnlyTest, SeesEverythingAndChangesNotAByte) {
  Fill();
  fs::create_directory(live_.directory + "/backup-leftover");
  const auto before = TreeState(directory_.path());
  {
    const auto store = OpenSealed(reading_);
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(ContentOf(*store), content_);
    EXPECT_EQ(store->database().sequence(), sequence_);
    EXPECT_THAT(store->database().CheckTableFiles(), IsEmpty());
    EXPECT_FALSE(store->writable());
    EXPECT_EQ(TreeState(directory_.path()), before);
  }
  EXPECT_EQ(TreeState(directory_.path()), before);
  EXPECT_EQ(ContentOf(*OpenSealed(live_)), content_);
}

TEST_F(ReadOnlyTest, RefusesEveryChange) {
  Fill();
  const auto before = TreeState(directory_.path());
  const auto store = OpenSealed(reading_);
  ASSERT_NE(store, nullptr);
  Transaction transaction;
  transaction.Put(Table::kTokens, "key", "value");
  bool durable = true;
  EXPECT_EQ(GetReason(store->Commit(std::move(transaction), {1}, &durable)), Reason::kStorageFailed);
  EXPECT_FALSE(durable);
  EXPECT_EQ(GetReason(store->database().EraseDeletedBytes()), Reason::kStorageFailed);
  EXPECT_EQ(GetReason(store->database().BeginCheckpoint().status()), Reason::kStorageFailed);
  EXPECT_EQ(GetReason(store->vault().Take(kMasterSlot, 1).status()), Reason::kStorageFailed);
  const Slot slot = 1;
  EXPECT_EQ(GetReason(store->vault().Destroy({&slot, 1}, 99)), Reason::kStorageFailed);
  EXPECT_EQ(GetReason(store->vault().RetainOnly({}, 99)), Reason::kStorageFailed);
  EXPECT_EQ(TreeState(directory_.path()), before);
}

TEST_F(ReadOnlyTest, KeepsServersOutAndStaysOutOfTheirs) {
  Fill();
  {
    const auto store = OpenSealed(reading_);
    EXPECT_TRUE(absl::IsFailedPrecondition(SealedStore::Open(live_).status()));
  }
  const auto server = OpenSealed(live_);
  EXPECT_TRUE(absl::IsFailedPrecondition(SealedStore::Open(reading_).status()));
}

TEST_F(ReadOnlyTest, MakesNothingWhereNothingIs) {
  const auto nothing = TreeState(directory_.path());
  EXPECT_TRUE(absl::IsNotFound(SealedStore::Open(reading_).status()));
  EXPECT_TRUE(absl::IsNotFound(Store::Open(reading_.directory, reading_.store).status()));
  EXPECT_EQ(TreeState(directory_.path()), nothing);
  Fill();
  for (const char* part : {"master.key", "vault/keys", "db/lock", "db/records/CURRENT", "db"}) {
    SCOPED_TRACE(part);
    fs::rename(directory_ / "live/" + part, directory_ / "aside");
    const auto before = TreeState(directory_.path());
    const absl::Status status = SealedStore::Open(reading_).status();
    EXPECT_TRUE(absl::IsNotFound(status) || absl::IsDataLoss(status)) << status;
    EXPECT_EQ(TreeState(directory_.path()), before);
    fs::rename(directory_ / "aside", directory_ / "live/" + part);
  }
  EXPECT_TRUE(SealedStore::Open(reading_).ok());
}

TEST_F(ReadOnlyTest, RefusesAnInterruptedRestore) {
  Fill();
  std::ofstream(live_.directory + "/restoring") << "";
  EXPECT_TRUE(absl::IsFailedPrecondition(SealedStore::Open(reading_).status()));
}

TEST_F(ReadOnlyTest, NamesADamagedTable) {
  {
    const auto store = OpenStore(live_.directory);
    PutRecords(*store);
    ASSERT_TRUE(store->EraseDeletedBytes().ok());
  }
  const std::string value = CanaryValue(Table::kTokens);
  const std::vector<test_support::Hit> hits =
      test_support::SearchFiles(live_.directory, std::vector<test_support::Pattern>{{"value", value}});
  ASSERT_EQ(hits.size(), 1U);
  {
    std::fstream file(hits[0].file, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(hits[0].offset));
    file.put(static_cast<char>(value[0] ^ 1));
  }
  const auto store = OpenStore(live_.directory, reading_.store);
  ASSERT_NE(store, nullptr);
  const std::vector<absl::Status> errors = store->CheckTableFiles();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(GetReason(errors[0]), Reason::kStorageCorrupt) << errors[0];
  EXPECT_THAT(std::string(errors[0].message()), HasSubstr(fs::path(hits[0].file).filename().string()));
}

}  // namespace
}  // namespace expunge::storage
