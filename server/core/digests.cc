#include "server/core/digests.h"

#include <cstddef>
#include <string>
#include <utility>

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
std::string EntryBytes(const Digest& handle, solver::TokenClass token_class, double weight) {
  std::string bytes;
  AppendDigest(handle, &bytes);
  bytes.push_back(static_cast<char>(token_class));
  AppendDouble(weight, &bytes);
  return bytes;
}

}  // namespace

Digest TokenHandle(const Digest& audit_key, absl::string_view token_id) {
  return KeyedHash(audit_key, "expunge token handle v1", token_id);
}

Digest MemoryPseudonym(const Digest& audit_key, absl::string_view memory_name) {
  return KeyedHash(audit_key, "expunge memory pseudonym v1", memory_name);
}

StateDigests ComputeDigests(const Digest& audit_key, const solver::MemoryState& state,
                            const std::vector<TokenDigests>& tokens) {
  std::vector<certificate::TreeLeaf> token_leaves;
  std::vector<certificate::TreeLeaf> entry_leaves;
  std::string entries;
  for (size_t i = 0; i < tokens.size(); ++i) {
    token_leaves.push_back({tokens[i].handle, tokens[i].commitment});
    const solver::TokenClass token_class = state.solution.classes[i];
    if (token_class == solver::TokenClass::kReserve) continue;
    const std::string entry = EntryBytes(tokens[i].handle, token_class, state.solution.weights[i]);
    entry_leaves.push_back({tokens[i].handle, KeyedHash(audit_key, "expunge entry v1", entry)});
    entries += entry;
  }
  StateDigests digests;
  digests.token_root = certificate::TokenTreeRoot(std::move(token_leaves));
  const uint64_t entry_count = entry_leaves.size();
  digests.entries_root = certificate::TokenTreeRoot(std::move(entry_leaves));

  std::string message;
  AppendField("expunge state digest v1", &message);
  AppendField(ConfigBytes(state.config), &message);
  AppendDigest(digests.token_root, &message);
  AppendU64(entry_count, &message);
  message += entries;
  AppendDouble(state.solution.rho, &message);
  digests.state = HmacSha256(AsView(audit_key), message);
  return digests;
}

}  // namespace expunge::core
