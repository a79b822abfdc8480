#include "server/core/digests.h"

#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "certificate/token_tree.h"
#include "server/core/config.h"

namespace expunge::core {
namespace {

Digest KeyedHash(const Digest& key, absl::string_view label, absl::string_view content) {
  std::string message;
  AppendField(label, &message);
  AppendField(content, &message);
  return HmacSha256(AsView(key), message);
}

void AppendDigest(const Digest& digest, std::string* out) {
  const absl::string_view view = AsView(digest);
  out->append(view.data(), view.size());
}

// handle | class | weight: 41 bytes.
void AppendEntry(const EntryDigests& entry, std::string* out) {
  AppendDigest(entry.handle, out);
  out->push_back(static_cast<char>(entry.token_class));
  AppendDouble(entry.weight, out);
}

}  // namespace

Digest TokenHandle(const Digest& audit_key, absl::string_view token_id) {
  return KeyedHash(audit_key, "expunge token handle v1", token_id);
}

Digest MemoryPseudonym(const Digest& audit_key, absl::string_view memory_name) {
  return KeyedHash(audit_key, "expunge memory pseudonym v1", memory_name);
}

Digest EntriesRoot(const Digest& audit_key, absl::Span<const EntryDigests> entries) {
  std::vector<certificate::TreeLeaf> leaves;
  leaves.reserve(entries.size());
  for (const EntryDigests& entry : entries) {
    std::string bytes;
    AppendEntry(entry, &bytes);
    leaves.push_back({entry.handle, KeyedHash(audit_key, "expunge entry v1", bytes)});
  }
  return certificate::TokenTreeRoot(std::move(leaves));
}

Digest StateDigest(const Digest& audit_key, const solver::Config& config, const Digest& token_root,
                   absl::Span<const EntryDigests> entries, double rho) {
  std::string message;
  AppendField("expunge state digest v1", &message);
  AppendField(ConfigBytes(config), &message);
  AppendDigest(token_root, &message);
  AppendU64(entries.size(), &message);
  for (const EntryDigests& entry : entries) AppendEntry(entry, &message);
  AppendDouble(rho, &message);
  return HmacSha256(AsView(audit_key), message);
}

}  // namespace expunge::core
