#include "storage/key_vault.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/fault_point.h"
#include "base/status_macros.h"
#include "storage/vault_file.h"
#include "storage/vault_format.h"
#include "storage/vault_keys.h"

namespace expunge::storage {
namespace {

using vault::FirstRun;
using vault::kReadSlots;
using vault::PlaceAt;
using vault::SlotError;

constexpr size_t kBatch = 256;  // keys made at a time, at least

// What is known of a slot. At first all are kTaken: the database decides (RetainOnly).
enum class State : uint8_t {
  kTaken,   // somebody has its key
  kPooled,  // a key that nobody has
  kVacant,  // no key
  kDoomed,  // being overwritten
};

// A slot to overwrite: with a fresh key under `key`, that of `parent`, or with zeros if there is none.
struct Doomed {
  Slot slot;
  Slot parent;
  const SecretKey* key;
};

bool OutOfRoom(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

}  // namespace

// `changing` serialises the changes, and guards the bookkeeping of slots.
struct KeyVault::Impl {
  Impl(std::unique_ptr<vault::File> opened, SecretKey master_key)
      : file(std::move(opened)),
        header(file->header()),
        committed(header.committed),
        keys(file.get(), std::move(master_key)),
        states(file->slots() + 1, State::kTaken) {}

  absl::Status CheckWritable() const;
  absl::Status Failed(int error, absl::string_view doing);
  absl::Status Fill(Slot parent, size_t count);
  absl::Status EnsurePooled(Slot parent, size_t count);
  absl::StatusOr<std::vector<Slot>> MarkDoomed(absl::Span<const Slot> slots);
  absl::StatusOr<std::vector<Doomed>> WithParents(const std::vector<Slot>& slots) const;
  void AddPoolsOfDoomed(std::vector<Doomed>* doomed);
  absl::Status FindKeys(std::vector<Doomed>* doomed);
  absl::StatusOr<std::vector<Doomed>> ScanForDead(const std::vector<bool>& live, std::vector<State>* scanned);
  absl::Status Overwrite(std::vector<Doomed> doomed, uint64_t new_committed);
  void Settle(const std::vector<Doomed>& doomed);

  const std::unique_ptr<vault::File> file;
  vault::Header header;
  std::atomic<uint64_t> committed;
  std::atomic<bool> writable = true;

  vault::Keys keys;

