#include "certificate/claims.h"

#include <array>

namespace expunge::certificate {
namespace {

constexpr std::array<absl::string_view, 3> kResiduals = {
    "The removal is one synced batch of the database. Until the database compacts the files that hold them, "
    "the bytes of removed tokens may remain in database files and in the write-ahead log, readable to "
    "whoever "
    "can read those files. No time is promised.",
    "Backups, snapshots and replicas of the data directory made before the removal still hold the removed "
    "tokens.",
    "Freed memory of the running service is not wiped.",
};

constexpr std::array<absl::string_view, 5> kNotClaimedAfterRemoval = {
    "Answers given before the removal: what was read from the memory earlier is not called back.",
    "Copies outside this service, such as the data from which the tokens were made.",
    "Bytes on storage media, including blocks that a file system or a drive has freed but not overwritten.",
    "Swap space, core dumps and hibernation images of the machine.",
    "Influence that entered other tokens' vectors before they came here, such as embeddings computed in a "
    "context that held the removed data.",
};

constexpr std::array<absl::string_view, 3> kNotClaimedOfState = {
    "Anything about tokens that the memory held earlier; removals have certificates of their own.",
    "Copies outside this service, and answers given from earlier states.",
    "That the tokens are true, lawful to hold, or complete.",
};

}  // namespace

absl::string_view ExactnessReference(Kind kind) {
  switch (kind) {
    case Kind::kDeletion:
    case Kind::kPurge:
      return "The state after is, bit for bit, that of the same memory, under the same configuration and "
             "with "
             "the same retained tokens, to which the removed tokens were never added.";
    case Kind::kMemoryDeletion:
      return "The state after is, bit for bit, that of a memory of the same configuration to which no token "
             "was ever added.";
    case Kind::kState:
      return "The state is, bit for bit, the canonical state of the tokens that the memory holds, whatever "
             "was "
             "added and removed before.";
  }
  return "";
}

absl::string_view ExactnessArithmetic() {
  return "Each kernel value is the double nearest to the real number. The problem over these doubles has "
         "exactly one solution, because the ridge exceeds n 2^-54 for n tokens. Every class and the rounding "
         "of every weight and of rho are proven by verified error bounds in double-double arithmetic, beyond "
         "that in ball arithmetic, and exact ties in rational arithmetic. All bounds under \"proof\" are "
         "rounded outward.";
}

absl::string_view ExactnessBoundary() {
  return "The claim covers the memory's mathematical state (configuration, tokens, classes, weights, rho) "
         "and "
         "every answer computed from it. It says nothing of the bytes on storage media.";
}

absl::Span<const absl::string_view> Residuals() { return kResiduals; }

absl::Span<const absl::string_view> NotClaimed(Kind kind) {
  if (kind == Kind::kState) return kNotClaimedOfState;
  return kNotClaimedAfterRemoval;
}

}  // namespace expunge::certificate
