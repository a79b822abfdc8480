// What the parts of an integrity check (fsck.h) share: reading that goes on after damage, and what has been
// learned so far. For use by fsck*.cc only.
#ifndef EXPUNGE_SERVER_CORE_FSCK_WALK_H_
#define EXPUNGE_SERVER_CORE_FSCK_WALK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/bytes.h"
#include "server/core/fsck.h"
#include "server/core/key_sets.h"
#include "server/core/load.h"
#include "storage/sealed_store.h"

namespace expunge::core {

// By the key in kCertificates.
struct CertificateFacts {
  std::string memory;  // its pseudonym
  uint64_t sequence = 0;
  Digest payload_sha256{};
  uint32_t stage = 0;
  uint64_t completes = 0;
  uint64_t removed = 0;  // tokens
  uint32_t kind = 0;
};

struct TenantFacts {
  std::string name;
  uint64_t next_certificate = 1;
  storage::Slot key_slot = 0;
  std::map<uint64_t, CertificateFacts> certificates;  // those that could be read
};

struct MemoryFacts {
  bool readable = false;  // its own record
  std::string tenant;     // handle
  Chain chain;
  // Of its state, if that could be read: its scope, and the certificates of its selections.
  std::optional<certificate::Scope> scope;
  std::vector<uint64_t> selections;
};

class FsckWalk {
 public:
  FsckWalk(storage::SealedStore& store, const FsckOptions& options);

  storage::SealedStore& store() { return store_; }
  const FsckOptions& options() const { return options_; }
  FsckReport& report() { return report_; }

  // A problem of the record in `key`, whose parts name it.
  void AddProblem(storage::Table table, absl::string_view key, absl::string_view text);
  void AddProblem(FsckProblem problem) { report_.problems.push_back(std::move(problem)); }

  // Opens every record under `prefix`. One that does not open is a problem, and passed over; so is a table
  // that cannot be read to its end.
  void ForEach(storage::Table table, absl::string_view prefix,
               const std::function<void(absl::string_view key, const storage::OpenRecord& record)>& visit);
  // Every key of the table, unopened and not counted.
  void ForEachKey(storage::Table table, const std::function<void(absl::string_view key)>& visit);

  // The tenant whose handle `key` begins with; null, and a problem, if there is none. The record must lie
  // under the tenant's own key.
  TenantFacts* OwnerOf(storage::Table table, absl::string_view key, const storage::OpenRecord& record);
  // A problem unless `key` is under `parent`, and no other record's.
  void Claim(storage::Table table, absl::string_view record_key, storage::KeyName key, storage::Slot parent);

  // Shows that `steps` of the work are done.
  void Advance(uint64_t steps);

  // What has been learned.
  std::optional<Digest> secret;
  std::vector<StoredKeySet> key_sets;           // in order; empty if they are damaged
  std::map<uint64_t, Digest> leaves;            // of the log: SHA-256, by their places
  std::map<std::string, TenantFacts> tenants;   // by handle
  std::map<std::string, MemoryFacts> memories;  // by pseudonym; also those whose record is damaged
  std::set<std::string> retained;               // pseudonyms: certificates have the scope RETAINED_SET
  // The commitment of every token that could be read, by its key in kTokens; and of all of them.
  std::unordered_map<std::string, Digest> tokens;
  std::set<Digest> commitments;

 private:
  storage::SealedStore& store_;
  const FsckOptions& options_;
  FsckReport report_;
  LiveKeys live_;
  uint64_t total_ = 0;
  uint64_t done_ = 0;
};

// The parts, in this order.
void CheckMeta(FsckWalk* walk);
void CheckLog(FsckWalk* walk);
void CheckMemories(FsckWalk* walk);
void CheckCertificates(FsckWalk* walk);
void CheckErasuresAndRequests(FsckWalk* walk);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_FSCK_WALK_H_
