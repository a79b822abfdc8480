// Evict and restored backups: what was dropped since stays dropped, and the memory's scope follows its
// certificates. And fsck of selections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "certificate/read_payload.h"
#include "server/core/fsck.h"
#include "tests/server/core/restore_fixture.h"

namespace expunge::core {
namespace {

class EvictRestoreTest : public RestoringTest {
 protected:
  void SetUp() override {
    options_.ledger_copy_file = directory_ / "ledger";
    Open();
    Create("cells");
    Add(kMemory, MakePoints("a", 40));
  }

  v1::EvictResponse Evict(uint64_t count) {
    v1::EvictRequest request;
    request.set_parent(kMemory);
    request.set_count(count);
    const absl::StatusOr<v1::EvictResponse> response = service_->Evict(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.value_or(v1::EvictResponse());
  }

  v1::SelectionStatus StatusOf(const v1::EvictResponse& evicted) {
    v1::GetCertificateRequest request;
    request.set_name(evicted.certificate().name());
    return service_->GetCertificate(request).value().certificate().selection().status();
  }

  certificate::Scope ScopeNow() {
    v1::CertifyRequest certify;
    certify.set_name(kMemory);
    const v1::Certificate certificate = service_->Certify(certify).value().certificate();
    return certificate::ReadPayload(VerifiedPayload(certificate))->scope;
  }

  void RestoreAndOpen() {
    Close();
    const auto report = RestoreFrom(directory_ / "ledger", "");
    ASSERT_TRUE(report.ok()) << report.status();
    TakeRestored();
    Open();
  }
};

TEST_F(EvictRestoreTest, WhatWasDroppedSinceTheBackupStaysDropped) {
  const v1::EvictResponse earlier = Evict(2);
  BackUp();
  const v1::EvictResponse since = Evict(5);
  const std::set<std::string> left = Ids(kMemory);
  const std::string fingerprint = Full(kMemory).fingerprint();
  RestoreAndOpen();
  EXPECT_EQ(Ids(kMemory), left);
  EXPECT_EQ(Full(kMemory).fingerprint(), fingerprint);
  EXPECT_EQ(ScopeNow(), certificate::Scope::kRetainedSet);
  // The state that the later one refers to is in no backup.
  EXPECT_EQ(StatusOf(earlier), v1::SELECTION_STATUS_HOLDS);
  EXPECT_EQ(StatusOf(since), v1::SELECTION_STATUS_UNKNOWN);
}

TEST_F(EvictRestoreTest, TheFirstSelectionSinceTheBackupSetsTheScope) {
  BackUp();
  Evict(3);
  RestoreAndOpen();
  EXPECT_EQ(Ids(kMemory).size(), 37U);
  EXPECT_EQ(ScopeNow(), certificate::Scope::kRetainedSet);
  Open();
  EXPECT_EQ(ScopeNow(), certificate::Scope::kRetainedSet);
}

TEST_F(EvictRestoreTest, ASelectionOfTokensThatTheBackupDoesNotKnowSetsTheScopeToo) {
  BackUp();
  // Far beyond all others: in reserve, or it gets out of the way.
  const std::set<std::string> before = Ids(kMemory);
  Add(kMemory, MakePoints("late", 60));
  v1::EvictRequest request;
  request.set_parent(kMemory);
  for (const v1::TokenInfo& token : Tokens(kMemory)) {
    const std::string id = token.name().substr(token.name().rfind('/') + 1);
    if (token.token_class() == v1::TOKEN_CLASS_RESERVE && before.count(id) == 0) request.add_token_ids(id);
  }
  ASSERT_GT(request.token_ids_size(), 0);
  ASSERT_TRUE(service_->Evict(request).ok());
  RestoreAndOpen();
  EXPECT_EQ(Ids(kMemory), before);
  EXPECT_EQ(ScopeNow(), certificate::Scope::kRetainedSet);
}

TEST_F(EvictRestoreTest, ARestoredStoreIsSound) {
  Evict(2);
  Delete(kMemory, {"a1"});
  BackUp();
  Evict(5);
  RestoreAndOpen();
  ScopeNow();
  Delete(kMemory, {"a2"});
  Close();
  storage::SealedStoreOptions reading{directory_ / "data", "", "", {}};
  reading.store.read_only = true;
  auto store = storage::SealedStore::Open(reading);
  ASSERT_TRUE(store.ok()) << store.status();
  const FsckReport report = Fsck(**store, FsckOptions{});
  for (const FsckProblem& problem : report.problems) ADD_FAILURE() << DescribeProblem(problem);
  EXPECT_EQ(report.memories, 1U);
}

}  // namespace
}  // namespace expunge::core
