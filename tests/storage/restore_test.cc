// Verifying and restoring backups: damage of every kind is named, and an interrupted restore serves nobody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "storage/backup.h"
#include "storage/backup_manifest.h"
#include "tests/storage/backup_support.h"
#include "tests/storage/vault_support.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

namespace fs = std::filesystem;
using test_support::ReadWholeFile;
using test_support::WriteWholeFile;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RestoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(directory_ / "live");
    fs::create_directory(directory_ / "backup");
    fs::create_directory(directory_ / "backup2");
    const auto store = OpenSealed(Under(directory_ / "live"));
    ASSERT_NE(store, nullptr);
    Tokens tokens(store.get(), "acme");
    for (int i = 0; i < 10; ++i) tokens.Add(std::to_string(i));
    tokens.Remove("3");
    content_ = ContentOf(*store);
    id_ = MustBackUp(*store, places_);
    MustBackUp(*store, second_);
    to_.master_key_file = directory_ / "live/master.key";
  }

  void ExpectRestored() {
    ASSERT_TRUE(FinishRestore(to_).ok());
    const auto store = OpenSealed(to_);
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(ContentOf(*store), content_);
  }
  // Neither verifying nor restoring takes the backup, both say the same, and nothing is made.
  absl::Status ExpectRefused() {
    const absl::Status status = VerifyBackup(places_).status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(BeginRestore(places_, to_).status(), status);
    EXPECT_FALSE(fs::exists(directory_ / "new"));
    return status;
  }
  void ExpectNames(const std::string& half, const std::string& file) {
    const absl::Status status = ExpectRefused();
    EXPECT_EQ(GetReason(status), Reason::kStorageCorrupt) << status;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("the " + half + " half"), HasSubstr(file)));
  }
  // The files of a half, without the manifest, relative to it.
  static std::vector<std::string> FilesOf(const std::string& place) {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(place)) {
      const std::string name = entry.path().lexically_relative(place);
      if (entry.is_regular_file() && name != "backup.json") files.push_back(name);
    }
    return files;
  }

  test_support::TemporaryDirectory directory_;
  BackupPlaces places_ = PlacesUnder(directory_ / "backup");
  BackupPlaces second_ = PlacesUnder(directory_ / "backup2");
  SealedStoreOptions to_ = Under(directory_ / "new");
  std::map<std::string, std::string> content_;
  std::string id_;
};

TEST_F(RestoreTest, NamesTheFileThatIsDamaged) {
  int files = 0;
  for (const auto& [half, place] : {std::pair{"database", places_.database}, {"vault", places_.vault}}) {
    for (const std::string& name : FilesOf(place)) {
      SCOPED_TRACE(name);
      ++files;
      const std::string path = place + "/" + name;
      const std::string bytes = ReadWholeFile(path);
      for (const size_t offset : {size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
        std::string flipped = bytes;
        flipped[offset] = static_cast<char>(flipped[offset] ^ 1);
        WriteWholeFile(path, flipped);
        ExpectNames(half, name);
      }
      WriteWholeFile(path, bytes.substr(0, bytes.size() - 1));
      ExpectNames(half, name);
      WriteWholeFile(path, bytes + '\0');
      ExpectNames(half, name);
      fs::remove(path);
      ExpectNames(half, name);
      fs::create_directory(path);
      ExpectNames(half, name);
      fs::remove(path);
      WriteWholeFile(path, bytes);
    }
    for (const char* extra : {"extra", ".hidden", "records/000001.sst", "folder/", "records/x/y"}) {
      const fs::path path = fs::path(place) / extra;
      const bool had_records = fs::exists(fs::path(place) / "records");
      fs::create_directories(path.parent_path());
      if (path.has_filename()) std::ofstream(path) << "not the backup's";
      ExpectNames(half, extra);
      fs::remove_all(path.has_filename() ? path : path.parent_path());
      if (!had_records) fs::remove_all(fs::path(place) / "records");
      fs::remove_all(fs::path(place) / "records/x");
    }
    EXPECT_TRUE(VerifyBackup(places_).ok());
  }
  EXPECT_GE(files, 6);
  std::printf("%d files\n", files);
}

TEST_F(RestoreTest, NoticesEveryChangedByteOfAManifest) {
  for (const std::string& place : {places_.database, places_.vault}) {
    const std::string path = place + "/backup.json";
    const std::string text = ReadWholeFile(path);
    ASSERT_GT(text.size(), 300U);
    for (size_t i = 0; i < text.size(); ++i) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      WriteWholeFile(path, changed);
      EXPECT_FALSE(VerifyBackup(places_).ok()) << i << " " << changed.substr(i, 20);
    }
    for (const size_t size : {size_t{0}, size_t{1}, text.size() / 2, text.size() - 1}) {
      WriteWholeFile(path, text.substr(0, size));
      ExpectNames(place == places_.database ? "database" : "vault", "backup.json");
    }
    WriteWholeFile(path, text);
  }
  EXPECT_TRUE(VerifyBackup(places_).ok());
}

