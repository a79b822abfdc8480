// The sealed value of docs/formats/records.md, which tests/golden/make_sealed_record.py makes and shares no
// code with, in a database beside the vault of docs/formats/vault.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "storage/sealed_store.h"
#include "tests/storage/vault_support.h"
#include "tests/support/documents.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

using test_support::ExampleAfter;
using test_support::Master;
using test_support::TemporaryDirectory;
using test_support::WriteWholeFile;
using ::testing::HasSubstr;

constexpr char kRecordKey[] =
    "9566d0e4e0e733e7a1e44326dd87110b141ccf62c4e95d32051b249f01680eed"
    "fc31300e4597addf1ed0ef7397256aa2cc85ec871a6f6b4b9146d62a9b242dbc";
constexpr char kRecord[] =
    "0a01611201731a10000000000000f03f00000000000000c02208000000000000e03f2a20202122232425262728292a2b2c2d2e"
    "2f303132333435363738393a3b3c3d3e3f3220c84c7e1ce156a5bcce9e6503da5e74fd8f3dbda1ff4a1b90e51379ef4fdedb8d"
    "3a20fc31300e4597addf1ed0ef7397256aa2cc85ec871a6f6b4b9146d62a9b242dbc";

class SealedRecordTest : public ::testing::Test {
 protected:
  void SetUp() override {
    value_ = ExampleAfter(EXPUNGE_RECORDS_PAGE, "the stored value is");
    ASSERT_EQ(value_.size(), 16 + 24 + FromHex(kRecord)->size() + 16);
    const std::string vault = ExampleAfter(EXPUNGE_VAULT_PAGE, "The file has 384 bytes:");
    ASSERT_EQ(vault.size(), 384U);
    std::filesystem::create_directory(directory_ / "vault");
    WriteWholeFile(directory_ / "vault/keys", vault);
    WriteWholeFile(directory_ / "master.key", ToHex(Master().view()) + "\n");
    ASSERT_EQ(::chmod((directory_ / "master.key").c_str(), 0600), 0);
  }

  // Puts `value` into a new database at `record_key` of `table`, and opens it through the vault.
  absl::StatusOr<OpenRecord> PutAndGet(Table table, const std::string& record_key, const std::string& value) {
    std::filesystem::remove_all(directory_ / "db");
    {
      const auto database = Store::Open(directory_ / "db");
      EXPECT_TRUE(database.ok()) << database.status();
      // The example's vault has seen change 258.
      for (int i = 0; (*database)->sequence() < 258; ++i) {
        Transaction transaction;
        for (int j = 0; j < 100; ++j) transaction.Put(Table::kMeta, "filler", "");
        transaction.Put(table, record_key, value);
        EXPECT_TRUE((*database)->Commit(std::move(transaction)).ok());
      }
    }
    const auto store = SealedStore::Open({directory_ / "db", "", "", {}});
    EXPECT_TRUE(store.ok()) << store.status();
    if (!store.ok()) return store.status();
    return (*store)->Get(table, record_key);
  }

  TemporaryDirectory directory_;
  std::string value_;
};

TEST_F(SealedRecordTest, TheExampleOfTheDocumentIsOpened) {
  const auto record = PutAndGet(Table::kTokens, *FromHex(kRecordKey), value_);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->key, (KeyName{1, 2}));
  EXPECT_EQ(ToHex(AsView(record->bytes)), kRecord);
}

TEST_F(SealedRecordTest, ItOpensNowhereElseAndNotWithABitFlipped) {
  const std::string key = *FromHex(kRecordKey);
  std::string other = key;
  other[63] = static_cast<char>(other[63] ^ 1);
  for (const absl::Status& status :
       {PutAndGet(Table::kTokens, other, value_).status(), PutAndGet(Table::kStates, key, value_).status()}) {
    EXPECT_EQ(GetReason(status), Reason::kStorageCorrupt) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("table"));
  }
  for (size_t at = 0; at < value_.size(); at += 11) {
    std::string damaged = value_;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    EXPECT_EQ(GetReason(PutAndGet(Table::kTokens, key, damaged).status()), Reason::kStorageCorrupt) << at;
  }
}

}  // namespace
}  // namespace expunge::storage
