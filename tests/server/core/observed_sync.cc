#include "tests/server/core/observed_sync.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>

namespace expunge::test_support {
namespace {

struct Observed {
  std::string path;
  std::function<bool()> sync;
};

std::mutex& Mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

std::optional<Observed>& Current() {
  static std::optional<Observed>& current = *new std::optional<Observed>;
  return current;
}

bool IsSameFile(int descriptor, const std::string& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

int Sync(int descriptor, long number) {
  std::function<bool()> sync;
  {
    const std::lock_guard lock(Mutex());
    if (Current().has_value() && IsSameFile(descriptor, Current()->path)) sync = Current()->sync;
  }
  if (!sync) return static_cast<int>(::syscall(number, descriptor));
  if (sync()) return 0;
  errno = EIO;
  return -1;
}

}  // namespace

SyncObserver::SyncObserver(std::string path, std::function<bool()> sync) {
  const std::lock_guard lock(Mutex());
  Current() = Observed{std::move(path), std::move(sync)};
}

SyncObserver::~SyncObserver() {
  const std::lock_guard lock(Mutex());
  Current().reset();
}

}  // namespace expunge::test_support

extern "C" int fsync(int descriptor) { return expunge::test_support::Sync(descriptor, SYS_fsync); }
extern "C" int fdatasync(int descriptor) { return expunge::test_support::Sync(descriptor, SYS_fdatasync); }
