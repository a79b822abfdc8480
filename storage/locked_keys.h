// Keys that stay in memory for long: in pages that are locked, left out of core dumps, and between guard
// pages, where the system allows (libsodium's allocator).
#ifndef EXPUNGE_STORAGE_LOCKED_KEYS_H_
#define EXPUNGE_STORAGE_LOCKED_KEYS_H_

#include <memory>
#include <vector>

#include "base/secret.h"

namespace expunge::storage {

// Gives out places in blocks of a page, so that many keys need few locked pages. Threads: one at a time.
class LockedKeys {
 public:
  // The place holds `key` until it is released; its address doesn't change.
  // Aborts if there is no memory left.
  [[nodiscard]] const SecretKey* Add(SecretKey key);
  // Wipes a place that Add gave.
  void Release(const SecretKey* place);

 private:
  struct Free {
    void operator()(SecretKey* block) const;
  };
  std::vector<std::unique_ptr<SecretKey, Free>> blocks_;
  std::vector<SecretKey*> vacant_;
};

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_LOCKED_KEYS_H_
