// Records as the service knows them: in the clear here, sealed in the database, with the keys in the vault.
//
// A stored value is
//     parent slot (8, little-endian) | slot (8) | sealed record (seal.h)
// sealed under the key in `slot`; the associated data is "expunge record v1", the table, the record's key,
// and the two slots, so that no value can stand in another record's place. The slot 0, with the parent 0,
// marks a record that is public and not sealed. Record keys carry handles of tenant, memory and token
// (docs/formats/records.md).
#ifndef EXPUNGE_STORAGE_SEALED_STORE_H_
#define EXPUNGE_STORAGE_SEALED_STORE_H_

#include <google/protobuf/message_lite.h>

#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/secret.h"
#include "storage/key_vault.h"
#include "storage/master_key.h"
#include "storage/store.h"

namespace expunge::storage {

// Which key of the vault.
struct KeyName {
  Slot parent = kMasterSlot;
  Slot slot = 0;
  friend bool operator==(const KeyName&, const KeyName&) = default;
};

// A record in the clear.
struct OpenRecord {
  KeyName key;
  SecretBytes bytes;
};

struct SealedStoreOptions {
  std::string directory;        // of the database
  std::string vault_directory;  // empty: `directory` + "/../vault", beside it
  std::string master_key_file;  // empty: "master.key" beside the database's directory
  StoreOptions store;
  std::shared_ptr<MasterKeyProvider> master_key = nullptr;  // null: the file
};

// With what an empty field stands for.
[[nodiscard]] SealedStoreOptions WithDefaults(SealedStoreOptions options);

// Threads: any number at once; changes are ordered by the caller.
class SealedStore {
 public:
  // Opens both, and makes both if there is neither. A wrong master key is noticed before anything is written.
  // Returns: errors of the parts; DataLoss (kStorageCorrupt) if one of the two is missing, or the database is
  // older than the vault has seen it. With `store.read_only` neither is made or changed, and the ages are not
  // compared: who checks data wants to see more than that.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<SealedStore>> Open(const SealedStoreOptions& options);

  [[nodiscard]] Store& database() { return *database_; }
  [[nodiscard]] KeyVault& vault() const { return *vault_; }

  // Seals `message` under `key` and puts it into `transaction`. Returns: as KeyVault::Key.
  [[nodiscard]] absl::Status Put(Table table, absl::string_view record_key, KeyName key,
                                 const google::protobuf::MessageLite& message,
                                 Transaction* transaction) const;

  // Returns: NotFound; DataLoss (kStorageCorrupt), naming the table, if the value does not unseal; as
  // KeyVault::Key.
  [[nodiscard]] absl::StatusOr<OpenRecord> Get(Table table, absl::string_view record_key) const;
  // As Store::Scan. The first record that does not unseal ends it, with its error.
  [[nodiscard]] absl::Status Scan(
      Table table, absl::string_view prefix, absl::string_view first,
      const std::function<bool(absl::string_view record_key, OpenRecord record)>& visit) const;

  // Commits; then destroys the keys in `destroyed`, if any. Cost: one sync; two with keys to destroy. An
  // error of the second step leaves the change durable: `*durable` says which. Both false and an error: as
  // Store::Commit.
  [[nodiscard]] absl::Status Commit(Transaction transaction, const std::vector<Slot>& destroyed,
                                    bool* durable);

  // For a backup: links the database's files and reads the vault's, both as of one moment; changes wait
  // meanwhile. Returns the vault's file; errors of Checkpoint::Link and KeyVault::Contents.
  [[nodiscard]] absl::StatusOr<SecretBytes> LinkBoth(Checkpoint* checkpoint);

  // Where it lies, with nothing left empty.
  [[nodiscard]] const SealedStoreOptions& options() const { return options_; }

  // False after a failed write to either: read-only until reopened.
  [[nodiscard]] bool writable() const;

  // The value that Put stores.
  [[nodiscard]] absl::StatusOr<std::string> SealValue(Table table, absl::string_view record_key, KeyName key,
                                                      absl::string_view record) const;
  [[nodiscard]] absl::StatusOr<std::string> SealMessage(Table table, absl::string_view record_key,
                                                        KeyName key,
                                                        const google::protobuf::MessageLite& message) const;
  // As SealMessage, under a key that the caller has from the vault.
  [[nodiscard]] static std::string SealMessageWith(const SecretKey& secret, Table table,
                                                   absl::string_view record_key, KeyName key,
                                                   const google::protobuf::MessageLite& message);
  // Opens such a value, wherever it was kept. Returns: as Get, but for NotFound.
  [[nodiscard]] absl::StatusOr<OpenRecord> OpenValue(Table table, absl::string_view record_key,
                                                     absl::string_view value) const;

 private:
  static absl::StatusOr<std::unique_ptr<SealedStore>> OpenForReading(const SealedStoreOptions& options);
  SealedStore(SealedStoreOptions options, std::unique_ptr<Store> database, std::unique_ptr<KeyVault> vault)
      : options_(std::move(options)), database_(std::move(database)), vault_(std::move(vault)) {}

  const SealedStoreOptions options_;
  const std::unique_ptr<Store> database_;
  const std::unique_ptr<KeyVault> vault_;
  // Commits hold it shared, from the first write to the last. Who wants it passes the turnstile first, so
  // that commits without a pause cannot keep LinkBoth out.
  std::shared_mutex changing_;
  std::mutex turnstile_;
};

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_SEALED_STORE_H_
