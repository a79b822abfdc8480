// The key vault: random 256-bit keys in a file of slots that are overwritten in place, outside the database.
//
// Hierarchy.  master key -> keys of tenants -> keys of tokens and of memories' states. Each slot holds one
// key, sealed (seal.h) under its parent: the master key (parent 0), or a key that itself lies under the
// master key. Destroying a key means overwriting its slot and syncing: then nothing that was sealed under it
// can be read again, wherever copies of the ciphertext are.
//
// Which keys live.  The database alone decides: a key lives while a record of the database names its slot.
// Keys that no record names (handed out for a change that did not become durable; of records that are gone,
// whose slots a crash left; never used) are destroyed at start-up (RetainOnly). So database and vault agree
// after any crash.
//
// Invariants.  (1) A key that Take returned is durable: an Add needs no other sync than its own. (2) Destroy
// returned OK => the old bytes of these slots are overwritten and synced. A destroyed slot holds a fresh key
// of the same parent at once, ready for Take. (3) After a change that failed the vault takes no more until it
// is reopened. Only where Take finds no room on the disk for new keys, nothing is lost, and the vault goes
// on: keys can be destroyed on a full disk. (4) The header holds a number of the caller's (the database's
// last committed sequence) as of the last sync of the vault, or later.
//
// docs/formats/vault.md has the file byte by byte.
#ifndef EXPUNGE_STORAGE_KEY_VAULT_H_
#define EXPUNGE_STORAGE_KEY_VAULT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/secret.h"

namespace expunge::storage {

// The place of a key in the vault, from 1. 0 stands for the master key, as a parent alone.
using Slot = uint64_t;
inline constexpr Slot kMasterSlot = 0;

// Threads: any number at once.
class KeyVault {
 public:
  // Opens `directory`/keys, or makes both (0700, 0600), synced, if there is no file and `may_create` says so.
  // Returns: NotFound (kStorageCorrupt wording: the vault is missing) if it is absent and may not be made;
  // FailedPrecondition if it was made under another master key, touching nothing, or its format is newer;
  // DataLoss (kStorageCorrupt) if the header is damaged; Unavailable (kStorageFailed) as the system reports.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<KeyVault>> Open(const std::string& directory,
                                                                      SecretKey master, bool may_create);
  // The same file for reading alone: nothing can be taken or destroyed, and not a byte is written.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<KeyVault>> OpenForReading(const std::string& directory,
                                                                                SecretKey master);
  ~KeyVault();
  KeyVault(const KeyVault&) = delete;
  KeyVault& operator=(const KeyVault&) = delete;

  // `count` fresh keys under `parent`, which no other call gets. Cost: O(count); a sync only when the pool of
  // the parent has run out (keys are made in batches of 256 at least). Returns: kStorageFailed; DataLoss if
  // `parent` has no key. After an error no slot is handed out.
  [[nodiscard]] absl::StatusOr<std::vector<Slot>> Take(Slot parent, size_t count);

  // Makes keys now, so that at least `spare` under `parent` can be taken without room on the disk.
  // Cost: O(1); that of making them if there are fewer. Returns: as Take.
  [[nodiscard]] absl::Status KeepSpare(Slot parent, size_t spare);

  // The key in `slot`, unsealed for this call: the vault keeps only the keys of tenants in memory (locked,
  // where the system allows). Cost: 128 bytes read and unsealed, but for tenants' keys. Returns: DataLoss
  // (kStorageCorrupt), naming the slot by its number, if there is no key of `parent` in it, or it is damaged;
  // kStorageFailed.
  [[nodiscard]] absl::StatusOr<SecretKey> Key(Slot parent, Slot slot) const;

  // The keys in `slots`, in this order. REQUIRES: each once. Cost: as Key for each, but neighbours are read
  // together. Returns: as Key.
  [[nodiscard]] absl::StatusOr<std::vector<SecretKey>> Keys(Slot parent, absl::Span<const Slot> slots) const;

  // Destroys the keys in `slots`, and records `committed` in the header unless it holds more, all with one
  // sync. Idempotent as long as no Take comes between (it may hand a slot out anew). With a tenant's key goes
  // its pool; the slots of its other keys have to be destroyed by name, or by the next RetainOnly, and cannot
  // be read any more. Cost: 128 bytes read and written a slot, neighbours together. Returns: kStorageFailed,
  // see invariant 3: some may be destroyed then, and none may be counted on; DataLoss if a slot is beyond the
  // file: nothing is destroyed then.
  [[nodiscard]] absl::Status Destroy(absl::Span<const Slot> slots, uint64_t committed);

  // Writes `committed` into the header unless it holds more, without a sync: so a database that lacks its
  // last changes is noticed though nothing was destroyed since; after a power failure, perhaps not. REQUIRES:
  // the database has it durably. Cost: 128 bytes written. Returns: kStorageFailed, see invariant 3.
  [[nodiscard]] absl::Status Note(uint64_t committed);

  // For start-up, before the first Take: destroys every key whose slot is not in `live`, and fills the pools
  // with what takes their place; the header holds `committed` then, also if that is less than before. `live`
  // in any order, with the slots of tenants' keys. Cost: one pass over the file, and a sync.
  // Returns: as Destroy; DataLoss if a slot of `live` is beyond the file, is empty, or names a parent that is
  // not live: nothing is changed then.
  [[nodiscard]] absl::Status RetainOnly(std::vector<Slot> live, uint64_t committed);

  // The file as of one moment between two changes. All keys in it are sealed. Cost: one read of the file; its
  // size in memory; changes wait meanwhile. Returns: DataLoss if the file has become shorter; kStorageFailed.
  [[nodiscard]] absl::StatusOr<SecretBytes> Contents() const;

  // What the header holds: see invariant 4.
  [[nodiscard]] uint64_t committed() const;
  // False after a failed write (see invariant 3), and after OpenForReading.
  [[nodiscard]] bool writable() const;

  struct Usage {
    uint64_t slots = 0;   // in the file
    uint64_t pooled = 0;  // of these, with keys that nobody has taken
    uint64_t syncs = 0;   // since Open
  };
  [[nodiscard]] Usage usage() const;

 private:
  struct Impl;
  explicit KeyVault(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_KEY_VAULT_H_
