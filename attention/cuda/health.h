// What has gone wrong on a device, shared by everything that uses it.
#ifndef EXPUNGE_ATTENTION_CUDA_HEALTH_H_
#define EXPUNGE_ATTENTION_CUDA_HEALTH_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>

#include "attention/cuda/device.h"

namespace expunge::attention::cuda {

// Threads: any number at once.
class Health {
 public:
  // True once an error came that may have harmed anything: no call of the device may follow.
  [[nodiscard]] bool lost() const { return lost_.load(); }
  [[nodiscard]] uint64_t errors() const { return errors_.load(); }
  [[nodiscard]] std::string last_error() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return last_error_;
  }

  // Notes an error; returns whether there was none.
  bool Note(const DeviceStatus& status) noexcept {
    if (status.ok()) return true;
    ++errors_;
    if (status.error == DeviceError::kLost) lost_.store(true);
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      last_error_ = status.message;
    } catch (const std::bad_alloc&) {
      // The error counts without words, too.
    }
    return false;
  }

 private:
  std::atomic<bool> lost_{false};
  std::atomic<uint64_t> errors_{0};
  mutable std::mutex mutex_;
  std::string last_error_;
};

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_HEALTH_H_
