// The log as an auditor sees it: a copy of its files, checkpoints, and proofs.
//
// All that is shown must belong to one history. Two checkpoints of one size with two roots, or one that the
// copy does not begin with, show that the log was forked.
#ifndef EXPUNGE_CLIENT_VERIFY_LOG_VIEW_H_
#define EXPUNGE_CLIENT_VERIFY_LOG_VIEW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/bytes.h"
#include "certificate/log/checkpoint.h"
#include "certificate/log/merkle.h"
#include "client/verify/trust.h"
#include "client/verify/verdict.h"

namespace expunge::verify {

class LogView {
 public:
  // `trust` outlives the view.
  explicit LogView(const Trust& trust) : trust_(trust) {}

  // Reads a copy of the log's files (certificate/log/tiles.h), and computes every hash of it anew. Once,
  // first. Cost: reads all files; 97 bytes of memory a leaf.
  [[nodiscard]] Verdict ReadCopy(const std::string& folder);

  // Whether the log still begins as a checkpoint said that somebody kept.
  [[nodiscard]] Verdict CheckOldCheckpoint(absl::string_view note);

  struct Found {
    Verdict verdict;
    std::optional<uint64_t> place;  // only if the verdict is ok, and Trust::CountsPlacesIn that log
    bool in_another_log = false;    // the verdict is ok, and it does not
  };
  // Whether the log has this entry, by a proof (c2sp.org/tlog-proof) or by the copy.
  [[nodiscard]] Found CheckEntry(absl::string_view entry, const std::optional<std::string>& proof);

 private:
  // Refused: it contradicts another, or its key's time. nullopt: it is known now.
  [[nodiscard]] std::optional<Verdict> Add(const certificate::Checkpoint& checkpoint,
                                           const std::vector<size_t>& signed_by);
  [[nodiscard]] Verdict ReadEntries(const std::string& folder, const certificate::Checkpoint& checkpoint);
  [[nodiscard]] Found FindInCopy(absl::string_view entry) const;
  [[nodiscard]] std::optional<uint64_t> PlaceInCopy(absl::string_view entry) const;
  [[nodiscard]] Found FoundAt(uint64_t place, absl::string_view origin, absl::string_view text) const;

  struct Copy {
    certificate::Checkpoint checkpoint;
    certificate::MerkleLog tree;
    std::map<Digest, uint64_t> places;  // of leaf hashes, the first of each
  };

  const Trust& trust_;
  bool copy_given_ = false;
  std::optional<Copy> copy_;                                  // only if it is well
  std::map<std::pair<std::string, uint64_t>, Digest> roots_;  // by origin and size
};

}  // namespace expunge::verify

#endif  // EXPUNGE_CLIENT_VERIFY_LOG_VIEW_H_
