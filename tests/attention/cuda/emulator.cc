#include "tests/attention/cuda/emulator.h"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <utility>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EXPUNGE_FIBERS_UNDER_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define EXPUNGE_FIBERS_UNDER_TSAN 1
#endif
#ifdef EXPUNGE_FIBERS_UNDER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace expunge::attention::cuda::testing {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;  // sanitizers need a lot

// The stack of fiber `i` of the block that this thread runs. Kept for the next block.
char* Stack(size_t i) {
  thread_local std::vector<std::unique_ptr<char[]>> stacks;
  while (stacks.size() <= i) stacks.emplace_back(new char[kStackBytes]);
  return stacks[i].get();
}

[[noreturn]] void Fault(const char* what) {
  std::fprintf(stderr, "emulated device: %s\n", what);
  std::abort();
}

}  // namespace

struct Block::Fibers {
  struct Fiber {
    ucontext_t context;
    bool done = false;
    void* tsan = nullptr;
  };
  ucontext_t main;
  void* main_tsan = nullptr;
  std::vector<Fiber> all;
  uint32_t current = 0;
  const std::function<void(uint32_t)>* body = nullptr;
  Block* block = nullptr;

  static thread_local Fibers* running;
  static void Enter() {
    Fibers* fibers = running;
    const uint32_t self = fibers->current;
    (*fibers->body)(self);
    fibers->all[self].done = true;
    ++fibers->block->progress_;
    fibers->ToMain(self);
  }
  void Prepare(size_t i) {
    getcontext(&all[i].context);
    all[i].context.uc_stack.ss_sp = Stack(i);
    all[i].context.uc_stack.ss_size = kStackBytes;
    all[i].context.uc_link = nullptr;
    makecontext(&all[i].context, &Fibers::Enter, 0);
#ifdef EXPUNGE_FIBERS_UNDER_TSAN
    all[i].tsan = __tsan_create_fiber(0);
#endif
  }
  void ToMain(uint32_t from) {
#ifdef EXPUNGE_FIBERS_UNDER_TSAN
    __tsan_switch_to_fiber(main_tsan, 0);
#endif
    swapcontext(&all[from].context, &main);
  }
  void To(uint32_t fiber) {
    current = fiber;
#ifdef EXPUNGE_FIBERS_UNDER_TSAN
    __tsan_switch_to_fiber(all[fiber].tsan, 0);
#endif
    swapcontext(&main, &all[fiber].context);
  }
};

thread_local Block::Fibers* Block::Fibers::running = nullptr;

Block::Block(uint32_t threads, size_t shared_bytes, const Schedule& schedule)
    : products(threads, std::vector<std::vector<std::function<void()>>>(1)),
      copies(threads, std::vector<std::vector<Copy>>(1)),
      threads_(threads),
      shared_bytes_(shared_bytes),
      schedule_(schedule),
      shared_storage_(new char[shared_bytes + kGuardBytes]),
      warp_barriers_(threads / 32),
      slots_(size_t{threads} * 64),
      fibers_(std::make_unique<Fibers>()) {
  // Aligned as that of a device, with at least 1024 bytes on both sides; NaN as double, float and bfloat16.
  const auto address = reinterpret_cast<uintptr_t>(shared_storage_.get());
  shared_ = shared_storage_.get() + 1024 + (1024 - address % 1024);
  std::fill(shared_storage_.get(), shared_storage_.get() + shared_bytes + kGuardBytes,
            static_cast<char>(0xff));
  fibers_->block = this;
  fibers_->all.resize(threads);
}

Block::~Block() = default;

bool Block::InGuard(const void* address) const {
  const auto* at = static_cast<const char*>(address);
  const char* storage = shared_storage_.get();
  if (at < storage || at >= storage + shared_bytes_ + kGuardBytes) return false;
  return at < shared_ || at + 16 > shared_ + shared_bytes_;
}

