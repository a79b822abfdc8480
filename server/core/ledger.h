// The deletion ledger outside the database: kept level with it, and read back for a restore.
#ifndef EXPUNGE_SERVER_CORE_LEDGER_H_
#define EXPUNGE_SERVER_CORE_LEDGER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "server/core/context.h"
#include "storage/ledger_copy.h"
#include "storage/store.h"

namespace expunge::core {

// What stands in the database for a request whose result a restore lost (kRequestLost): public, as it says
// nothing and may be of a tenant whose key the backup lacks. `key`: the request's in kRequests.
[[nodiscard]] storage::LedgerRecord LostRequest(std::string key);
[[nodiscard]] bool IsLostRequest(const storage::LedgerRecord& record);

// Opens the copy that the options name, if they do, and appends what the database has and it lacks (all, if
// it is new). REQUIRES: the tenants are loaded. Cost: one pass over the copy.
// Returns: FailedPrecondition if the copy reports what the database lacks: the database is an older copy, or
// another file belongs to it; as LedgerCopy::Open and Append.
[[nodiscard]] absl::Status OpenLedgerCopy(Context* context);

// A place in the ledger.
struct LedgerPlace {
  // By the tenant's handle: the number of the certificate that comes next.
  std::map<Digest, uint64_t> next_certificates;
  uint64_t next_leaf = 0;  // of the log
};

// What `database` has of the ledger from `place` on: one entry a change, as changes made them, in the order
// of the log. Of tenants that `place` does not name there are the leaves alone, in entries of the tenant 0.
// `store` has the keys; its own database may be another one. Returns: kStorageCorrupt; errors of the store.
[[nodiscard]] absl::StatusOr<std::vector<storage::LedgerEntry>> LedgerSince(const storage::SealedStore& store,
                                                                            const storage::Store& database,
                                                                            const LedgerPlace& place);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_LEDGER_H_
