// The key vault: which keys live, what is durable, and what is gone.
#include "storage/key_vault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/error.h"
#include "tests/storage/vault_support.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

using test_support::KeyOf;
using test_support::Master;
using test_support::MustTake;
using test_support::OpenVault;
using test_support::PlaceOf;
using test_support::ReadWholeFile;
using test_support::TemporaryDirectory;
using ::testing::HasSubstr;

TEST(KeyVaultTest, IsMadePrivate) {
  const TemporaryDirectory directory;
  const std::string path = directory / "vault";
  ASSERT_NE(OpenVault(path), nullptr);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat((path + "/keys").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(status.st_size, 128);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path), {}), 1) << "no temporary file is left";
}

TEST(KeyVaultTest, IsMissingUnlessItMayBeMade) {
  const TemporaryDirectory directory;
  const absl::Status status = KeyVault::Open(directory / "vault", Master(), false).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("missing"));
  EXPECT_FALSE(std::filesystem::exists(directory / "vault"));
}

TEST(KeyVaultTest, KeysSurviveReopening) {
  const TemporaryDirectory directory;
  std::vector<Slot> tokens;
  std::vector<std::string> keys;
  Slot tenant = 0;
  {
    const auto vault = OpenVault(directory.path());
    tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
    tokens = MustTake(vault.get(), tenant, 300);
    for (const Slot slot : tokens) keys.push_back(KeyOf(*vault, tenant, slot));
  }
  const auto vault = OpenVault(directory.path());
  for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(KeyOf(*vault, tenant, tokens[i]), keys[i]);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size());
}

TEST(KeyVaultTest, ADestroyedKeyAndItsSlotsBytesAreGone) {
  const TemporaryDirectory directory;
  const auto vault = OpenVault(directory.path());
  const Slot tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
  const std::vector<Slot> tokens = MustTake(vault.get(), tenant, 5);
  const std::string old_key = KeyOf(*vault, tenant, tokens[2]);
  const std::string old_sealed = PlaceOf(directory.path(), tokens[2]).substr(8, 72);
  const std::string kept = PlaceOf(directory.path(), tokens[3]);
  ASSERT_THAT(ReadWholeFile(directory / "keys"), HasSubstr(old_sealed)) << "the search finds what is there";

  ASSERT_TRUE(vault->Destroy({tokens[2]}, 7).ok());
  const std::string file = ReadWholeFile(directory / "keys");
  for (size_t at = 0; at < 72; at += 24) EXPECT_EQ(file.find(old_sealed.substr(at, 24)), std::string::npos);
  EXPECT_NE(KeyOf(*vault, tenant, tokens[2]), old_key);
  EXPECT_EQ(PlaceOf(directory.path(), tokens[3]), kept);
  EXPECT_EQ(vault->committed(), 7U);
}

TEST(KeyVaultTest, AnotherMasterKeyIsRefusedAndTouchesNothing) {
  const TemporaryDirectory directory;
  ASSERT_FALSE(MustTake(OpenVault(directory.path()).get(), kMasterSlot, 1).empty());
  const std::string before = ReadWholeFile(directory / "keys");
  const absl::Status status = KeyVault::Open(directory.path(), Master(1), true).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another master key"));
  EXPECT_EQ(ReadWholeFile(directory / "keys"), before);
  EXPECT_NE(OpenVault(directory.path()), nullptr);
}

TEST(KeyVaultTest, OnlyAnEmptyPoolCostsASync) {
  const TemporaryDirectory directory;
  const auto vault = OpenVault(directory.path());
  const Slot tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
  const uint64_t begin = vault->usage().syncs;
  EXPECT_EQ(begin, 1U);
  const std::vector<Slot> first = MustTake(vault.get(), tenant, 1);
  EXPECT_EQ(vault->usage().syncs, begin + 1);
  for (int i = 0; i < 51; ++i) MustTake(vault.get(), tenant, 5);
  EXPECT_EQ(vault->usage().syncs, begin + 1) << "256 keys were made";
  MustTake(vault.get(), tenant, 1000);
  EXPECT_EQ(vault->usage().syncs, begin + 2);
  ASSERT_TRUE(vault->Destroy(first, 1).ok());
  EXPECT_EQ(vault->usage().syncs, begin + 3);
  MustTake(vault.get(), tenant, 1);
  EXPECT_EQ(vault->usage().syncs, begin + 3) << "a destroyed slot has a key at once";
  ASSERT_TRUE(vault->Destroy(MustTake(vault.get(), tenant, 900), 2).ok());
  EXPECT_EQ(vault->usage().syncs, begin + 5);
}

