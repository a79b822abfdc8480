// Bytes that are overwritten when they are no longer used: keys, and plaintext on its way to or from a seal.
//
// Forgetting to wipe is hard, because the types do it: on destruction, on reallocation, and on being moved
// from. What they cannot reach (registers, the kernel's copies, buffers of other libraries) is listed in
// docs/threat_model.md.
#ifndef EXPUNGE_BASE_SECRET_H_
#define EXPUNGE_BASE_SECRET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace expunge {

// Overwrites memory with zeros, also where the compiler sees that nothing reads it again.
void Wipe(void* begin, size_t bytes);
// The whole capacity of a string or a vector, which is empty afterwards.
void Wipe(std::string* text);
void Wipe(std::vector<double>* elements);

// Allocates as std::allocator does, and wipes what it frees.
template <typename T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <typename U>
  explicit WipingAllocator(const WipingAllocator<U>&) {}
  T* allocate(size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* begin, size_t count) {
    Wipe(begin, count * sizeof(T));
    std::allocator<T>().deallocate(begin, count);
  }
  template <typename U>
  bool operator==(const WipingAllocator<U>&) const {
    return true;
  }
};

// The same, aligned to a cache line, which is as wide as the widest vectors.
template <typename T>
struct AlignedWipingAllocator {
  static constexpr std::align_val_t kAlignment{64};
  using value_type = T;
  AlignedWipingAllocator() = default;
  template <typename U>
  explicit AlignedWipingAllocator(const AlignedWipingAllocator<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kAlignment)); }
  void deallocate(T* begin, size_t count) {
    Wipe(begin, count * sizeof(T));
    ::operator delete(begin, kAlignment);
  }
  template <typename U>
  bool operator==(const AlignedWipingAllocator<U>&) const {
    return true;
  }
};

// Numbers that are wiped.
template <typename T>
using SecretArray = std::vector<T, AlignedWipingAllocator<T>>;

// A byte string that is wiped. (Not a std::string: that keeps short ones inside the object.)
using SecretBytes = std::vector<char, WipingAllocator<char>>;

[[nodiscard]] inline absl::string_view AsView(const SecretBytes& bytes) {
  return {bytes.data(), bytes.size()};
}

// A 256-bit key. Moved, never copied; a moved-from key is all zero.
class SecretKey {
 public:
  static constexpr size_t kBytes = 32;

  SecretKey() = default;  // all zero
  ~SecretKey() { Wipe(bytes_.data(), kBytes); }
  SecretKey(SecretKey&& other) noexcept : bytes_(other.bytes_) { Wipe(other.bytes_.data(), kBytes); }
  SecretKey& operator=(SecretKey&& other) noexcept {
    if (this == &other) return *this;
    bytes_ = other.bytes_;
    Wipe(other.bytes_.data(), kBytes);
    return *this;
  }
  SecretKey(const SecretKey&) = delete;
  SecretKey& operator=(const SecretKey&) = delete;

  // From the operating system's generator.
  [[nodiscard]] static SecretKey Random();

  [[nodiscard]] const uint8_t* data() const { return bytes_.data(); }
  [[nodiscard]] uint8_t* data() { return bytes_.data(); }
  [[nodiscard]] absl::string_view view() const {
    return {reinterpret_cast<const char*>(bytes_.data()), kBytes};
  }

 private:
  std::array<uint8_t, kBytes> bytes_{};
};

}  // namespace expunge

#endif  // EXPUNGE_BASE_SECRET_H_
