// Well-formed inputs of every target, made by the code that writes them.
#ifndef EXPUNGE_TESTS_FUZZ_SEEDS_H_
#define EXPUNGE_TESTS_FUZZ_SEEDS_H_

#include <string>
#include <vector>

#include "certificate/log/note.h"
#include "certificate/signing_key.h"

namespace expunge::fuzz {

using Seeds = std::vector<std::string>;

// The keys that the seeds are signed with.
[[nodiscard]] const std::vector<certificate::PublicKey>& TrustedKeys();
[[nodiscard]] const std::vector<certificate::NoteKey>& TrustedLogKeys();
// The entry that the seeds of proofs are of.
[[nodiscard]] const std::string& LoggedEntry();

[[nodiscard]] Seeds AuditBundleSeeds();
[[nodiscard]] Seeds CheckpointSeeds();
[[nodiscard]] Seeds EntryTileSeeds();
[[nodiscard]] Seeds EnvelopeSeeds();
[[nodiscard]] Seeds HashTileSeeds();
[[nodiscard]] Seeds HexDoubleSeeds();
[[nodiscard]] Seeds JsonSeeds();
[[nodiscard]] Seeds KeySetSeeds();
[[nodiscard]] Seeds KeysFileSeeds();
[[nodiscard]] Seeds LogProofSeeds();
[[nodiscard]] Seeds MerkleSeeds();
[[nodiscard]] Seeds NoteSeeds();
[[nodiscard]] Seeds PayloadSeeds();
[[nodiscard]] Seeds PublicPemSeeds();
[[nodiscard]] Seeds ReceiptsSeeds();
[[nodiscard]] Seeds TilePathSeeds();
[[nodiscard]] Seeds TimestampSeeds();
[[nodiscard]] Seeds TransitionSeeds();
[[nodiscard]] Seeds VkeySeeds();

}  // namespace expunge::fuzz

#endif  // EXPUNGE_TESTS_FUZZ_SEEDS_H_
