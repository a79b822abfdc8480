#include "certificate/claims.h"

#include <array>

#include "absl/strings/str_cat.h"

namespace expunge::certificate {
namespace {

constexpr absl::string_view kSealedBytesText =
    "Sealed bytes of what was removed may remain in database files and logs until these are rewritten. "
    "Without the destroyed keys they cannot be read. A second certificate, of stage PHYSICALLY_PURGED, "
    "says when these files were rewritten.";
constexpr absl::string_view kBackupsText =
    "Backups and snapshots of the key vault made before the removal still hold the keys. Together with "
    "the master key and sealed bytes of that time they open what was removed.";
constexpr absl::string_view kFreedBlocksText =
    "Blocks that a file system or a drive freed or remapped, and did not overwrite, may hold old slots of "
    "the key vault and old sealed bytes. With the vault's master key these open what was removed.";
constexpr absl::string_view kProcessMemoryText =
    "Memory of the running service: destroyed keys are wiped from it, but copies of removed tokens in "
    "buffers of the RPC library, of protobuf and of the allocator cannot be, and stay until that memory "
    "is used again or the process ends.";
constexpr absl::string_view kLedgerText =
    "The service keeps its certificates and a ledger of removals. They name removed tokens by keyed "
    "hashes alone.";

constexpr std::array<Residual, 5> kResiduals = {{{kSealedBytes, kSealedBytesText},
                                                 {kBackups, kBackupsText},
                                                 {"FREED_BLOCKS", kFreedBlocksText},
                                                 {"PROCESS_MEMORY", kProcessMemoryText},
                                                 {"LEDGER", kLedgerText}}};

constexpr std::array<absl::string_view, 5> kNotClaimedAfterRemoval = {
    "Answers given before the removal: what was read from the memory earlier is not called back.",
    "Copies outside this service, such as the data from which the tokens were made.",
    "What storage media keep below the files: blocks freed or remapped, and not overwritten.",
    "Swap space, core dumps and hibernation images of the machine.",
    "Influence that entered other tokens' vectors before they came here, such as embeddings computed in "
    "a context that held the removed data.",
};

constexpr std::array<absl::string_view, 6> kNotClaimedAfterSelection = {
    kNotClaimedAfterRemoval[0],
    kNotClaimedAfterRemoval[1],
    kNotClaimedAfterRemoval[2],
    kNotClaimedAfterRemoval[3],
    kNotClaimedAfterRemoval[4],
    "That the removed tokens would have stayed without weight beyond the horizon.",
};

constexpr std::array<absl::string_view, 3> kNotClaimedOfState = {
    "Anything about tokens that the memory held earlier; removals have certificates of their own.",
    "Copies outside this service, and answers given from earlier states.",
    "That the tokens are true, lawful to hold, or complete.",
};

}  // namespace

absl::string_view ExactnessReference(Kind kind, Scope scope) {
  switch (kind) {
    case Kind::kDeletion:
    case Kind::kPurge:
      if (scope == Scope::kRetainedSet) {
        return "The state after is, bit for bit, that of a memory of the same configuration to which the "
               "tokens that it retains, and no others, were ever added. Tokens of the reserve were dropped "
               "from this memory earlier: had they been kept, the state could be another one where the "
               "horizon of their selection is exceeded.";
      }
      return "The state after is, bit for bit, that of the same memory, under the same configuration and "
             "with the same retained tokens, to which the removed tokens were never added.";
    case Kind::kMemoryDeletion:
      return "The state after is, bit for bit, that of a memory of the same configuration to which no "
             "token was ever added.";
    case Kind::kState:
      return "The state is, bit for bit, the canonical state of the tokens that the memory holds, "
             "whatever was added and removed before.";
    case Kind::kSelection:
      return "The state after is, bit for bit, that of a memory of the same configuration to which the "
             "tokens that it retains, and no others, were ever added. The removed tokens were in reserve, "
             "with a weight of exactly 0: no weight, no class and no answer changes in a bit. At later "
             "states this ends with the horizon.";
  }
  return "";
}

absl::string_view ExactnessArithmetic() {
  return "Each kernel value is the double nearest to the real number. The problem over these doubles has "
         "exactly one solution, because the ridge exceeds n 2^-54 for n tokens. Every class and the "
         "rounding of every weight and of rho are proven by verified error bounds in double-double "
         "arithmetic, beyond that in ball arithmetic, and exact ties in rational arithmetic. All bounds "
         "under \"proof\" are rounded outward.";
}

absl::string_view ExactnessBoundary() {
  return "The claim covers the memory's mathematical state (configuration, tokens, classes, weights, "
         "rho) and every answer computed from it. Of stored bytes it says nothing: after a removal, "
         "\"erasure\" does.";
}

std::string Custody(absl::string_view master_key) {
  return absl::StrCat(
      "Each token was sealed with XChaCha20-Poly1305 under a random key of its own, and the memory's state "
      "under a random key that each removal replaces. These keys are in a key vault outside the database, "
      "sealed under a key of the tenant, and that under ",
      master_key, ".");
}

absl::Span<const Residual> Residuals() { return kResiduals; }

absl::string_view HorizonCondition() {
  return "At a later state, no removed token would carry weight if C_n = C there and 2 |sum_i da_i phi(x_i)| "
         "+ "
         "|rho - rho0| < marginLower, where da are the changes of the weights and rho0 is the multiplier at "
         "the "
         "reference (docs/math/selection.md). The service evaluates this and says whether it holds; so "
         "can whoever has the tokens that carry weight at both states.";
}

absl::Span<const absl::string_view> NotClaimed(Kind kind) {
  if (kind == Kind::kState) return kNotClaimedOfState;
  if (kind == Kind::kSelection) return kNotClaimedAfterSelection;
  return kNotClaimedAfterRemoval;
}

}  // namespace expunge::certificate
