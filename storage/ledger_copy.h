// A copy of the deletion ledger outside the database: what a restore carries out again, when the database
// that it replaces is lost.
//
// The file grows by one entry with every change that issues certificates: the records of these, of the
// deletion, and of the answer, sealed as they are in the database (sealed_store.h). It is synced before the
// certificates are released. So it needs a place that shares no fate with the database, and no secrecy beyond
// that of the database.
//
// Every entry is bound to those before it, so that none can be lost but the last ones. An entry that is cut
// short at the end was being written when the system stopped: its change was never acknowledged, and it
// doesn't count. docs/formats/ledger_copy.md has the file byte by byte.
#ifndef EXPUNGE_STORAGE_LEDGER_COPY_H_
#define EXPUNGE_STORAGE_LEDGER_COPY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/durable_file.h"
#include "storage/store.h"

namespace expunge::storage {

// As it is in the database: `value` is sealed.
struct LedgerRecord {
  Table table = Table::kErasures;
  std::string key;
  std::string value;
};

// What one change adds to the ledger.
struct LedgerEntry {
  Digest tenant{};  // its handle
  std::vector<LedgerRecord> records;
};

// False: no more entries are wanted.
using VisitLedgerEntry = std::function<bool(const LedgerEntry& entry)>;

// Threads: any number at once.
class LedgerCopy {
 public:
  // Opens the file, or makes it (mode 0600, durable). `owner` names the store: another's file is refused.
  // Calls `visit` for every entry, oldest first; then cuts off an incomplete last one.
  // Cost: one pass over the file. Returns: FailedPrecondition if the file is another store's, or of a newer
  // format, or is not a file of this kind; DataLoss (kStorageCorrupt), naming the entry by its number, if it
  // is damaged; kStorageFailed.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LedgerCopy>> Open(const std::string& path,
                                                                        const Digest& owner,
                                                                        const VisitLedgerEntry& visit);
  LedgerCopy(const LedgerCopy&) = delete;
  LedgerCopy& operator=(const LedgerCopy&) = delete;

  // Cost: one sync. Returns: kStorageFailed; then no more is taken until it is opened again.
  [[nodiscard]] absl::Status Append(const LedgerEntry& entry);

  // False after a failed Append.
  [[nodiscard]] bool writable() const { return writable_; }

 private:
  LedgerCopy(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  const std::string path_;
  const Descriptor file_;
  std::mutex mutex_;  // for what follows
  uint64_t end_ = 0;  // of the last entry
  Digest last_check_{};
  std::atomic<bool> writable_ = true;
};

// Reads the file, and changes nothing. Returns: as LedgerCopy::Open; NotFound if there is none.
[[nodiscard]] absl::Status ReadLedgerCopy(const std::string& path, const Digest& owner,
                                          const VisitLedgerEntry& visit);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_LEDGER_COPY_H_
