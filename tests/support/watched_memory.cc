#include "tests/support/watched_memory.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace {

constexpr int64_t kEnough = std::numeric_limits<int64_t>::max();
constexpr size_t kMostBytes = 16;

std::atomic<int64_t> g_left = kEnough;  // allocations before the one that fails
char g_bytes[kMostBytes];
std::atomic<size_t> g_size = 0;  // of g_bytes; 0: nothing is looked for
std::atomic<size_t> g_found = 0;

bool Fails() { return g_left.load() != kEnough && g_left.fetch_sub(1) == 0; }

void* Allocate(size_t bytes, size_t alignment) {
  if (Fails()) throw std::bad_alloc();
  const size_t size = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* const begin = std::aligned_alloc(alignment, size);
  if (begin == nullptr) throw std::bad_alloc();
  std::memset(begin, 0, malloc_usable_size(begin));
  return begin;
}

void Free(void* begin) {
  const size_t size = g_size.load();
  if (begin != nullptr && size > 0 && memmem(begin, malloc_usable_size(begin), g_bytes, size) != nullptr) {
    g_found.fetch_add(1);
  }
  std::free(begin);
}

}  // namespace

void* operator new(size_t bytes) { return Allocate(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<size_t>(alignment));
}
// As the library's would; but that of a sanitizer would not go through the one above.
void* operator new(size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* begin) noexcept { Free(begin); }
void operator delete(void* begin, size_t) noexcept { Free(begin); }
void operator delete(void* begin, std::align_val_t) noexcept { Free(begin); }
void operator delete(void* begin, size_t, std::align_val_t) noexcept { Free(begin); }

namespace expunge::test_support {

MemoryRunsOut::MemoryRunsOut(size_t count) { g_left = static_cast<int64_t>(count); }
MemoryRunsOut::~MemoryRunsOut() { g_left = kEnough; }
bool MemoryRunsOut::HasRunOut() { return g_left.load() < 0; }

void FreedBlocks::Watch(const void* bytes, size_t size) {
  if (size > kMostBytes) std::abort();
  std::memcpy(g_bytes, bytes, size);
  g_found = 0;
  g_size = size;
}
FreedBlocks::~FreedBlocks() { g_size = 0; }
size_t FreedBlocks::found() { return g_found.load(); }

}  // namespace expunge::test_support
