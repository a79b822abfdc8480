#include "certificate/bundle/state_digest.h"

#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "certificate/token_tree.h"

namespace expunge::certificate {
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
void AppendEntry(const StateEntry& entry, std::string* out) {
  AppendDigest(entry.handle, out);
  out->push_back(entry.token_class);
  AppendDouble(entry.weight, out);
}

std::string ParameterBytes(const MemoryParameters& parameters) {
  std::string bytes;
  AppendU32(parameters.key_dimension, &bytes);
  AppendU32(parameters.value_dimension, &bytes);
  AppendDouble(parameters.gamma, &bytes);
  AppendU32(parameters.min_support, &bytes);
  AppendDouble(parameters.box_value, &bytes);
  AppendDouble(parameters.ridge, &bytes);
  return bytes;
}

}  // namespace

Digest TokenHandle(const Digest& audit_key, absl::string_view token_id) {
  return KeyedHash(audit_key, "expunge token handle v1", token_id);
}

Digest MemoryPseudonym(const Digest& audit_key, absl::string_view memory_name) {
  return KeyedHash(audit_key, "expunge memory pseudonym v1", memory_name);
}

Digest EntriesRoot(const Digest& audit_key, absl::Span<const StateEntry> entries) {
  std::vector<TreeLeaf> leaves;
  leaves.reserve(entries.size());
  for (const StateEntry& entry : entries) {
    std::string bytes;
    AppendEntry(entry, &bytes);
    leaves.push_back({entry.handle, KeyedHash(audit_key, "expunge entry v1", bytes)});
  }
  return TokenTreeRoot(std::move(leaves));
}

Digest StateDigest(const Digest& audit_key, const MemoryParameters& parameters, const Digest& token_root,
                   absl::Span<const StateEntry> entries, double rho) {
  std::string message;
  AppendField("expunge state digest v1", &message);
  AppendField(ParameterBytes(parameters), &message);
  AppendDigest(token_root, &message);
  AppendU64(entries.size(), &message);
  for (const StateEntry& entry : entries) AppendEntry(entry, &message);
  AppendDouble(rho, &message);
  return HmacSha256(AsView(audit_key), message);
}

}  // namespace expunge::certificate