bool Block::Run(const std::function<void(uint32_t)>& body) {
  Fibers& fibers = *fibers_;
  fibers.body = &body;
  Fibers::running = &fibers;
#ifdef EXPUNGE_FIBERS_UNDER_TSAN
  fibers.main_tsan = __tsan_get_current_fiber();
#endif
  for (size_t i = 0; i < fibers.all.size(); ++i) fibers.Prepare(i);
  std::vector<uint32_t> order(threads_);
  std::iota(order.begin(), order.end(), 0U);
  const bool backwards =
      schedule_.order == Schedule::Order::kDescending || schedule_.order == Schedule::Order::kWarpByWarp;
  if (backwards) std::reverse(order.begin(), order.end());
  std::mt19937 random(schedule_.seed);
  bool stuck = false;
  for (uint32_t left = threads_; left > 0 && !stuck;) {
    if (schedule_.order == Schedule::Order::kShuffled) std::shuffle(order.begin(), order.end(), random);
    const uint64_t before = progress_;
    uint64_t last = progress_;
    for (size_t i = 0; i < order.size(); ++i) {
      const uint32_t thread = order[i];
      if (!fibers.all[thread].done) {
        fibers.To(thread);
        if (fibers.all[thread].done) --left;
      }
      const bool warp_ends = i % 32 == 31;
      if (!warp_ends || schedule_.order != Schedule::Order::kWarpByWarp) continue;
      if (progress_ != last) i -= 32;  // the same warp again
      last = progress_;
    }
    stuck = progress_ == before;
  }
#ifdef EXPUNGE_FIBERS_UNDER_TSAN
  for (Fibers::Fiber& fiber : fibers.all) __tsan_destroy_fiber(fiber.tsan);
#endif
  Fibers::running = nullptr;
  return !stuck;
}

void Block::Yield() { fibers_->ToMain(fibers_->current); }

void Block::Arrive(Barrier* barrier, uint32_t count) {
  const uint64_t generation = barrier->generation;
  ++progress_;
  if (++barrier->arrived == count) {
    barrier->arrived = 0;
    ++barrier->generation;
  }
  while (barrier->generation == generation) Yield();
}

void EmulatedContext::CheckAligned(const void* address) const {
  if (reinterpret_cast<uintptr_t>(address) % 16 != 0)
    Fault("an address of 16 bytes that is no multiple of 16");
  if (block_.InGuard(address)) {
    Fault("an address outside of shared memory");
  }
}

void EmulatedContext::CopyAsync(void* to, const void* from) {
  CheckAligned(to);
  CheckAligned(from);
  if (block_.late_copies()) {
    block_.copies[thread_].front().push_back({to, from});
  } else {
    memcpy(to, from, 16);
  }
}

void EmulatedContext::CommitCopies() {
  auto& groups = block_.copies[thread_];
  groups.insert(groups.begin(), std::vector<Block::Copy>());
}

void EmulatedContext::Land(size_t pending) {
  auto& groups = block_.copies[thread_];
  while (groups.size() > pending + 1) {
    for (const Block::Copy& copy : groups.back()) memcpy(copy.to, copy.from, 16);
    // Without the fence a device may let products read what was there before.
    if (!groups.back().empty() && !unfenced_) {
      unfenced_ = true;
      ++block_.unfenced;
    }
    groups.pop_back();
  }
}

Quad EmulatedContext::Load(const void* from) const {
  CheckAligned(from);
  Quad quad;
  memcpy(&quad, from, 16);
  return quad;
}

void EmulatedContext::Store(void* to, const Quad& quad) const {
  CheckAligned(to);
  memcpy(to, &quad, 16);
}

// As ex2.approx.ftz: results below the normal range are 0.
float EmulatedContext::Exp2(float x) const { return x < -126.0F ? 0.0F : std::exp2(x); }

// A is 16 x 4: a0 at (lane / 4, lane % 4), a1 8 rows below. B is 4 x 8: at (lane % 4, lane / 4). C is 16 x 8:
// c0 and c1 at (lane / 4, 2 (lane % 4)) and the next column, c2 and c3 8 rows below.
void EmulatedContext::MultiplyAddDouble(double (&c)[4], double a0, double a1, double b) {
  const double own[3] = {a0, a1, b};
  Show(own, sizeof(own));
  const uint32_t warp = thread_ / 32 * 32;
  const uint32_t lane = thread_ % 32;
  const auto at = [this, warp](uint32_t of, int which) {
    double x;
    memcpy(&x, block_.Slot(warp + of) + which * 8, 8);
    return x;
  };
  for (int i = 0; i < 4; ++i) {
    const uint32_t row = lane / 4;  // of a0 or a1
    const uint32_t column = 2 * (lane % 4) + static_cast<uint32_t>(i) % 2;
    for (uint32_t k = 0; k < 4; ++k) c[i] += at(row * 4 + k, i / 2) * at(column * 4 + k, 2);
  }
  SyncWarp();
}

