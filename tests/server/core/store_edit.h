// Changing what is stored behind the service's back.
#ifndef EXPUNGE_TESTS_SERVER_CORE_STORE_EDIT_H_
#define EXPUNGE_TESTS_SERVER_CORE_STORE_EDIT_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "storage/sealed_store.h"

namespace expunge::core {

// Changes records behind the service's back. Each is sealed under the key under which a record of this place,
// or else of its table, was last seen.
class Edit {
 public:
  using Names = std::map<std::pair<int, std::string>, storage::KeyName>;
  Edit(storage::SealedStore* store, const Names& names) : store_(store), names_(names) {}

  void Put(storage::Table table, const std::string& key, const std::string& record) {
    auto name = names_.find({static_cast<int>(table), key});
    if (name == names_.end()) name = names_.lower_bound({static_cast<int>(table), ""});
    ASSERT_NE(name, names_.end());
    const auto value = store_->SealValue(table, key, name->second, record);
    ASSERT_TRUE(value.ok()) << value.status();
    PutRaw(table, key, *value);
  }
  void PutRaw(storage::Table table, const std::string& key, const std::string& value) {
    transaction_.Put(table, key, value);
  }
  void Delete(storage::Table table, const std::string& key) { transaction_.Delete(table, key); }

  absl::Status Commit() {
    bool durable = false;
    return store_->Commit(std::move(transaction_), {}, &durable);
  }

 private:
  storage::SealedStore* store_;
  const Names& names_;
  storage::Transaction transaction_;
};

}  // namespace expunge::core

#endif  // EXPUNGE_TESTS_SERVER_CORE_STORE_EDIT_H_
