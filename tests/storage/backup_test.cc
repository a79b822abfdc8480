// Making backups: what is in them, where they may lie, and that nothing is left of one that failed.
#include "storage/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "storage/checkpoint.h"
#include "tests/storage/backup_support.h"
#include "tests/storage/canary.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BackupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(directory_ / "live");
    fs::create_directory(directory_ / "backup");
    store_ = OpenSealed(live_);
    ASSERT_NE(store_, nullptr);
  }

  // The restored pair, after the records are compared and the marker is gone.
  std::unique_ptr<SealedStore> Restore(const BackupPlaces& from, const std::string& data) {
    SealedStoreOptions to = Under(data);
    to.master_key_file = live_.master_key_file;
    const auto begun = BeginRestore(from, to);
    EXPECT_TRUE(begun.ok()) << begun.status();
    const absl::Status finished = FinishRestore(to);
    EXPECT_TRUE(finished.ok()) << finished;
    return OpenSealed(to);
  }
  void ExpectNothingAt(const BackupPlaces& places) {
    EXPECT_FALSE(fs::exists(fs::symlink_status(places.database)));
    EXPECT_FALSE(fs::exists(fs::symlink_status(places.vault)));
    EXPECT_THAT(Checkpoints(), IsEmpty());
  }
  [[nodiscard]] std::vector<std::string> Checkpoints() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(live_.directory)) {
      const std::string name = entry.path().filename();
      if (name.rfind("backup-", 0) == 0) found.push_back(name);
    }
    return found;
  }

  test_support::TemporaryDirectory directory_;
  SealedStoreOptions live_ = Under(directory_ / "live");
  BackupPlaces places_ = PlacesUnder(directory_ / "backup");
  std::unique_ptr<SealedStore> store_;
};

TEST_F(BackupTest, RestoredRecordsAreTheSameAndGoOn) {
  Tokens tokens(store_.get(), "acme");
  for (int i = 0; i < 30; ++i) tokens.Add(std::to_string(i));
  for (int i = 0; i < 30; i += 3) tokens.Remove(std::to_string(i));
  const auto content = ContentOf(*store_);
  EXPECT_EQ(content.size(), 22U);
  const uint64_t sequence = store_->database().sequence();
  const auto made = BackUp(*store_, places_, absl::FromUnixSeconds(1'800'000'000) + absl::Milliseconds(250));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->sequence, sequence);
  tokens.Add("later");
  tokens.Remove("1");

  const auto verified = VerifyBackup(places_);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_EQ(verified->id, made->id);
  EXPECT_EQ(verified->created, made->created);
  EXPECT_EQ(verified->sequence, sequence);
  EXPECT_EQ(verified->files, made->files);
  EXPECT_EQ(verified->bytes, made->bytes);
  const auto restored = Restore(places_, directory_ / "new");
  ASSERT_NE(restored, nullptr);
  EXPECT_EQ(ContentOf(*restored), content);
  EXPECT_EQ(restored->database().sequence(), sequence);
  ExpectWhole(*restored);
  Tokens others(restored.get(), "other");
  others.Add("more");
  others.Remove("more");
  EXPECT_TRUE(VerifyBackup(places_).ok());
}

TEST_F(BackupTest, TakesTheVaultFileAsItIsAndLeavesNothingBehind) {
  Tokens tokens(store_.get(), "acme");
  tokens.Add("a");
  MustBackUp(*store_, places_);
  EXPECT_EQ(test_support::ReadWholeFile(places_.vault + "/keys"),
            test_support::ReadWholeFile(live_.vault_directory + "/keys"));
  EXPECT_THAT(Checkpoints(), IsEmpty());
  EXPECT_TRUE(store_->database().EraseDeletedBytes().ok());
}

TEST_F(BackupTest, OnlyTheOwnerMayReadIt) {
  const mode_t before = ::umask(0);
  MustBackUp(*store_, places_);
  ::umask(before);
  for (const std::string& place : {places_.database, places_.vault}) {
    EXPECT_EQ(fs::status(place).permissions(), fs::perms::owner_all);
    for (const auto& entry : fs::recursive_directory_iterator(place)) {
      EXPECT_EQ(entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all),
                fs::perms::none)
          << entry.path();
    }
  }
}

TEST_F(BackupTest, RefusesPlacesThatExist) {
  std::ofstream(directory_ / "file") << "mine";
  fs::create_directory(directory_ / "folder");
  fs::create_symlink("nowhere", directory_ / "link");
  for (const char* taken : {"file", "folder", "link", "folder/"}) {
    const BackupPlaces first{directory_ / taken, places_.vault};
    const BackupPlaces second{places_.database, directory_ / taken};
    EXPECT_TRUE(absl::IsAlreadyExists(BackUp(*store_, first, absl::Now()).status())) << taken;
    EXPECT_TRUE(absl::IsAlreadyExists(BackUp(*store_, second, absl::Now()).status())) << taken;
    ExpectNothingAt(places_);
  }
  EXPECT_EQ(test_support::ReadWholeFile(directory_ / "file"), "mine");
  EXPECT_TRUE(fs::is_empty(directory_ / "folder"));
  EXPECT_TRUE(fs::is_symlink(directory_ / "link"));
}

TEST_F(BackupTest, RefusesPlacesWithinEachOtherOrTheStore) {
  const std::string other = directory_ / "other";
  fs::create_directory_symlink(live_.directory, directory_ / "shortcut");
  for (const BackupPlaces& places :
       {BackupPlaces{other, other}, BackupPlaces{other, other + "/"}, BackupPlaces{other, other + "/vault"},
        BackupPlaces{other + "/x", other}, BackupPlaces{live_.directory + "/backup-1", other},
        BackupPlaces{other, live_.vault_directory + "/x"}, BackupPlaces{directory_ / "shortcut/x", other},
        BackupPlaces{other, directory_ / "live/vault/../db/x"}, BackupPlaces{"", other}}) {
    const auto made = BackUp(*store_, places, absl::Now());
    EXPECT_TRUE(absl::IsInvalidArgument(made.status())) << made.status();
    EXPECT_FALSE(fs::exists(other));
  }
  EXPECT_THAT(Checkpoints(), IsEmpty());
}

TEST_F(BackupTest, MakesNoDirectoryAboveAPlace) {
  // A disk that is not mounted must not fill the one below it.
  const BackupPlaces places{directory_ / "not mounted/database", places_.vault};
  EXPECT_EQ(GetReason(BackUp(*store_, places, absl::Now()).status()), Reason::kStorageFailed);
  EXPECT_FALSE(fs::exists(directory_ / "not mounted"));
  ExpectNothingAt(places_);
}

TEST_F(BackupTest, LeavesNothingIfTheDatabaseIsDamaged) {
  Tokens tokens(store_.get(), "acme");
  for (int i = 0; i < 20; ++i) tokens.Add(std::to_string(i));
  ASSERT_TRUE(store_->database().EraseDeletedBytes().ok());
  for (const auto& entry : fs::directory_iterator(live_.directory + "/records")) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(40);
    const int byte = file.get();
    file.seekp(40);
    file.put(static_cast<char>(byte ^ 1));
  }
  const auto made = BackUp(*store_, places_, absl::Now());
  EXPECT_EQ(GetReason(made.status()), Reason::kStorageCorrupt) << made.status();
  ExpectNothingAt(places_);
}

