// The log of certificates: every certificate is in it, nothing can be taken out of it, and nothing is signed
// over one that is damaged or behind what was seen of it.
#include "server/core/transparency_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "certificate/envelope.h"
#include "certificate/log/checkpoint.h"
#include "certificate/log/leaf.h"
#include "certificate/log/log_proof.h"
#include "certificate/log/tile_directory.h"
#include "server/core/handles.h"
#include "tests/server/core/restore_fixture.h"
#include "tests/server/core/service_fixture.h"
#include "tests/server/core/store_edit.h"
#include "tests/support/files.h"

namespace expunge::core {
namespace {

namespace fs = std::filesystem;
using certificate::LogReason;
using storage::Table;
using ::testing::HasSubstr;

constexpr char kOrigin[] = "example.org/log";
constexpr char kOtherTenant[] = "tenants/other/memories/cells";

class TransparencyLogTest : public RestoringTest {
 protected:
  void SetUp() override {
    options_.log = {kOrigin, directory_ / "seen"};
    options_.log_directory = directory_ / "log";
    Open();
    Create("cells");
    Add(kMemory, MakePoints("t", 12));
    Delete(kMemory, {"t1"}, "delete-1");
  }

  [[nodiscard]] std::vector<certificate::NoteKey> LogKeys() const {
    return {certificate::NoteKey::Create(kOrigin, checkpoint_key_.Public()).value()};
  }

  // The place and the tree that the certificate's proof shows.
  certificate::VerifiedLogProof Verified(const v1::Certificate& certificate) const {
    const auto opened = certificate::VerifyEnvelope(certificate.envelope(), {key_.Public()});
    EXPECT_EQ(opened.reason, certificate::VerifyReason::kOk);
    return certificate::VerifyLogProof(certificate.log_proof(), certificate::LogLeafOf(opened), LogKeys());
  }

  certificate::Checkpoint Seen(const std::string& file) const {
    const auto opened =
        certificate::OpenCheckpoint(test_support::ReadWholeFile(directory_ / file), LogKeys());
    EXPECT_EQ(opened.reason, LogReason::kOk) << file;
    return opened.checkpoint;
  }

