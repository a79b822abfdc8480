#include "storage/disk_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/durable_file.h"
#include "base/error.h"
#include "storage/free_space.h"

namespace expunge::storage {

DiskReserve::DiskReserve(std::string path, uint64_t bytes, rocksdb::Env* env)
    : path_(std::move(path)), bytes_(bytes), env_(env) {}

uint64_t DiskReserve::Free() const {
  return FreeSpace(env_, FolderOf(path_)).value_or(std::numeric_limits<uint64_t>::max());
}

void DiskReserve::Make() {
  if (!possible_) return;
  const Descriptor file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  // Blocks, not a hole: where the file system cannot promise them, there is no reserve.
  held_ = file.ok() && ::fallocate(file.get(), 0, 0, static_cast<off_t>(bytes_)) == 0;
  if (held_) return;
  possible_ = errno == ENOSPC || errno == EDQUOT;
  ::unlink(path_.c_str());
}

void DiskReserve::GiveUp() {
  ::unlink(path_.c_str());
  held_ = false;
}

void DiskReserve::Prepare() {
  const std::lock_guard lock(mutex_);
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  held_ = exists && static_cast<uint64_t>(status.st_size) == bytes_;
  // One of another size is of other options.
  if ((exists && !held_) || (held_ && Free() < bytes_ / 2)) GiveUp();
  if (bytes_ == 0) return;
  const uint64_t free = Free();
  if (!held_ && free / 2 >= bytes_) Make();
}

void DiskReserve::MakeRoom(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (held_ && Free() < bytes) GiveUp();
}

absl::Status DiskReserve::Admit(uint64_t bytes, bool erases) {
  if (bytes_ == 0) return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  const uint64_t free = Free();
  const uint64_t needed = bytes + bytes_ / 2;
  if (free >= needed) {
    if (!held_ && free / 2 >= bytes_) Make();
    return absl::OkStatus();
  }
  if (erases) {
    GiveUp();
    return absl::OkStatus();
  }
  return MakeError(Reason::kDiskFull, "",
                   absl::StrCat("the disk has ", free, " bytes left, and this change needs ", needed,
                                ": only erasures are carried out until there is more"));
}

}  // namespace expunge::storage
