// The last step of an erasure, in the background: no file of the database holds the ciphertext any more, and
// a second certificate says so.
#ifndef EXPUNGE_SERVER_CORE_BYTE_ERASER_H_
#define EXPUNGE_SERVER_CORE_BYTE_ERASER_H_

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "expunge/v1/unlearning_service.pb.h"
#include "server/core/context.h"

namespace expunge::core {

// Threads: any number at once; erasures happen one after the other, and changes of tenants go on meanwhile.
class ByteEraser {
 public:
  // Begins to watch if the options name a time (ServiceOptions::erase_bytes_within). `context` outlives it.
  explicit ByteEraser(const Context& context);
  // Waits for an erasure that is going on.
  ~ByteEraser();
  ByteEraser(const ByteEraser&) = delete;
  ByteEraser& operator=(const ByteEraser&) = delete;

  // As Service::EraseBytes.
  absl::Status Erase();

  // Returns: errors of the tenant's name.
  [[nodiscard]] absl::StatusOr<v1::GetErasureStatusResponse> Status(
      const v1::GetErasureStatusRequest& request) const;
  // Why the latest attempt failed; empty if it did not, or there was none.
  [[nodiscard]] std::string LastError() const;

 private:
  void Watch();
  // Whether the oldest erasure has waited for half of the promised time.
  [[nodiscard]] bool IsDue() const;
  // Issues the certificates of these erasures, all of one tenant.
  absl::Status Complete(const std::string& tenant_name, const std::vector<PendingErasure>& erasures);

  const Context& context_;
  std::mutex erasing_;
  mutable std::mutex mutex_;  // for what follows
  std::condition_variable changed_;
  bool stopping_ = false;
  std::string last_error_;
  std::thread watcher_;
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_BYTE_ERASER_H_
