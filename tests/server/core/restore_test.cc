// Restoring a backup: nothing that was deleted since comes back, and what was certified then stays certified.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/hash.h"
#include "server/core/handles.h"
#include "server/core/load.h"
#include "storage/ledger_copy.h"
#include "tests/server/core/restore_fixture.h"
#include "tests/support/byte_search.h"

namespace expunge::core {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kOther[] = "tenants/acme/memories/other";

class RestoreTest : public RestoringTest {
 protected:
  void SetUp() override {
    options_.ledger_copy_file = directory_ / "ledger";
    Open();
    Create("cells");
    Create("other");
    Add(kMemory, MakePoints("t", 20), "add-before");
    Add(kOther, MakePoints("o", 6));
    deleted_before_ = Delete(kMemory, {"t19"}, "delete-before");
  }

  // What happens between the backup and the loss of the disk.
  void Live() {
    deleted_ = Delete(kMemory, {"t3", "t7"}, "delete-since");
    Add(kMemory, MakePoints("late", 4), "add-since");
    Delete(kMemory, {"late1"});
    v1::PurgeRequest purge;
    purge.set_parent(kTenant);
    purge.set_subject("subject-t11");
    ASSERT_TRUE(service_->Purge(purge).ok());
    v1::CertifyRequest certify;
    certify.set_name(kMemory);
    ASSERT_TRUE(service_->Certify(certify).ok());
    v1::DeleteMemoryRequest gone;
    gone.set_name(kOther);
    ASSERT_TRUE(service_->DeleteMemory(gone).ok());
    ASSERT_TRUE(service_->EraseBytes().ok());
    Delete(kMemory, {"t5"});  // its bytes are not erased yet
  }

  // Writes "cut", a copy of the ledger without its third entry.
  void Cut() {
    Open();
    const auto secret = ReadSecret(*store_->Get(storage::Table::kMeta, kSecretKey));
    ASSERT_TRUE(secret.ok());
    Close();
    std::vector<storage::LedgerEntry> entries;
    const auto collect = [&entries](const storage::LedgerEntry& entry) {
      entries.push_back(entry);
      return true;
    };
    ASSERT_TRUE(storage::ReadLedgerCopy(directory_ / "ledger", LedgerOwner(*secret), collect).ok());
    ASSERT_GT(entries.size(), 3U);
    entries.erase(entries.begin() + 2);
    auto cut = storage::LedgerCopy::Open(directory_ / "cut", LedgerOwner(*secret),
                                         [](const storage::LedgerEntry&) { return true; });
    ASSERT_TRUE(cut.ok());
    for (const storage::LedgerEntry& entry : entries) ASSERT_TRUE((*cut)->Append(entry).ok());
  }

  // Everything that must hold of a restored service, whose certificates were `issued`.
  void ExpectRestored(const std::vector<v1::Certificate>& issued) {
    EXPECT_EQ(Ids(kMemory), (std::set<std::string>{"t0", "t1", "t2", "t4", "t6", "t8", "t9", "t10", "t12",
                                                   "t13", "t14", "t15", "t16", "t17", "t18"}));
    v1::GetMemoryRequest other;
    other.set_name(kOther);
    EXPECT_TRUE(absl::IsNotFound(service_->GetMemory(other).status()));
    // Byte for byte, in their places; what follows is what was pending.
    const std::vector<v1::Certificate> now = Certificates();
    ASSERT_GE(now.size(), issued.size());
    for (size_t i = 0; i < issued.size(); ++i) {
      EXPECT_EQ(Lasting(now[i]), Lasting(issued[i])) << i;
    }
    ExpectChains(now);
    // Retries.
    EXPECT_EQ(Lasting(Delete(kMemory, {"t3", "t7"}, "delete-since")), Lasting(deleted_));
    EXPECT_EQ(Lasting(Delete(kMemory, {"t19"}, "delete-before")), Lasting(deleted_before_));
    const auto again = service_->Add(AddRequestFor(kMemory, MakePoints("late", 4), "add-since"));
    EXPECT_TRUE(Fails(again.status(), Reason::kRequestLost, "request_id"));
    EXPECT_EQ(Add(kMemory, MakePoints("t", 20), "add-before").receipts_size(), 15);
  }

