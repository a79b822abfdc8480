#include "storage/vault_keys.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/vault_format.h"

namespace expunge::storage::vault {

absl::StatusOr<std::vector<SecretKey>> Keys::Read(Slot parent, const SecretKey& parent_key,
                                                  absl::Span<const Slot> slots) const {
  std::vector<Slot> sorted(slots.begin(), slots.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<SecretKey> keys(slots.size());
  for (absl::Span<const Slot> rest = sorted; !rest.empty();) {
    const absl::Span<const Slot> run = FirstRun(rest);
    for (const Slot slot : {run.front(), run.back()}) {
      if (slot == kMasterSlot || slot > file_->slots()) return SlotError(slot, "is not in its file");
    }
    EXPUNGE_ASSIGN_OR_RETURN(const SecretBytes places, file_->Read(run.front(), run.size()));
    for (size_t i = 0; i < run.size(); ++i) {
      std::optional<SecretKey> key =
          DecodeSlot(file_->header().id, run[i], parent, parent_key, PlaceAt(places, i));
      if (!key.has_value()) {
        return SlotError(run[i], absl::StrCat("is damaged, or has no key under slot ", parent));
      }
      keys[static_cast<size_t>(&run[i] - sorted.data())] = *std::move(key);
    }
    rest.remove_prefix(run.size());
  }
  // From the order in the file to that which was asked for.
  std::vector<SecretKey> asked;
  asked.reserve(slots.size());
  for (const Slot slot : slots) {
    const auto place = std::lower_bound(sorted.begin(), sorted.end(), slot) - sorted.begin();
    asked.push_back(std::move(keys[static_cast<size_t>(place)]));
  }
  return asked;
}

const SecretKey* Keys::Find(Slot parent) const {
  if (parent == kMasterSlot) return &master_;
  const auto found = tenants_.find(parent);
  return found == tenants_.end() ? nullptr : found->second;
}

absl::StatusOr<const SecretKey*> Keys::Load(Slot parent) {
  if (const SecretKey* const key = Find(parent); key != nullptr) return key;
  EXPUNGE_ASSIGN_OR_RETURN(std::vector<SecretKey> keys, Read(kMasterSlot, master_, {&parent, 1}));
  return tenants_.emplace(parent, unsealed_.Add(std::move(keys.front()))).first->second;
}

absl::StatusOr<SecretKey> Keys::OfTenant(Slot slot) {
  const auto copy = [](const SecretKey& key) {
    SecretKey made;
    std::copy_n(key.data(), SecretKey::kBytes, made.data());
    return made;
  };
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = tenants_.find(slot); found != tenants_.end()) return copy(*found->second);
  }
  const std::unique_lock lock(mutex_);
  // The slot 0 names no tenant, though the master key is found under it.
  if (slot == kMasterSlot) return SlotError(slot, "is not in its file");
  EXPUNGE_ASSIGN_OR_RETURN(const SecretKey* const key, Load(slot));
  return copy(*key);
}

absl::StatusOr<std::vector<SecretKey>> Keys::Under(Slot parent, absl::Span<const Slot> slots) {
  {
    const std::shared_lock lock(mutex_);
    if (const SecretKey* const key = Find(parent); key != nullptr) return Read(parent, *key, slots);
  }
  const std::unique_lock lock(mutex_);
  EXPUNGE_ASSIGN_OR_RETURN(const SecretKey* const key, Load(parent));
  return Read(parent, *key, slots);
}

absl::StatusOr<const SecretKey*> Keys::Parent(Slot parent) {
  {
    const std::shared_lock lock(mutex_);
    if (const SecretKey* const key = Find(parent); key != nullptr) return key;
  }
  const std::unique_lock lock(mutex_);
  return Load(parent);
}

void Keys::Forget(absl::Span<const Slot> slots) {
  const std::unique_lock lock(mutex_);
  for (const Slot slot : slots) {
    const auto found = tenants_.find(slot);
    if (found == tenants_.end()) continue;
    unsealed_.Release(found->second);
    tenants_.erase(found);
  }
}

}  // namespace expunge::storage::vault
