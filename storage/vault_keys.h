// The keys in a vault's file, unsealed: those of tenants for as long as the vault is open, in locked memory;
// the others for one call.
#ifndef EXPUNGE_STORAGE_VAULT_KEYS_H_
#define EXPUNGE_STORAGE_VAULT_KEYS_H_

#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/secret.h"
#include "storage/key_vault.h"
#include "storage/locked_keys.h"
#include "storage/vault_file.h"

namespace expunge::storage::vault {

// Errors are those of KeyVault::Key. Threads: any number at once; of Parent and Forget, which are for
// changes, one at a time. The lock is never held while the disk is waited for, but for reading slots of a new
// tenant.
class Keys {
 public:
  // `file` outlives it.
  Keys(const File* file, SecretKey master) : file_(file), master_(*unsealed_.Add(std::move(master))) {}

  [[nodiscard]] const SecretKey& master() const { return master_; }

  // A copy of the key in `slot`, under the master key.
  [[nodiscard]] absl::StatusOr<SecretKey> OfTenant(Slot slot);
  // The keys in `slots`, each once, under `parent`; in this order.
  [[nodiscard]] absl::StatusOr<std::vector<SecretKey>> Under(Slot parent, absl::Span<const Slot> slots);

  // The key of a tenant, or the master key: its address is good until Forget.
  [[nodiscard]] absl::StatusOr<const SecretKey*> Parent(Slot parent);
  // Wipes the unsealed keys of these slots.
  void Forget(absl::Span<const Slot> slots);

 private:
  [[nodiscard]] absl::StatusOr<std::vector<SecretKey>> Read(Slot parent, const SecretKey& parent_key,
                                                            absl::Span<const Slot> slots) const;
  // Null if it is not unsealed.
  [[nodiscard]] const SecretKey* Find(Slot parent) const;
  [[nodiscard]] absl::StatusOr<const SecretKey*> Load(Slot parent);

  const File* const file_;
  std::shared_mutex mutex_;
  LockedKeys unsealed_;
  const SecretKey& master_;
  std::unordered_map<Slot, const SecretKey*> tenants_;
};

}  // namespace expunge::storage::vault

#endif  // EXPUNGE_STORAGE_VAULT_KEYS_H_