  // With deletions from this source.
  void ExpectAllCarriedOut(const std::string& copy, const std::string& database) {
    BackUp();
    Live();
    const std::vector<v1::Certificate> issued = Certificates();
    Close();
    const auto report = RestoreFrom(copy, database);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->deletions, 5U);
    EXPECT_EQ(report->deleted_tokens, 2U + 1U + 6U + 1U);
    TakeRestored();
    Open();
    ExpectRestored(issued);
  }

  // Gapless, each with the hash of the one before it, by memory.
  void ExpectChains(const std::vector<v1::Certificate>& certificates) {
    std::map<std::string, std::pair<int, std::string>> last;
    for (const v1::Certificate& certificate : certificates) {
      const std::string payload = VerifiedPayload(certificate);
      const nlohmann::json memory = nlohmann::json::parse(payload).at("predicate").at("memory");
      auto& [sequence, hash] = last[memory.at("memory").get<std::string>()];
      ++sequence;
      EXPECT_EQ(memory.at("sequence"), std::to_string(sequence)) << certificate.name();
      EXPECT_EQ(memory.at("previousPayloadSha256"), hash.empty() ? std::string(64, '0') : hash)
          << certificate.name();
      hash = ToHex(AsView(Sha256(payload)));
    }
  }

  v1::DeleteResponse deleted_before_;
  v1::DeleteResponse deleted_;
};

TEST_F(RestoreTest, WithTheCopyOfTheLedgerNothingThatWasDeletedSinceComesBack) {
  ExpectAllCarriedOut(directory_ / "ledger", "");
}

TEST_F(RestoreTest, TheReplacedDatabaseServesAsWell) { ExpectAllCarriedOut("", directory_ / "data"); }

TEST_F(RestoreTest, TheRestoredStateIsThatOfAMemoryThatNeverHeldThem) {
  BackUp();
  Live();
  Close();
  ASSERT_TRUE(RestoreFrom(directory_ / "ledger", "").ok());
  TakeRestored();
  Open();
  const v1::Memory restored = Full(kMemory);
  std::vector<Point> kept;
  const std::set<std::string> ids = Ids(kMemory);
  for (const Point& point : MakePoints("t", 20)) {
    if (ids.count(point.id) > 0) kept.push_back(point);
  }
  Create("never");
  Add("tenants/acme/memories/never", kept);
  const v1::Memory never = Full("tenants/acme/memories/never");
  EXPECT_EQ(restored.fingerprint(), never.fingerprint());
  EXPECT_FALSE(restored.fingerprint().empty());
}

TEST_F(RestoreTest, EpochsBeginANewRangeAndLifeGoesOn) {
  const uint64_t before = Full(kMemory).state().epoch();
  BackUp();
  Live();
  Close();
  ASSERT_TRUE(RestoreFrom(directory_ / "ledger", "").ok());
  TakeRestored();
  Open();
  const uint64_t after = Full(kMemory).state().epoch();
  EXPECT_EQ(after, static_cast<uint64_t>(absl::ToUnixSeconds(now_) / 60) << 32);
  EXPECT_LT(before, uint64_t{1} << 32);
  Add(kMemory, MakePoints("new", 3));
  Delete(kMemory, {"new1", "t0"});
  ASSERT_TRUE(service_->EraseBytes().ok());
  ExpectChains(Certificates());
  Open();
  EXPECT_THAT(Ids(kMemory), Not(AnyOf(Contains("new1"), Contains("t0"))));
}

