// A disk that loses what was never synced: what a power failure leaves, for tests in one process.
//
// Model.  A file's content is durable up to its last sync. A name that was made, renamed or deleted is
// durable from the next sync of its directory on; names in one directory become durable in the order of the
// changes. What is not durable may be lost, or not: Crash says which.
//   kNothing     nothing that was not synced is left
//   kSome        of each file a random part of what it grew by; of each directory the first few changes
//   kEverything  all of it is left, as when only the process dies, and is as little durable as before
// Directories themselves are taken to be durable.
//
// The crash comes first, and the process that it happens to goes on a little: from StopAt's step on nothing
// reaches the disk any more. Then the test closes the database, and Crash brings the disk into the state in
// which the machine finds it.
#ifndef EXPUNGE_TESTS_STORAGE_UNSYNCED_DISK_H_
#define EXPUNGE_TESTS_STORAGE_UNSYNCED_DISK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "tests/storage/observed_file_system.h"

namespace expunge::test_support {

enum class Left { kNothing, kSome, kEverything };

// Threads: any number at once; Crash alone.
class UnsyncedDisk : public DiskObserver {
 public:
  // Knows the files below `root`; what is there already is durable.
  explicit UnsyncedDisk(std::string root);

  // Takes what is below the root now for durable. REQUIRES: no database is open there.
  void TakeUp();

  // Stops before the `steps`-th step from now; 0: never. `stopped` is called once, right then.
  void StopAt(uint64_t steps, std::function<void()> stopped);
  [[nodiscard]] bool stopped() const;
  // For steps outside the database: counts one, and returns whether it may be carried out.
  bool Step();
  [[nodiscard]] uint64_t steps() const;
  // How many steps there were of a kind, since the disk was made.
  [[nodiscard]] std::map<DiskStep, uint64_t> counts() const;

  // Gives the files the content that they have after the crash, and lets the disk be written again.
  void Crash(Left left, std::mt19937* random);

  rocksdb::IOStatus Before(DiskStep step, const std::string& path) override;
  void Created(const std::string& path, uint64_t file) override;
  void Appended(uint64_t file, absl::string_view data) override;
  void Truncated(uint64_t file, size_t size) override;
  void Synced(uint64_t file) override;
  void Renamed(const std::string& from, const std::string& to) override;
  void Linked(const std::string& from, const std::string& to) override;
  void Deleted(const std::string& path) override;
  void SyncedDirectory(const std::string& path) override;

 private:
  struct File {
    std::string written;
    std::string synced;
  };
  using Names = std::map<std::string, std::shared_ptr<File>>;
  // A change of names in one directory: null removes.
  using NameChange = std::vector<std::pair<std::string, std::shared_ptr<File>>>;

  bool StepLocked();
  void Change(const std::string& path, NameChange change);
  void TakeUpFiles();
  void WriteFiles(const Names& names);

  const std::string root_;
  mutable std::mutex mutex_;
  uint64_t steps_ = 0;
  uint64_t left_ = 0;
  bool stopped_ = false;
  std::function<void()> on_stop_;
  std::map<DiskStep, uint64_t> counts_;
  Names now_;                                                // as the process sees the names
  Names durable_;                                            // as of the last syncs of their directories
  std::map<std::string, std::vector<NameChange>> unsynced_;  // by directory
  std::map<uint64_t, std::shared_ptr<File>> open_;
};

}  // namespace expunge::test_support

#endif  // EXPUNGE_TESTS_STORAGE_UNSYNCED_DISK_H_
