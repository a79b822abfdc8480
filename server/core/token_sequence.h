// The tokens of a snapshot in ascending order of their ids, in chunks that snapshots share: a change copies
// the chunks that it touches, and a pointer to each of the others.
//
// Invariants.  (1) No chunk is empty or has more than kMaxChunk tokens. (2) Of two neighbours, neither has
// fewer than kMinChunk tokens, or both together have more than kMaxChunk. (3) Chunks never change.
#ifndef EXPUNGE_SERVER_CORE_TOKEN_SEQUENCE_H_
#define EXPUNGE_SERVER_CORE_TOKEN_SEQUENCE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/core/held_token.h"

namespace expunge::core {

// Threads: any number may read at once; copies are independent.
class TokenSequence {
 public:
  static constexpr size_t kMinChunk = 128;
  static constexpr size_t kMaxChunk = 512;

  TokenSequence() = default;
  // REQUIRES: `tokens` ascends by id.
  explicit TokenSequence(const HeldTokens& tokens);

  [[nodiscard]] size_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  [[nodiscard]] bool empty() const { return ends_.empty(); }
  // REQUIRES: place < size(). Cost: O(log n).
  [[nodiscard]] const std::shared_ptr<const HeldToken>& operator[](size_t place) const;
  // The place of the first token whose id is not below `id`, or size(). Cost: O(log n) comparisons.
  [[nodiscard]] size_t Place(absl::string_view id) const;

  // With `added`. REQUIRES: it ascends by id, and none of its ids is here. Cost of m tokens, here and below:
  // O(m (log n + kMaxChunk)), and n / kMinChunk pointers.
  [[nodiscard]] TokenSequence With(const HeldTokens& added) const;
  // Without the tokens at `places`, which ascend.
  [[nodiscard]] TokenSequence Without(const std::vector<size_t>& places) const;

  // For range-for alone.
  class Iterator {
   public:
    const std::shared_ptr<const HeldToken>& operator*() const { return (**chunk_)[offset_]; }
    Iterator& operator++() {
      if (++offset_ == (*chunk_)->size()) {
        ++chunk_;
        offset_ = 0;
      }
      return *this;
    }
    bool operator!=(const Iterator& other) const {
      return chunk_ != other.chunk_ || offset_ != other.offset_;
    }

   private:
    friend class TokenSequence;
    explicit Iterator(const std::shared_ptr<const HeldTokens>* chunk) : chunk_(chunk) {}
    const std::shared_ptr<const HeldTokens>* chunk_;
    size_t offset_ = 0;
  };
  [[nodiscard]] Iterator begin() const { return Iterator(chunks_.data()); }
  [[nodiscard]] Iterator end() const { return Iterator(chunks_.data() + chunks_.size()); }

  // In how many chunks it is.
  [[nodiscard]] size_t chunks() const { return chunks_.size(); }

 private:
  using Chunk = std::shared_ptr<const HeldTokens>;

  [[nodiscard]] size_t SizeOf(size_t chunk) const {
    return ends_[chunk] - (chunk == 0 ? 0 : ends_[chunk - 1]);
  }
  // The chunk in which `id` is, or would be. REQUIRES: !empty().
  [[nodiscard]] size_t ChunkOf(absl::string_view id) const;
  // Appends chunks first, ..., last - 1 of `other`.
  void Share(const TokenSequence& other, size_t first, size_t last);
  // Appends a chunk of `size` tokens, merged with the last one if invariant 2 wants it.
  void Append(const Chunk& chunk, size_t size);
  // Appends tokens, in as many chunks as they need.
  void Append(const HeldTokens& tokens);

  std::vector<Chunk> chunks_;
  std::vector<size_t> ends_;  // tokens in a chunk and all before it
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_TOKEN_SEQUENCE_H_