TEST(BackupManifestTest, ReadsTheExampleOfItsPage) {
  const std::string page = ReadWholeFile(EXPUNGE_BACKUP_PAGE);
  std::string text;
  std::istringstream lines(page.substr(page.rfind("## A worked example")));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("    ", 0) == 0) text += line.substr(4) + "\n";
  }
  const auto manifest = DecodeManifest(text);
  ASSERT_TRUE(manifest.has_value()) << text;
  EXPECT_EQ(manifest->half, BackupHalf::kVault);
  EXPECT_EQ(manifest->identity.created, absl::FromUnixSeconds(1'800'000'000) + absl::Milliseconds(250));
  EXPECT_EQ(manifest->identity.sequence, 258U);
  EXPECT_EQ(manifest->files.size(), 1U);
}

TEST_F(RestoreTest, HalvesOfTwoBackupsAndSwappedHalvesAreRefused) {
  for (const BackupPlaces& places :
       {BackupPlaces{places_.database, second_.vault}, BackupPlaces{second_.database, places_.vault},
        BackupPlaces{places_.vault, places_.database}}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(VerifyBackup(places).status()));
    EXPECT_TRUE(absl::IsFailedPrecondition(BeginRestore(places, to_).status()));
  }
  EXPECT_FALSE(fs::exists(directory_ / "new"));
}

TEST_F(RestoreTest, AHalfWithoutManifestIsNoBackup) {
  for (const std::string& place : {places_.database, places_.vault}) {
    fs::rename(place + "/backup.json", directory_ / "aside");
    EXPECT_TRUE(absl::IsNotFound(ExpectRefused()));
    fs::rename(directory_ / "aside", place + "/backup.json");
  }
  places_.vault = directory_ / "nothing here";
  EXPECT_TRUE(absl::IsNotFound(ExpectRefused()));
}

TEST_F(RestoreTest, RefusesAnotherFormatVersion) {
  for (const std::string& place : {places_.database, places_.vault}) {
    const std::string path = place + "/backup.json";
    std::string text = ReadWholeFile(path);
    const std::string field = "\"format_version\": " + std::to_string(kFormatVersion);
    const size_t at = text.find(field);
    ASSERT_NE(at, std::string::npos);
    WriteWholeFile(path, text.replace(at, field.size(), "\"format_version\": 9"));
  }
  const absl::Status status = ExpectRefused();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("format 9"));
}

