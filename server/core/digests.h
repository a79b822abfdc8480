// The keyed digests of a memory's state (certificate/bundle/state_digest.h), by the solver's types.
#ifndef EXPUNGE_SERVER_CORE_DIGESTS_H_
#define EXPUNGE_SERVER_CORE_DIGESTS_H_

#include "absl/types/span.h"
#include "base/bytes.h"
#include "certificate/bundle/state_digest.h"
#include "solver/memory_state.h"

namespace expunge::core {

using certificate::EntriesRoot;
using certificate::MemoryPseudonym;
using certificate::TokenHandle;

// A token of S or E.
[[nodiscard]] inline certificate::StateEntry EntryOf(const Digest& handle, solver::TokenClass token_class,
                                                     double weight) {
  return {handle, static_cast<char>(token_class), weight};
}

// Of the entries of S and E, in ascending order of their ids. Cost: O(|S+E|); one hash.
[[nodiscard]] Digest StateDigest(const Digest& audit_key, const solver::Config& config,
                                 const Digest& token_root, absl::Span<const certificate::StateEntry> entries,
                                 double rho);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_DIGESTS_H_