// A is 16 x 16: a0 has columns 2 (lane % 4) and the next of row lane / 4, a1 the same 8 rows below, a2 and a3
// as a0 and a1 8 columns on. B is 16 x 8: b0 has rows 2 (lane % 4) and the next of column lane / 4, b1 8 rows
// below.
void EmulatedContext::MultiplyAddBf16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                                      uint32_t b0, uint32_t b1) {
  const uint32_t own[6] = {a0, a1, a2, a3, b0, b1};
  Show(own, sizeof(own));
  const uint32_t warp = thread_ / 32 * 32;
  const uint32_t lane = thread_ % 32;
  const auto at = [this, warp](uint32_t of, uint32_t which, uint32_t half) {
    uint32_t word;
    memcpy(&word, block_.Slot(warp + of) + which * 4, 4);
    return ToFloat(Bf16{static_cast<uint16_t>(half == 0 ? word : word >> 16)});
  };
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t row = lane / 4;
    const uint32_t column = 2 * (lane % 4) + i % 2;
    for (uint32_t k = 0; k < 16; ++k) {
      const uint32_t a = i / 2 + (k / 8) * 2;
      c[i] += at(row * 4 + k % 8 / 2, a, k % 2) * at(column * 4 + k % 8 / 2, 4 + k / 8, k % 2);
    }
  }
  SyncWarp();
}

void EmulatedContext::FenceProducts() {
  if (unfenced_) --block_.unfenced;
  unfenced_ = false;
}

void EmulatedContext::Issue(std::function<void()> product) {
  if (block_.unfenced > 0) Fault("a matrix product of shared memory that was written without a fence");
  if (block_.late_copies()) {
    block_.products[thread_].back().push_back(std::move(product));
  } else {
    product();
  }
}

void EmulatedContext::CommitProducts() { block_.products[thread_].emplace_back(); }

void EmulatedContext::Finish(size_t pending) {
  auto& commits = block_.products[thread_];
  while (commits.size() > pending + 1) {
    for (const auto& product : commits.front()) product();
    commits.erase(commits.begin());
  }
}

// As the PTX manual describes the 128-byte swizzle with the summed dimension contiguous: groups of 8 rows of
// 128 bytes, so far apart as the descriptor says, and bits 4 to 6 of the address xor bits 7 to 9.
float EmulatedContext::Operand(uint64_t descriptor, uint32_t row, uint32_t column) const {
  if (descriptor >> 62 != 1) Fault("a descriptor without the 128-byte swizzle");
  const auto start = static_cast<uint32_t>((descriptor & 0x3fff) << 4);
  const auto eight_rows = static_cast<uint32_t>(((descriptor >> 32) & 0x3fff) << 4);
  uint32_t address = start + row / 8 * eight_rows + row % 8 * 128 + column * 2;
  address ^= (address >> 7 & 7) << 4;
  if (block_.InGuard(block_.shared() + address / 16 * 16)) Fault("an operand outside of shared memory");
  Bf16 element;
  memcpy(&element, block_.shared() + address, sizeof(element));
  return ToFloat(element);
}

// A is 64 x 16, B is 64 x 16 (of columns of the product), C is 64 x 64: a thread has of each 8 columns what
// it has of the product of mma.m16n8k16, of its warp's 16 rows.
void EmulatedContext::MultiplyShared(float (&c)[8][4], uint64_t a, uint64_t b) {
  // The warps of a warpgroup need not be there at the same time: only barriers order what they read.
  SyncWarp();
  Issue([this, &c, a, b] {
    const uint32_t lane = thread_ % 32;
    for (uint32_t i = 0; i < 32; ++i) {
      const uint32_t row = thread_ % 128 / 32 * 16 + lane / 4 + i % 4 / 2 * 8;
      const uint32_t column = i / 4 * 8 + 2 * (lane % 4) + i % 2;
      for (uint32_t k = 0; k < 16; ++k) c[i / 4][i % 4] += Operand(a, row, k) * Operand(b, column, k);
    }
  });
}

// A of registers has the layout of mma.m16n8k16.
void EmulatedContext::MultiplyRows(float* c, int blocks, const uint32_t (&a)[4], uint64_t b) {
  Show(a, sizeof(a));
  const uint32_t lane = thread_ % 32;
  std::array<std::array<float, 16>, 2> rows;  // of this thread
  for (uint32_t k = 0; k < 16; ++k) {
    uint32_t words[4];
    memcpy(words, block_.Slot(thread_ / 4 * 4 + k % 8 / 2), sizeof(words));
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t word = words[half + k / 8 * 2];
      rows[half][k] = ToFloat(Bf16{static_cast<uint16_t>(k % 2 == 0 ? word : word >> 16)});
    }
  }
  SyncWarp();
  Issue([this, c, blocks, b, rows, lane] {
    for (uint32_t i = 0; i < static_cast<uint32_t>(blocks) * 4; ++i) {
      const uint32_t column = i / 4 * 8 + 2 * (lane % 4) + i % 2;
      for (uint32_t k = 0; k < 16; ++k) c[i] += rows[i % 4 / 2][k] * Operand(b, column, k);
    }
  });
}

}  // namespace expunge::attention::cuda::testing
