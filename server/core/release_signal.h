// Tells whoever waits that certificates have been released.
//
// Nothing is lost between looking and waiting: who waits names the version from before the look, and is woken
// at once if it has passed.
#ifndef EXPUNGE_SERVER_CORE_RELEASE_SIGNAL_H_
#define EXPUNGE_SERVER_CORE_RELEASE_SIGNAL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace expunge::core {

// Threads: any number at once.
class ReleaseSignal {
 public:
  using Ticket = uint64_t;  // 0: none

  // Rises with every release, of whatever tenant.
  [[nodiscard]] uint64_t version() const;

  // After a release. Wakes everyone who waits, each once. Cost: one call for each.
  void Raise();

  // Calls `wake` once, when version() is not `seen` (perhaps before this returns). It is called without a
  // lock, and must not throw.
  [[nodiscard]] Ticket Await(uint64_t seen, std::function<void()> wake);

  // The wake of this ticket is not called any more, unless Raise has begun to. 0, or one that was woken: does
  // nothing.
  void Cancel(Ticket ticket);

 private:
  mutable std::mutex mutex_;
  uint64_t version_ = 0;
  Ticket last_ticket_ = 0;
  std::map<Ticket, std::function<void()>> waiting_;
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_RELEASE_SIGNAL_H_
