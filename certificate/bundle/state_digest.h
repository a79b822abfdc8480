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
//   configuration          key dimension, value dimension (32 bits each), gamma, s (32 bits; 0: the box bound
//                          is a double), that double (0 with s), ridge
//   pseudonym of a memory  "expunge memory pseudonym v1" | its name
//
// The service computes them as it changes, an auditor from an audit bundle.
#ifndef EXPUNGE_CERTIFICATE_BUNDLE_STATE_DIGEST_H_
#define EXPUNGE_CERTIFICATE_BUNDLE_STATE_DIGEST_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/bytes.h"

namespace expunge::certificate {

// What a memory computes, as solver::Config has it.
struct MemoryParameters {
  uint32_t key_dimension = 0;
  uint32_t value_dimension = 0;
  double gamma = 0;
  uint32_t min_support = 0;  // s of C = 2/(2s-1); 0: C is box_value
  double box_value = 0;      // 0 if min_support > 0
  double ridge = 0;
};

[[nodiscard]] Digest TokenHandle(const Digest& audit_key, absl::string_view token_id);
[[nodiscard]] Digest MemoryPseudonym(const Digest& audit_key, absl::string_view memory_name);

// A token of S or E as the digests see it.
struct StateEntry {
  Digest handle{};
  char token_class = 'S';  // or 'E'
  double weight = 0;
};

// Both of the entries of S and E, in ascending order of their ids. Cost: O(|S+E|) hashes; one.
[[nodiscard]] Digest EntriesRoot(const Digest& audit_key, absl::Span<const StateEntry> entries);
[[nodiscard]] Digest StateDigest(const Digest& audit_key, const MemoryParameters& parameters,
                                 const Digest& token_root, absl::Span<const StateEntry> entries, double rho);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_BUNDLE_STATE_DIGEST_H_
