// Restores of what is rare: erasures of several memories at once, names that are used again, several tenants,
// ledgers that are not the backup's. Every directory that a restore leaves passes the integrity check.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/core/fsck.h"
#include "tests/server/core/restore_fixture.h"

namespace expunge::core {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kOther[] = "tenants/acme/memories/other";
constexpr char kThird[] = "tenants/acme/memories/third";

class RestoreEdgeTest : public RestoringTest {
 protected:
  void SetUp() override {
    options_.ledger_copy_file = directory_ / "ledger";
    Open();
    for (const char* memory : {"cells", "other", "third"}) Create(memory);
    for (const char* memory : {kMemory, kOther, kThird}) Add(memory, MakePoints("t", 6));
  }

  v1::PurgeResponse Purge(const std::string& subject, const std::string& request_id = "") {
    v1::PurgeRequest request;
    request.set_parent(kTenant);
    request.set_subject(subject);
    request.set_request_id(request_id);
    const auto response = service_->Purge(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : v1::PurgeResponse();
  }

  void DeleteMemory(const std::string& memory) {
    v1::DeleteMemoryRequest request;
    request.set_name(memory);
    const auto response = service_->DeleteMemory(request);
    ASSERT_TRUE(response.ok()) << response.status();
  }

  std::vector<std::string> Problems() {
    Close();
    storage::SealedStoreOptions reading{directory_ / "data", "", "", {}};
    reading.store.read_only = true;
    const auto store = storage::SealedStore::Open(reading);
    EXPECT_TRUE(store.ok()) << store.status();
    std::vector<std::string> problems;
    if (!store.ok()) return problems;
    FsckOptions options;
    options.server_key_ids = {key_.Public().KeyId(),
                              certificate::SigningKey::LoadExisting(checkpoint_key_file_)->Public().KeyId()};
    for (const FsckProblem& problem : Fsck(**store, options).problems) {
      problems.push_back(DescribeProblem(problem));
    }
    return problems;
  }

  // How many certificates of the tenant have this stage.
  int Count(v1::ErasureStage stage, const std::string& tenant = kTenant) {
    int count = 0;
    for (const v1::Certificate& certificate : Certificates(tenant)) count += certificate.stage() == stage;
    return count;
  }

  // After a purge of one subject from the three memories.
  void ExpectPurgedOnce() {
    for (const char* memory : {kMemory, kOther, kThird}) {
      EXPECT_EQ(Ids(memory), (std::set<std::string>{"t0", "t1", "t3", "t4", "t5"}));
    }
    EXPECT_EQ(Count(v1::ERASURE_STAGE_KEY_DESTROYED), 3);
    EXPECT_EQ(Count(v1::ERASURE_STAGE_PHYSICALLY_PURGED), 3);
    EXPECT_THAT(Problems(), IsEmpty());
  }
};

TEST_F(RestoreEdgeTest, APurgeOfThreeMemoriesIsCarriedOutOnceFromTheReplacedDatabase) {
  BackUp();
  const v1::PurgeResponse purged = Purge("subject-t2", "purge");
  const auto report = RestoreFrom("", directory_ / "data");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->deletions, 1U);
  EXPECT_EQ(report->certificates, 3U);
  TakeRestored();
  Open();
  EXPECT_EQ(Lasting(Purge("subject-t2", "purge")), Lasting(purged));
  ExpectPurgedOnce();
}

TEST_F(RestoreEdgeTest, SoIsOneWhoseBytesWereErased) {
  BackUp();
  Purge("subject-t2");
  ASSERT_TRUE(service_->EraseBytes().ok());
  ASSERT_TRUE(RestoreFrom("", directory_ / "data").ok());
  TakeRestored();
  Open();
  ExpectPurgedOnce();
}

TEST_F(RestoreEdgeTest, SoIsOneThatTheCopyCaughtUpWith) {
  options_.ledger_copy_file.clear();
  Open();
  BackUp();
  Purge("subject-t2");
  options_.ledger_copy_file = directory_ / "ledger";
  Open();
  ASSERT_TRUE(RestoreFrom(directory_ / "ledger", "").ok());
  TakeRestored();
  Open();
  ExpectPurgedOnce();
}

TEST_F(RestoreEdgeTest, OneThatTheCopyDidNotCatchUpWithWholeDoesNotCount) {
  options_.ledger_copy_file.clear();
  Open();
  BackUp();
  Purge("subject-t2");
  options_.ledger_copy_file = directory_ / "ledger";
  Open();
  Close();
  fs::resize_file(directory_ / "ledger", fs::file_size(directory_ / "ledger") - 1);
  const auto report = RestoreFrom(directory_ / "ledger", "");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->deletions, 0U);
  TakeRestored();
  Open();
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(RestoreEdgeTest, SoIsOneThatTheCopyHasAsOneEntry) {
  BackUp();
  Purge("subject-t2");
  ASSERT_TRUE(RestoreFrom(directory_ / "ledger", "").ok());
  TakeRestored();
  Open();
  ExpectPurgedOnce();
}

TEST_F(RestoreEdgeTest, AnErasureThatTheBackupHasAsPendingIsCompletedOnce) {
  Purge("subject-t2");
  BackUp();
  ASSERT_TRUE(service_->EraseBytes().ok());
  for (const bool from_copy : {true, false}) {
    fs::remove_all(directory_ / "restored");
    const auto report =
        RestoreFrom(from_copy ? directory_ / "ledger" : "", from_copy ? "" : directory_ / "data");
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->deletions, 0U);
    EXPECT_EQ(report->certificates, 3U);
  }
  TakeRestored();
  Open();
  ExpectPurgedOnce();
}

