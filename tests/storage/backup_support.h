// A sealed store with tokens that come and go, for tests of backups.
#ifndef EXPUNGE_TESTS_STORAGE_BACKUP_SUPPORT_H_
#define EXPUNGE_TESTS_STORAGE_BACKUP_SUPPORT_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/backup.h"
#include "storage/sealed_store.h"
#include "tests/support/files.h"

namespace expunge::storage {

// Where a data directory has its parts, as in the server's.
inline SealedStoreOptions Under(const std::string& data) {
  return {data + "/db", data + "/vault", data + "/master.key", {}};
}

inline BackupPlaces PlacesUnder(const std::string& directory) {
  return {directory + "/database", directory + "/vault"};
}

inline std::unique_ptr<SealedStore> OpenSealed(const SealedStoreOptions& options) {
  absl::StatusOr<std::unique_ptr<SealedStore>> store = SealedStore::Open(options);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

// One tenant's tokens: each in kTokens under its name, sealed under a key of its own, and a record in kStates
// under a key that changes with every token that goes. Threads: one at a time.
class Tokens {
 public:
  // The tenant's record, and its first state, are committed at once.
  Tokens(SealedStore* store, std::string tenant) : store_(store), tenant_(std::move(tenant)) {
    tenant_key_ = {kMasterSlot, MustTake(kMasterSlot)};
    state_key_ = {tenant_key_.slot, MustTake(tenant_key_.slot)};
    Transaction transaction;
    Put(Table::kMeta, "tenant/" + tenant_, tenant_key_, &transaction);
    Put(Table::kStates, tenant_, state_key_, &transaction);
    Commit(std::move(transaction), {});
  }

  void Add(const std::string& name) {
    const KeyName key{tenant_key_.slot, MustTake(tenant_key_.slot)};
    Transaction transaction;
    Put(Table::kTokens, Name(name), key, &transaction);
    Put(Table::kStates, tenant_, state_key_, &transaction);
    Commit(std::move(transaction), {});
    keys_[name] = key;
  }

  // Destroys the token's key and that of the state, which gets a new one.
  void Remove(const std::string& name) {
    const KeyName old_state = std::exchange(state_key_, {tenant_key_.slot, MustTake(tenant_key_.slot)});
    Transaction transaction;
    transaction.Delete(Table::kTokens, Name(name));
    Put(Table::kStates, tenant_, state_key_, &transaction);
    Commit(std::move(transaction), {keys_.at(name).slot, old_state.slot});
    keys_.erase(name);
  }

 private:
  [[nodiscard]] std::string Name(const std::string& name) const { return tenant_ + "/" + name; }
  Slot MustTake(Slot parent) {
    const auto slots = store_->vault().Take(parent, 1);
    EXPECT_TRUE(slots.ok()) << slots.status();
    return slots.ok() ? slots->front() : 0;
  }
  // The content says where it belongs.
  void Put(Table table, const std::string& record_key, KeyName key, Transaction* transaction) {
    const auto value = store_->SealValue(table, record_key, key, "content of " + record_key);
    ASSERT_TRUE(value.ok()) << value.status();
    transaction->Put(table, record_key, *value);
  }
  void Commit(Transaction transaction, const std::vector<Slot>& destroyed) {
    bool durable = false;
    const absl::Status status = store_->Commit(std::move(transaction), destroyed, &durable);
    EXPECT_TRUE(status.ok()) << status;
  }

  SealedStore* const store_;
  const std::string tenant_;
  KeyName tenant_key_;
  KeyName state_key_;
  std::map<std::string, KeyName> keys_;
};

// Every record that Tokens puts, opened, by table and key; the keys' slots are added to `*live`.
inline std::map<std::string, std::string> ContentOf(const SealedStore& store, std::vector<Slot>* live) {
  std::map<std::string, std::string> content;
  for (const auto& [table, prefix] :
       {std::pair<Table, std::string>{Table::kMeta, "tenant/"}, {Table::kTokens, ""}, {Table::kStates, ""}}) {
    const std::string name = std::to_string(static_cast<int>(table)) + " ";
    const absl::Status status =
        store.Scan(table, prefix, "", [&](absl::string_view key, const OpenRecord& record) {
          content[name + std::string(key)] = std::string(AsView(record.bytes));
          live->push_back(record.key.slot);
          return true;
        });
    EXPECT_TRUE(status.ok()) << status;
  }
  return content;
}

inline std::map<std::string, std::string> ContentOf(const SealedStore& store) {
  std::vector<Slot> live;
  return ContentOf(store, &live);
}

// All that ContentOf finds is what Tokens put there, and each of its keys is the vault's.
inline void ExpectWhole(SealedStore& store) {
  std::vector<Slot> live;
  for (const auto& [name, content] : ContentOf(store, &live)) {
    EXPECT_EQ(content, "content of " + name.substr(2));
  }
  const absl::Status retained = store.vault().RetainOnly(live, store.database().sequence());
  EXPECT_TRUE(retained.ok()) << retained;
}

inline std::string MustBackUp(SealedStore& store, const BackupPlaces& places) {
  const auto made = BackUp(store, places, absl::FromUnixSeconds(1'800'000'000));
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? made->id : std::string();
}

}  // namespace expunge::storage

#endif  // EXPUNGE_TESTS_STORAGE_BACKUP_SUPPORT_H_