TEST(KeyVaultTest, DestroyIsIdempotent) {
  const TemporaryDirectory directory;
  const auto vault = OpenVault(directory.path());
  const Slot tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
  const std::vector<Slot> tokens = MustTake(vault.get(), tenant, 3);
  const std::string kept = KeyOf(*vault, tenant, tokens[1]);
  const uint64_t pooled = vault->usage().pooled;
  ASSERT_TRUE(vault->Destroy({tokens[2], tokens[0], tokens[2]}, 1).ok());
  ASSERT_TRUE(vault->Destroy({tokens[0], tokens[2]}, 2).ok());
  EXPECT_EQ(vault->usage().pooled, pooled + 2) << "each slot is in the pool once";
  EXPECT_EQ(KeyOf(*vault, tenant, tokens[1]), kept);
  const std::vector<Slot> all = MustTake(vault.get(), tenant, 255);
  EXPECT_EQ(std::set<Slot>(all.begin(), all.end()).size(), all.size());
  EXPECT_THAT(all, ::testing::Not(::testing::Contains(tokens[1])));
}

TEST(KeyVaultTest, ASlotBeyondTheFileIsNamedAndNothingIsDestroyed) {
  const TemporaryDirectory directory;
  const auto vault = OpenVault(directory.path());
  const Slot tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
  const Slot token = MustTake(vault.get(), tenant, 1).at(0);
  const std::string before = ReadWholeFile(directory / "keys");
  for (const Slot wrong : {Slot{0}, Slot{513}, ~Slot{0}}) {
    const absl::Status status = vault->Destroy({token, wrong}, 1);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_EQ(GetReason(status), Reason::kStorageCorrupt);
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::to_string(wrong)));
    EXPECT_TRUE(absl::IsDataLoss(vault->Key(tenant, wrong).status()));
  }
  EXPECT_EQ(ReadWholeFile(directory / "keys"), before);
}

TEST(KeyVaultTest, AKeyLiesUnderItsParentAlone) {
  const TemporaryDirectory directory;
  const auto vault = OpenVault(directory.path());
  const std::vector<Slot> tenants = MustTake(vault.get(), kMasterSlot, 2);
  const Slot token = MustTake(vault.get(), tenants[0], 1).at(0);
  EXPECT_FALSE(KeyOf(*vault, tenants[0], token).empty());
  EXPECT_TRUE(absl::IsDataLoss(vault->Key(tenants[1], token).status()));
  EXPECT_TRUE(absl::IsDataLoss(vault->Key(kMasterSlot, token).status()));
  EXPECT_TRUE(absl::IsDataLoss(vault->Key(token, tenants[0]).status()));
  EXPECT_TRUE(absl::IsDataLoss(vault->Take(token, 1).status())) << "a token's key is no parent";
  EXPECT_TRUE(absl::IsDataLoss(vault->Take(99999, 1).status()));
}

TEST(KeyVaultTest, ADestroyedTenantTakesItsKeysAlong) {
  const TemporaryDirectory directory;
  const auto vault = OpenVault(directory.path());
  const std::vector<Slot> tenants = MustTake(vault.get(), kMasterSlot, 2);
  const std::vector<Slot> gone = MustTake(vault.get(), tenants[0], 2);
  const Slot other = MustTake(vault.get(), tenants[1], 1).at(0);
  const std::string kept = KeyOf(*vault, tenants[1], other);
  ASSERT_FALSE(KeyOf(*vault, tenants[0], gone[0]).empty());
  ASSERT_TRUE(vault->Destroy({tenants[0], gone[0]}, 1).ok());
  EXPECT_TRUE(absl::IsDataLoss(vault->Key(tenants[0], gone[0]).status()));
  EXPECT_TRUE(absl::IsDataLoss(vault->Key(tenants[0], gone[1]).status()))
      << "unreadable, though not destroyed";
  EXPECT_EQ(PlaceOf(directory.path(), gone[0]), std::string(128, '\0'));
  EXPECT_EQ(PlaceOf(directory.path(), gone[1] + 1), std::string(128, '\0')) << "its pool";
  EXPECT_EQ(KeyOf(*vault, tenants[1], other), kept);
  ASSERT_TRUE(vault->Destroy({gone[1]}, 2).ok());
  EXPECT_EQ(PlaceOf(directory.path(), gone[1]), std::string(128, '\0'));

  // One more than the other's pool has: 256 are made, in the 254 slots of the dead pool and of two tokens.
  const uint64_t slots = vault->usage().slots;
  const std::vector<Slot> next = MustTake(vault.get(), tenants[1], 256);
  EXPECT_EQ(vault->usage().slots, slots);
  EXPECT_EQ(std::set<Slot>(next.begin(), next.end()).size(), next.size());
  for (const Slot slot : next) EXPECT_FALSE(KeyOf(*vault, tenants[1], slot).empty());
}

