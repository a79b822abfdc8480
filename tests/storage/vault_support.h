// What tests of the key vault share.
#ifndef EXPUNGE_TESTS_STORAGE_VAULT_SUPPORT_H_
#define EXPUNGE_TESTS_STORAGE_VAULT_SUPPORT_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/key_vault.h"
#include "tests/support/files.h"

namespace expunge::test_support {

// 32 bytes: `first`, and on upwards.
inline SecretKey Master(uint8_t first = 0) {
  SecretKey key;
  for (size_t i = 0; i < SecretKey::kBytes; ++i) key.data()[i] = static_cast<uint8_t>(first + i);
  return key;
}

// Null, and a failure, if it can't be opened.
inline std::unique_ptr<storage::KeyVault> OpenVault(const std::string& directory) {
  auto vault = storage::KeyVault::Open(directory, Master(), true);
  EXPECT_TRUE(vault.ok()) << vault.status();
  return vault.ok() ? *std::move(vault) : nullptr;
}

inline std::vector<storage::Slot> MustTake(storage::KeyVault* vault, storage::Slot parent, size_t count) {
  const auto slots = vault->Take(parent, count);
  EXPECT_TRUE(slots.ok()) << slots.status();
  return slots.value_or(std::vector<storage::Slot>(count, 0));
}

// The bytes of a key; empty if there is none.
inline std::string KeyOf(const storage::KeyVault& vault, storage::Slot parent, storage::Slot slot) {
  const auto key = vault.Key(parent, slot);
  return key.ok() ? std::string(key->view()) : std::string();
}

// The 128 bytes of a slot, as they are in the file.
inline std::string PlaceOf(const std::string& directory, storage::Slot slot) {
  const std::string file = ReadWholeFile(directory + "/keys");
  return slot * 128 < file.size() ? file.substr(slot * 128, 128) : std::string();
}

// In place: ext4 waits for the disk when a file is truncated to nothing and written anew.
inline void WriteWholeFile(const std::string& path, const std::string& bytes) {
  const auto mode = std::filesystem::exists(path) ? std::ios::in | std::ios::out : std::ios::out;
  std::fstream(path, mode | std::ios::binary) << bytes;
  std::filesystem::resize_file(path, bytes.size());
}

}  // namespace expunge::test_support

#endif  // EXPUNGE_TESTS_STORAGE_VAULT_SUPPORT_H_
