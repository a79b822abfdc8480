// Erasures whose keys are destroyed, and whose ciphertext may still be in files of the database.
#ifndef EXPUNGE_SERVER_CORE_PENDING_ERASURES_H_
#define EXPUNGE_SERVER_CORE_PENDING_ERASURES_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace expunge::core {

struct PendingErasure {
  std::string tenant;
  uint64_t first_certificate = 0;  // the end of its key in the ledger
  // By a clock that nobody sets.
  std::chrono::steady_clock::time_point since;
};

// In the order of their deletions. Threads: any number at once.
class PendingErasures {
 public:
  // Once, however often it is added.
  void Add(PendingErasure erasure) {
    const std::lock_guard lock(mutex_);
    const bool known = std::any_of(pending_.begin(), pending_.end(), [&](const PendingErasure& other) {
      return other.first_certificate == erasure.first_certificate && other.tenant == erasure.tenant;
    });
    if (!known) pending_.push_back(std::move(erasure));
  }

  [[nodiscard]] std::vector<PendingErasure> All() const {
    const std::lock_guard lock(mutex_);
    return pending_;
  }

  void Remove(const std::string& tenant, uint64_t first_certificate) {
    const std::lock_guard lock(mutex_);
    std::erase_if(pending_, [&](const PendingErasure& erasure) {
      return erasure.tenant == tenant && erasure.first_certificate == first_certificate;
    });
  }

  // Since when the oldest waits; nullopt if none does.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> Oldest() const {
    const std::lock_guard lock(mutex_);
    std::optional<std::chrono::steady_clock::time_point> oldest;
    for (const PendingErasure& erasure : pending_) {
      if (!oldest.has_value() || erasure.since < *oldest) oldest = erasure.since;
    }
    return oldest;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<PendingErasure> pending_;
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_PENDING_ERASURES_H_
