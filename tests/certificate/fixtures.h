// Fixed statements, keys and files for the tests of certificates.
#ifndef EXPUNGE_TESTS_CERTIFICATE_FIXTURES_H_
#define EXPUNGE_TESTS_CERTIFICATE_FIXTURES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "certificate/physical_purge.h"
#include "certificate/signing_key.h"
#include "certificate/statement.h"

namespace expunge::certificate::testing {

// The kinds and stages, with the golden file of each.
struct GoldenCase {
  Kind kind;
  const char* file;
  bool second = false;  // of stage PHYSICALLY_PURGED
};
inline constexpr GoldenCase kGoldenCases[] = {
    {Kind::kDeletion, "certificate_deletion.json"},
    {Kind::kPurge, "certificate_purge.json"},
    {Kind::kState, "certificate_state.json"},
    {Kind::kMemoryDeletion, "certificate_memory_deletion.json"},
    {Kind::kPurge, "certificate_physically_purged.json", true},
    {Kind::kSelection, "certificate_selection.json"},
};

// Always the same statement of a kind; every field has a value of its own.
[[nodiscard]] Statement FixedStatement(Kind kind);

// Always the same: two places after the fixed statement that it completes.
[[nodiscard]] PhysicalPurge FixedPurge();

// The payload of a fixed statement; of the second certificate that completes it; of a golden file.
[[nodiscard]] std::string FixedPayload(Kind kind);
[[nodiscard]] std::string SecondPayload(Kind kind);
[[nodiscard]] std::string GoldenPayload(const GoldenCase& golden);

// A fixed statement, with many removed tokens.
[[nodiscard]] Statement LargeStatement(int removed);

// 32 bytes that depend on `text` alone.
[[nodiscard]] Digest FixedDigest(absl::string_view text);

// The path of a file in tests/golden.
[[nodiscard]] std::string GoldenPath(absl::string_view file);

// Aborts if the file cannot be read or written.
[[nodiscard]] std::string ReadBytes(const std::string& path);
void WriteBytes(const std::string& path, absl::string_view bytes);

// The key of RFC 8032, 7.1, TEST 1, which everybody knows, from tests/golden/test_only_key.pem.
[[nodiscard]] SigningKey TestKey();

// The PKCS#8 PEM of an Ed25519 seed of 32 bytes, given in hexadecimal (RFC 8410, section 7).
[[nodiscard]] std::string PrivatePemOfSeed(absl::string_view seed_hex);
// The SubjectPublicKeyInfo PEM of a public key of 32 bytes, given in hexadecimal (RFC 8410, section 4).
[[nodiscard]] std::string PublicPemOf(absl::string_view key_hex);

}  // namespace expunge::certificate::testing

#endif  // EXPUNGE_TESTS_CERTIFICATE_FIXTURES_H_
