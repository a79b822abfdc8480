// Sees the syncs of one file that this process asks the system for, and can make them fail.
//
// The program that links this calls fsync and fdatasync through it.
#ifndef EXPUNGE_TESTS_SERVER_CORE_OBSERVED_SYNC_H_
#define EXPUNGE_TESTS_SERVER_CORE_OBSERVED_SYNC_H_

#include <functional>
#include <string>

namespace expunge::test_support {

// While it lives, `sync` is called instead of the system for every sync of the file that is at `path` at that
// moment. False: the sync fails with EIO. Threads: one at a time lives; syncs may come from any.
class SyncObserver {
 public:
  SyncObserver(std::string path, std::function<bool()> sync);
  ~SyncObserver();
  SyncObserver(const SyncObserver&) = delete;
  SyncObserver& operator=(const SyncObserver&) = delete;
};

}  // namespace expunge::test_support

#endif  // EXPUNGE_TESTS_SERVER_CORE_OBSERVED_SYNC_H_
