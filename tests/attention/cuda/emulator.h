// Runs kernel code (attention/cuda/*_body.h) on the host, one block at a time: each thread is a fiber, and
// changes over to another at barriers, shuffles and matrix instructions, which follow the layouts that the
// PTX manual documents.
//
// What a device may do in any order is done in an order that the schedule chooses: which thread goes on at a
// barrier, and whether an asynchronous copy lands at once or only when it is waited for. Shared memory begins
// as NaNs. A missing barrier or wait shows as a wrong result under one of the schedules.
#ifndef EXPUNGE_TESTS_ATTENTION_CUDA_EMULATOR_H_
#define EXPUNGE_TESTS_ATTENTION_CUDA_EMULATOR_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "attention/cuda/portable.h"

namespace expunge::attention::cuda::testing {

struct Schedule {
  // kWarpByWarp: each warp as far as it gets alone, the last one first.
  enum class Order { kAscending, kDescending, kShuffled, kWarpByWarp };
  Order order = Order::kAscending;
  bool late_copies = true;  // land when waited for; else at once
  uint32_t seed = 1;        // of kShuffled
};

// The fibers of a block and what they share.
class Block {
 public:
  Block(uint32_t threads, size_t shared_bytes, const Schedule& schedule);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Runs body(t) for every thread t. Returns false if some wait for what never comes (a barrier that not all
  // reach). Exceptions must not leave the body.
  [[nodiscard]] bool Run(const std::function<void(uint32_t)>& body);

  [[nodiscard]] char* shared() { return shared_; }
  // Whether 16 bytes there are beside shared memory.
  [[nodiscard]] bool InGuard(const void* address) const;
  [[nodiscard]] uint32_t threads() const { return threads_; }

  // Waits until `count` fibers have come to `barrier`.
  struct Barrier {
    uint32_t arrived = 0;
    uint64_t generation = 0;
  };
  void Arrive(Barrier* barrier, uint32_t count);
  Barrier* block_barrier() { return &block_barrier_; }
  Barrier* warp_barrier(uint32_t warp) { return &warp_barriers_[warp]; }
  // 64 bytes that a thread shows to its warp.
  char* Slot(uint32_t thread) { return &slots_[size_t{thread} * 64]; }

  [[nodiscard]] bool late_copies() const { return schedule_.late_copies; }
  struct Copy {
    void* to;
    const void* from;
  };
  // Of each thread: matrix products of commits under way, the oldest first, and of the one to come.
  std::vector<std::vector<std::vector<std::function<void()>>>> products;
  // Threads that wrote to shared memory and did not make it known to matrix products.
  uint32_t unfenced = 0;

  // Of each thread: copies of the group under way, then of groups committed.
  std::vector<std::vector<std::vector<Copy>>> copies;

 private:
  struct Fibers;
  static constexpr size_t kGuardBytes = 4096;
  void Yield();

  const uint32_t threads_;
  const size_t shared_bytes_;
  const Schedule schedule_;
  std::unique_ptr<char[]> shared_storage_;
  char* shared_;
  Barrier block_barrier_;
  std::vector<Barrier> warp_barriers_;
  std::vector<char> slots_;
  std::unique_ptr<Fibers> fibers_;
  uint64_t progress_ = 0;
};

// One thread's view: the members of DeviceContext (attention/cuda/context.cuh).
class EmulatedContext {
 public:
  EmulatedContext(Block* block, uint32_t thread) : block_(*block), thread_(thread) {}

  [[nodiscard]] uint32_t Thread() const { return thread_; }
  [[nodiscard]] uint32_t Threads() const { return block_.threads(); }
  [[nodiscard]] char* Shared() const { return block_.shared(); }

  void SyncBlock() { block_.Arrive(block_.block_barrier(), block_.threads()); }
  template <typename T>
  T ShuffleXor(T x, int mask) {
    Show(&x, sizeof(T));
    T other;
    memcpy(&other, block_.Slot(thread_ ^ static_cast<uint32_t>(mask)), sizeof(T));
    SyncWarp();
    return other;
  }

