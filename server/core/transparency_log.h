// The transparency log: one Merkle tree over everything that the service ever signed, of all tenants, in the
// order in which it became durable (certificate/log/merkle.h; docs/formats/log.md).
//
// Invariants.  (1) A leaf is in the batch of the change that it belongs to: both are there after a crash, or
// neither. (2) Leaves are never changed or removed, so two checkpoints of one origin never contradict each
// other: what is signed follows from what is durable. (3) A log that is damaged, or shorter than what its
// directory or its copy of the last checkpoint has seen, is not opened, so nothing is signed over it.
#ifndef EXPUNGE_SERVER_CORE_TRANSPARENCY_LOG_H_
#define EXPUNGE_SERVER_CORE_TRANSPARENCY_LOG_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/bytes.h"
#include "certificate/log/merkle.h"
#include "certificate/log/tile_directory.h"
#include "certificate/signer.h"
#include "storage/ledger_copy.h"
#include "storage/sealed_store.h"

namespace expunge::core {

struct LogOptions {
  // Names the log, and its key in checkpoints. Empty: what the store has, or a random one if it is new.
  std::string origin;
  // Where the last checkpoint is copied to, synced, before what it covers is released. Empty: nowhere.
  std::string checkpoint_copy_file;
};

// The key that signs checkpoints now.
using CheckpointSigner = std::function<std::shared_ptr<const certificate::Signer>()>;

// Threads: any number at once.
class TransparencyLog {
 public:
  // Reads the leaves of `store`, and makes the log if there is none.
  // Returns: kStorageCorrupt if a leaf is missing, or they do not lead to the root that was stored with them;
  // FailedPrecondition if the copy of the checkpoint is of a longer log, of another one, or no checkpoint:
  // the database is an older copy; if another origin is asked for; errors of the store. Cost: one hash a
  // leaf, and 65 bytes of memory for each.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<TransparencyLog>> Open(storage::SealedStore* store,
                                                                             LogOptions options,
                                                                             CheckpointSigner signer);

  // One change's turn: from before its leaves have their places until they are durable, or the change has
  // failed. The next waits. Ends with the object; without Keep the log is as it was.
  class Turn {
   public:
    explicit Turn(TransparencyLog& log);

    // The place of the next leaf.
    [[nodiscard]] uint64_t next_index() const { return log_.tree_.size() + leaves_.size(); }
    // Adds a leaf of certificate::kLogLeafBytes.
    void Add(std::string leaf) { leaves_.push_back(std::move(leaf)); }
    // Puts the leaves, and what becomes of the log, into the change's batch. Once, after the last Add.
    [[nodiscard]] absl::Status Put(storage::Transaction* transaction);
    // The leaves as records, for the ledger's copy.
    [[nodiscard]] const std::vector<storage::LedgerRecord>& records() const { return records_; }
    // The batch is durable. `first` runs before anything is signed over the leaves: for another key of
    // checkpoints.
    void Keep(const std::function<void()>& first = nullptr);

   private:
    TransparencyLog& log_;
    const std::unique_lock<std::mutex> lock_;  // so the tree changes here alone
    std::vector<std::string> leaves_;
    std::vector<storage::LedgerRecord> records_;
  };

  [[nodiscard]] std::string origin() const;
  [[nodiscard]] uint64_t size() const;
  // certificate::kLogLeafBytes. REQUIRES: index < size(). Returns: errors of the store.
  [[nodiscard]] absl::StatusOr<std::string> Leaf(uint64_t index) const;

  // The checkpoint of the newest tree. The same bytes while log and key are the same. The copy that the
  // options name has it first: two syncs for each new one. Returns: errors of the signer; kStorageFailed.
  [[nodiscard]] absl::StatusOr<std::string> Checkpoint() const;
  // A C2SP tlog-proof of the leaf, in the newest tree, or else in the latest that could be signed. REQUIRES:
  // index < size(). Returns: as Checkpoint.
  [[nodiscard]] absl::StatusOr<std::string> Proof(uint64_t index) const;
  // That the newest tree goes on from the one of `old_size`.
  struct Consistency {
    uint64_t size = 0;
    std::string checkpoint;
    std::vector<Digest> proof;
  };
  // REQUIRES: old_size <= size(). Returns: as Checkpoint.
  [[nodiscard]] absl::StatusOr<Consistency> ProveConsistency(uint64_t old_size) const;

  // Brings a folder level with the log. `written`: leaves that it has already; then those that it has.
  // Returns: as Checkpoint; as TileDirectory::Write.
  [[nodiscard]] absl::Status WriteTiles(const certificate::TileDirectory& folder, uint64_t* written) const;
  // The files that differ from the log's, or are missing. Returns: as TileDirectory::Check.
  [[nodiscard]] absl::StatusOr<std::vector<certificate::TileFault>> CheckTiles(
      const certificate::TileDirectory& folder, absl::string_view checkpoint) const;

  // Returns: FailedPrecondition, naming `file`, unless the checkpoint that it holds is of this log, and of a
  // tree that this one goes on from. Its signature is not looked at: who can change the file can remove it.
  [[nodiscard]] absl::Status CheckNotBehind(absl::string_view checkpoint, absl::string_view file) const;

  // Brings the copy of the checkpoint level with the log, if the options name one. Cost: two syncs, or
  // nothing. Returns: as Checkpoint.
  [[nodiscard]] absl::Status CopyCheckpoint() const;

  // Goes on under a new random origin, as what was signed under the old one may be lost. Returns: errors of
  // the store.
  [[nodiscard]] absl::Status BeginAnew();

 private:
  TransparencyLog(storage::SealedStore* store, LogOptions options, CheckpointSigner signer)
      : store_(*store), options_(std::move(options)), signer_(std::move(signer)) {}

  [[nodiscard]] absl::Status Load();
  [[nodiscard]] absl::Status Begin(std::string origin);
  [[nodiscard]] absl::Status CheckCopy() const;
  // A tree, and its checkpoint.
  struct Signed {
    uint64_t size = 0;
    std::string checkpoint;
  };
  [[nodiscard]] absl::StatusOr<Signed> SignNewest() const;
  [[nodiscard]] certificate::EntryReader Reader() const;

  storage::SealedStore& store_;
  const LogOptions options_;
  const CheckpointSigner signer_;
  std::mutex turn_;
  // For what follows. A turn reads `tree_` without it.
  mutable std::shared_mutex state_;
  std::string origin_;
  certificate::MerkleLog tree_;
  // The latest that was signed, and by which key.
  mutable std::mutex signing_;
  mutable std::string signed_by_;
  mutable Signed signed_;
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_TRANSPARENCY_LOG_H_
