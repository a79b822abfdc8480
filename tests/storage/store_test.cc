#include "storage/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <sys/stat.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/database_options.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::unique_ptr<Store> OpenOrDie(const std::string& path) {
  absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(path);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

absl::Status PutOne(Store& store, Table table, absl::string_view key, absl::string_view value) {
  Transaction transaction;
  transaction.Put(table, key, value);
  return store.Commit(std::move(transaction));
}

std::vector<std::pair<std::string, std::string>> ScanAll(const Store& store, Table table,
                                                         absl::string_view prefix, absl::string_view first) {
  std::vector<std::pair<std::string, std::string>> found;
  EXPECT_TRUE(store
                  .Scan(table, prefix, first,
                        [&found](absl::string_view key, absl::string_view value) {
                          found.emplace_back(std::string(key), std::string(value));
                          return true;
                        })
                  .ok());
  return found;
}

TEST(StoreTest, KeepsEveryTableApartAndAcrossReopening) {
  const test_support::TemporaryDirectory directory;
  const std::vector<Table> tables = {Table::kMeta,   Table::kMemories,     Table::kTokens,
                                     Table::kStates, Table::kCertificates, Table::kRequests};
  {
    const auto store = OpenOrDie(directory / "data");
    Transaction transaction;
    for (const Table table : tables) {
      transaction.Put(table, "key", "value " + std::to_string(static_cast<int>(table)));
    }
    ASSERT_TRUE(store->Commit(std::move(transaction)).ok());
  }
  const auto store = OpenOrDie(directory / "data");
  for (const Table table : tables) {
    const auto value = store->Get(table, "key");
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(*value, "value " + std::to_string(static_cast<int>(table)));
  }
}

TEST(StoreTest, AppliesABatchInOrder) {
  const test_support::TemporaryDirectory directory;
  const auto store = OpenOrDie(directory / "data");
  Transaction transaction;
  transaction.Put(Table::kTokens, "a", "first");
  transaction.Put(Table::kTokens, "a", "second");
  transaction.Put(Table::kTokens, "b", "gone");
  transaction.Delete(Table::kTokens, "b");
  ASSERT_TRUE(store->Commit(std::move(transaction)).ok());
  EXPECT_EQ(store->Get(Table::kTokens, "a").value(), "second");
  EXPECT_TRUE(absl::IsNotFound(store->Get(Table::kTokens, "b").status()));
}

TEST(StoreTest, ScansOnePrefixInOrderFromTheFirstKey) {
  const test_support::TemporaryDirectory directory;
  const auto store = OpenOrDie(directory / "data");
  const std::string high_prefix = "\xff\xff";
  for (const std::string& key : {std::string("a1"), std::string("a2"), std::string("a3"), std::string("b1"),
                                 high_prefix + "x", std::string("a")}) {
    ASSERT_TRUE(PutOne(*store, Table::kTokens, key, "v" + key).ok());
  }
  EXPECT_THAT(ScanAll(*store, Table::kTokens, "a", ""),
              ElementsAre(Pair("a", "va"), Pair("a1", "va1"), Pair("a2", "va2"), Pair("a3", "va3")));
  EXPECT_THAT(ScanAll(*store, Table::kTokens, "a", "a2"), ElementsAre(Pair("a2", "va2"), Pair("a3", "va3")));
  EXPECT_THAT(ScanAll(*store, Table::kTokens, high_prefix, ""),
              ElementsAre(Pair(high_prefix + "x", "v" + high_prefix + "x")));
  EXPECT_THAT(ScanAll(*store, Table::kStates, "", ""), ElementsAre());
}

TEST(StoreTest, StopsAScanWhenTold) {
  const test_support::TemporaryDirectory directory;
  const auto store = OpenOrDie(directory / "data");
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(PutOne(*store, Table::kTokens, key, "").ok());
  int visited = 0;
  ASSERT_TRUE(store
                  ->Scan(Table::kTokens, "", "",
                         [&visited](absl::string_view, absl::string_view) { return ++visited < 2; })
                  .ok());
  EXPECT_EQ(visited, 2);
}

TEST(StoreTest, MakesItsDirectoryPrivate) {
  const test_support::TemporaryDirectory directory;
  const auto store = OpenOrDie(directory / "above/data");
  struct stat info {};
  ASSERT_EQ(::stat((directory / "above/data").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700U);
}

TEST(StoreTest, DoesNotCreateUnlessAllowed) {
  const test_support::TemporaryDirectory directory;
  StoreOptions options;
  options.create_if_missing = false;
  EXPECT_TRUE(absl::IsNotFound(Store::Open(directory / "data", options).status()));
  OpenOrDie(directory / "data").reset();
  EXPECT_TRUE(Store::Open(directory / "data", options).ok());
}

TEST(StoreTest, RefusesASecondOpenUntilTheFirstIsClosed) {
  const test_support::TemporaryDirectory directory;
  auto store = OpenOrDie(directory / "data");
  const absl::Status second = Store::Open(directory / "data").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr("in use"));
  store.reset();
  EXPECT_TRUE(Store::Open(directory / "data").ok());
}

TEST(StoreTest, RefusesANewerFormatAndSaysWhatToDo) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory / "data";
  {
    const auto store = OpenOrDie(path);
    ASSERT_TRUE(PutOne(*store, Table::kMeta, "format", std::to_string(kFormatVersion + 1)).ok());
  }
  const absl::Status status = Store::Open(path).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("newer release"));
}

TEST(StoreTest, RefusesOlderFormats) {
  for (const char* format : {"1", "2", "3"}) {
    const test_support::TemporaryDirectory directory;
    const std::string path = directory / "data";
    {
      const auto store = OpenOrDie(path);
      ASSERT_TRUE(PutOne(*store, Table::kMeta, "format", format).ok());
    }
    const auto store = Store::Open(path);
    EXPECT_TRUE(absl::IsFailedPrecondition(store.status())) << store.status();
    EXPECT_NE(store.status().message().find("start with a new directory"), absl::string_view::npos)
        << store.status();
  }
}

TEST(StoreTest, RefusesANewerFormatWithTablesThatItDoesNotKnow) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory / "data";
  {
    const auto store = OpenOrDie(path);
    ASSERT_TRUE(PutOne(*store, Table::kMeta, "format", "7").ok());
  }
  {
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : ColumnFamilyNames()) families.emplace_back(name, FamilyOptions());
    families.emplace_back("tomorrow", FamilyOptions());
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* raw = nullptr;
    ASSERT_TRUE(
        rocksdb::DB::Open(DatabaseOptions(nullptr), path + "/records", families, &handles, &raw).ok());
    const std::unique_ptr<rocksdb::DB> database(raw);
    for (rocksdb::ColumnFamilyHandle* handle : handles) database->DestroyColumnFamilyHandle(handle);
  }
  const absl::Status status = Store::Open(path).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("format 7"));
}

TEST(StoreTest, RefusesAnUnreadableFormat) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory / "data";
  {
    const auto store = OpenOrDie(path);
    ASSERT_TRUE(PutOne(*store, Table::kMeta, "format", "one").ok());
  }
  EXPECT_TRUE(absl::IsDataLoss(Store::Open(path).status()));
}

}  // namespace
}  // namespace expunge::storage