TEST_F(RestoreTest, AnotherMasterKeyIsNoticedBeforeAnythingIsWritten) {
  to_.master_key_file = directory_ / "other.key";
  EXPECT_TRUE(absl::IsNotFound(BeginRestore(places_, to_).status()));
  WriteWholeFile(to_.master_key_file, std::string(64, 'a') + "\n");
  fs::permissions(to_.master_key_file, fs::perms::owner_read | fs::perms::owner_write);
  const absl::Status status = BeginRestore(places_, to_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another master key"));
  EXPECT_FALSE(fs::exists(directory_ / "new"));
}

TEST_F(RestoreTest, NobodyOpensItBeforeItIsFinished) {
  ASSERT_TRUE(BeginRestore(places_, to_).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(SealedStore::Open(to_).status()));
  const absl::Status refused = Store::Open(to_.directory).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("restore"));
  SealedStoreOptions finishing = to_;
  finishing.store.finishing_restore = true;
  {
    const auto store = OpenSealed(finishing);
    ASSERT_NE(store, nullptr);
    ExpectWhole(*store);
    EXPECT_TRUE(store->database().EraseDeletedBytes().ok());
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(SealedStore::Open(to_).status()));
  ExpectRestored();
}

TEST_F(RestoreTest, AnInterruptedRestoreIsRunAgain) {
  ASSERT_TRUE(BeginRestore(places_, to_).ok());
  // As if it had been cut short, and with what opening it has left.
  fs::resize_file(to_.vault_directory + "/keys", 100);
  fs::remove(to_.directory + "/records/CURRENT");
  std::ofstream(to_.directory + "/records/000999.sst") << "half a table";
  EXPECT_TRUE(absl::IsFailedPrecondition(SealedStore::Open(to_).status()));
  SealedStoreOptions elsewhere = to_;
  elsewhere.vault_directory = directory_ / "new/elsewhere";
  EXPECT_TRUE(absl::IsFailedPrecondition(BeginRestore(places_, elsewhere).status()));
  ASSERT_TRUE(BeginRestore(places_, to_).ok());
  EXPECT_FALSE(fs::exists(to_.directory + "/records/000999.sst"));
  // Also with another backup.
  ASSERT_TRUE(BeginRestore(second_, to_).ok());
  ExpectRestored();
}

TEST_F(RestoreTest, TouchesNoDirectoryThatIsNotItsOwn) {
  const auto expect_refused = [this] {
    const absl::Status status = BeginRestore(places_, to_).status();
    EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  };
  // A vault that is in use, beside a database that is not there.
  fs::create_directories(to_.vault_directory);
  WriteWholeFile(to_.vault_directory + "/keys", "somebody's");
  expect_refused();
  EXPECT_EQ(ReadWholeFile(to_.vault_directory + "/keys"), "somebody's");
  EXPECT_FALSE(fs::exists(to_.directory + "/restoring"));
  fs::remove_all(to_.vault_directory);
  fs::create_directories(to_.directory);
  std::ofstream(to_.directory + "/notes") << "mine";
  expect_refused();
  EXPECT_EQ(ReadWholeFile(to_.directory + "/notes"), "mine");
  fs::remove(to_.directory + "/notes");
  // Empty directories, and a lock that a failed start left, are in nobody's way.
  fs::create_directory(to_.vault_directory);
  std::ofstream(to_.directory + "/lock") << "";
  ASSERT_TRUE(BeginRestore(places_, to_).ok());
  ExpectRestored();
  // A finished one is data, and no longer a restore.
  expect_refused();
}

TEST_F(RestoreTest, DoesNotRestoreIntoADirectoryThatIsInUse) {
  const SealedStoreOptions live = Under(directory_ / "live");
  const auto store = OpenSealed(live);
  EXPECT_TRUE(absl::IsFailedPrecondition(BeginRestore(places_, live).status()));
  EXPECT_EQ(ContentOf(*store), content_);
}

TEST_F(RestoreTest, SaysWhatToDoAboutAnUnreadableMarker) {
  ASSERT_TRUE(BeginRestore(places_, to_).ok());
  for (const char* text : {"", "{}", "not json", R"({"vault_directory": 3})"}) {
    WriteWholeFile(to_.directory + "/restoring", text);
    EXPECT_TRUE(absl::IsFailedPrecondition(SealedStore::Open(to_).status()));
    EXPECT_EQ(GetReason(BeginRestore(places_, to_).status()), Reason::kStorageCorrupt);
  }
}

}  // namespace
}  // namespace expunge::storage
