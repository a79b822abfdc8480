// A disk that is nearly full: what erases works, and what is refused leaves nothing behind.
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "tests/server/core/service_fixture.h"
#include "tests/support/full_file_system.h"

namespace expunge::core {
namespace {

constexpr uint64_t kReserve = 1 << 20;

class FullDiskTest : public ServiceTest {
 protected:
  void SetUp() override {
    store_options_.env = env_.get();
    store_options_.reserve_bytes = kReserve;
    Open();
    Create("cells");
    Add(kMemory, MakePoints("t", 8));
  }
  void TearDown() override { Close(); }

  uint64_t free_ = 100 * kReserve;
  const std::unique_ptr<rocksdb::Env> env_ = test_support::MakeFullEnv(&free_);
};

TEST_F(FullDiskTest, WhatIsRefusedTakesNoKeysSoTheVaultDoesNotGrow) {
  free_ = kReserve / 4;
  const uint64_t slots = store_->vault().usage().slots;
  const uint64_t pooled = store_->vault().usage().pooled;
  v1::CreateMemoryRequest create;
  create.set_parent(kTenant);
  create.set_memory_id("another");
  *create.mutable_config() = SmallConfig();
  for (int i = 0; i < 20; ++i) {
    const auto added = service_->Add(AddRequestFor(kMemory, MakePoints("more", 100)));
    EXPECT_EQ(GetReason(added.status()), Reason::kDiskFull) << added.status();
    const auto created = service_->CreateMemory(create);
    EXPECT_EQ(GetReason(created.status()), Reason::kDiskFull) << created.status();
  }
  EXPECT_EQ(store_->vault().usage().slots, slots);
  EXPECT_EQ(store_->vault().usage().pooled, pooled);
}

TEST_F(FullDiskTest, AllThatErasesWorks) {
  free_ = 0;
  Delete(kMemory, {"t1"});
  v1::PurgeRequest purge;
  purge.set_parent(kTenant);
  purge.set_subject("subject-t2");
  EXPECT_TRUE(service_->Purge(purge).ok());
  v1::CertifyRequest certify;
  certify.set_name(kMemory);
  EXPECT_EQ(GetReason(service_->Certify(certify).status()), Reason::kDiskFull);
  v1::DeleteMemoryRequest gone;
  gone.set_name(kMemory);
  EXPECT_TRUE(service_->DeleteMemory(gone).ok());
  // The bytes are erased when there is room to rewrite them; that it failed makes nothing read-only.
  EXPECT_FALSE(service_->EraseBytes().ok());
  free_ = 100 * kReserve;
  EXPECT_TRUE(service_->EraseBytes().ok());
  Create("cells");
  Add(kMemory, MakePoints("t", 8));
}

}  // namespace
}  // namespace expunge::core
