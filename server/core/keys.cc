#include "server/core/keys.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace expunge::core {
namespace {

using certificate::KeyKeeper;
using certificate::KeyUse;

absl::Time WholeSeconds(absl::Time time) { return absl::FromUnixSeconds(absl::ToUnixSeconds(time)); }

// Once, before anything depends on it: Sign checks what it made.
absl::Status TestSignature(const certificate::Signer& signer) {
  return signer.Sign("expunge: the test of a signing key").status();
}

absl::Status WrongKey(const KeyKeeper& keeper, KeyUse use, absl::string_view found,
                      absl::string_view wanted) {
  return absl::FailedPreconditionError(absl::StrCat(
      keeper.place(), " has the key ", found, ", but the newest key set of this data directory says that ",
      wanted, " signs ", use == KeyUse::kCertificate ? "certificates" : "checkpoints",
      ": put the file back that belongs to the directory, or name it with ",
      use == KeyUse::kCertificate ? "--key-file" : "--checkpoint-key-file",
      ". (If the key is lost, nothing can be signed in its name any more: start with a new directory.)"));
}

absl::Status MissingKey(const absl::Status& status, KeyUse use, absl::string_view wanted) {
  return {status.code(),
          absl::StrCat(absl::string_view(status.message()),
                       "; the newest key set of this data directory says that ", wanted, " signs ",
                       use == KeyUse::kCertificate ? "certificates" : "checkpoints", ": put its file back")};
}

}  // namespace

absl::StatusOr<KeyKeeper::Key> KeyRing::Settle(KeyUse use) const {
  KeyKeeper& keeper = keys_.For(use);
  if (sets_.empty()) return keeper.LoadOrCreate();
  const std::string& wanted = sets_.back().set.Active(use).key_id;
  absl::StatusOr<KeyKeeper::Key> active = keeper.Load();
  if (active.ok() && (*active)->KeyId() == wanted) {
    // A rotation that came to nothing leaves the key that it had prepared.
    EXPUNGE_RETURN_IF_ERROR(keeper.DropNext());
    return active;
  }
  // One that became durable left the key that is active since; the old one may be overwritten already.
  absl::StatusOr<KeyKeeper::Key> next = keeper.LoadNext();
  if (next.ok() && (*next)->KeyId() == wanted) {
    EXPUNGE_RETURN_IF_ERROR(keeper.Promote());
    return next;
  }
  if (active.ok()) return WrongKey(keeper, use, (*active)->KeyId(), wanted);
  return MissingKey(active.status(), use, wanted);
}

absl::Status KeyRing::Load(const storage::SealedStore& store, bool restoring) {
  const std::lock_guard lock(mutex_);
  EXPUNGE_ASSIGN_OR_RETURN(sets_, LoadKeySets(store));
  for (const KeyUse use : {KeyUse::kCertificate, KeyUse::kCheckpoint}) {
    absl::StatusOr<KeyKeeper::Key> key = restoring ? keys_.For(use).Load() : Settle(use);
    // What a rotation that was cut off has left; the second call settles it.
    if (restoring && !key.ok()) key = keys_.For(use).LoadNext();
    EXPUNGE_RETURN_IF_ERROR(key.status());
    EXPUNGE_RETURN_IF_ERROR(TestSignature(**key));
    (use == KeyUse::kCertificate ? certificate_ : checkpoint_) = *std::move(key);
  }
  if (certificate_->KeyId() != checkpoint_->KeyId()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(keys_.certificate->place(), " and ", keys_.checkpoint->place(),
                   " have the same key: certificates and checkpoints need one each"));
}

std::shared_ptr<const certificate::Signer> KeyRing::Active(KeyUse use) const {
  const std::lock_guard lock(mutex_);
  return use == KeyUse::kCertificate ? certificate_ : checkpoint_;
}

std::vector<StoredKeySet> KeyRing::sets() const {
  const std::lock_guard lock(mutex_);
  return sets_;
}

void KeyRing::Extend(std::vector<StoredKeySet> sets, KeyUse use,
                     std::shared_ptr<const certificate::Signer> signer) {
  const std::lock_guard lock(mutex_);
  for (StoredKeySet& set : sets) sets_.push_back(std::move(set));
  if (signer == nullptr) return;
  auto& active = use == KeyUse::kCertificate ? certificate_ : checkpoint_;
  active->Retire();
  active = std::move(signer);
}

KeyRing::Ticket::Ticket(const KeyRing& ring, absl::Time now) : ring_(ring), time_(WholeSeconds(now)) {
  const std::lock_guard lock(ring.mutex_);
  if (!ring.sets_.empty()) {
    time_ = std::max(time_, ring.sets_.back().set.Active(KeyUse::kCertificate).not_before);
  }
  ring.tickets_.insert(time_);
  ring.latest_ = std::max(ring.latest_, time_);
}

KeyRing::Ticket::~Ticket() {
  const std::lock_guard lock(ring_.mutex_);
  ring_.tickets_.erase(ring_.tickets_.find(time_));
}

void KeyRing::Saw(absl::Time issued) const {
  const std::lock_guard lock(mutex_);
  latest_ = std::max(latest_, issued);
}

certificate::KeyWindowReason KeyRing::Check(absl::string_view key_id, absl::Time issued,
                                            uint64_t log_index) const {
  const std::lock_guard lock(mutex_);
  if (sets_.empty()) return certificate::KeyWindowReason::kUnlistedKey;
  return CheckCertificateKey(sets_.back().set, key_id, issued, log_index);
}

KeyRing::Turnover KeyRing::TurnoverAt(absl::Time now, KeyUse use) const {
  const std::lock_guard lock(mutex_);
  const certificate::KeySet& newest = sets_.back().set;
  absl::Time begin = WholeSeconds(now);
  if (!tickets_.empty()) begin = std::min(begin, *tickets_.begin());
  begin = std::max(begin, newest.Active(use).not_before);
  return {begin, std::max({WholeSeconds(now), begin, newest.issued, latest_})};
}

}  // namespace expunge::core
