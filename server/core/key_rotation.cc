#include "server/core/key_rotation.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/fault_point.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "server/core/build_info.h"
#include "server/core/change.h"
#include "server/core/handles.h"
#include "server/core/key_sets.h"
#include "storage/ledger_copy.h"

namespace expunge::core {
namespace {

using certificate::KeySet;
using certificate::KeyUse;
using certificate::Signer;
using storage::Table;

// Two keys are made at first; each rotation makes one more.
constexpr size_t kSparePlaces = 1;

// A set like `before`, made later; without `before`: the first.
KeySet NextSet(const StoredKeySet* before, const Context& context, absl::Time issued) {
  KeySet set;
  if (before != nullptr) set = before->set;
  set.software_version = std::string(SoftwareVersion());
  set.software_commit = std::string(SoftwareCommit());
  set.issued = issued;
  set.sequence += 1;
  if (before != nullptr) set.previous_payload_sha256 = Sha256(before->record.payload());
  set.log_origin = context.log->origin();
  return set;
}

// Sets that become durable together.
class Publication {
 public:
  explicit Publication(const Context& context) : context_(context), turn_(*context.log) {}

  [[nodiscard]] uint64_t next_leaf() const { return turn_.next_index(); }
  [[nodiscard]] const StoredKeySet& last() const { return sets_.back(); }

  [[nodiscard]] absl::Status Add(KeySet set, const Signer& signer) {
    EXPUNGE_ASSIGN_OR_RETURN(storage::v1::KeySetRecord record, SignKeySet(set, signer));
    record.set_log_index(turn_.next_index());
    EXPUNGE_ASSIGN_OR_RETURN(std::string leaf, LeafOf(record));
    turn_.Add(std::move(leaf));
    std::string key = KeySetKey(set.sequence);
    EXPUNGE_ASSIGN_OR_RETURN(std::string value, context_.store->SealMessage(Table::kMeta, key, {}, record));
    transaction_.Put(Table::kMeta, key, value);
    entry_.records.push_back({Table::kMeta, std::move(key), std::move(value)});
    sets_.push_back({std::move(set), std::move(record)});
    return absl::OkStatus();
  }

  // Takes a stored set out.
  void Drop(uint64_t sequence) { transaction_.Delete(Table::kMeta, KeySetKey(sequence)); }

  // `*durable`: whether the sets are; then `signer`, if not null, signs for `use` from now on.
  [[nodiscard]] absl::Status Commit(KeyUse use, std::shared_ptr<const Signer> signer, bool* durable) {
    EXPUNGE_RETURN_IF_ERROR(turn_.Put(&transaction_));
    entry_.records.insert(entry_.records.end(), turn_.records().begin(), turn_.records().end());
    absl::Status committed = context_.store->Commit(std::move(transaction_), {}, durable);
    if (!*durable) return committed;
    turn_.Keep([&] { context_.keys->Extend(std::move(sets_), use, std::move(signer)); });
    EXPUNGE_RETURN_IF_ERROR(committed);
    CrashPoint("keys.published");
    return context_.ledger_copy == nullptr ? absl::OkStatus() : context_.ledger_copy->Append(entry_);
  }

