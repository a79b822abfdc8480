// The keys that sign: one certificates and key sets, another one checkpoints of the log.
//
// Which keys are active is what the newest key set says, and nothing else: start-up compares it with the keys
// that are there, and finishes or drops a rotation that was cut off (certificate/key_keeper.h).
//
// Times.  A certificate's `issued` must lie in the time of the key that signs it, and it is fixed before that
// key is: a rotation may come in between. So the time is taken as a ticket, the next key's time begins no
// later than the earliest ticket that is still out, and the old key's time ends no earlier than the latest
// one that was given. Both hold however the clock is set.
#ifndef EXPUNGE_SERVER_CORE_KEYS_H_
#define EXPUNGE_SERVER_CORE_KEYS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "certificate/key_chain.h"
#include "certificate/key_keeper.h"
#include "certificate/key_set.h"
#include "certificate/signer.h"
#include "server/core/key_sets.h"
#include "storage/sealed_store.h"

namespace expunge::core {

// What a service is opened with: who keeps its keys.
struct SigningKeys {
  std::shared_ptr<certificate::KeyKeeper> certificate;
  std::shared_ptr<certificate::KeyKeeper> checkpoint;

  [[nodiscard]] certificate::KeyKeeper& For(certificate::KeyUse use) const {
    return use == certificate::KeyUse::kCertificate ? *certificate : *checkpoint;
  }
};

// Threads: any number at once.
class KeyRing {
 public:
  explicit KeyRing(SigningKeys keys) : keys_(std::move(keys)) {}

  // Reads the key sets of `store`, and the keys. If there are no sets, makes the keys that are missing; else
  // they must be the active ones of the newest set, and what is left of a rotation is finished or dropped.
  // `restoring`: the sets may be older than the keys, and are not compared; Load is called again later.
  // Returns: FailedPrecondition if a key is another one, saying what to do; as KeyKeeper::Load;
  // kStorageCorrupt.
  [[nodiscard]] absl::Status Load(const storage::SealedStore& store, bool restoring = false);

  // REQUIRES, for all below: Load returned OK.
  [[nodiscard]] std::shared_ptr<const certificate::Signer> certificate() const {
    return Active(certificate::KeyUse::kCertificate);
  }
  [[nodiscard]] std::shared_ptr<const certificate::Signer> checkpoint() const {
    return Active(certificate::KeyUse::kCheckpoint);
  }
  [[nodiscard]] std::shared_ptr<const certificate::Signer> Active(certificate::KeyUse use) const;
  [[nodiscard]] certificate::KeyKeeper& Keeper(certificate::KeyUse use) const { return keys_.For(use); }

  // Every key set, in order.
  [[nodiscard]] std::vector<StoredKeySet> sets() const;
  // Takes up sets that are durable now; and, if `signer` is not null, the key that signs for `use` from now
  // on: the one before is retired, and signs nothing more.
  void Extend(std::vector<StoredKeySet> sets, certificate::KeyUse use,
              std::shared_ptr<const certificate::Signer> signer);

  // The time that a certificate says it was issued; held until the certificate is durable or given up.
  class Ticket {
   public:
    Ticket(const KeyRing& ring, absl::Time now);
    ~Ticket();
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    // Whole seconds; `now`, or the beginning of the active key's time if that is later.
    [[nodiscard]] absl::Time time() const { return time_; }

   private:
    const KeyRing& ring_;
    absl::Time time_;
  };
  // A certificate of the store says that it was issued then.
  void Saw(absl::Time issued) const;
  // Whether the key may have signed it, by the newest set.
  [[nodiscard]] certificate::KeyWindowReason Check(absl::string_view key_id, absl::Time issued,
                                                   uint64_t log_index) const;

  // For a rotation: when the next key's time begins, and when the present one's ends.
  struct Turnover {
    absl::Time begin;
    absl::Time end;
  };
  [[nodiscard]] Turnover TurnoverAt(absl::Time now, certificate::KeyUse use) const;

  // One rotation at a time.
  [[nodiscard]] std::unique_lock<std::mutex> BeginRotation() { return std::unique_lock(rotation_); }

 private:
  // The key of this use that the newest set calls active, wherever a rotation that was cut off has left it.
  [[nodiscard]] absl::StatusOr<certificate::KeyKeeper::Key> Settle(certificate::KeyUse use) const;

  const SigningKeys keys_;
  std::mutex rotation_;
  mutable std::mutex mutex_;  // for what follows
  std::shared_ptr<const certificate::Signer> certificate_;
  std::shared_ptr<const certificate::Signer> checkpoint_;
  std::vector<StoredKeySet> sets_;
  mutable std::multiset<absl::Time> tickets_;  // that are out
  mutable absl::Time latest_ = absl::InfinitePast();
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_KEYS_H_
