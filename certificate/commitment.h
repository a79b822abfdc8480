// Hiding commitments: how certificates speak of a token without revealing it.
//
//     commitment = HMAC-SHA256(salt, "expunge token commitment v1" | name | subjects in ascending order | key
//     | value)
// with every part length-prefixed (base/bytes.h) and vectors as little-endian doubles. The salt is 32 random
// bytes, handed out in the receipt of Add. Whoever holds the receipt and the token can show that a
// certificate speaks of it; without the salt the commitment reveals nothing, whatever can be guessed of the
// content.
#ifndef EXPUNGE_CERTIFICATE_COMMITMENT_H_
#define EXPUNGE_CERTIFICATE_COMMITMENT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/bytes.h"

namespace expunge::certificate {

// Cost: O(size of the token).
[[nodiscard]] Digest TokenCommitment(const Digest& salt, absl::string_view token_name,
                                     std::vector<std::string> subjects, absl::Span<const double> key,
                                     absl::Span<const double> value);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_COMMITMENT_H_
