// A second opinion on Merkle trees, straight from the recursive definitions of RFC 6962, section 2.1; and
// fixed logs and keys for tests.
#ifndef EXPUNGE_TESTS_CERTIFICATE_LOG_LOG_FIXTURES_H_
#define EXPUNGE_TESTS_CERTIFICATE_LOG_LOG_FIXTURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/bytes.h"
#include "certificate/log/merkle.h"
#include "certificate/log/note.h"
#include "certificate/signing_key.h"

namespace expunge::certificate::testing {

using Entries = std::vector<std::string>;

// MTH(D[n]), PATH(m, D[n]) and PROOF(m, D[n]), by hashing everything anew.
[[nodiscard]] Digest OracleRoot(absl::Span<const std::string> entries);
[[nodiscard]] std::vector<Digest> OraclePath(uint64_t index, absl::Span<const std::string> entries);
[[nodiscard]] std::vector<Digest> OracleProof(uint64_t old_size, absl::Span<const std::string> entries);

// `count` different entries, of the length of ours.
[[nodiscard]] Entries FixedEntries(size_t count);
[[nodiscard]] MerkleLog LogOf(absl::Span<const std::string> entries);

inline constexpr absl::string_view kOrigin = "log.example/expunge";
// Signs as `name` with the key of RFC 8032, 7.1, TEST 1, or with another one.
[[nodiscard]] NoteSigner SignerFor(absl::string_view name, const SigningKey& key);
[[nodiscard]] NoteSigner FixedSigner();
// Its public half alone.
[[nodiscard]] std::vector<NoteKey> FixedKeys();

}  // namespace expunge::certificate::testing

#endif  // EXPUNGE_TESTS_CERTIFICATE_LOG_LOG_FIXTURES_H_
