#include "tests/storage/unsynced_disk.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "tests/support/files.h"

namespace expunge::test_support {
namespace {

namespace fs = std::filesystem;

std::string FolderOf(const std::string& path) { return fs::path(path).parent_path().string(); }

// Written past the file system, and without records: the info log, and the file that is locked.
bool IsUnobserved(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return absl::StartsWith(name, "LOG") || name == "LOCK";
}

std::vector<std::string> FilesBelow(const std::string& root) {
  std::vector<std::string> files;
  if (!fs::exists(root)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file() && !IsUnobserved(entry.path().string())) {
      files.push_back(entry.path().string());
    }
  }
  return files;
}

// RocksDB writes some paths with two slashes.
std::string Normal(const std::string& path) { return fs::path(path).lexically_normal().string(); }

void Replace(const std::string& path, const std::string& content) {
  if (fs::exists(path) && ReadWholeFile(path) == content) return;
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << content;
  if (ReadWholeFile(path) == content) return;
  std::fprintf(stderr, "cannot write %s\n", path.c_str());
  std::abort();
}

}  // namespace

UnsyncedDisk::UnsyncedDisk(std::string root) : root_(Normal(root)) { TakeUpFiles(); }

void UnsyncedDisk::TakeUpFiles() {
  now_.clear();
  for (const std::string& path : FilesBelow(root_)) {
    const std::string content = ReadWholeFile(path);
    now_[path] = std::make_shared<File>(File{content, content});
  }
  durable_ = now_;
  unsynced_.clear();
}

void UnsyncedDisk::TakeUp() {
  const std::lock_guard lock(mutex_);
  TakeUpFiles();
}

void UnsyncedDisk::StopAt(uint64_t steps, std::function<void()> stopped) {
  const std::lock_guard lock(mutex_);
  left_ = steps;
  on_stop_ = std::move(stopped);
}

bool UnsyncedDisk::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

uint64_t UnsyncedDisk::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

std::map<DiskStep, uint64_t> UnsyncedDisk::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

bool UnsyncedDisk::StepLocked() {
  if (stopped_) return false;
  ++steps_;
  if (left_ == 0 || --left_ > 0) return true;
  stopped_ = true;
  if (on_stop_) on_stop_();
  return false;
}

bool UnsyncedDisk::Step() {
  const std::lock_guard lock(mutex_);
  return StepLocked();
}

rocksdb::IOStatus UnsyncedDisk::Before(DiskStep step, const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (IsUnobserved(path)) return rocksdb::IOStatus::OK();
  if (!StepLocked()) return rocksdb::IOStatus::IOError("the machine has stopped");
  ++counts_[step];
  return rocksdb::IOStatus::OK();
}

void UnsyncedDisk::Change(const std::string& path, NameChange change) {
  for (const auto& [name, file] : change) {
    if (file == nullptr) {
      now_.erase(name);
    } else {
      now_[name] = file;
    }
  }
  unsynced_[FolderOf(path)].push_back(std::move(change));
}

void UnsyncedDisk::Created(const std::string& path, uint64_t file) {
  const std::lock_guard lock(mutex_);
  open_[file] = std::make_shared<File>();
  Change(Normal(path), {{Normal(path), open_[file]}});
}

void UnsyncedDisk::Appended(uint64_t file, absl::string_view data) {
  const std::lock_guard lock(mutex_);
  open_.at(file)->written.append(data.data(), data.size());
}

void UnsyncedDisk::Truncated(uint64_t file, size_t size) {
  const std::lock_guard lock(mutex_);
  open_.at(file)->written.resize(size);
}

void UnsyncedDisk::Synced(uint64_t file) {
  const std::lock_guard lock(mutex_);
  open_.at(file)->synced = open_.at(file)->written;
}

void UnsyncedDisk::Renamed(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  const auto found = now_.find(Normal(from));
  if (found == now_.end()) return;  // an info log
  Change(Normal(to), {{Normal(to), found->second}, {Normal(from), nullptr}});
}

void UnsyncedDisk::Linked(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  const auto found = now_.find(Normal(from));
  if (found != now_.end()) Change(Normal(to), {{Normal(to), found->second}});
}

void UnsyncedDisk::Deleted(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (now_.count(Normal(path)) > 0) Change(Normal(path), {{Normal(path), nullptr}});
}

void UnsyncedDisk::SyncedDirectory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = unsynced_.find(fs::path(Normal(path + "/")).parent_path().string());
  if (found == unsynced_.end()) return;
  for (const NameChange& change : found->second) {
    for (const auto& [name, file] : change) durable_[name] = file;
  }
  unsynced_.erase(found);
}

void UnsyncedDisk::WriteFiles(const Names& names) {
  for (const std::string& path : FilesBelow(root_)) {
    const auto found = names.find(path);
    if (found == names.end() || found->second == nullptr) fs::remove(path);
  }
  for (const auto& [path, file] : names) {
    if (file != nullptr) Replace(path, file->synced);
  }
}

void UnsyncedDisk::Crash(Left left, std::mt19937* random) {
  const std::lock_guard lock(mutex_);
  const auto upto = [random](size_t most) { return std::uniform_int_distribution<size_t>(0, most)(*random); };
  if (left != Left::kEverything) {
    Names names = durable_;
    if (left == Left::kSome) {
      for (const auto& [folder, changes] : unsynced_) {
        const size_t kept = upto(changes.size());
        for (size_t i = 0; i < kept; ++i) {
          for (const auto& [name, file] : changes[i]) names[name] = file;
        }
      }
      for (const auto& [name, file] : names) {
        if (file == nullptr || !absl::StartsWith(file->written, file->synced)) continue;
        file->synced =
            file->written.substr(0, file->synced.size() + upto(file->written.size() - file->synced.size()));
      }
    }
    WriteFiles(names);
    TakeUpFiles();
  }
  open_.clear();
  stopped_ = false;
  left_ = 0;
}

}  // namespace expunge::test_support
