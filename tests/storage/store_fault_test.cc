// A disk that fails under a commit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "storage/store.h"
#include "tests/storage/failing_env.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

absl::Status PutBoth(Store& store, absl::string_view key) {
  Transaction transaction;
  transaction.Put(Table::kTokens, key, "token");
  transaction.Put(Table::kStates, key, "state");
  return store.Commit(std::move(transaction));
}

class StoreFaultTest : public ::testing::TestWithParam<std::atomic<bool> testing::Faults::*> {};

TEST_P(StoreFaultTest, AFailedCommitIsInvisibleAndMakesTheStoreReadOnly) {
  const test_support::TemporaryDirectory directory;
  testing::Faults faults;
  const std::unique_ptr<rocksdb::Env> env = testing::MakeFailingEnv(&faults);
  StoreOptions options;
  options.env = env.get();
  {
    auto store = Store::Open(directory / "data", options);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE(PutBoth(**store, "before").ok());
    EXPECT_TRUE((*store)->writable());

    const uint64_t sequence = (*store)->sequence();
    faults.*GetParam() = true;
    const absl::Status failed = PutBoth(**store, "failed");
    EXPECT_TRUE(absl::IsUnavailable(failed)) << failed;
    EXPECT_EQ(GetReason(failed), Reason::kStorageFailed);
    EXPECT_FALSE((*store)->writable());
    // The vault may note this number for the sake of another change that was made just before.
    EXPECT_EQ((*store)->sequence(), sequence);
    EXPECT_TRUE(absl::IsNotFound((*store)->Get(Table::kTokens, "failed").status()));
    EXPECT_TRUE(absl::IsNotFound((*store)->Get(Table::kStates, "failed").status()));

    // The disk recovers; the store must not believe it.
    faults.*GetParam() = false;
    EXPECT_EQ(GetReason(PutBoth(**store, "later")), Reason::kStorageFailed);
    EXPECT_TRUE(absl::IsNotFound((*store)->Get(Table::kTokens, "later").status()));
    EXPECT_EQ((*store)->Get(Table::kTokens, "before").value(), "token");
  }
  auto store = Store::Open(directory / "data", options);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->Get(Table::kTokens, "before").value(), "token");
  EXPECT_TRUE(absl::IsNotFound((*store)->Get(Table::kTokens, "later").status()));
  // The failed batch may have reached the disk: then it is there as a whole.
  EXPECT_EQ((*store)->Get(Table::kTokens, "failed").ok(), (*store)->Get(Table::kStates, "failed").ok());
  EXPECT_TRUE(PutBoth(**store, "again").ok());
}

INSTANTIATE_TEST_SUITE_P(Faults, StoreFaultTest,
                         ::testing::Values(&testing::Faults::sync, &testing::Faults::append),
                         [](const auto& fault) { return fault.index == 0 ? "Sync" : "NoSpace"; });

}  // namespace
}  // namespace expunge::storage
