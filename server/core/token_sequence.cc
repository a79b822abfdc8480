#include "server/core/token_sequence.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace expunge::core {
namespace {

bool IsBelow(const std::shared_ptr<const HeldToken>& held, absl::string_view id) {
  return held->token->id < id;
}

}  // namespace

TokenSequence::TokenSequence(const HeldTokens& tokens) { Append(tokens); }

const std::shared_ptr<const HeldToken>& TokenSequence::operator[](size_t place) const {
  const auto chunk = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), place) - ends_.begin());
  return (*chunks_[chunk])[place - (ends_[chunk] - SizeOf(chunk))];
}

size_t TokenSequence::ChunkOf(absl::string_view id) const {
  // The last chunk whose first id is not above `id`.
  const auto above =
      std::upper_bound(chunks_.begin() + 1, chunks_.end(), id,
                       [](absl::string_view x, const Chunk& chunk) { return x < chunk->front()->token->id; });
  return static_cast<size_t>(above - chunks_.begin()) - 1;
}

size_t TokenSequence::Place(absl::string_view id) const {
  if (empty()) return 0;
  const size_t chunk = ChunkOf(id);
  const HeldTokens& tokens = *chunks_[chunk];
  const auto found = std::lower_bound(tokens.begin(), tokens.end(), id, IsBelow);
  return ends_[chunk] - SizeOf(chunk) + static_cast<size_t>(found - tokens.begin());
}

void TokenSequence::Append(const Chunk& chunk, size_t size) {
  const size_t last = chunks_.empty() ? 0 : SizeOf(chunks_.size() - 1);
  if (last > 0 && std::min(last, size) < kMinChunk && last + size <= kMaxChunk) {
    auto merged = std::make_shared<HeldTokens>(*chunks_.back());
    merged->insert(merged->end(), chunk->begin(), chunk->end());
    chunks_.back() = std::move(merged);
    ends_.back() += size;
    return;
  }
  ends_.push_back(this->size() + size);
  chunks_.push_back(chunk);
}

void TokenSequence::Append(const HeldTokens& tokens) {
  if (tokens.empty()) return;
  const size_t pieces = (tokens.size() + kMaxChunk - 1) / kMaxChunk;
  for (size_t i = 0; i < pieces; ++i) {
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(i * tokens.size() / pieces);
    const auto end = tokens.begin() + static_cast<std::ptrdiff_t>((i + 1) * tokens.size() / pieces);
    const Chunk chunk = std::make_shared<const HeldTokens>(begin, end);
    Append(chunk, chunk->size());
  }
}

void TokenSequence::Share(const TokenSequence& other, size_t first, size_t last) {
  for (size_t chunk = first; chunk < last; ++chunk) Append(other.chunks_[chunk], other.SizeOf(chunk));
}

TokenSequence TokenSequence::With(const HeldTokens& added) const {
  TokenSequence next;
  if (empty()) {
    next.Append(added);
    return next;
  }
  size_t chunk = 0;  // the first that is not in `next`
  for (auto from = added.begin(); from != added.end();) {
    const size_t touched = ChunkOf((*from)->token->id);
    next.Share(*this, chunk, touched);
    chunk = touched + 1;
    const auto to = chunk == chunks_.size()
                        ? added.end()
                        : std::lower_bound(from, added.end(), chunks_[chunk]->front()->token->id, IsBelow);
    HeldTokens merged;
    merged.reserve(SizeOf(touched) + static_cast<size_t>(to - from));
    std::merge(chunks_[touched]->begin(), chunks_[touched]->end(), from, to, std::back_inserter(merged),
               [](const auto& a, const auto& b) { return a->token->id < b->token->id; });
    next.Append(merged);
    from = to;
  }
  next.Share(*this, chunk, chunks_.size());
  return next;
}

TokenSequence TokenSequence::Without(const std::vector<size_t>& places) const {
  TokenSequence next;
  size_t chunk = 0;  // the first that is not in `next`
  for (auto from = places.begin(); from != places.end();) {
    const auto touched =
        static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), *from) - ends_.begin());
    next.Share(*this, chunk, touched);
    chunk = touched + 1;
    const size_t begin = ends_[touched] - SizeOf(touched);
    HeldTokens kept;
    for (size_t i = 0; i < SizeOf(touched); ++i) {
      if (from != places.end() && *from == begin + i) {
        ++from;
      } else {
        kept.push_back((*chunks_[touched])[i]);
      }
    }
    next.Append(kept);
  }
  next.Share(*this, chunk, chunks_.size());
  return next;
}

}  // namespace expunge::core
