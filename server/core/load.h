// Stored records, read and held against everything that they must agree with: what start-up, which stops at
// the first that doesn't, and fsck, which goes on, have in common. docs/formats/records.md has the rules.
//
// Everything returns InvalidArgument, saying what is wrong without any content, unless it says otherwise.
#ifndef EXPUNGE_SERVER_CORE_LOAD_H_
#define EXPUNGE_SERVER_CORE_LOAD_H_

#include <memory>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/bytes.h"
#include "server/core/memory.h"
#include "server/core/records.h"
#include "server/core/tenant.h"
#include "storage/records.pb.h"
#include "storage/sealed_store.h"

namespace expunge::core {

// The keys of the vault that records name.
class LiveKeys {
 public:
  // Returns: InvalidArgument if `key` is not under `parent`, or is another record's.
  [[nodiscard]] absl::Status Add(storage::KeyName key, storage::Slot parent);
  [[nodiscard]] std::vector<storage::Slot> All() const { return {slots_.begin(), slots_.end()}; }

 private:
  std::set<storage::Slot> slots_;
};

[[nodiscard]] absl::StatusOr<Digest> ReadSecret(const storage::OpenRecord& opened);

// `handle`: under which the record is.
[[nodiscard]] absl::StatusOr<storage::v1::TenantRecord> ReadTenant(const Digest& secret,
                                                                   absl::string_view handle,
                                                                   const storage::OpenRecord& opened);

// `pseudonym`: under which the record is.
[[nodiscard]] absl::StatusOr<DecodedMemory> ReadMemory(absl::string_view pseudonym,
                                                       const storage::OpenRecord& opened);

// `handle`: under which the record is. Also compares the commitment.
[[nodiscard]] absl::StatusOr<std::shared_ptr<const HeldToken>> ReadToken(const MemoryIdentity& memory,
                                                                         absl::string_view handle,
                                                                         const storage::OpenRecord& opened);

// Ascending by the bytes of their ids.
void SortTokens(HeldTokens* tokens);

// The state of `tokens`, which ascend. `key`: of the memory's own record, which the state shares. Compares
// the stored digests. Cost: O(n) hashes.
[[nodiscard]] absl::StatusOr<Snapshot> ReadState(const std::shared_ptr<const MemoryIdentity>& memory,
                                                 storage::KeyName key, const storage::OpenRecord& opened,
                                                 const HeldTokens& tokens);

// Solves all again from nothing, by other code than changes use, and compares all bits. Returns also: errors
// of the solver.
[[nodiscard]] absl::Status CheckBySolving(const MemoryView& view);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_LOAD_H_