TEST(KeyVaultTest, PooledKeysAreDistinct) {
  const TemporaryDirectory directory;
  const auto vault = OpenVault(directory.path());
  std::set<std::string> keys;
  size_t taken = 0;
  for (const Slot tenant : MustTake(vault.get(), kMasterSlot, 3)) {
    EXPECT_TRUE(keys.insert(KeyOf(*vault, kMasterSlot, tenant)).second);
    for (const Slot slot : MustTake(vault.get(), tenant, 600)) {
      EXPECT_TRUE(keys.insert(KeyOf(*vault, tenant, slot)).second);
      ++taken;
    }
  }
  EXPECT_EQ(taken, 1800U);
}

TEST(KeyVaultTest, TheCommittedNumberRisesAndSurvives) {
  const TemporaryDirectory directory;
  {
    const auto vault = OpenVault(directory.path());
    EXPECT_EQ(vault->committed(), 0U);
    ASSERT_TRUE(vault->Destroy({}, 9).ok());
    ASSERT_TRUE(vault->Destroy({}, 4).ok());
    EXPECT_EQ(vault->committed(), 9U);
    MustTake(vault.get(), kMasterSlot, 1);
  }
  const auto vault = OpenVault(directory.path());
  EXPECT_EQ(vault->committed(), 9U);
}

TEST(KeyVaultTest, ThousandsOfSlotsAreMadeAndDestroyedInOnePass) {
  const TemporaryDirectory directory;
  const auto vault = OpenVault(directory.path());
  const Slot tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
  const uint64_t syncs = vault->usage().syncs;
  // More than one write holds; every third survives.
  const std::vector<Slot> tokens = MustTake(vault.get(), tenant, 20'000);
  std::vector<Slot> doomed;
  std::vector<std::string> kept;
  std::vector<std::string> destroyed;
  for (size_t i = 0; i < tokens.size(); ++i) {
    (i % 3 == 0 ? kept : destroyed).push_back(KeyOf(*vault, tenant, tokens[i]));
    if (i % 3 != 0) doomed.push_back(tokens[i]);
  }
  std::reverse(doomed.begin(), doomed.end());
  ASSERT_TRUE(vault->Destroy(doomed, 1).ok());
  EXPECT_EQ(vault->usage().syncs, syncs + 2);
  for (size_t i = 0, k = 0, d = 0; i < tokens.size(); ++i) {
    const std::string now = KeyOf(*vault, tenant, tokens[i]);
    ASSERT_FALSE(now.empty());
    ASSERT_EQ(now == (i % 3 == 0 ? kept[k++] : destroyed[d++]), i % 3 == 0);
  }
}

TEST(KeyVaultTest, ThreadsGetSlotsOfTheirOwn) {
  const TemporaryDirectory directory;
  const auto vault = OpenVault(directory.path());
  const std::vector<Slot> tenants = MustTake(vault.get(), kMasterSlot, 2);
  const Slot shared = MustTake(vault.get(), tenants[0], 1).at(0);
  const std::string shared_key = KeyOf(*vault, tenants[0], shared);
  std::vector<std::vector<Slot>> kept(2);
  const auto work = [&](size_t which) {
    for (int i = 0; i < 60; ++i) {
      const std::vector<Slot> slots = MustTake(vault.get(), tenants[which], 7);
      for (const Slot slot : slots) EXPECT_FALSE(KeyOf(*vault, tenants[which], slot).empty());
      EXPECT_EQ(KeyOf(*vault, tenants[0], shared), shared_key);
      EXPECT_TRUE(vault->Destroy(absl::MakeConstSpan(slots).first(4), vault->committed() + 1).ok());
      kept[which].insert(kept[which].end(), slots.begin() + 4, slots.end());
    }
  };
  std::thread other(work, 0);
  work(1);
  other.join();
  std::set<Slot> all;
  for (size_t which = 0; which < 2; ++which) {
    for (const Slot slot : kept[which]) {
      EXPECT_TRUE(all.insert(slot).second) << slot;
      EXPECT_FALSE(KeyOf(*vault, tenants[which], slot).empty());
    }
  }
}

// No file of this process may grow beyond, or be written at, `bytes` while the object lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    ::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  sighandler_t old_handler_;
  rlimit old_{};
};

TEST(KeyVaultTest, WithoutRoomForNewKeysOldOnesCanStillBeDestroyed) {
  const TemporaryDirectory directory;
  const auto vault = OpenVault(directory.path());
  const Slot tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
  const std::vector<Slot> tokens = MustTake(vault.get(), tenant, 250);
  const std::string old_key = KeyOf(*vault, tenant, tokens[0]);
  absl::Status no_room;
  absl::Status destroyed;
  absl::Status taken;
  {
    const FileSizeLimit limit(513 * 128);
    no_room = vault->Take(tenant, 7).status();
    destroyed = vault->Destroy({tokens[0]}, 1);
    taken = vault->Take(tenant, 7).status();
  }
  EXPECT_EQ(GetReason(no_room), Reason::kStorageFailed) << no_room;
  EXPECT_TRUE(destroyed.ok()) << destroyed;
  EXPECT_TRUE(taken.ok()) << "six, and the destroyed one's slot: " << taken;
  EXPECT_NE(KeyOf(*vault, tenant, tokens[0]), old_key);
  EXPECT_TRUE(vault->writable());
  for (const Slot slot : MustTake(vault.get(), tenant, 5)) EXPECT_FALSE(KeyOf(*vault, tenant, slot).empty());
}

