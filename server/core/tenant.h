// Tenants: who holds which memories, and who may change them when.
//
// Locks.  `writer` is held for the whole of a change of the tenant, solving and syncing included. `index` is
// held for as long as it takes to copy or swap a pointer; it is taken after `writer`, never before. Readers
// take `index` alone.
#ifndef EXPUNGE_SERVER_CORE_TENANT_H_
#define EXPUNGE_SERVER_CORE_TENANT_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "server/core/memory.h"
#include "storage/key_vault.h"

namespace expunge::core {

// The next certificate's place in the chain of a memory.
struct Chain {
  uint64_t next_sequence = 1;
  Digest last_payload_sha256{};  // zero: none yet
};

using Snapshot = std::shared_ptr<const MemoryView>;

class Tenant {
 public:
  // `handle`: TenantHandle (handles.h), also the beginning of its keys in the store.
  Tenant(std::string name, const Digest& handle) : name_(std::move(name)), handle_(handle) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Digest& handle() const { return handle_; }

  // Held by whoever changes the tenant.
  std::mutex& writer() { return writer_; }

  // The present snapshot; null if there is no such memory. Never waits for a change.
  [[nodiscard]] Snapshot Find(const std::string& memory) const {
    const std::lock_guard lock(index_);
    const auto found = memories_.find(memory);
    return found == memories_.end() ? nullptr : found->second;
  }

  // Every present snapshot, in the order of the names, all of one moment.
  [[nodiscard]] std::vector<Snapshot> All() const {
    const std::lock_guard lock(index_);
    std::vector<Snapshot> all;
    all.reserve(memories_.size());
    for (const auto& [name, snapshot] : memories_) all.push_back(snapshot);
    return all;
  }

  // Makes a change visible, all of it at once: null removes the memory. REQUIRES: writer() held.
  void Publish(const std::map<std::string, Snapshot>& changes) {
    const std::lock_guard lock(index_);
    for (const auto& [name, snapshot] : changes) {
      if (snapshot == nullptr) {
        memories_.erase(name);
      } else {
        memories_[name] = snapshot;
      }
    }
  }

  // REQUIRES, for all that follow: writer() held.
  [[nodiscard]] uint64_t next_certificate() const { return next_certificate_; }
  void set_next_certificate(uint64_t number) { next_certificate_ = number; }
  std::map<std::string, Chain>& chains() { return chains_; }
  // Its key in the vault, under the master key: 0 until its first change.
  [[nodiscard]] storage::Slot key_slot() const { return key_slot_; }
  void set_key_slot(storage::Slot slot) { key_slot_ = slot; }
  // The keys of its memories (records and states), under its own.
  std::map<std::string, storage::Slot>& memory_keys() { return memory_keys_; }

  // Certificates below this number are released: whatever they say has been done, and is durable.
  // Threads: any number at once.
  [[nodiscard]] uint64_t released() const { return released_; }
  // REQUIRES: writer() held.
  void Release() { released_ = next_certificate_; }

 private:
  const std::string name_;
  const Digest handle_;
  std::mutex writer_;
  uint64_t next_certificate_ = 1;                     // guarded by writer_
  std::map<std::string, Chain> chains_;               // by memory; guarded by writer_
  storage::Slot key_slot_ = 0;                        // guarded by writer_
  std::map<std::string, storage::Slot> memory_keys_;  // by memory; guarded by writer_
  std::atomic<uint64_t> released_ = 1;
  mutable std::mutex index_;
  std::map<std::string, Snapshot> memories_;  // guarded by index_
};

// Threads: any number at once. Tenants live as long as the registry.
class TenantRegistry {
 public:
  // Null if no memory was ever created for the tenant.
  [[nodiscard]] Tenant* Find(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = tenants_.find(name);
    return found == tenants_.end() ? nullptr : found->second.get();
  }

  // In the order of their names.
  [[nodiscard]] std::vector<Tenant*> All() const {
    const std::lock_guard lock(mutex_);
    std::vector<Tenant*> all;
    for (const auto& [name, tenant] : tenants_) all.push_back(tenant.get());
    return all;
  }

  Tenant& FindOrAdd(const std::string& name, const Digest& handle) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Tenant>& slot = tenants_[name];
    if (slot == nullptr) slot = std::make_unique<Tenant>(name, handle);
    return *slot;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Tenant>> tenants_;
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_TENANT_H_