TEST_F(BackupTest, LeavesNothingAfterAFailedWrite) {
  // The vault's place is a path that ends in a file: it is noticed when the directory is made.
  const BackupPlaces places{places_.database, "/proc/self/backup"};
  EXPECT_EQ(GetReason(BackUp(*store_, places, absl::Now()).status()), Reason::kStorageFailed);
  ExpectNothingAt(places_);
  MustBackUp(*store_, places_);
  EXPECT_TRUE(VerifyBackup(places_).ok());
}

// Disks with little space, by the folder that is asked about.
class FullFileSystem : public rocksdb::FileSystemWrapper {
 public:
  FullFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "FullFileSystem"; }
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions& options, uint64_t* free,
                                 rocksdb::IODebugContext* debug) override {
    if (path.find(full) == std::string::npos) {
      return FileSystemWrapper::GetFreeSpace(path, options, free, debug);
    }
    *free = uint64_t{10} << 20;
    return rocksdb::IOStatus::OK();
  }
  std::string full = "nowhere";
};

TEST_F(BackupTest, DoesNotBeginWithoutSpace) {
  const auto disk = std::make_shared<FullFileSystem>();
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(disk);
  store_.reset();
  live_.store.env = env.get();
  store_ = OpenSealed(live_);
  for (const char* full : {"backup", "live"}) {
    disk->full = full;
    const auto made = BackUp(*store_, places_, absl::Now());
    EXPECT_EQ(GetReason(made.status()), Reason::kStorageFailed);
    EXPECT_THAT(std::string(made.status().message()), HasSubstr("free disk space"));
    ExpectNothingAt(places_);
  }
  EXPECT_TRUE(store_->writable());
  disk->full = "nowhere";
  MustBackUp(*store_, places_);
  store_.reset();
}

TEST_F(BackupTest, IsOfOneMomentWhileKeysAreTakenAndDestroyed) {
  constexpr int kBackups = 6;
  std::atomic<bool> stop = false;
  std::atomic<int> changes = 0;
  std::vector<std::thread> writers;
  for (const char* tenant : {"a", "b", "c"}) {
    writers.emplace_back([&, tenant] {
      Tokens tokens(store_.get(), tenant);
      for (int i = 0; !stop; ++i) {
        tokens.Add(std::to_string(i));
        if (i >= 20) tokens.Remove(std::to_string(i - 20));
        ++changes;
      }
    });
  }
  std::vector<int> at;
  for (int i = 0; i < kBackups; ++i) {
    const int before = changes;
    while (changes < before + 50) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::string place = directory_ / ("backup/" + std::to_string(i));
    fs::create_directory(place);
    MustBackUp(*store_, PlacesUnder(place));
    at.push_back(changes);
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  ExpectWhole(*store_);
  for (int i = 0; i < kBackups; ++i) {
    SCOPED_TRACE(i);
    const auto restored = Restore(PlacesUnder(directory_ / ("backup/" + std::to_string(i))),
                                  directory_ / ("new" + std::to_string(i)));
    ASSERT_NE(restored, nullptr);
    ExpectWhole(*restored);
  }
  std::printf("%d changes, the last backup after %d\n", changes.load(), at.back());
}

TEST_F(BackupTest, AnErasureWaitsForARunningBackup) {
  PutRecords(store_->database());
  ASSERT_TRUE(store_->database().EraseDeletedBytes().ok());  // in tables, which the checkpoint links
  auto checkpoint = store_->database().BeginCheckpoint();
  ASSERT_TRUE(checkpoint.ok());
  ASSERT_TRUE(store_->LinkBoth(checkpoint->get()).ok());
  DeleteCanaries(store_->database());
  std::atomic<bool> erased = false;
  std::thread eraser([&] {
    EXPECT_TRUE(store_->database().EraseDeletedBytes().ok());
    erased = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(erased);
  EXPECT_FALSE(Found(live_.directory, RawCanaries()).empty());
  EXPECT_TRUE((*checkpoint)->Remove().ok());
  eraser.join();
  EXPECT_THAT(test_support::SearchFiles(live_.directory, EncodedCanaries()), IsEmpty());
}

}  // namespace
}  // namespace expunge::storage