TEST(KeyVaultTest, ANotedNumberIsWrittenWithoutASyncAndNeverFalls) {
  const TemporaryDirectory directory;
  {
    const auto vault = OpenVault(directory.path());
    const uint64_t syncs = vault->usage().syncs;
    ASSERT_TRUE(vault->Note(7).ok());
    ASSERT_TRUE(vault->Note(5).ok());
    EXPECT_EQ(vault->committed(), 7U);
    EXPECT_EQ(vault->usage().syncs, syncs);
  }
  EXPECT_EQ(OpenVault(directory.path())->committed(), 7U);
}

TEST(KeyVaultTest, SpareKeysNeedNoRoomOnTheDisk) {
  const TemporaryDirectory directory;
  const auto vault = OpenVault(directory.path());
  const Slot tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
  ASSERT_TRUE(vault->KeepSpare(tenant, 100).ok());
  const uint64_t syncs = vault->usage().syncs;
  ASSERT_TRUE(vault->KeepSpare(tenant, 256).ok());
  EXPECT_EQ(vault->usage().syncs, syncs) << "there were enough";
  {
    const FileSizeLimit limit(513 * 128);
    EXPECT_TRUE(vault->Take(tenant, 256).ok());
    EXPECT_EQ(GetReason(vault->KeepSpare(tenant, 1)), Reason::kStorageFailed);
    EXPECT_TRUE(vault->writable());
  }
  EXPECT_TRUE(vault->KeepSpare(tenant, 1).ok());
}

TEST(KeyVaultTest, ManyKeysAreReadInTheOrderAskedForAndAsOneByOne) {
  const TemporaryDirectory directory;
  const auto vault = OpenVault(directory.path());
  const Slot tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
  std::vector<Slot> slots = MustTake(vault.get(), tenant, 50);
  std::reverse(slots.begin(), slots.end());
  std::swap(slots[3], slots[40]);
  slots.erase(slots.begin() + 20, slots.begin() + 25);
  const auto keys = vault->Keys(tenant, slots);
  ASSERT_TRUE(keys.ok()) << keys.status();
  ASSERT_EQ(keys->size(), slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    EXPECT_EQ(std::string((*keys)[i].view()), KeyOf(*vault, tenant, slots[i])) << i;
  }
  slots.push_back(100'000);
  EXPECT_TRUE(absl::IsDataLoss(vault->Keys(tenant, slots).status()));
  EXPECT_TRUE(absl::IsDataLoss(vault->Keys(tenant + 1, {slots[0]}).status()));
}

TEST(KeyVaultTest, AfterAFailedDestroyNothingIsChangedUntilItIsReopened) {
  const TemporaryDirectory directory;
  Slot tenant = 0;
  std::vector<Slot> tokens;
  {
    const auto vault = OpenVault(directory.path());
    tenant = MustTake(vault.get(), kMasterSlot, 1).at(0);
    tokens = MustTake(vault.get(), tenant, 3);
    absl::Status failed;
    {
      const FileSizeLimit limit(128);  // the header alone
      failed = vault->Destroy({tokens[0]}, 1);
    }
    EXPECT_EQ(GetReason(failed), Reason::kStorageFailed) << failed;
    EXPECT_FALSE(vault->writable());
    const std::string file = ReadWholeFile(directory / "keys");
    EXPECT_EQ(GetReason(vault->Destroy({tokens[0]}, 1)), Reason::kStorageFailed);
    EXPECT_EQ(GetReason(vault->Take(tenant, 1).status()), Reason::kStorageFailed);
    EXPECT_EQ(GetReason(vault->RetainOnly({}, 1)), Reason::kStorageFailed);
    EXPECT_EQ(ReadWholeFile(directory / "keys"), file);
    EXPECT_FALSE(KeyOf(*vault, tenant, tokens[1]).empty()) << "reading goes on";
  }
  const auto vault = OpenVault(directory.path());
  const std::string old_key = KeyOf(*vault, tenant, tokens[0]);
  ASSERT_TRUE(vault->Destroy({tokens[0]}, 1).ok());
  EXPECT_NE(KeyOf(*vault, tenant, tokens[0]), old_key);
}

}  // namespace
}  // namespace expunge::storage
