// No number of a removed token stays in the memory of the process: neither its key nor a kernel value with
// it.
//
// This program keeps a list of all blocks of the heap, clears each when it is freed, and searches the rest.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "solver/exact_memory.h"
#include "solver/kernel.h"
#include "tests/support/data.h"

namespace {

struct Block {
  Block* before = this;
  Block* after = this;
  std::size_t size = 0;
  std::size_t padding = 0;  // what follows is aligned as malloc's
};
Block heap;

void* Allocate(std::size_t size) {
  auto* block = static_cast<Block*>(std::malloc(sizeof(Block) + size));
  if (block == nullptr) throw std::bad_alloc();
  *block = {&heap, heap.after, size, 0};
  heap.after->before = block;
  heap.after = block;
  return block + 1;
}

void Free(void* memory) {
  if (memory == nullptr) return;
  Block* block = static_cast<Block*>(memory) - 1;
  block->before->after = block->after;
  block->after->before = block->before;
  std::memset(memory, 0, block->size);
  std::free(block);
}

constexpr uint64_t kMask = 0x5555555555555555;  // the search must not find its own list

// How often a double of these (bits, masked) is in any block.
std::size_t CountInHeap(const std::vector<uint64_t>& masked) {
  std::size_t count = 0;
  for (const Block* block = heap.after; block != &heap; block = block->after) {
    const auto* words = reinterpret_cast<const unsigned char*>(block + 1);
    for (std::size_t i = 0; i + sizeof(uint64_t) <= block->size; i += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, words + i, sizeof(word));
      for (const uint64_t x : masked) count += (word ^ kMask) == x ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, std::size_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { Free(memory); }

namespace expunge::solver {
namespace {

uint64_t Masked(double x) { return std::bit_cast<uint64_t>(x) ^ kMask; }

TEST(ExactMemoryResidueTest, NothingStaysOfARemovedToken) {
  for (const BoxBound box : {BoxBound{6, 0}, BoxBound{12, 0}, BoxBound{0, 0.25}}) {
    const Config config = testing::MakeConfig(3, 1, box, 0.3);
    TokenList pool = testing::MakeTokens(testing::DataKind::kGaussian, 60, 3, 1, 41);
    const auto memory = ExactMemory::Create(config);
    while (pool.size() > 30) {
      ASSERT_TRUE((*memory)->Add({pool.back()}).ok());
      pool.pop_back();
    }
    while (!pool.empty()) {
      ASSERT_TRUE((*memory)->Add({pool.back()}).ok());
      pool.pop_back();
      // One of S or E, in turn the first and the last of them.
      std::vector<uint64_t> gone;
      std::vector<std::string> ids;
      {
        const std::vector<SupportEntry> support = (*memory)->Support();
        const SupportEntry& entry = pool.size() % 2 == 0 ? support.front() : support.back();
        ids.push_back(entry.token->id);
        for (const double x : entry.token->key) gone.push_back(Masked(x));
        for (const SupportEntry& other : support) {
          if (other.token == entry.token) continue;
          gone.push_back(
              Masked(ExactKernel(entry.token->key.data(), other.token->key.data(), 3, config.gamma)));
        }
      }
      EXPECT_GT(CountInHeap(gone), 0U);
      ASSERT_TRUE((*memory)->Remove(ids).ok());
      EXPECT_EQ(CountInHeap(gone), 0U) << pool.size();
    }
  }
}

}  // namespace
}  // namespace expunge::solver
