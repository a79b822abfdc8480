#include "storage/database_options.h"

#include <rocksdb/table.h>

#include "base/fault_point.h"

namespace expunge::storage {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

}  // namespace

const std::vector<std::string>& ColumnFamilyNames() {
  // The default column family cannot be left out, so it holds kMeta.
  static const auto& names = *new std::vector<std::string>{"default",      "memories", "tokens",   "states",
                                                           "certificates", "requests", "erasures", "log"};
  return names;
}

rocksdb::DBOptions DatabaseOptions(rocksdb::Env* env) {
  rocksdb::DBOptions options;
  if (env != nullptr) options.env = env;
  options.create_missing_column_families = true;
  options.paranoid_checks = true;
  // A crash in the middle of a write leaves an incomplete last record, which was never acknowledged: dropped.
  // Any other damage of the log, also in its last record, is an error. kPointInTimeRecovery would take it for
  // the end of the log and silently lose what was acknowledged after it.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.track_and_verify_wals_in_manifest = true;
  options.max_total_wal_size = 16 * kMiB;
  // Every change begins a new MANIFEST: keys of tables that are gone don't stay in it (erase_bytes.h).
  options.max_manifest_file_size = 1;
  // A log goes when its tables are flushed: neither kept in an archive nor written over.
  options.WAL_ttl_seconds = 0;
  options.WAL_size_limit_MB = 0;
  options.recycle_log_file_num = 0;
  options.allow_mmap_reads = false;
  options.allow_mmap_writes = false;
  options.max_open_files = 256;
  // After an I/O error only reopening makes the store writable again (store.h, invariant 2).
  options.max_bgerror_resume_count = 0;
  // Its file is on the same disk, and a build of RocksDB with assertions dies when it writes to it after that
  // was full. What went wrong is in the status of the call.
  options.info_log_level = rocksdb::InfoLogLevel::FATAL_LEVEL;
  options.max_log_file_size = kMiB;
  options.keep_log_file_num = 2;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

rocksdb::ColumnFamilyOptions FamilyOptions() {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = 4 * kMiB;
  options.max_write_buffer_number = 2;
  // What is sealed doesn't get shorter. Tests switch it on, to see what compression does to erasing.
  options.compression = Mutated("no_compression") ? rocksdb::kZSTD : rocksdb::kNoCompression;
  options.force_consistency_checks = true;
  options.paranoid_file_checks = true;
  rocksdb::BlockBasedTableOptions table;
  table.checksum = rocksdb::kXXH3;
  // Lookups don't fill a cache, but the checks of new files would, and keep deleted records in memory.
  table.no_block_cache = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

rocksdb::WriteOptions CommitOptions() {
  rocksdb::WriteOptions options;
  options.sync = !Mutated("commit.sync");
  options.disableWAL = false;
  return options;
}

rocksdb::ReadOptions LookupOptions() {
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  return options;
}

}  // namespace expunge::storage
