#include "server/core/log_publisher.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace expunge::core {
namespace {

// How far the files may lag behind.
constexpr std::chrono::seconds kInterval{1};

}  // namespace

absl::StatusOr<std::unique_ptr<LogPublisher>> LogPublisher::Start(const TransparencyLog& log,
                                                                  const std::string& directory) {
  std::unique_ptr<LogPublisher> publisher(new LogPublisher(log, directory));
  EXPUNGE_RETURN_IF_ERROR(publisher->CheckFiles(directory));
  EXPUNGE_RETURN_IF_ERROR(log.WriteTiles(publisher->folder_, &publisher->written_));
  publisher->thread_ = std::thread([raw = publisher.get()] { raw->Publish(); });
  return publisher;
}

LogPublisher::~LogPublisher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::Status LogPublisher::CheckFiles(const std::string& directory) {
  const absl::StatusOr<std::string> checkpoint = folder_.ReadCheckpoint();
  // The files are not synced: after a failure of the power the newest may be empty, or zeros.
  const bool none = checkpoint.ok() && checkpoint->find_first_not_of('\0') == std::string::npos;
  if (none || absl::IsNotFound(checkpoint.status())) return absl::OkStatus();
  EXPUNGE_RETURN_IF_ERROR(checkpoint.status());
  EXPUNGE_RETURN_IF_ERROR(log_.CheckNotBehind(*checkpoint, absl::StrCat(directory, "/checkpoint")));
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<certificate::TileFault> faults,
                           log_.CheckTiles(folder_, *checkpoint));
  const auto differs =
      std::find_if(faults.begin(), faults.end(), [](const auto& fault) { return !fault.missing; });
  if (differs == faults.end()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      directory, "/", differs->path,
      " is not what the log of certificates says: one of the two is damaged or was changed. Find out "
      "which (`expunged fsck` checks the log); with the file moved away it is written again"));
}

void LogPublisher::Publish() {
  std::unique_lock lock(mutex_);
  bool stopping = false;
  while (!stopping) {
    stopping = changed_.wait_for(lock, kInterval, [this] { return stopping_; });
    if (written_ == log_.size()) continue;
    lock.unlock();
    // Nothing depends on the files, and the next attempt is near: a full disk passes.
    log_.WriteTiles(folder_, &written_).IgnoreError();
    lock.lock();
  }
}

}  // namespace expunge::core