  std::mutex changing;
  std::vector<State> states;  // by slot; 0 is none
  std::unordered_map<Slot, std::deque<Slot>> pools;
  std::deque<Slot> vacant;
};

// Changes: with `changing` held.

absl::Status KeyVault::Impl::CheckWritable() const {
  if (writable) return absl::OkStatus();
  return MakeError(
      Reason::kStorageFailed, "",
      "the key vault takes no changes since one failed, or it is open for reading only: see to the "
      "disk, then restart");
}

absl::Status KeyVault::Impl::Failed(int error, absl::string_view doing) {
  writable = false;
  return SystemError(error, doing, file->path());
}

// Makes `count` keys under `parent` and puts them into its pool.
absl::Status KeyVault::Impl::Fill(Slot parent, size_t count) {
  EXPUNGE_ASSIGN_OR_RETURN(const SecretKey* const parent_key, keys.Parent(parent));
  const size_t reused = std::min(count, vacant.size());
  const uint64_t old_slots = file->slots();
  const uint64_t new_slots = old_slots + count - reused;
  const auto make = [&](Slot slot, vault::RunWriter* writer) {
    vault::AppendSlot(header.id, slot, parent, *parent_key, SecretKey::Random(), writer->Next(slot));
  };
  // The new ones first: if there is no room for them, nothing that counts was touched, and keys can still be
  // destroyed.
  vault::RunWriter growth(file.get());
  for (Slot slot = old_slots + 1; slot <= new_slots; ++slot) make(slot, &growth);
  if (const int error = growth.Finish(); error != 0) {
    return OutOfRoom(error) ? SystemError(error, "extend", file->path()) : Failed(error, "extend");
  }
  std::vector<Slot> made(vacant.begin(), vacant.begin() + static_cast<std::ptrdiff_t>(reused));
  std::sort(made.begin(), made.end());
  vault::RunWriter writer(file.get());
  for (const Slot slot : made) make(slot, &writer);
  if (const int error = writer.Finish(); error != 0) return Failed(error, "write");
  CrashPoint("vault.keys_made");
  if (const int error = file->Sync(new_slots > old_slots); error != 0) return Failed(error, "sync");
  CrashPoint("vault.keys_synced");

  vacant.erase(vacant.begin(), vacant.begin() + static_cast<std::ptrdiff_t>(reused));
  for (Slot slot = old_slots + 1; slot <= new_slots; ++slot) made.push_back(slot);
  states.resize(new_slots + 1, State::kVacant);
  file->Grow(new_slots);
  std::deque<Slot>& pool = pools[parent];
  for (const Slot slot : made) {
    states[slot] = State::kPooled;
    pool.push_back(slot);
  }
  return absl::OkStatus();
}

absl::Status KeyVault::Impl::EnsurePooled(Slot parent, size_t count) {
  const auto found = pools.find(parent);
  const size_t pooled = found == pools.end() ? 0 : found->second.size();
  return pooled < count ? Fill(parent, std::max(kBatch, count - pooled)) : absl::OkStatus();
}

// Those of `slots` that somebody has, ascending, each once.
absl::StatusOr<std::vector<Slot>> KeyVault::Impl::MarkDoomed(absl::Span<const Slot> slots) {
  for (const Slot slot : slots) {
    if (slot == kMasterSlot || slot > file->slots()) return SlotError(slot, "is not in its file");
  }
  std::vector<Slot> taken;
  for (const Slot slot : slots) {
    if (states[slot] != State::kTaken) continue;
    states[slot] = State::kDoomed;
    taken.push_back(slot);
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

// Reads what the slots say of their parents; an empty one has none. REQUIRES: ascending.
absl::StatusOr<std::vector<Doomed>> KeyVault::Impl::WithParents(const std::vector<Slot>& slots) const {
  std::vector<Doomed> doomed;
  doomed.reserve(slots.size());
  for (absl::Span<const Slot> rest = slots; !rest.empty();) {
    const absl::Span<const Slot> run = FirstRun(rest);
    EXPUNGE_ASSIGN_OR_RETURN(const SecretBytes places, file->Read(run.front(), run.size()));
    for (size_t i = 0; i < run.size(); ++i) {
      const absl::string_view place = PlaceAt(places, i);
      // A slot as its own parent: none.
      doomed.push_back({run[i], vault::IsEmpty(place) ? run[i] : vault::ParentOf(place), nullptr});
    }
    rest.remove_prefix(run.size());
  }
  return doomed;
}

// With a tenant's key go the keys made for it that nobody has taken.
void KeyVault::Impl::AddPoolsOfDoomed(std::vector<Doomed>* doomed) {
  const size_t given = doomed->size();
  for (size_t i = 0; i < given; ++i) {
    const auto pool = pools.find((*doomed)[i].slot);
    if (pool == pools.end()) continue;
    for (const Slot slot : pool->second) {
      states[slot] = State::kDoomed;
      doomed->push_back({slot, pool->first, nullptr});
    }
    pools.erase(pool);
  }
  std::sort(doomed->begin(), doomed->end(), [](const Doomed& a, const Doomed& b) { return a.slot < b.slot; });
}

// A doomed slot gets a fresh key of its parent if that lives on. What the slot says of its parent need not be
// verified for this: the dead key is not brought into memory again.
absl::Status KeyVault::Impl::FindKeys(std::vector<Doomed>* doomed) {
  for (Doomed& one : *doomed) {
    const bool lives =
        one.parent == kMasterSlot || (one.parent < states.size() && states[one.parent] == State::kTaken);
    if (!lives) continue;
    const absl::StatusOr<const SecretKey*> key = keys.Parent(one.parent);
    if (key.ok()) one.key = *key;
    if (!key.ok() && !absl::IsDataLoss(key.status())) return key.status();
  }
  return absl::OkStatus();
}

absl::Status KeyVault::Impl::Overwrite(std::vector<Doomed> doomed, uint64_t new_committed) {
  AddPoolsOfDoomed(&doomed);
  EXPUNGE_RETURN_IF_ERROR(FindKeys(&doomed));
  vault::RunWriter writer(file.get());
  for (const Doomed& one : doomed) {
    if (Mutated("vault.overwrite")) break;
    SecretBytes* const out = writer.Next(one.slot);
    if (one.key == nullptr) {
      out->insert(out->end(), vault::kPlaceBytes, '\0');
    } else {
      vault::AppendSlot(header.id, one.slot, one.parent, *one.key, SecretKey::Random(), out);
    }
  }
  header.committed = new_committed;
  int error = writer.Finish();
  std::vector<Slot> overwritten;
  for (const Doomed& one : doomed) overwritten.push_back(one.slot);
  keys.Forget(overwritten);
  if (error == 0) error = file->WriteHeader(header, keys.master());
  if (error != 0) return Failed(error, "write");
  CrashPoint("vault.overwritten");
  error = file->Sync(false);
  if (error != 0) return Failed(error, "sync");
  committed = new_committed;
  Settle(doomed);
  return absl::OkStatus();
}

void KeyVault::Impl::Settle(const std::vector<Doomed>& doomed) {
  for (const Doomed& one : doomed) {
    states[one.slot] = one.key == nullptr ? State::kVacant : State::kPooled;
    (one.key == nullptr ? vacant : pools[one.parent]).push_back(one.slot);
  }
}

// Which slots hold a key that is not live; into `*scanned` what all of them are. Changes nothing.
absl::StatusOr<std::vector<Doomed>> KeyVault::Impl::ScanForDead(const std::vector<bool>& live,
                                                                std::vector<State>* scanned) {
  std::vector<Doomed> dead;
  const uint64_t slots = file->slots();
  for (Slot first = 1; first <= slots; first += kReadSlots) {
    const size_t count = std::min<uint64_t>(kReadSlots, slots - first + 1);
    EXPUNGE_ASSIGN_OR_RETURN(const SecretBytes places, file->Read(first, count));
    for (size_t i = 0; i < count; ++i) {
      const Slot slot = first + i;
      const absl::string_view place = PlaceAt(places, i);
      const bool empty = vault::IsEmpty(place);
      const Slot parent = vault::ParentOf(place);
      if (!live[slot]) {
        (*scanned)[slot] = empty ? State::kVacant : State::kDoomed;
        if (!empty) dead.push_back({slot, parent, nullptr});
        continue;
      }
      if (empty) return SlotError(slot, "should hold a key and is empty");
      if (parent != kMasterSlot && (parent >= live.size() || !live[parent]))
        return SlotError(slot, "is damaged, or the key that it lies under has no record");
    }
  }
  return dead;
}

// The class.

KeyVault::KeyVault(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KeyVault::~KeyVault() = default;

absl::StatusOr<std::unique_ptr<KeyVault>> KeyVault::Open(const std::string& directory, SecretKey master,
                                                         bool may_create) {
  EXPUNGE_ASSIGN_OR_RETURN(std::unique_ptr<vault::File> file,
                           vault::File::Open(directory, master, may_create));
  return std::unique_ptr<KeyVault>(new KeyVault(std::make_unique<Impl>(std::move(file), std::move(master))));
}

absl::StatusOr<std::unique_ptr<KeyVault>> KeyVault::OpenForReading(const std::string& directory,
                                                                   SecretKey master) {
  EXPUNGE_ASSIGN_OR_RETURN(std::unique_ptr<vault::File> file, vault::File::OpenForReading(directory, master));
  auto impl = std::make_unique<Impl>(std::move(file), std::move(master));
  impl->writable = false;
  return std::unique_ptr<KeyVault>(new KeyVault(std::move(impl)));
}

absl::StatusOr<std::vector<Slot>> KeyVault::Take(Slot parent, size_t count) {
  const std::lock_guard lock(impl_->changing);
  EXPUNGE_RETURN_IF_ERROR(impl_->CheckWritable());
  if (count == 0) return std::vector<Slot>();
  EXPUNGE_RETURN_IF_ERROR(impl_->EnsurePooled(parent, count));
  std::deque<Slot>& pool = impl_->pools[parent];
  const auto end = pool.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Slot> slots(pool.begin(), end);
  pool.erase(pool.begin(), end);
  for (const Slot slot : slots) impl_->states[slot] = State::kTaken;
  return slots;
}

absl::Status KeyVault::KeepSpare(Slot parent, size_t spare) {
  const std::lock_guard lock(impl_->changing);
  EXPUNGE_RETURN_IF_ERROR(impl_->CheckWritable());
  return impl_->EnsurePooled(parent, spare);
}

absl::StatusOr<SecretKey> KeyVault::Key(Slot parent, Slot slot) const {
  if (parent == kMasterSlot) return impl_->keys.OfTenant(slot);
  EXPUNGE_ASSIGN_OR_RETURN(std::vector<SecretKey> keys, impl_->keys.Under(parent, {&slot, 1}));
  return std::move(keys.front());
}

absl::StatusOr<std::vector<SecretKey>> KeyVault::Keys(Slot parent, absl::Span<const Slot> slots) const {
  return impl_->keys.Under(parent, slots);
}

absl::Status KeyVault::Destroy(absl::Span<const Slot> slots, uint64_t committed) {
  const std::lock_guard lock(impl_->changing);
  EXPUNGE_RETURN_IF_ERROR(impl_->CheckWritable());
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<Slot> taken, impl_->MarkDoomed(slots));
  absl::StatusOr<std::vector<Doomed>> doomed = impl_->WithParents(taken);
  absl::Status status = doomed.status();
  if (status.ok()) {
    status = impl_->Overwrite(*std::move(doomed), std::max(committed, impl_->header.committed));
  }
  if (!status.ok()) impl_->writable = false;
  return status;
}

absl::Status KeyVault::Note(uint64_t committed) {
  const std::lock_guard lock(impl_->changing);
  EXPUNGE_RETURN_IF_ERROR(impl_->CheckWritable());
  if (committed <= impl_->header.committed) return absl::OkStatus();
  impl_->header.committed = committed;
  const int error = impl_->file->WriteHeader(impl_->header, impl_->keys.master());
  if (error != 0) return impl_->Failed(error, "write");
  impl_->committed = committed;
  return absl::OkStatus();
}

absl::Status KeyVault::RetainOnly(std::vector<Slot> live, uint64_t committed) {
  const std::lock_guard lock(impl_->changing);
  EXPUNGE_RETURN_IF_ERROR(impl_->CheckWritable());
  std::vector<bool> lives(impl_->states.size(), false);
  for (const Slot slot : live) {
    if (slot == kMasterSlot || slot >= lives.size()) return SlotError(slot, "is not in its file");
    lives[slot] = true;
  }
  std::vector<State> scanned(lives.size(), State::kTaken);
  EXPUNGE_ASSIGN_OR_RETURN(std::vector<Doomed> dead, impl_->ScanForDead(lives, &scanned));
  impl_->states = std::move(scanned);
  impl_->pools.clear();
  impl_->vacant.clear();
  for (Slot slot = 1; slot < lives.size(); ++slot) {
    if (impl_->states[slot] == State::kVacant) impl_->vacant.push_back(slot);
  }
  if (dead.empty() && committed == impl_->header.committed) {
    // A process that was killed may have overwritten keys and not synced them.
    const int error = impl_->file->Sync(false);
    return error == 0 ? absl::OkStatus() : impl_->Failed(error, "sync");
  }
  absl::Status status = impl_->Overwrite(std::move(dead), committed);
  if (!status.ok()) impl_->writable = false;
  return status;
}

absl::StatusOr<SecretBytes> KeyVault::Contents() const {
  const std::lock_guard lock(impl_->changing);
  EXPUNGE_RETURN_IF_ERROR(impl_->CheckWritable());
  return impl_->file->Read(0, impl_->file->slots() + 1);
}

uint64_t KeyVault::committed() const { return impl_->committed; }

bool KeyVault::writable() const { return impl_->writable; }

KeyVault::Usage KeyVault::usage() const {
  const std::lock_guard lock(impl_->changing);
  Usage usage;
  usage.slots = impl_->file->slots();
  for (const auto& [parent, pool] : impl_->pools) usage.pooled += pool.size();
  usage.syncs = impl_->file->syncs();
  return usage;
}

}  // namespace expunge::storage
