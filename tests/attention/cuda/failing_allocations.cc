#include "tests/attention/cuda/failing_allocations.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace expunge::attention::cuda::testing {
namespace {

struct State {
  uint64_t left = 0;  // allocations until the failure; 0: none is asked for
  bool all_later = false;
  bool failed = false;
  int paused = 0;
};
thread_local State state;

bool Fails() {
  if (state.paused > 0 || state.left == 0) return false;
  if (state.left > 1) {
    --state.left;
    return false;
  }
  state.failed = true;
  if (!state.all_later) state.left = 0;
  return true;
}

}  // namespace

FailingAllocation::FailingAllocation(uint64_t n, bool all_later) { state = {n, all_later, false, 0}; }
FailingAllocation::~FailingAllocation() { state = {}; }
bool FailingAllocation::failed() const { return state.failed; }

AllocationsSucceed::AllocationsSucceed() { ++state.paused; }
AllocationsSucceed::~AllocationsSucceed() { --state.paused; }

namespace {

void* Allocate(size_t bytes, size_t alignment) {
  if (Fails()) return nullptr;
  const size_t some = std::max<size_t>(bytes, 1);
  if (alignment <= alignof(std::max_align_t)) return std::malloc(some);
  return std::aligned_alloc(alignment, (some + alignment - 1) / alignment * alignment);
}

void* AllocateOrThrow(size_t bytes, size_t alignment) {
  void* memory = Allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace
}  // namespace expunge::attention::cuda::testing

namespace allocations = expunge::attention::cuda::testing;

void* operator new(size_t bytes) { return allocations::AllocateOrThrow(bytes, 1); }
void* operator new[](size_t bytes) { return allocations::AllocateOrThrow(bytes, 1); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return allocations::AllocateOrThrow(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return allocations::AllocateOrThrow(bytes, static_cast<size_t>(alignment));
}
void* operator new(size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return allocations::Allocate(bytes, 1);
}
void* operator new[](size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return allocations::Allocate(bytes, 1);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*bytes*/) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t /*bytes*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t& /*tag*/) noexcept { std::free(memory); }
