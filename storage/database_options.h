// How RocksDB is set up: for durability and little residue, not for speed of bulk writes.
#ifndef EXPUNGE_STORAGE_DATABASE_OPTIONS_H_
#define EXPUNGE_STORAGE_DATABASE_OPTIONS_H_

#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include <string>
#include <vector>

#include "storage/store.h"

namespace expunge::storage {

// The tables in the order of their enum, and the name of the column family of each.
[[nodiscard]] const std::vector<std::string>& ColumnFamilyNames();

// `env`: null for the system's.
[[nodiscard]] rocksdb::DBOptions DatabaseOptions(rocksdb::Env* env);
[[nodiscard]] rocksdb::ColumnFamilyOptions FamilyOptions();
// Synced, with the batch's own checksums checked on the way to the log.
[[nodiscard]] rocksdb::WriteOptions CommitOptions();
// With block checksums verified.
[[nodiscard]] rocksdb::ReadOptions LookupOptions();

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_DATABASE_OPTIONS_H_
