// The program's operator new and delete, watched: memory can be made to run out, and what is freed be
// searched. Linked into a test that uses it; every block is all zeros at first, so that what a search finds
// was written into this very block.
#ifndef EXPUNGE_TESTS_SUPPORT_WATCHED_MEMORY_H_
#define EXPUNGE_TESTS_SUPPORT_WATCHED_MEMORY_H_

#include <cstddef>

namespace expunge::test_support {

// While it lives, one allocation fails: after `count` of them, by any threads. One such object at a time.
class MemoryRunsOut {
 public:
  explicit MemoryRunsOut(size_t count);
  ~MemoryRunsOut();
  MemoryRunsOut(const MemoryRunsOut&) = delete;
  MemoryRunsOut& operator=(const MemoryRunsOut&) = delete;

  // Whether there were so many.
  [[nodiscard]] static bool HasRunOut();
};

// Counts the blocks that are freed with these bytes somewhere in them. One such object at a time.
class FreedBlocks {
 public:
  // `twice`: the bytes looked for are two of these, one after the other.
  template <typename Number>
  explicit FreedBlocks(Number twice) {
    const Number both[] = {twice, twice};
    Watch(both, sizeof(both));
  }
  ~FreedBlocks();
  FreedBlocks(const FreedBlocks&) = delete;
  FreedBlocks& operator=(const FreedBlocks&) = delete;

  [[nodiscard]] static size_t found();

 private:
  static void Watch(const void* bytes, size_t size);
};

}  // namespace expunge::test_support

#endif  // EXPUNGE_TESTS_SUPPORT_WATCHED_MEMORY_H_
