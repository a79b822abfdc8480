// Rewriting a RocksDB database so that no file of it holds anything that was deleted or overwritten.
//
// RocksDB deletes by adding: a tombstone hides the value, and both stay where they are. The bytes then lie in
// the log, as long as one column family has not been flushed since; in table files, where a compaction may
// move a file without rewriting it, and by default leaves the last level alone; and, as the first and the
// last key of each table file, in the MANIFEST, which grows by appending.
//
// Method.  With automatic compactions switched off, so that nothing moves files between the steps:
//   1. flush every column family, of which one has something to flush: all that was deleted is now in table
//      files, and the log is obsolete;
//   2. compact every family down to the last level, which is forced to be rewritten, too;
//   3. record one change more: as DatabaseOptions let every change begin a new MANIFEST with the state before
//      it, this one holds no key of the files that step 2 replaced;
//   4. let RocksDB delete what is obsolete, and look: whatever is in the directory must be a file that is
//      known to have begun after step 1, or never holds records.
// Nothing is concluded from RocksDB having returned OK: step 4 reads the directory.
#ifndef EXPUNGE_STORAGE_ERASE_BYTES_H_
#define EXPUNGE_STORAGE_ERASE_BYTES_H_

#include <rocksdb/db.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace expunge::storage {

// What Store::EraseDeletedBytes promises, for a database opened with DatabaseOptions; `families` are all of
// its column families. Threads: one call at a time; everything else on the database may go on.
[[nodiscard]] absl::Status EraseDeletedBytes(rocksdb::DB& database,
                                             absl::Span<rocksdb::ColumnFamilyHandle* const> families);

// The free disk space that it asks for before it begins.
[[nodiscard]] uint64_t SpaceToErase(rocksdb::DB& database);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_ERASE_BYTES_H_