TEST_F(RestoreTest, NoRestoredFileHoldsTheCiphertextOfWhatWasDeletedSince) {
  std::map<std::string, std::string> sealed;  // of the tokens, by their handles
  for (const auto& [place, value] : DumpRaw()) {
    if (place.first == static_cast<int>(storage::Table::kTokens)) sealed[place.second] = value;
  }
  BackUp();
  Live();
  std::set<std::string> left;
  for (const auto& [place, value] : DumpRaw()) left.insert(place.second);
  Close();
  // The control: they are in the backup.
  std::vector<test_support::Pattern> gone;
  for (const auto& [key, value] : sealed) {
    if (left.count(key) == 0) gone.push_back({"token", value.substr(16)});
  }
  ASSERT_THAT(gone, SizeIs(10));
  EXPECT_THAT(test_support::SearchFiles(directory_ / "backup-database", gone), SizeIs(::testing::Ge(10)));
  ASSERT_TRUE(RestoreFrom(directory_ / "ledger", "").ok());
  EXPECT_THAT(test_support::SearchFiles(directory_ / "restored", gone), IsEmpty());
}

TEST_F(RestoreTest, WithoutALedgerTheBackupComesBackAsItWas) {
  BackUp();
  const std::set<std::string> ids = Ids(kMemory);
  Live();
  Close();
  const auto report = RestoreFrom("", "");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->deletions, 0U);
  TakeRestored();
  Open();
  EXPECT_EQ(Ids(kMemory), ids);
}

TEST_F(RestoreTest, ALedgerWithAGapIsRefusedAndNothingIsServed) {
  BackUp();
  Live();
  Close();
  Cut();
  const auto report = RestoreFrom(directory_ / "cut", "");
  EXPECT_TRUE(absl::IsFailedPrecondition(report.status())) << report.status();
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("deletions in between are missing"));
  storage::SealedStoreOptions half;
  half.directory = directory_ / "restored/data";
  half.master_key_file = directory_ / "master.key";
  EXPECT_TRUE(absl::IsFailedPrecondition(storage::SealedStore::Open(half).status()));
  // It can be repeated with a better one.
  EXPECT_TRUE(RestoreFrom(directory_ / "ledger", "").ok());
}

TEST_F(RestoreTest, AnOlderDatabaseIsNotServedBesideANewerLedger) {
  CopyData("old");
  Open();
  Live();
  Close();
  PutInPlace("old");
  const std::string vault = test_support::ReadWholeFile(directory_ / "vault/keys");
  const absl::Status refused = TryOpen();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("older copy"));
  EXPECT_EQ(test_support::ReadWholeFile(directory_ / "vault/keys"), vault);
}

TEST_F(RestoreTest, ALedgerCopyThatCannotBeWrittenWithholdsTheCertificateUntilARestart) {
  // So that the copy is the one file that would grow beyond the limit.
  v1::CertifyRequest certify;
  certify.set_name(kMemory);
  for (int i = 0; i < 24; ++i) ASSERT_TRUE(service_->Certify(certify).ok());
  ASSERT_TRUE(service_->EraseBytes().ok());
  const uint64_t copied = fs::file_size(directory_ / "ledger");
  for (const auto& entry : fs::recursive_directory_iterator(directory_ / "data")) {
    if (entry.path().extension() == ".log") {
      ASSERT_LT(entry.file_size() + 8192, copied);
    }
  }
  const size_t certificates = Certificates().size();
  v1::DeleteRequest request;
  request.set_parent(kMemory);
  request.set_request_id("withheld");
  request.add_token_ids("t2");

  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{std::max<uint64_t>(copied, fs::file_size(directory_ / "vault/keys")) + 100,
                    before.rlim_max};
  ASSERT_EQ(full.rlim_cur, copied + 100) << "the vault's file is longer than the copy";
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const auto failed = service_->Delete(request);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(GetReason(failed.status()), Reason::kStorageFailed) << failed.status();
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr("ledger"));
  EXPECT_THAT(Certificates(), SizeIs(certificates));
  EXPECT_EQ(GetReason(service_->Delete(request).status()), Reason::kStorageFailed);
  EXPECT_FALSE(service_->GetServerStatus({})->writable());

  Open();
  EXPECT_TRUE(service_->GetServerStatus({})->writable());
  EXPECT_THAT(Certificates(), SizeIs(certificates + 1));
  const auto again = service_->Delete(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->certificate().SerializeAsString(), Certificates().back().SerializeAsString());
  EXPECT_GT(fs::file_size(directory_ / "ledger"), copied) << "the copy has caught up";
}

}  // namespace
}  // namespace expunge::core
