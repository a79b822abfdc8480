// The log of certificates as files that anyone may read: C2SP tlog-tiles (certificate/log/tiles.h).
//
// The files follow from the database, and lag behind it by a second at most. They are checked at start: one
// that is missing is written again; one that differs, or a checkpoint that the log does not go on from, is
// evidence, and the log is not opened over it.
#ifndef EXPUNGE_SERVER_CORE_LOG_PUBLISHER_H_
#define EXPUNGE_SERVER_CORE_LOG_PUBLISHER_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "certificate/log/tile_directory.h"
#include "server/core/transparency_log.h"

namespace expunge::core {

class LogPublisher {
 public:
  // Checks the files in `directory`, writes what is missing, and goes on doing so. `log` must outlive it.
  // Returns: FailedPrecondition naming the file that contradicts the log; kStorageFailed; errors of the
  // store. Cost: reads all files.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LogPublisher>> Start(const TransparencyLog& log,
                                                                           const std::string& directory);
  // Writes what is missing.
  ~LogPublisher();
  LogPublisher(const LogPublisher&) = delete;
  LogPublisher& operator=(const LogPublisher&) = delete;

 private:
  LogPublisher(const TransparencyLog& log, const std::string& directory) : log_(log), folder_(directory) {}
  [[nodiscard]] absl::Status CheckFiles(const std::string& directory);
  void Publish();

  const TransparencyLog& log_;
  const certificate::TileDirectory folder_;
  uint64_t written_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_LOG_PUBLISHER_H_
