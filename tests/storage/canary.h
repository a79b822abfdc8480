// Records that are written to be deleted, and looked for afterwards.
#ifndef EXPUNGE_TESTS_STORAGE_CANARY_H_
#define EXPUNGE_TESTS_STORAGE_CANARY_H_

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/database_options.h"
#include "storage/store.h"
#include "tests/support/byte_search.h"

namespace expunge::storage {

inline std::vector<Table> AllTables() {
  std::vector<Table> tables;
  for (size_t table = 0; table < ColumnFamilyNames().size(); ++table) {
    tables.push_back(static_cast<Table>(table));
  }
  return tables;
}

// 32 bytes that no compression shortens and that stand nowhere by chance.
inline std::string Canary(uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> byte(0, 255);
  std::string bytes(32, '\0');
  for (char& value : bytes) value = static_cast<char>(byte(generator));
  return bytes;
}

// The canary key and the canary value of a table. The key begins with a byte of 0, so that it is the first of
// its table file, which the MANIFEST names; it could not stand in front of "format" of kMeta otherwise,
// either.
inline std::string CanaryKey(Table table) {
  return std::string(1, '\0') + Canary(100 + static_cast<uint32_t>(table));
}
inline std::string CanaryValue(Table table) { return Canary(200 + static_cast<uint32_t>(table)); }

inline std::unique_ptr<Store> OpenStore(const std::string& path, const StoreOptions& options = {}) {
  absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(path, options);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

// The survivors of a table: what must be there before and after.
inline std::string SurvivorValue(Table table, int index) {
  return "survivor " + std::to_string(static_cast<int>(table)) + "." + std::to_string(index) +
         std::string(100, '.');
}
constexpr int kSurvivors = 20;

// Canaries and survivors, in one commit.
inline void PutRecords(Store& store) {
  Transaction transaction;
  for (const Table table : AllTables()) {
    transaction.Put(table, CanaryKey(table), CanaryValue(table));
    for (int i = 0; i < kSurvivors; ++i) {
      transaction.Put(table, "s" + std::to_string(i), SurvivorValue(table, i));
    }
  }
  ASSERT_TRUE(store.Commit(std::move(transaction)).ok());
}

inline void DeleteCanaries(Store& store) {
  Transaction transaction;
  for (const Table table : AllTables()) transaction.Delete(table, CanaryKey(table));
  ASSERT_TRUE(store.Commit(std::move(transaction)).ok());
}

inline void ExpectOnlySurvivors(const Store& store) {
  for (const Table table : AllTables()) {
    EXPECT_TRUE(absl::IsNotFound(store.Get(table, CanaryKey(table)).status()));
    for (int i = 0; i < kSurvivors; ++i) {
      const auto value = store.Get(table, "s" + std::to_string(i));
      ASSERT_TRUE(value.ok()) << value.status();
      EXPECT_EQ(*value, SurvivorValue(table, i));
    }
  }
}

// The canaries of all tables as they are.
inline std::vector<test_support::Pattern> RawCanaries() {
  std::vector<test_support::Pattern> patterns;
  for (const Table table : AllTables()) {
    const std::string name = std::to_string(static_cast<int>(table));
    patterns.push_back({"key " + name, Canary(100 + static_cast<uint32_t>(table))});
    patterns.push_back({"value " + name, CanaryValue(table)});
  }
  return patterns;
}

// In every form that byte_search.h knows.
inline std::vector<test_support::Pattern> EncodedCanaries() {
  std::vector<test_support::Pattern> patterns;
  for (const test_support::Pattern& raw : RawCanaries()) {
    for (test_support::Pattern& form : test_support::EncodingsOfBytes(raw.bytes)) {
      patterns.push_back({raw.encoding + " " + form.encoding, std::move(form.bytes)});
    }
  }
  return patterns;
}

// The encodings of the hits, without the files.
inline std::set<std::string> Found(const std::string& path,
                                   const std::vector<test_support::Pattern>& patterns) {
  std::set<std::string> found;
  for (const test_support::Hit& hit : test_support::SearchFiles(path, patterns)) found.insert(hit.encoding);
  return found;
}

inline std::set<std::string> Names(const std::vector<test_support::Pattern>& patterns) {
  std::set<std::string> names;
  for (const test_support::Pattern& pattern : patterns) names.insert(pattern.encoding);
  return names;
}

}  // namespace expunge::storage

#endif  // EXPUNGE_TESTS_STORAGE_CANARY_H_
