#include "base/secret.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

bool AllZero(const void* begin, size_t bytes) {
  const auto* const first = static_cast<const unsigned char*>(begin);
  return std::all_of(first, first + bytes, [](unsigned char byte) { return byte == 0; });
}

// What the program's operator delete looks at before it frees it.
struct Watched {
  const void* begin;
  size_t bytes;
  bool freed;
  bool was_zero;
};
Watched g_watched = {};

void Look(const void* freed) {
  if (freed == nullptr || freed != g_watched.begin || g_watched.freed) return;
  g_watched.freed = true;
  g_watched.was_zero = AllZero(freed, g_watched.bytes);
}

}  // namespace

void* operator new(size_t bytes) {
  void* const begin = std::malloc(bytes == 0 ? 1 : bytes);
  if (begin == nullptr) std::abort();
  return begin;
}
void operator delete(void* begin) noexcept {
  Look(begin);
  std::free(begin);
}
void operator delete(void* begin, size_t) noexcept {
  Look(begin);
  std::free(begin);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  const auto multiple = static_cast<size_t>(alignment);
  void* const begin = std::aligned_alloc(multiple, (bytes / multiple + 1) * multiple);
  if (begin == nullptr) std::abort();
  return begin;
}
void operator delete(void* begin, std::align_val_t) noexcept {
  Look(begin);
  std::free(begin);
}

namespace expunge {
namespace {

// Learns what a block of memory held when it was freed. One at a time.
class Watch {
 public:
  Watch(const void* begin, size_t bytes) { g_watched = {begin, bytes, false, false}; }
  [[nodiscard]] bool freed() const { return g_watched.freed; }
  [[nodiscard]] bool freed_as_zeros() const { return g_watched.freed && g_watched.was_zero; }
};

SecretKey Filled(uint8_t byte) {
  SecretKey key;
  std::fill_n(key.data(), SecretKey::kBytes, byte);
  return key;
}

TEST(WipeTest, OverwritesExactlyWhatIsNamed) {
  std::vector<unsigned char> bytes(16, 0xaa);
  Wipe(bytes.data() + 4, 8);
  EXPECT_TRUE(AllZero(bytes.data() + 4, 8));
  for (const size_t at : {3, 12}) EXPECT_EQ(bytes[at], 0xaa);
  Wipe(nullptr, 0);
}

TEST(WipeTest, AStringIsWipedToItsCapacity) {
  std::string text(1000, 's');
  text.resize(3);
  const Watch watch(text.data(), text.capacity());
  Wipe(&text);
  EXPECT_TRUE(text.empty());
  text = std::string();
  text.shrink_to_fit();
  EXPECT_TRUE(watch.freed_as_zeros());
}

TEST(WipeTest, AShortStringIsWipedInsideTheObject) {
  alignas(std::string) unsigned char memory[sizeof(std::string)];
  auto* const text = new (memory) std::string("secret");
  const auto holds_secret = [&] { return std::memchr(memory, 'c', sizeof memory) != nullptr; };
  ASSERT_TRUE(holds_secret());
  text->resize(1);
  ASSERT_TRUE(holds_secret());
  Wipe(text);
  EXPECT_FALSE(holds_secret());
  text->~basic_string();
}

TEST(WipeTest, NumbersAreWipedToTheirCapacity) {
  auto numbers = std::make_unique<std::vector<double>>(100, 3.25);
  numbers->resize(2);
  const Watch watch(numbers->data(), 100 * sizeof(double));
  Wipe(numbers.get());
  EXPECT_TRUE(numbers->empty());
  numbers.reset();
  EXPECT_TRUE(watch.freed_as_zeros());
}

TEST(SecretBytesTest, AreWipedWhenTheyGoAndWhenTheyGrow) {
  auto bytes = std::make_unique<SecretBytes>(1000, 's');
  const Watch before(bytes->data(), bytes->capacity());
  bytes->resize(100'000, 't');
  EXPECT_TRUE(before.freed_as_zeros()) << "the old place";
  const Watch after(bytes->data(), bytes->capacity());
  bytes.reset();
  EXPECT_TRUE(after.freed_as_zeros());
}

TEST(SecretArrayTest, IsAlignedAndWipedWhenItGoesAndWhenItGrows) {
  auto numbers = std::make_unique<SecretArray<float>>(1000, 1.5F);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(numbers->data()) % 64, 0U);
  const Watch before(numbers->data(), numbers->capacity() * sizeof(float));
  numbers->resize(100'000, 2.5F);
  EXPECT_TRUE(before.freed_as_zeros()) << "the old place";
  EXPECT_EQ(reinterpret_cast<uintptr_t>(numbers->data()) % 64, 0U);
  const Watch after(numbers->data(), numbers->capacity() * sizeof(float));
  numbers.reset();
  EXPECT_TRUE(after.freed_as_zeros());
}

// The watch would notice: an ordinary vector leaves what it held.
TEST(SecretBytesTest, AnOrdinaryVectorIsNotWiped) {
  auto bytes = std::make_unique<std::vector<char>>(1000, 's');
  const Watch watch(bytes->data(), bytes->capacity());
  bytes.reset();
  EXPECT_TRUE(watch.freed());
  EXPECT_FALSE(watch.freed_as_zeros());
}

TEST(SecretKeyTest, BeginsAllZero) { EXPECT_TRUE(AllZero(SecretKey().data(), SecretKey::kBytes)); }

TEST(SecretKeyTest, IsNeverCopied) {
  EXPECT_FALSE(std::is_copy_constructible_v<SecretKey>);
  EXPECT_FALSE(std::is_copy_assignable_v<SecretKey>);
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<SecretKey>);
  EXPECT_TRUE(std::is_nothrow_move_assignable_v<SecretKey>);
}

TEST(SecretKeyTest, AMovedFromKeyIsZero) {
  SecretKey first = Filled(7);
  SecretKey second = std::move(first);
  EXPECT_TRUE(AllZero(first.data(), SecretKey::kBytes));  // NOLINT(bugprone-use-after-move): the claim
  EXPECT_EQ(second.view(), std::string(32, '\x07'));
  SecretKey third = Filled(9);
  third = std::move(second);
  EXPECT_TRUE(AllZero(second.data(), SecretKey::kBytes));  // NOLINT(bugprone-use-after-move): the claim
  EXPECT_EQ(third.view(), std::string(32, '\x07'));
  SecretKey& same = third;
  third = std::move(same);
  EXPECT_EQ(third.view(), std::string(32, '\x07'));
}

TEST(SecretKeyTest, ADestroyedKeyIsWiped) {
  alignas(SecretKey) unsigned char memory[sizeof(SecretKey)];
  auto* const key = new (memory) SecretKey(Filled(7));
  ASSERT_EQ(memory[31], 7);
  key->~SecretKey();
  EXPECT_TRUE(AllZero(memory, sizeof memory));
}

TEST(SecretKeyTest, RandomKeysDiffer) {
  std::set<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.insert(std::string(SecretKey::Random().view()));
  EXPECT_EQ(keys.size(), 1000U);
}

}  // namespace
}  // namespace expunge