TEST_F(RestoreEdgeTest, ATokenThatWasAddedAgainBeforeTheBackupStays) {
  Delete(kMemory, {"t1"});
  Add(kMemory, {MakePoints("t", 6)[1]}, "again");
  BackUp();
  Delete(kMemory, {"t2"});
  const auto report = RestoreFrom(directory_ / "ledger", "");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->deleted_tokens, 1U);
  TakeRestored();
  Open();
  EXPECT_EQ(Ids(kMemory), (std::set<std::string>{"t0", "t1", "t3", "t4", "t5"}));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(RestoreEdgeTest, ATokenThatWasDeletedSinceAndAddedAgainIsGone) {
  BackUp();
  Delete(kMemory, {"t1"});
  Add(kMemory, {MakePoints("t", 6)[1]}, "again");
  ASSERT_TRUE(RestoreFrom("", directory_ / "data").ok());
  TakeRestored();
  Open();
  EXPECT_EQ(Ids(kMemory), (std::set<std::string>{"t0", "t2", "t3", "t4", "t5"}));
  // It is not deleted since, so the retry adds it.
  Add(kMemory, {MakePoints("t", 6)[1]}, "again");
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(RestoreEdgeTest, AMemoryThatWasMadeAnewUnderItsNameIsNotTheOldOne) {
  BackUp();
  DeleteMemory(kOther);
  Create("other");
  Add(kOther, MakePoints("n", 4), "new");
  Delete(kOther, {"n2"});
  DeleteMemory(kThird);
  Create("third");
  DeleteMemory(kThird);
  ASSERT_TRUE(RestoreFrom(directory_ / "ledger", "").ok());
  TakeRestored();
  Open();
  v1::ListMemoriesRequest list;
  list.set_parent(kTenant);
  EXPECT_EQ(service_->ListMemories(list)->memories_size(), 1);
  Create("other");
  EXPECT_TRUE(Fails(service_->Add(AddRequestFor(kOther, MakePoints("n", 4), "new")).status(),
                    Reason::kRequestLost, "request_id"));
  Add(kOther, MakePoints("m", 3));
  Delete(kOther, {"m1"});
  ASSERT_TRUE(service_->EraseBytes().ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(RestoreEdgeTest, EveryTokenOfAMemoryCanBeDeletedAgain) {
  BackUp();
  Delete(kMemory, {"t0", "t1", "t2"});
  Delete(kMemory, {"t3", "t4", "t5"});
  ASSERT_TRUE(RestoreFrom(directory_ / "ledger", "").ok());
  TakeRestored();
  Open();
  EXPECT_THAT(Ids(kMemory), IsEmpty());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(RestoreEdgeTest, TenantsAreRestoredEachByItself) {
  v1::CreateMemoryRequest create;
  create.set_parent("tenants/known");
  create.set_memory_id("m");
  *create.mutable_config() = SmallConfig();
  ASSERT_TRUE(service_->CreateMemory(create).ok());
  Add("tenants/known/memories/m", MakePoints("k", 5));
  BackUp();
  create.set_parent("tenants/unknown");
  ASSERT_TRUE(service_->CreateMemory(create).ok());
  Add("tenants/unknown/memories/m", MakePoints("u", 5));
  Delete("tenants/unknown/memories/m", {"u1"});
  Delete("tenants/known/memories/m", {"k1"});
  Delete(kMemory, {"t1"});
  const auto report = RestoreFrom(directory_ / "ledger", "");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->skipped_entries, 1U);
  EXPECT_EQ(report->deletions, 2U);
  TakeRestored();
  Open();
  EXPECT_EQ(Ids("tenants/known/memories/m"), (std::set<std::string>{"k0", "k2", "k3", "k4"}));
  EXPECT_EQ(Ids(kMemory), (std::set<std::string>{"t0", "t2", "t3", "t4", "t5"}));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(RestoreEdgeTest, ACopyOfTheLedgerThatEndsBeforeTheBackupIsRefused) {
  Delete(kMemory, {"t0"});
  Close();
  fs::copy(directory_ / "ledger", directory_ / "old-ledger");
  Open();
  Delete(kMemory, {"t1"});
  BackUp();
  Delete(kMemory, {"t2"});
  const auto report = RestoreFrom(directory_ / "old-ledger", "");
  EXPECT_TRUE(absl::IsFailedPrecondition(report.status())) << report.status();
  EXPECT_TRUE(RestoreFrom(directory_ / "ledger", "").ok());
}

TEST_F(RestoreEdgeTest, ACopyOfTheLedgerOfAnotherHistoryIsRefused) {
  Delete(kMemory, {"t0"});
  CopyData("fork");
  Open();
  Delete(kMemory, {"t1"});
  Delete(kMemory, {"t2"});
  Close();
  fs::copy(directory_ / "ledger", directory_ / "other-ledger");
  // The other history begins.
  PutInPlace("fork");
  options_.ledger_copy_file = directory_ / "new-ledger";
  Open();
  Delete(kMemory, {"t3"});
  BackUp();
  const auto report = RestoreFrom(directory_ / "other-ledger", "");
  EXPECT_TRUE(absl::IsFailedPrecondition(report.status())) << report.status();
  ASSERT_TRUE(RestoreFrom(directory_ / "new-ledger", "").ok());
}

TEST_F(RestoreEdgeTest, AReplacedDatabaseThatIsOlderThanTheBackupIsRefused) {
  Delete(kMemory, {"t0"});
  CopyData("older");
  Open();
  Delete(kMemory, {"t1"});
  BackUp();
  Delete(kMemory, {"t2"});
  const auto report = RestoreFrom("", directory_ / "older/data");
  EXPECT_TRUE(absl::IsFailedPrecondition(report.status())) << report.status();
  EXPECT_TRUE(RestoreFrom("", directory_ / "data").ok());
}

TEST_F(RestoreEdgeTest, AReplacedDatabaseOfAnotherStoreIsRefused) {
  BackUp();
  Delete(kMemory, {"t2"});
  Close();
  { ASSERT_TRUE(storage::SealedStore::Open({directory_ / "elsewhere/data", "", "", {}}).ok()); }
  const auto empty = RestoreFrom("", directory_ / "elsewhere/data");
  EXPECT_FALSE(empty.ok());
  fs::remove_all(directory_ / "elsewhere");
  auto store = storage::SealedStore::Open({directory_ / "elsewhere/data", "", "", {}});
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(Service::Open(
                  *std::move(store), Keys(), [this] { return now_; }, ServiceOptions())
                  .ok());
  const auto report = RestoreFrom("", directory_ / "elsewhere/data");
  EXPECT_TRUE(absl::IsFailedPrecondition(report.status())) << report.status();
  EXPECT_TRUE(RestoreFrom("", directory_ / "data").ok());
}

TEST_F(RestoreEdgeTest, ASecondRestoreOfTheSameBackupGivesNoEpochTwice) {
  BackUp();
  ASSERT_TRUE(RestoreFrom(directory_ / "ledger", "").ok());
  TakeRestored();
  Open();
  Add(kMemory, MakePoints("first", 2));
  Delete(kMemory, {"first1"});
  const uint64_t last = Full(kMemory).state().epoch();
  now_ += absl::Hours(1);
  ASSERT_TRUE(RestoreFrom(directory_ / "ledger-after", "").ok());
  TakeRestored("ledger-third");
  Open();
  EXPECT_GT(Full(kMemory).state().epoch(), last);
}

TEST_F(RestoreEdgeTest, TheNewCopyOfTheLedgerServesForTheOldBackup) {
  BackUp();
  Delete(kMemory, {"t0"});
  Purge("subject-t2");
  ASSERT_TRUE(RestoreFrom(directory_ / "ledger", "").ok());
  TakeRestored();
  Open();
  Delete(kMemory, {"t1"});
  ASSERT_TRUE(service_->EraseBytes().ok());
  const auto report = RestoreFrom(directory_ / "ledger-after", "");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->deletions, 3U);
  TakeRestored("ledger-third");
  Open();
  EXPECT_EQ(Ids(kMemory), (std::set<std::string>{"t3", "t4", "t5"}));
  EXPECT_EQ(Count(v1::ERASURE_STAGE_PHYSICALLY_PURGED), 5);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(RestoreEdgeTest, AnAddToATenantThatTheBackupLacksIsNotRetried) {
  BackUp();
  v1::CreateMemoryRequest create;
  create.set_parent("tenants/unknown");
  create.set_memory_id("m");
  *create.mutable_config() = SmallConfig();
  ASSERT_TRUE(service_->CreateMemory(create).ok());
  Add("tenants/unknown/memories/m", MakePoints("u", 5), "add");
  Delete("tenants/unknown/memories/m", {"u1"});
  ASSERT_TRUE(RestoreFrom(directory_ / "ledger", "").ok());
  TakeRestored();
  Open();
  ASSERT_TRUE(service_->CreateMemory(create).ok());
  EXPECT_TRUE(
      Fails(service_->Add(AddRequestFor("tenants/unknown/memories/m", MakePoints("u", 5), "add")).status(),
            Reason::kRequestLost, "request_id"));
}

TEST_F(RestoreEdgeTest, NorWithTheReplacedDatabase) {
  BackUp();
  v1::CreateMemoryRequest create;
  create.set_parent("tenants/unknown");
  create.set_memory_id("m");
  *create.mutable_config() = SmallConfig();
  ASSERT_TRUE(service_->CreateMemory(create).ok());
  Add("tenants/unknown/memories/m", MakePoints("u", 5), "add");
  Delete("tenants/unknown/memories/m", {"u1"});
  ASSERT_TRUE(RestoreFrom("", directory_ / "data").ok());
  TakeRestored();
  Open();
  ASSERT_TRUE(service_->CreateMemory(create).ok());
  EXPECT_TRUE(
      Fails(service_->Add(AddRequestFor("tenants/unknown/memories/m", MakePoints("u", 5), "add")).status(),
            Reason::kRequestLost, "request_id"));
}

}  // namespace
}  // namespace expunge::core
