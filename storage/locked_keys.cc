#include "storage/locked_keys.h"

#include <sodium.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

namespace expunge::storage {
namespace {

constexpr size_t kKeysInBlock = 128;  // a page of 4 KiB
static_assert(sizeof(SecretKey) == SecretKey::kBytes && alignof(SecretKey) == 1);

}  // namespace

// sodium_free wipes the block.
void LockedKeys::Free::operator()(SecretKey* block) const { sodium_free(block); }

const SecretKey* LockedKeys::Add(SecretKey key) {
  if (vacant_.empty()) {
    static const bool initialized = sodium_init() >= 0;
    void* const memory = initialized ? sodium_allocarray(kKeysInBlock, sizeof(SecretKey)) : nullptr;
    if (memory == nullptr) {
      std::fprintf(stderr, "fatal: no memory for keys\n");
      std::abort();
    }
    auto* const block = static_cast<SecretKey*>(memory);
    blocks_.emplace_back(block);
    for (size_t i = kKeysInBlock; i > 0; --i) vacant_.push_back(new (block + i - 1) SecretKey());
  }
  SecretKey* const place = vacant_.back();
  vacant_.pop_back();
  *place = std::move(key);
  return place;
}

void LockedKeys::Release(const SecretKey* place) {
  auto* const vacated = const_cast<SecretKey*>(place);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  *vacated = SecretKey();
  vacant_.push_back(vacated);
}

}  // namespace expunge::storage
