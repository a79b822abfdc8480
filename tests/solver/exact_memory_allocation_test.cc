// Once warm, removing a token allocates nothing. This program counts every allocation.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "solver/exact_memory.h"
#include "tests/support/data.h"

namespace {

std::atomic<uint64_t> allocations{0};

void* Allocate(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace expunge::solver {
namespace {

TEST(ExactMemoryAllocationTest, RemovalAllocatesNothingOnceWarm) {
  const Config config = testing::MakeConfig(6, 1, {12, 0}, 0.1);
  const TokenList pool = testing::MakeTokens(testing::DataKind::kGaussian, 400, 6, 1, 31);
  const auto memory = ExactMemory::Create(config);
  ASSERT_TRUE((*memory)->Add(pool).ok());
  const auto cycle = [&](size_t turn) {
    const std::vector<SupportEntry> support = (*memory)->Support();
    const auto token = support[turn * 7 % support.size()].token;
    const std::vector<std::string> ids{token->id};
    const uint64_t before = allocations;
    EXPECT_TRUE((*memory)->Remove(ids).ok());
    const uint64_t used = allocations - before;
    EXPECT_TRUE((*memory)->Add({token}).ok());
    return used;
  };
  for (size_t turn = 0; turn < 300; ++turn) cycle(turn);
  const uint64_t changes = (*memory)->counters().set_changes;
  uint64_t used = 0;
  uint64_t removals_with = 0;
  for (size_t turn = 0; turn < 300; ++turn) {
    const uint64_t beyond = (*memory)->counters().eigenvalue_bound;
    const uint64_t allocated = cycle(turn);
    // Beyond double-double, proofs may allocate; they are rare.
    if ((*memory)->counters().eigenvalue_bound != beyond) continue;
    used += allocated;
    removals_with += allocated > 0 ? 1 : 0;
  }
  EXPECT_EQ(used, 0U) << "in " << removals_with << " removals";
  EXPECT_GT((*memory)->counters().set_changes, changes + 300) << "the removals changed S";
}

}  // namespace
}  // namespace expunge::solver
