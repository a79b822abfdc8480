// Lets allocations of memory fail on demand, one thread's at a time. Replaces operator new of the program.
#ifndef EXPUNGE_TESTS_ATTENTION_CUDA_FAILING_ALLOCATIONS_H_
#define EXPUNGE_TESTS_ATTENTION_CUDA_FAILING_ALLOCATIONS_H_

#include <cstdint>

namespace expunge::attention::cuda::testing {

// While it lives, this thread's n-th allocation (1: the next) throws std::bad_alloc; with `all_later` those
// that follow do, too. Not nested.
class FailingAllocation {
 public:
  explicit FailingAllocation(uint64_t n, bool all_later = false);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  // Whether one has failed.
  [[nodiscard]] bool failed() const;
};

// While it lives, nothing fails: for what stands for hardware.
class AllocationsSucceed {
 public:
  AllocationsSucceed();
  ~AllocationsSucceed();
  AllocationsSucceed(const AllocationsSucceed&) = delete;
  AllocationsSucceed& operator=(const AllocationsSucceed&) = delete;
};

}  // namespace expunge::attention::cuda::testing

#endif  // EXPUNGE_TESTS_ATTENTION_CUDA_FAILING_ALLOCATIONS_H_