  void CopyAsync(void* to, const void* from);
  void CommitCopies();
  template <int kPending>
  void WaitForCopies() {
    Land(kPending);
  }

  [[nodiscard]] Quad Load(const void* from) const;
  void Store(void* to, const Quad& quad) const;
  void LoadFloats(float* to, const float* from) const {
    const Quad quad = Load(from);
    memcpy(to, &quad, sizeof(quad));
  }
  void StoreFloats(float* to, float a, float b, float c, float d) const {
    const float four[4] = {a, b, c, d};
    Store(to, BitCast<Quad>(four));
  }

  [[nodiscard]] float Exp2(float x) const;
  [[nodiscard]] double Exp2(double x) const { return Exp2OfNegative(x); }
  [[nodiscard]] uint32_t PackBf16(float low, float high) const {
    return ToBf16(low).bits | static_cast<uint32_t>(ToBf16(high).bits) << 16;
  }

  // Of HopperContext (attention/cuda/hopper_context.cuh).
  [[nodiscard]] uint32_t SharedAddress(const void* address) const {
    return static_cast<uint32_t>(static_cast<const char*>(address) - block_.shared());
  }
  void FenceProducts();
  void BeginProducts() { SyncWarp(); }
  void CommitProducts();
  template <int kPending>
  void WaitForProducts() {
    Finish(kPending);
  }
  template <int kBlocks>
  void FenceRegisters(float (&)[kBlocks][4]) {}
  void Finished(float) {}
  void MultiplyShared(float (&c)[8][4], uint64_t a, uint64_t b);
  template <int kBlocks>
  void MultiplyRegisters(float (&c)[kBlocks][4], const uint32_t (&a)[4], uint64_t b) {
    MultiplyRows(&c[0][0], kBlocks, a, b);
  }

  template <typename T, typename A>
  void MultiplyAdd(A (&c)[4], const Quad& low, const Quad& high, const Quad& b) {
    if constexpr (sizeof(T) == 8) {
      for (int step = 0; step < 2; ++step)
        MultiplyAddDouble(c, Half(low, step), Half(high, step), Half(b, step));
    } else {
      MultiplyAddBf16(c, low.word[0], high.word[0], low.word[1], high.word[1], b.word[0], b.word[1]);
      MultiplyAddBf16(c, low.word[2], high.word[2], low.word[3], high.word[3], b.word[2], b.word[3]);
    }
  }
  // mma.m16n8k4 of doubles and mma.m16n8k16 of bfloat16, fragments as documented.
  void MultiplyAddDouble(double (&c)[4], double a0, double a1, double b);
  void MultiplyAddBf16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                       uint32_t b1);

 private:
  static double Half(const Quad& quad, int half) {
    double x;
    memcpy(&x, &quad.word[2 * half], sizeof(x));
    return x;
  }
  void MultiplyRows(float* c, int blocks, const uint32_t (&a)[4], uint64_t b);
  // Carries a product out now or when it is waited for, as the schedule says.
  void Issue(std::function<void()> product);
  // Until at most `pending` commits of products are under way.
  void Finish(size_t pending);
  // Row `row`, element `column` of an operand in shared memory.
  [[nodiscard]] float Operand(uint64_t descriptor, uint32_t row, uint32_t column) const;
  void SyncWarp() { block_.Arrive(block_.warp_barrier(thread_ / 32), 32); }
  void Show(const void* from, size_t bytes) {
    memcpy(block_.Slot(thread_), from, bytes);
    SyncWarp();
  }
  // Until at most `pending` commits are under way.
  void Land(size_t pending);
  // Fails the process: the kernel would fault.
  void CheckAligned(const void* address) const;

  Block& block_;
  uint32_t thread_;
  bool unfenced_ = false;
};

}  // namespace expunge::attention::cuda::testing

#endif  // EXPUNGE_TESTS_ATTENTION_CUDA_EMULATOR_H_
