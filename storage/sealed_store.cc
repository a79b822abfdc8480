#include "storage/sealed_store.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fault_point.h"
#include "base/status_macros.h"
#include "storage/checkpoint.h"
#include "storage/database_options.h"
#include "storage/directory.h"
#include "storage/restore_marker.h"
#include "storage/seal.h"

namespace expunge::storage {
namespace {

constexpr size_t kNameBytes = 16;

std::string TableName(Table table) { return ColumnFamilyNames().at(static_cast<size_t>(table)); }

std::string NameBytes(KeyName key) {
  std::string bytes;
  AppendU64(key.parent, &bytes);
  AppendU64(key.slot, &bytes);
  return bytes;
}

std::string AssociatedData(Table table, absl::string_view record_key, KeyName key) {
  std::string data;
  AppendField("expunge record v1", &data);
  AppendField(TableName(table), &data);
  AppendField(record_key, &data);
  data += NameBytes(key);
  return data;
}

absl::Status Damaged(Table table) {
  return MakeError(Reason::kStorageCorrupt, "",
                   absl::StrCat("a record of the table ", TableName(table),
                                " does not unseal: it is damaged, or stands in another's place"));
}

absl::StatusOr<std::unique_ptr<KeyVault>> OpenVault(const SealedStoreOptions& options, bool may_create) {
  EXPUNGE_ASSIGN_OR_RETURN(SecretKey master, options.master_key->Load(may_create));
  return KeyVault::Open(options.vault_directory, std::move(master), may_create);
}

std::string SealWith(const SecretKey& secret, Table table, absl::string_view record_key, KeyName key,
                     absl::string_view record) {
  std::string value = NameBytes(key);
  if (Mutated("seal")) {
    value.append(record.data(), record.size());
  } else {
    value += Seal(secret, AssociatedData(table, record_key, key), record);
  }
  return value;
}

SecretBytes Serialize(const google::protobuf::MessageLite& message) {
  SecretBytes record(message.ByteSizeLong());
  message.SerializeToArray(record.data(), static_cast<int>(record.size()));
  return record;
}

}  // namespace

SealedStoreOptions WithDefaults(SealedStoreOptions options) {
  const std::filesystem::path beside = std::filesystem::path(options.directory).parent_path();
  if (options.vault_directory.empty()) options.vault_directory = (beside / "vault").string();
  if (options.master_key_file.empty()) options.master_key_file = (beside / "master.key").string();
  if (options.master_key == nullptr) options.master_key = MasterKeyInFile(options.master_key_file);
  return options;
}

absl::StatusOr<std::unique_ptr<SealedStore>> SealedStore::Open(const SealedStoreOptions& given) {
  const SealedStoreOptions options = WithDefaults(given);
  const std::string& vault_directory = options.vault_directory;
  // Before the vault, which an interrupted restore may have left in any state.
  if (!options.store.finishing_restore) EXPUNGE_RETURN_IF_ERROR(CheckNoRestore(options.directory));
  if (options.store.read_only) return OpenForReading(options);
  std::error_code error;
  const bool vault_exists = std::filesystem::exists(vault_directory + "/keys", error);
  std::unique_ptr<KeyVault> vault;
  if (vault_exists) {
    EXPUNGE_ASSIGN_OR_RETURN(vault, OpenVault(options, false));
  }
  EXPUNGE_ASSIGN_OR_RETURN(auto database, Store::Open(options.directory, options.store));
  if (!vault_exists) {
    // A database that has records has a vault.
    if (!database->is_new()) {
      return MakeError(Reason::kStorageCorrupt, "",
                       absl::StrCat("the key vault ", vault_directory,
                                    "/keys is missing, and without it no record can be read: restore it"));
    }
    EXPUNGE_ASSIGN_OR_RETURN(vault, OpenVault(options, true));
  }
  if (database->sequence() < vault->committed()) {
    return MakeError(Reason::kStorageCorrupt, "",
                     absl::StrCat("the database ends at change ", database->sequence(),
                                  ", but its key vault has seen change ", vault->committed(),
                                  ": the database is an older copy, or its newest log is missing"));
  }
  return std::unique_ptr<SealedStore>(new SealedStore(options, std::move(database), std::move(vault)));
}

absl::StatusOr<std::unique_ptr<SealedStore>> SealedStore::OpenForReading(const SealedStoreOptions& options) {
  EXPUNGE_RETURN_IF_ERROR(PrepareDirectory(options.directory, /*create=*/false));
  EXPUNGE_ASSIGN_OR_RETURN(SecretKey master, options.master_key->Load(/*may_create=*/false));
  EXPUNGE_ASSIGN_OR_RETURN(auto vault, KeyVault::OpenForReading(options.vault_directory, std::move(master)));
  EXPUNGE_ASSIGN_OR_RETURN(auto database, Store::Open(options.directory, options.store));
  return std::unique_ptr<SealedStore>(new SealedStore(options, std::move(database), std::move(vault)));
}

absl::StatusOr<std::string> SealedStore::SealValue(Table table, absl::string_view record_key, KeyName key,
                                                   absl::string_view record) const {
  if (key == KeyName{}) {
    std::string value = NameBytes(key);
    value.append(record.data(), record.size());
    return value;
  }
  EXPUNGE_ASSIGN_OR_RETURN(const SecretKey secret, vault_->Key(key.parent, key.slot));
  return SealWith(secret, table, record_key, key, record);
}

absl::StatusOr<std::string> SealedStore::SealMessage(Table table, absl::string_view record_key, KeyName key,
                                                     const google::protobuf::MessageLite& message) const {
  return SealValue(table, record_key, key, AsView(Serialize(message)));
}

std::string SealedStore::SealMessageWith(const SecretKey& secret, Table table, absl::string_view record_key,
                                         KeyName key, const google::protobuf::MessageLite& message) {
  return SealWith(secret, table, record_key, key, AsView(Serialize(message)));
}

absl::Status SealedStore::Put(Table table, absl::string_view record_key, KeyName key,
                              const google::protobuf::MessageLite& message, Transaction* transaction) const {
  EXPUNGE_ASSIGN_OR_RETURN(const std::string value, SealMessage(table, record_key, key, message));
  transaction->Put(table, record_key, value);
  return absl::OkStatus();
}

absl::StatusOr<OpenRecord> SealedStore::OpenValue(Table table, absl::string_view record_key,
                                                  absl::string_view value) const {
  if (value.size() < kNameBytes) return Damaged(table);
  OpenRecord record;
  record.key = {ReadU64(value), ReadU64(value.substr(sizeof(Slot)))};
  value.remove_prefix(kNameBytes);
  if (record.key == KeyName{} || Mutated("seal")) {
    record.bytes.assign(value.begin(), value.end());
    return record;
  }
  EXPUNGE_ASSIGN_OR_RETURN(const SecretKey secret, vault_->Key(record.key.parent, record.key.slot));
  std::optional<SecretBytes> opened = Unseal(secret, AssociatedData(table, record_key, record.key), value);
  if (!opened.has_value()) return Damaged(table);
  record.bytes = *std::move(opened);
  return record;
}

absl::StatusOr<OpenRecord> SealedStore::Get(Table table, absl::string_view record_key) const {
  EXPUNGE_ASSIGN_OR_RETURN(const std::string value, database_->Get(table, record_key));
  return OpenValue(table, record_key, value);
}

absl::Status SealedStore::Scan(
    Table table, absl::string_view prefix, absl::string_view first,
    const std::function<bool(absl::string_view record_key, OpenRecord record)>& visit) const {
  absl::Status outcome;
  EXPUNGE_RETURN_IF_ERROR(
      database_->Scan(table, prefix, first, [&](absl::string_view record_key, absl::string_view value) {
        absl::StatusOr<OpenRecord> record = OpenValue(table, record_key, value);
        if (record.ok()) return visit(record_key, *std::move(record));
        outcome = record.status();
        return false;
      }));
  return outcome;
}

absl::Status SealedStore::Commit(Transaction transaction, const std::vector<Slot>& destroyed, bool* durable) {
  *durable = false;
  const std::shared_lock changing = [this] {
    const std::lock_guard turn(turnstile_);
    return std::shared_lock(changing_);
  }();
  CrashPoint("commit.ready");
  EXPUNGE_RETURN_IF_ERROR(database_->Commit(std::move(transaction)));
  *durable = true;
  CrashPoint("commit.durable");
  if (destroyed.empty()) return vault_->Note(database_->sequence());
  EXPUNGE_RETURN_IF_ERROR(vault_->Destroy(destroyed, database_->sequence()));
  CrashPoint("commit.keys_destroyed");
  return absl::OkStatus();
}

absl::StatusOr<SecretBytes> SealedStore::LinkBoth(Checkpoint* checkpoint) {
  const std::lock_guard turn(turnstile_);
  const std::unique_lock all(changing_);
  EXPUNGE_RETURN_IF_ERROR(checkpoint->Link());
  return vault_->Contents();
}

bool SealedStore::writable() const { return database_->writable() && vault_->writable(); }

}  // namespace expunge::storage
