// Backups, and how the service is doing: the calls of AdminService.
#ifndef EXPUNGE_SERVER_CORE_ADMIN_H_
#define EXPUNGE_SERVER_CORE_ADMIN_H_

#include <atomic>
#include <string>

#include "absl/status/statusor.h"
#include "expunge/v1/admin_service.pb.h"
#include "server/core/context.h"

namespace expunge::core {

// Threads: any number at once.
class Admin {
 public:
  // `context` outlives it.
  explicit Admin(const Context& context) : context_(context) {}

  // Makes a backup (storage/backup.h) as of the present time; one at a time.
  // Returns: kBackupRunning; kFieldMissing, kPathInvalid or kPathExists with the field; kBackupFailed if what
  // is at fault lies outside the store, which goes on; errors of the store.
  absl::StatusOr<v1::CreateBackupResponse> CreateBackup(const v1::CreateBackupRequest& request);

  // `last_erasure_error`: as ByteEraser has it. Cost: O(memories).
  [[nodiscard]] absl::StatusOr<v1::GetServerStatusResponse> Status(
      const std::string& last_erasure_error) const;

 private:
  const Context& context_;
  std::atomic<bool> backing_up_ = false;
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_ADMIN_H_