 private:
  const Context& context_;
  TransparencyLog::Turn turn_;
  storage::Transaction transaction_;
  storage::LedgerEntry entry_;  // of no tenant
  std::vector<StoredKeySet> sets_;
};

absl::Status CheckLogged(const Context& context, const StoredKeySet& stored) {
  const uint64_t index = stored.record.log_index();
  const absl::StatusOr<std::string> leaf = LeafOf(stored.record);
  const absl::StatusOr<std::string> logged =
      index < context.log->size() ? context.log->Leaf(index) : absl::NotFoundError("");
  if (leaf.ok() && logged.ok() && *leaf == *logged) return absl::OkStatus();
  return MakeError(Reason::kStorageCorrupt, "",
                   absl::StrCat("key set ", stored.set.sequence, " is not in the log in its place"));
}

// The next set: `next` follows the active key of this use.
KeySet RotatedSet(const Context& context, const StoredKeySet& newest, KeyUse use, const Signer& next,
                  uint64_t log_size) {
  const KeyRing::Turnover times = context.keys->TurnoverAt(context.clock(), use);
  KeySet set = NextSet(&newest, context, times.end);
  for (certificate::PublishedKey& key : set.keys) {
    if (key.use == use && key.active()) key.end = certificate::PublishedKey::End{times.end, log_size};
  }
  set.keys.push_back(certificate::Publish(use, next.Public(), next.custody(), times.begin));
  return set;
}

absl::Status CheckRoom(const KeySet& newest) {
  if (newest.keys.size() + kSparePlaces <= certificate::kMaxKeys) return absl::OkStatus();
  return MakeError(Reason::kKeysFull, "use",
                   absl::StrCat("the service has had ", newest.keys.size(),
                                " keys, as many as a key set can list: no more can be made"));
}

// Steps 2 and 3. `*durable`: whether they are.
absl::Status Record(const Context& context, KeyUse use, const std::shared_ptr<const Signer>& next,
                    bool* durable) {
  Publication publication(context);
  const StoredKeySet newest = context.keys->sets().back();
  if (newest.set.Find(next->KeyId()) != nullptr) {
    return MakeError(Reason::kInternal, "", "the next key is not a new one; nothing was changed");
  }
  EXPUNGE_RETURN_IF_ERROR(publication.Add(RotatedSet(context, newest, use, *next, publication.next_leaf()),
                                          *context.keys->certificate()));
  if (use == KeyUse::kCertificate) {
    const StoredKeySet introduced = publication.last();
    EXPUNGE_RETURN_IF_ERROR(publication.Add(NextSet(&introduced, context, introduced.set.issued), *next));
  }
  return publication.Commit(use, next, durable);
}

absl::Status OldKeyRemains(const absl::Status& status) {
  return MakeError(
      Reason::kStorageFailed, "",
      absl::StrCat("the new key signs from now on, but the old one could not be destroyed (",
                   absl::string_view(status.message()), "): restart the server, which tries again"));
}

}  // namespace

absl::Status PublishKeys(const Context& context) {
  const std::vector<StoredKeySet> sets = context.keys->sets();
  for (const StoredKeySet& stored : sets) EXPUNGE_RETURN_IF_ERROR(CheckLogged(context, stored));
  if (!sets.empty() && sets.back().set.log_origin == context.log->origin()) return absl::OkStatus();
  const absl::Time now = absl::FromUnixSeconds(absl::ToUnixSeconds(context.clock()));
  Publication publication(context);
  KeySet set = sets.empty() ? NextSet(nullptr, context, now)
                            : NextSet(&sets.back(), context, std::max(now, sets.back().set.issued));
  if (sets.empty()) {
    for (const KeyUse use : {KeyUse::kCertificate, KeyUse::kCheckpoint}) {
      const Signer& key = *context.keys->Active(use);
      set.keys.push_back(certificate::Publish(use, key.Public(), key.custody(), now));
    }
  }
  EXPUNGE_RETURN_IF_ERROR(publication.Add(std::move(set), *context.keys->certificate()));
  bool durable = false;
  return publication.Commit(KeyUse::kCertificate, nullptr, &durable);
}

absl::Status BeginKeysAnew(const Context& context) {
  const std::vector<StoredKeySet> sets = context.keys->sets();
  if (sets.empty()) return absl::OkStatus();
  Publication publication(context);
  KeySet set = NextSet(nullptr, context, context.keys->TurnoverAt(context.clock(), KeyUse::kCertificate).end);
  set.keys = sets.back().set.keys;
  bool same = true;
  for (const KeyUse use : {KeyUse::kCertificate, KeyUse::kCheckpoint}) {
    const Signer& present = *context.keys->Active(use);
    auto active = std::find_if(set.keys.begin(), set.keys.end(),
                               [use](const auto& key) { return key.use == use && key.active(); });
    if (active->key_id == present.KeyId()) continue;
    if (set.Find(present.KeyId()) != nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat(context.keys->Keeper(use).place(),
                       " has a key that was retired before the backup was made: "
                       "put the newest one there"));
    }
    active->end = certificate::PublishedKey::End{set.issued, publication.next_leaf()};
    set.keys.push_back(certificate::Publish(use, present.Public(), present.custody(), set.issued));
    same = false;
  }
  if (same) return absl::OkStatus();
  for (const StoredKeySet& stored : sets) publication.Drop(stored.set.sequence);
  EXPUNGE_RETURN_IF_ERROR(publication.Add(std::move(set), *context.keys->certificate()));
  bool durable = false;
  return publication.Commit(KeyUse::kCertificate, nullptr, &durable);
}

absl::Status RotateKey(const Context& context, KeyUse use, absl::string_view key_id) {
  const auto one_at_a_time = context.keys->BeginRotation();
  EXPUNGE_RETURN_IF_ERROR(CheckWritable(context));
  if (context.keys->Active(use)->KeyId() != key_id) {
    return MakeError(Reason::kKeyNotActive, "key_id", "another key signs now");
  }
  EXPUNGE_RETURN_IF_ERROR(CheckRoom(context.keys->sets().back().set));
  certificate::KeyKeeper& keeper = context.keys->Keeper(use);
  EXPUNGE_ASSIGN_OR_RETURN(const auto next, keeper.PrepareNext());
  bool durable = false;
  absl::Status recorded = Record(context, use, next, &durable);
  if (!durable) {
    // After a write that failed the batch may be there all the same: then the next start decides.
    if (context.store->writable()) keeper.DropNext().IgnoreError();
    return recorded;
  }
  CrashPoint("keys.recorded");
  const absl::Status promoted = keeper.Promote();
  EXPUNGE_RETURN_IF_ERROR(recorded);
  if (!promoted.ok()) return OldKeyRemains(promoted);
  return context.log->CopyCheckpoint();
}

}  // namespace expunge::core
