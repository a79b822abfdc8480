// What a payload says about its place among others: for checks of a whole store.
#ifndef EXPUNGE_CERTIFICATE_READ_PAYLOAD_H_
#define EXPUNGE_CERTIFICATE_READ_PAYLOAD_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/bytes.h"
#include "certificate/statement.h"

namespace expunge::certificate {

struct PayloadFacts {
  Kind kind = Kind::kState;
  Digest tenant{};
  Digest memory{};
  // Its place in the memory's chain, and what it follows: all zero for the first.
  uint64_t sequence = 0;
  Digest previous_payload_sha256{};
  absl::Time issued;
  Scope scope = Scope::kFullHistory;
  Digest after_state_digest{};
  std::vector<Digest> removed;          // commitments, ascending
  std::vector<Digest> removed_handles;  // of the same tokens
  // Of the second stage of an erasure: the place of the first, and its SHA-256.
  struct First {
    uint64_t sequence = 0;
    Digest payload_sha256{};
  };
  std::optional<First> completes;
};

// Cost: O(size). Returns: InvalidArgument, with the reason of CheckPayload, if that refuses `payload`.
[[nodiscard]] absl::StatusOr<PayloadFacts> ReadPayload(absl::string_view payload);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_READ_PAYLOAD_H_