  // Changes records of the closed directory, and opens it.
  absl::Status Damaged(const std::function<void(storage::Transaction*)>& damage) {
    Close();
    {
      auto store = storage::SealedStore::Open({directory_ / "data", "", "", {}});
      EXPECT_TRUE(store.ok()) << store.status();
      storage::Transaction transaction;
      damage(&transaction);
      bool durable = false;
      EXPECT_TRUE((*store)->Commit(std::move(transaction), {}, &durable).ok());
    }
    return TryOpen();
  }
  [[nodiscard]] std::string Raw(Table table, const std::string& key) const {
    return store_->database().Get(table, key).value();
  }
};

TEST_F(TransparencyLogTest, EveryCertificateProvesItsPlaceInOneTree) {
  v1::CreateMemoryRequest other;
  other.set_parent("tenants/other");
  other.set_memory_id("cells");
  *other.mutable_config() = SmallConfig();
  ASSERT_TRUE(service_->CreateMemory(other).ok());
  Add(kOtherTenant, MakePoints("t", 5));
  Delete(kOtherTenant, {"t0"});
  Delete(kMemory, {"t2"});
  ASSERT_TRUE(service_->EraseBytes().ok());
  Open();
  std::vector<v1::Certificate> all = Certificates();
  for (const v1::Certificate& certificate : Certificates("tenants/other")) all.push_back(certificate);
  ASSERT_EQ(all.size(), 6U);
  std::set<uint64_t> places;
  for (const v1::Certificate& certificate : all) {
    const auto proof = Verified(certificate);
    ASSERT_EQ(proof.reason, LogReason::kOk) << certificate.name();
    EXPECT_TRUE(places.insert(proof.index).second);
    EXPECT_EQ(proof.checkpoint.origin, kOrigin);
    EXPECT_EQ(proof.checkpoint, Verified(all.front()).checkpoint);
    EXPECT_LT(proof.index, proof.checkpoint.tree.size);
  }
  // A proof is worth nothing for another certificate.
  all[0].set_log_proof(all[1].log_proof());
  EXPECT_EQ(Verified(all[0]).reason, LogReason::kRootMismatch);
}

TEST_F(TransparencyLogTest, ACertificateIsCoveredByTheCopyOfTheCheckpointWhenItIsReleased) {
  const v1::Certificate certificate = Delete(kMemory, {"t2"}).certificate();
  const certificate::Checkpoint seen = Seen("seen");
  EXPECT_EQ(seen, Verified(certificate).checkpoint);
  EXPECT_EQ(seen.tree.size, Verified(certificate).index + 1);
}

TEST_F(TransparencyLogTest, IsPublishedAsTilesThatHaveEveryLeafWhenTheServiceStops) {
  Delete(kMemory, {"t2"});
  const uint64_t size = Seen("seen").tree.size;
  Close();
  EXPECT_EQ(Seen("log/checkpoint"), Seen("seen"));
  certificate::MerkleLog tree;
  ASSERT_TRUE(
      certificate::TileDirectory(directory_ / "log")
          .ReadEntries(size,
                       [&tree](absl::string_view entry) { tree.Append(certificate::HashLogLeaf(entry)); })
          .ok());
  EXPECT_EQ(tree.Root(), Seen("seen").tree.root);
}

TEST_F(TransparencyLogTest, TilesThatAreMissingAreWrittenAgain) {
  Close();
  fs::remove_all(directory_ / "log/tile");
  Open();
  Close();
  fs::remove_all(directory_ / "log");
  Open();
  Close();
  EXPECT_EQ(Seen("log/checkpoint"), Seen("seen"));
}

TEST_F(TransparencyLogTest, FilesThatAFailureOfThePowerCutShortAreWrittenAgain) {
  Close();
  for (const auto& file : fs::recursive_directory_iterator(directory_ / "log")) {
    if (file.is_regular_file()) fs::resize_file(file.path(), 0);
  }
  Open();
  Close();
  EXPECT_EQ(Seen("log/checkpoint"), Seen("seen"));
}

TEST_F(TransparencyLogTest, TheCopyOfTheCheckpointIsLevelBeforeAnythingIsServed) {
  Close();
  const std::string before = test_support::ReadWholeFile(directory_ / "seen");
  Open();
  Delete(kMemory, {"t2"});
  Close();
  const certificate::Checkpoint newest = Seen("seen");
  // As if the crash had come between the change and its copy.
  std::ofstream(directory_ / "seen", std::ios::binary) << before;
  Open();
  EXPECT_EQ(Seen("seen"), newest);
}

TEST_F(TransparencyLogTest, ACertificateWaitsForTheCopyOfTheCheckpointAlsoWhenOthersFollow) {
  Close();
  fs::create_directory(directory_ / "elsewhere");
  options_.log.checkpoint_copy_file = directory_ / "elsewhere/seen";
  Open();
  fs::remove_all(directory_ / "elsewhere");
  v1::DeleteRequest request;
  request.set_parent(kMemory);
  request.add_token_ids("t2");
  request.set_request_id("delete-2");
  EXPECT_TRUE(Fails(service_->Delete(request).status(), Reason::kStorageFailed, ""));
  Add(kMemory, MakePoints("more", 2));
  EXPECT_EQ(Certificates().size(), 1U) << "that of delete-1 alone";
  fs::create_directory(directory_ / "elsewhere");
  Add(kMemory, MakePoints("last", 2));
  const auto again = service_->Delete(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Verified(again->certificate()).reason, LogReason::kOk);
  EXPECT_EQ(Seen("elsewhere/seen").tree.size, Verified(again->certificate()).checkpoint.tree.size);
}

TEST_F(TransparencyLogTest, IsNotOpenedOverATileThatSaysSomethingElse) {
  Close();
  // Without the partial tiles of smaller logs, which nobody reads any more.
  fs::remove_all(directory_ / "log/tile");
  Open();
  Close();
  for (const auto& file : fs::recursive_directory_iterator(directory_ / "log/tile")) {
    if (!file.is_regular_file()) continue;
    std::string bytes = test_support::ReadWholeFile(file.path());
    const std::string whole = bytes;
    bytes[bytes.size() / 2] ^= 1;
    std::ofstream(file.path(), std::ios::binary) << bytes;
    const absl::Status status = TryOpen();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << file.path() << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(file.path().filename().string()));
    Close();
    std::ofstream(file.path(), std::ios::binary) << whole;
  }
  Open();
}

TEST_F(TransparencyLogTest, AnOlderCopyOfTheDataIsNotServedBesideANewerCheckpoint) {
  CopyData("old");
  Open();
  Delete(kMemory, {"t2"});
  Close();
  PutInPlace("old");
  // The published tiles notice, and so does the copy of the checkpoint alone.
  EXPECT_THAT(std::string(TryOpen().message()), HasSubstr("does not go on from"));
  options_.log_directory = "";
  EXPECT_THAT(std::string(TryOpen().message()), HasSubstr("does not go on from"));
  options_.log.checkpoint_copy_file = "";
  EXPECT_TRUE(TryOpen().ok());
}

TEST_F(TransparencyLogTest, AnOlderCopyThatWentOnByItselfIsNotServedEither) {
  CopyData("old");
  Open();
  Delete(kMemory, {"t2"});
  Close();
  const ServiceOptions watched = options_;
  options_.log = {};
  options_.log_directory = "";
  PutInPlace("old");
  Open();
  // As long as the other history, and with other leaves.
  Delete(kMemory, {"t3"});
  Close();
  options_ = watched;
  EXPECT_TRUE(absl::IsFailedPrecondition(TryOpen()));
}

TEST_F(TransparencyLogTest, IsNotOpenedWithAnyLeafChangedOrMissing) {
  Delete(kMemory, {"t2"});
  const uint64_t size = Seen("seen").tree.size;
  for (uint64_t index = 0; index < size; ++index) {
    const std::string leaf = Raw(Table::kLog, LogKey(index));
    std::string changed = leaf;
    changed.back() ^= 1;
    const auto put = [&](const std::string& value) {
      return [&, value](storage::Transaction* transaction) {
        transaction->Put(Table::kLog, LogKey(index), value);
      };
    };
    EXPECT_TRUE(Fails(Damaged(put(changed)), Reason::kStorageCorrupt, "")) << index;
    EXPECT_TRUE(Fails(Damaged(put(leaf.substr(1))), Reason::kStorageCorrupt, "")) << index;
    EXPECT_TRUE(Fails(
        Damaged([&](storage::Transaction* transaction) { transaction->Delete(Table::kLog, LogKey(index)); }),
        Reason::kStorageCorrupt, ""))
        << index;
    ASSERT_TRUE(Damaged(put(leaf)).ok()) << index;
  }
}

TEST_F(TransparencyLogTest, IsNotOpenedWithAnotherHead) {
  const std::string head = Raw(Table::kMeta, std::string(kLogKey));
  const std::string name(2 * sizeof(storage::Slot), '\0');
  const auto put = [&](storage::v1::LogRecord record) {
    return Damaged([&](storage::Transaction* transaction) {
      transaction->Put(Table::kMeta, kLogKey, name + record.SerializeAsString());
    });
  };
  storage::v1::LogRecord record;
  ASSERT_TRUE(record.ParseFromString(head.substr(name.size())));
  storage::v1::LogRecord shorter = record;
  shorter.set_size(record.size() - 1);
  EXPECT_TRUE(Fails(put(shorter), Reason::kStorageCorrupt, ""));
  storage::v1::LogRecord other = record;
  other.mutable_root()->front() ^= 1;
  EXPECT_TRUE(Fails(put(other), Reason::kStorageCorrupt, ""));
  EXPECT_TRUE(Fails(put({}), Reason::kStorageCorrupt, ""));
  EXPECT_TRUE(
      Fails(Damaged([&](storage::Transaction* transaction) { transaction->Delete(Table::kMeta, kLogKey); }),
            Reason::kStorageCorrupt, ""));
  EXPECT_TRUE(put(record).ok());
}

TEST_F(TransparencyLogTest, KeepsItsOriginAndRefusesAnother) {
  Close();
  options_.log.origin = "";
  Open();
  EXPECT_EQ(Seen("seen").origin, kOrigin);
  Close();
  options_.log.origin = "example.org/another";
  EXPECT_THAT(std::string(TryOpen().message()), HasSubstr("--log-origin"));
}

TEST_F(TransparencyLogTest, ChangesOfManyTenantsAtOnceGetPlacesWithoutGapsOrTwins) {
  constexpr int kTenants = 4;
  constexpr int kDeletions = 6;
  const auto name = [](int tenant) { return "tenants/many-" + std::to_string(tenant); };
  for (int tenant = 0; tenant < kTenants; ++tenant) {
    v1::CreateMemoryRequest create;
    create.set_parent(name(tenant));
    create.set_memory_id("m");
    *create.mutable_config() = SmallConfig();
    ASSERT_TRUE(service_->CreateMemory(create).ok());
    Add(name(tenant) + "/memories/m", MakePoints("t", kDeletions + 2));
  }
  std::vector<std::thread> threads;
  for (int tenant = 0; tenant < kTenants; ++tenant) {
    threads.emplace_back([&, tenant] {
      for (int i = 0; i < kDeletions; ++i) {
        Delete(name(tenant) + "/memories/m", {"t" + std::to_string(i)});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> places;
  for (int tenant = 0; tenant < kTenants; ++tenant) {
    for (const v1::Certificate& certificate : Certificates(name(tenant))) {
      EXPECT_EQ(Verified(certificate).reason, LogReason::kOk);
      places.insert(Verified(certificate).index);
    }
  }
  EXPECT_EQ(places.size(), static_cast<size_t>(kTenants * kDeletions));
  Open();
  EXPECT_EQ(Seen("seen").tree.size, *places.rbegin() + 1);
}

TEST_F(TransparencyLogTest, ARestoreWithTheLedgerGoesOnWithTheSameTree) {
  Close();
  options_.ledger_copy_file = directory_ / "ledger";
  Open();
  BackUp();
  // A tenant that the backup does not know has leaves, too.
  v1::CreateMemoryRequest other;
  other.set_parent("tenants/other");
  other.set_memory_id("cells");
  *other.mutable_config() = SmallConfig();
  ASSERT_TRUE(service_->CreateMemory(other).ok());
  Add(kOtherTenant, MakePoints("t", 5));
  Delete(kOtherTenant, {"t0"});
  Delete(kMemory, {"t2"});
  for (const bool from_copy : {true, false}) {
    SCOPED_TRACE(from_copy);
    Close();
    fs::remove_all(directory_ / "restored");
    const auto report =
        from_copy ? RestoreFrom(directory_ / "ledger", "") : RestoreFrom("", directory_ / "data");
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->deletions, 1U);
    // The copy of the checkpoint and the tiles are those from before: the tree must go on from them.
    CopyData("lost");
    TakeRestored(from_copy ? "ledger-2" : "ledger-3");
    Open();
    for (const v1::Certificate& certificate : Certificates()) {
      EXPECT_EQ(Verified(certificate).reason, LogReason::kOk);
    }
    EXPECT_EQ(Seen("seen").origin, kOrigin);
    Close();
    PutInPlace("lost");
  }
}

TEST_F(TransparencyLogTest, ARestoreWithoutALedgerGoesOnUnderANewOrigin) {
  BackUp();
  Delete(kMemory, {"t2"});
  const auto report = RestoreFrom("", "");
  ASSERT_TRUE(report.ok()) << report.status();
  PutInPlace("restored");
  options_.log.origin = "";
  EXPECT_THAT(std::string(TryOpen().message()), HasSubstr("another log"));
  options_.log.checkpoint_copy_file = directory_ / "seen-2";
  options_.log_directory = directory_ / "log-2";
  Open();
  const v1::Certificate certificate = Delete(kMemory, {"t3"}).certificate();
  EXPECT_EQ(Verified(certificate).reason, LogReason::kUnknownLogKey);
  const auto text = test_support::ReadWholeFile(directory_ / "seen-2");
  EXPECT_EQ(text.rfind("expunge.invalid/log/", 0), 0U) << text;
}

}  // namespace
}  // namespace expunge::core
