// The second certificate of an erasure: no file holds the bytes any more.
#ifndef EXPUNGE_CERTIFICATE_PHYSICAL_PURGE_H_
#define EXPUNGE_CERTIFICATE_PHYSICAL_PURGE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/bytes.h"

namespace expunge::certificate {

struct PhysicalPurge {
  absl::Time issued;
  // When all files that held the bytes were rewritten or removed.
  absl::Time purged;
  // Its place in the memory's chain.
  uint64_t sequence = 1;
  Digest previous_payload_sha256{};
  std::string software_version;
  std::string software_commit;
  Digest configuration_sha256{};
};

// The payload of the certificate of stage PHYSICALLY_PURGED that completes `first`, a payload of stage
// KEY_DESTROYED: everything that `first` says of request, memory, states, removed tokens and of what remains,
// sealed bytes in files excepted, again; its own issuer, time, place in the chain and erasure; and under
// "completes" the sequence number and SHA-256 of `first`. Cost: O(size of the payload). Returns:
// InvalidArgument if `first` is not such a payload. REQUIRES: as EncodePayload; `purge.purged` is not after
// `purge.issued`; `purge.sequence` is beyond that of `first`, and if it is the next, the previous
// payload is `first`. CheckPayload (check_payload.h) refuses anything else.
[[nodiscard]] absl::StatusOr<std::string> EncodePhysicalPurge(absl::string_view first,
                                                              const PhysicalPurge& purge);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_PHYSICAL_PURGE_H_
