// A memory's identity, and its tokens with all that belongs to them.
#ifndef EXPUNGE_SERVER_CORE_HELD_TOKEN_H_
#define EXPUNGE_SERVER_CORE_HELD_TOKEN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/bytes.h"
#include "solver/memory_state.h"
#include "storage/key_vault.h"

namespace expunge::core {

// What never changes in the life of a memory.
struct MemoryIdentity {
  std::string tenant;
  std::string memory;
  solver::Config config;
  absl::Time create_time;
  Digest audit_key{};  // new for every memory, also for one that takes up an old name
  Digest pseudonym{};  // MemoryPseudonym(audit_key, name); also its key in the store

  [[nodiscard]] std::string Name() const;
};

// A new identity with a random audit key.
[[nodiscard]] std::shared_ptr<const MemoryIdentity> MakeIdentity(const std::string& tenant,
                                                                 const std::string& memory,
                                                                 const solver::Config& config,
                                                                 absl::Time create_time);

// A token with all that belongs to it. Never changes; shared between snapshots.
struct HeldToken {
  std::shared_ptr<const solver::Token> token;
  std::vector<std::string> subjects;  // in the order in which the caller gave them
  Digest salt{};
  Digest commitment{};
  Digest handle{};
  std::string added_by;        // the handle of the request that added it; empty: that had no id
  uint32_t added_index = 0;    // its place in that request
  storage::Slot key_slot = 0;  // of its data key, under its tenant's

  HeldToken() = default;
  HeldToken(HeldToken&&) = default;
  HeldToken& operator=(HeldToken&&) = default;
  HeldToken(const HeldToken&) = delete;
  HeldToken& operator=(const HeldToken&) = delete;
  // Wipes what says anything of the token; its vectors are wiped when the last who holds them lets go.
  ~HeldToken();

  [[nodiscard]] bool Names(absl::string_view subject) const;
};

// Shares a token that is wiped when nobody holds it any more.
[[nodiscard]] std::shared_ptr<const solver::Token> ShareToken(solver::Token token);

using HeldTokens = std::vector<std::shared_ptr<const HeldToken>>;

// Completes a token of `identity` with a random salt, its commitment and its handle.
[[nodiscard]] HeldToken MakeHeldToken(const MemoryIdentity& identity, solver::Token token,
                                      std::vector<std::string> subjects);

// The commitment that belongs to `token` as it is (for recovery). Cost: O(size of the token).
[[nodiscard]] Digest ExpectedCommitment(const MemoryIdentity& identity, const HeldToken& token);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_HELD_TOKEN_H_
