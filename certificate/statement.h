// What a certificate says: an in-toto Statement v1 whose predicate is ours.
//
// Payload rules.  One JSON object, ASCII only, keys sorted, no white space, no JSON numbers: a double is a C
// hex-float in a string ("0x1.8p-3", "inf"), an integer a decimal string, a digest lower-case
// hexadecimal, a time RFC 3339 in UTC with whole seconds. The exact bytes that EncodePayload returns are
// stored, then signed, and never made again. Privacy.  No identifier, no bare hash of content, no key, value
// or weight: tokens appear as hiding commitments, memory and tenant as pseudonyms.
// docs/formats/certificate.md documents every field.
#ifndef EXPUNGE_CERTIFICATE_STATEMENT_H_
#define EXPUNGE_CERTIFICATE_STATEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/bytes.h"
#include "certificate/transition.h"

namespace expunge::certificate {

inline constexpr absl::string_view kStatementType = "https://in-toto.io/Statement/v1";
inline constexpr absl::string_view kPredicateType = "urn:expunge:certificate:v1";

// No time.
inline constexpr absl::Time kNotStated = absl::InfinitePast();

// kSelection: reserve tokens were dropped.
enum class Kind { kDeletion, kPurge, kState, kMemoryDeletion, kSelection };
inline constexpr Kind kKinds[] = {Kind::kDeletion, Kind::kPurge, Kind::kState, Kind::kMemoryDeletion,
                                  Kind::kSelection};

// "DELETION", "PURGE", "STATE", "MEMORY_DELETION", "SELECTION".
[[nodiscard]] absl::string_view KindName(Kind kind);

// What exactness compares with: a memory to which removed tokens were never added, or, once tokens were
// dropped by selection, one to which only the tokens that it retains were.
enum class Scope { kFullHistory, kRetainedSet };

// "FULL_HISTORY", "RETAINED_SET".
[[nodiscard]] absl::string_view ScopeName(Scope scope);

// One canonical state, as the certificate names it.
struct StateSummary {
  uint64_t epoch = 0;
  uint64_t token_count = 0;
  Digest state_digest{};  // HMAC-SHA256 under the memory's audit key
  Digest token_root{};    // root of the token tree (token_tree.h)
  // Partition, and the Merkle root over the entries (handle, class, weight) of S and E.
  uint64_t margin = 0, error = 0, reserve = 0;
  Digest entries_root{};
  // Proof: all bounds outward-rounded (solver::Proof).
  bool strict = true;
  uint64_t higher_precision = 0, ties = 0;
  double margin_lower = 0, weight_distance_lower = 0, duality_gap_upper = 0, eigenvalue_lower = 0, eta = 0;
};

// One removed token.
struct RemovedToken {
  Digest handle{};  // its place in the token tree
  Digest commitment{};
  char class_before = 'R';  // 'S', 'E' or 'R'
};

struct Algorithm {
  double gamma = 0;
  double ridge = 0;
  std::string box_bound;  // exact: "2/(2*s-1), s=5", or a hex-float
  uint32_t key_dimension = 0, value_dimension = 0;
};

struct Statement {
  Kind kind = Kind::kState;
  absl::Time issued;
  // Issuer.
  std::string software_version;
  std::string software_commit;
  Digest configuration_sha256{};  // of the text of the settings that the service runs with
  // Pseudonyms: HMAC-SHA256 of the resource names under keys that never leave the service.
  Digest tenant_pseudonym{};
  Digest memory_pseudonym{};
  // Place in the memory's chain: 1, 2, 3, ...; SHA-256 of the previous payload, all zero for the first.
  uint64_t sequence = 1;
  Digest previous_payload_sha256{};
  // Request.
  Digest request_pseudonym{};  // of the request id; all zero if the caller gave none
  absl::Time received;
  std::string legal_basis;  // empty: not stated
  std::string nonce;        // kState: bytes chosen by the auditor
  // Until when the request has to be met; kNotStated; kState: not encoded. What the whole request removes:
  // tokens, and memories that lose some or go themselves; kState: not encoded.
  absl::Time due = kNotStated;
  uint64_t request_tokens = 0, request_memories = 0;
  // Custody of the keys: from where the service has its master key, such as "a master key from a file".
  // kState: not encoded.
  std::string master_key;
  // Until when what remains after stage KEY_DESTROYED may last: sealed bytes in files, and backups of the
  // key vault from before. kNotStated: the service promises nothing. kState: not encoded.
  absl::Time sealed_bytes_expire = kNotStated;
  absl::Time backups_expire = kNotStated;
  // Mathematics.
  Scope scope = Scope::kFullHistory;  // kSelection: kRetainedSet
  Algorithm algorithm;
  StateSummary before;  // kState: not encoded
  StateSummary after;   // kMemoryDeletion: the empty state
  // Every token of `before` that `after` lacks, in any order, and TokenTree::TransitionOf them; kState: none.
  std::vector<RemovedToken> removed;
  Transition transition;
  // kSelection alone: at most the smallest g of a removed token in the state before.
  double horizon_margin_lower = 0;
};

// The exact payload bytes; removed tokens in ascending order of the commitment. Cost: O(r log r), r removed.
// REQUIRES: the transition leads from the token root before to that after; software_*, legal_basis,
// master_key, box_bound are printable ASCII, all but legal_basis not empty; no double is negative or NaN;
// times are in the years 0001 to 9999; counts add up. CheckPayload (check_payload.h) refuses anything else.
[[nodiscard]] std::string EncodePayload(const Statement& statement);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_STATEMENT_H_
