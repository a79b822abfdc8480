// Arrays that are wiped when they are freed: rows of support sets on their way to the device. base/secret.h
// has the same for the rest; the core of the kernels is built without it. Plain C++.
#ifndef EXPUNGE_ATTENTION_CUDA_WIPED_H_
#define EXPUNGE_ATTENTION_CUDA_WIPED_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace expunge::attention::cuda {

template <typename T>
struct WipedAllocator {
  using value_type = T;
  WipedAllocator() = default;
  template <typename U>
  explicit WipedAllocator(const WipedAllocator<U>& /*other*/) {}
  T* allocate(size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* begin, size_t count) {
    std::memset(static_cast<void*>(begin), 0, count * sizeof(T));
    // The compiler must take it that somebody reads the zeros.
    asm volatile("" ::"r"(begin) : "memory");
    std::allocator<T>().deallocate(begin, count);
  }
  template <typename U>
  bool operator==(const WipedAllocator<U>& /*other*/) const {
    return true;
  }
};

template <typename T>
using Wiped = std::vector<T, WipedAllocator<T>>;

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_WIPED_H_
