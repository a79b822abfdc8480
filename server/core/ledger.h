// The deletion ledger outside the database: kept level with it, and read back for a restore.
#ifndef EXPUNGE_SERVER_CORE_LEDGER_H_
#define EXPUNGE_SERVER_CORE_LEDGER_H_

#include <cstdint>
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

// What `database` has of the ledger of one tenant, from its certificate `first` on: one entry a change, as
// changes made them. `store` has the keys; its own database may be another one.
// Returns: kStorageCorrupt; errors of the store.
[[nodiscard]] absl::StatusOr<std::vector<storage::LedgerEntry>> LedgerSince(const storage::SealedStore& store,
                                                                            const storage::Store& database,
                                                                            const Digest& tenant,
                                                                            uint64_t first);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_LEDGER_H_
