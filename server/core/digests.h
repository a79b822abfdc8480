// Keyed digests of a memory's state. All are HMAC-SHA256 under the memory's audit key, except for the token
// tree's own hashing (certificate/token_tree.h); every variable part is length-prefixed (base/bytes.h),
// numbers are little-endian, doubles are their IEEE 754 bits.
//
//   handle of a token      "expunge token handle v1" | id
//   leaf of the token tree handle, commitment
//   leaf of the entries    handle, HMAC("expunge entry v1" | handle | class | weight), for S and E alone
//                          (a bare hash of a weight could be guessed)
//   state digest           "expunge state digest v1" | configuration | root of the token tree | number of
//                          entries | (handle | class | weight) of S and E in ascending order of ids | rho
//   pseudonym of a memory  "expunge memory pseudonym v1" | its name
#ifndef EXPUNGE_SERVER_CORE_DIGESTS_H_
#define EXPUNGE_SERVER_CORE_DIGESTS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/bytes.h"
#include "solver/memory_state.h"

namespace expunge::core {

[[nodiscard]] Digest TokenHandle(const Digest& audit_key, absl::string_view token_id);
[[nodiscard]] Digest MemoryPseudonym(const Digest& audit_key, absl::string_view memory_name);

// A token of S or E as the digests see it.
struct EntryDigests {
  Digest handle{};
  solver::TokenClass token_class = solver::TokenClass::kMargin;  // or kError
  double weight = 0;
};

// Both of the entries of S and E, in ascending order of their ids. Cost: O(|S+E|) hashes; one.
[[nodiscard]] Digest EntriesRoot(const Digest& audit_key, absl::Span<const EntryDigests> entries);
[[nodiscard]] Digest StateDigest(const Digest& audit_key, const solver::Config& config,
                                 const Digest& token_root, absl::Span<const EntryDigests> entries,
                                 double rho);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_DIGESTS_H_
