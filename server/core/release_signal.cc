#include "server/core/release_signal.h"

#include <utility>

namespace expunge::core {

uint64_t ReleaseSignal::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

void ReleaseSignal::Raise() {
  std::map<Ticket, std::function<void()>> woken;
  {
    const std::lock_guard lock(mutex_);
    ++version_;
    woken.swap(waiting_);
  }
  for (const auto& [ticket, wake] : woken) wake();
}

ReleaseSignal::Ticket ReleaseSignal::Await(uint64_t seen, std::function<void()> wake) {
  {
    const std::lock_guard lock(mutex_);
    if (version_ == seen) {
      waiting_[++last_ticket_] = std::move(wake);
      return last_ticket_;
    }
  }
  wake();
  return 0;
}

void ReleaseSignal::Cancel(Ticket ticket) {
  std::function<void()> cancelled;  // what it holds goes without the lock
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return;
  cancelled = std::move(found->second);
  waiting_.erase(found);
}

}  // namespace expunge::core
