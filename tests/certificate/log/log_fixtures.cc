#include "tests/certificate/log/log_fixtures.h"

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "tests/certificate/fixtures.h"

namespace expunge::certificate::testing {
namespace {

size_t SplitAt(size_t n) {
  size_t k = 1;
  while (2 * k < n) k *= 2;
  return k;
}

Digest Node(const Digest& left, const Digest& right) {
  return Sha256(absl::StrCat("\x01", AsView(left), AsView(right)));
}

std::vector<Digest> SubProof(size_t m, absl::Span<const std::string> entries, bool whole) {
  if (m == entries.size()) return whole ? std::vector<Digest>() : std::vector<Digest>{OracleRoot(entries)};
  const size_t k = SplitAt(entries.size());
  std::vector<Digest> proof;
  if (m <= k) {
    proof = SubProof(m, entries.first(k), whole);
    proof.push_back(OracleRoot(entries.subspan(k)));
  } else {
    proof = SubProof(m - k, entries.subspan(k), false);
    proof.push_back(OracleRoot(entries.first(k)));
  }
  return proof;
}

}  // namespace

Digest OracleRoot(absl::Span<const std::string> entries) {
  if (entries.empty()) return Sha256("");
  if (entries.size() == 1) return Sha256(absl::StrCat(std::string(1, '\0'), entries.front()));
  const size_t k = SplitAt(entries.size());
  return Node(OracleRoot(entries.first(k)), OracleRoot(entries.subspan(k)));
}

std::vector<Digest> OraclePath(uint64_t index, absl::Span<const std::string> entries) {
  if (entries.size() == 1) return {};
  const size_t k = SplitAt(entries.size());
  std::vector<Digest> path;
  if (index < k) {
    path = OraclePath(index, entries.first(k));
    path.push_back(OracleRoot(entries.subspan(k)));
  } else {
    path = OraclePath(index - k, entries.subspan(k));
    path.push_back(OracleRoot(entries.first(k)));
  }
  return path;
}

std::vector<Digest> OracleProof(uint64_t old_size, absl::Span<const std::string> entries) {
  return old_size == 0 ? std::vector<Digest>() : SubProof(old_size, entries, true);
}

Entries FixedEntries(size_t count) {
  Entries entries;
  entries.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    std::string entry;
    for (const char part : {'a', 'b', 'c', 'd'}) {
      absl::StrAppend(&entry, AsView(FixedDigest(absl::StrCat(std::string(1, part), i))));
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

MerkleLog LogOf(absl::Span<const std::string> entries) {
  MerkleLog log;
  for (const std::string& entry : entries) log.Append(HashLogLeaf(entry));
  return log;
}

NoteSigner SignerFor(absl::string_view name, const SigningKey& key) {
  return {*NoteKey::Create(name, key.Public()),
          [key](absl::string_view message) -> absl::StatusOr<std::string> { return key.Sign(message); }};
}

NoteSigner FixedSigner() { return SignerFor(kOrigin, TestKey()); }

std::vector<NoteKey> FixedKeys() { return {FixedSigner().key}; }

}  // namespace expunge::certificate::testing
