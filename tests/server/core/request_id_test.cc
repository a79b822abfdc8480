// The same request id and body get the same bytes, also after a restart, and never change anything twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/core/service_fixture.h"

namespace expunge::core {
namespace {

class RequestIdTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    Create("cells");
    Add(kMemory, MakePoints("a", 6));
  }

  // Calls twice, restarts, calls again: three equal answers, one change, even when time goes by.
  template <typename Response, typename Call>
  Response ExpectSameAnswer(const Call& call) {
    const absl::StatusOr<Response> first = call();
    EXPECT_TRUE(first.ok()) << first.status();
    if (!first.ok()) return Response();
    const Dump dump = DumpStore();
    now_ += absl::Hours(3);
    for (const bool restart : {false, true}) {
      if (restart) Open();
      const absl::StatusOr<Response> again = call();
      EXPECT_TRUE(again.ok()) << again.status();
      if (again.ok()) {
        EXPECT_EQ(again->SerializeAsString(), first->SerializeAsString());
      }
      EXPECT_EQ(DumpStore(), dump);
    }
    return *first;
  }

  v1::DeleteRequest DeleteRequestFor(const std::vector<std::string>& ids, const std::string& request_id) {
    v1::DeleteRequest request;
    request.set_parent(kMemory);
    request.set_request_id(request_id);
    for (const std::string& id : ids) request.add_token_ids(id);
    return request;
  }
};

TEST_F(RequestIdTest, CreateMemoryRepeatsItsAnswer) {
  v1::CreateMemoryRequest request;
  request.set_parent(kTenant);
  request.set_memory_id("second");
  *request.mutable_config() = SmallConfig();
  request.set_request_id("create-1");
  ExpectSameAnswer<v1::CreateMemoryResponse>([&] { return service_->CreateMemory(request); });
}

TEST_F(RequestIdTest, AddRepeatsItsAnswerWithTheSameReceipts) {
  const v1::AddRequest request =
      AddRequestFor(kMemory, {{"z", {"s", "t"}, 1, 2, 3}, {"b", {"s"}, 4, 5, 6}}, "add-1");
  const auto answer = ExpectSameAnswer<v1::AddResponse>([&] { return service_->Add(request); });
  ASSERT_EQ(answer.receipts_size(), 2);
  EXPECT_EQ(answer.receipts(0).token(), std::string(kMemory) + "/tokens/z");
  EXPECT_EQ(answer.receipts(1).token(), std::string(kMemory) + "/tokens/b");
}

TEST_F(RequestIdTest, DeleteRepeatsItsAnswerWithTheSameCertificate) {
  const v1::DeleteRequest request = DeleteRequestFor({"a1", "a2"}, "delete-1");
  const auto answer = ExpectSameAnswer<v1::DeleteResponse>([&] { return service_->Delete(request); });
  EXPECT_FALSE(VerifiedPayload(answer.certificate()).empty());
  EXPECT_EQ(Full(kMemory).token_count(), 4U);
}

TEST_F(RequestIdTest, PurgeCertifyAndDeleteMemoryRepeatTheirAnswers) {
  v1::PurgeRequest purge;
  purge.set_parent(kTenant);
  purge.set_subject("subject-a3");
  purge.set_request_id("purge-1");
  ExpectSameAnswer<v1::PurgeResponse>([&] { return service_->Purge(purge); });

  v1::CertifyRequest certify;
  certify.set_name(kMemory);
  certify.set_nonce("chosen");
  certify.set_request_id("certify-1");
  ExpectSameAnswer<v1::CertifyResponse>([&] { return service_->Certify(certify); });

  v1::DeleteMemoryRequest remove;
  remove.set_name(kMemory);
  remove.set_request_id("remove-1");
  ExpectSameAnswer<v1::DeleteMemoryResponse>([&] { return service_->DeleteMemory(remove); });
}

TEST_F(RequestIdTest, ARepeatedAddBringsNoDeletedTokenBack) {
  const v1::AddRequest request =
      AddRequestFor(kMemory, {{"gone", {"s"}, 1, 2, 3}, {"stays", {"t"}, 4, 5, 6}}, "add-1");
  const auto first = service_->Add(request);
  ASSERT_TRUE(first.ok());
  Delete(kMemory, {"gone"});
  const Dump dump = DumpStore();
  for (const bool restart : {false, true}) {
    if (restart) Open();
    const auto again = service_->Add(request);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->state().SerializeAsString(), first->state().SerializeAsString());
    // The erased token's receipt is erased with it; the other is as it was.
    ASSERT_EQ(again->receipts_size(), 1);
    EXPECT_EQ(again->receipts(0).SerializeAsString(), first->receipts(1).SerializeAsString());
    EXPECT_EQ(DumpStore(), dump);
  }
}

TEST_F(RequestIdTest, ARepeatedAddDoesNotReceiptATokenThatAnotherRequestAdded) {
  const v1::AddRequest request = AddRequestFor(kMemory, {{"twice", {"s"}, 1, 2, 3}}, "add-1");
  ASSERT_TRUE(service_->Add(request).ok());
  Delete(kMemory, {"twice"});
  Add(kMemory, {{"twice", {"s"}, 1, 2, 3}}, "add-2");
  const auto again = service_->Add(request);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->receipts_size(), 0);
}

TEST_F(RequestIdTest, ARepeatedAddAfterTheMemoryIsGoneChangesNothing) {
  const v1::AddRequest request = AddRequestFor(kMemory, {{"x", {"s"}, 1, 2, 3}}, "add-1");
  ASSERT_TRUE(service_->Add(request).ok());
  v1::DeleteMemoryRequest remove;
  remove.set_name(kMemory);
  ASSERT_TRUE(service_->DeleteMemory(remove).ok());
  EXPECT_TRUE(service_->Add(request).ok());
  Create("cells");
  const auto again = service_->Add(request);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->receipts_size(), 0);
  EXPECT_EQ(Full(kMemory).token_count(), 0U);
}

TEST_F(RequestIdTest, AnotherBodyOrMethodIsRefused) {
  Add(kMemory, {{"x", {"s"}, 1, 2, 3}}, "id-1");
  Open();
  const Dump dump = DumpStore();
  EXPECT_TRUE(Fails(service_->Add(AddRequestFor(kMemory, {{"x", {"s"}, 1, 2, 4}}, "id-1")).status(),
                    Reason::kRequestIdReused, "request_id"));
  EXPECT_TRUE(Fails(service_->Delete(DeleteRequestFor({"x"}, "id-1")).status(), Reason::kRequestIdReused,
                    "request_id"));
  v1::DeleteRequest dry = DeleteRequestFor({"x"}, "id-1");
  dry.set_validate_only(true);
  EXPECT_TRUE(Fails(service_->Delete(dry).status(), Reason::kRequestIdReused, "request_id"));
  EXPECT_EQ(DumpStore(), dump);
}

TEST_F(RequestIdTest, OnlySuccessIsRemembered) {
  EXPECT_TRUE(Fails(service_->Delete(DeleteRequestFor({"late"}, "id-1")).status(), Reason::kTokenUnknown,
                    "token_ids[0]"));
  Add(kMemory, {{"late", {"s"}, 1, 2, 3}});
  EXPECT_TRUE(service_->Delete(DeleteRequestFor({"late"}, "id-1")).ok());
}

TEST_F(RequestIdTest, ValidateOnlyIsNotRememberedAndAgreesWithARepeat) {
  v1::DeleteRequest dry = DeleteRequestFor({"a0"}, "id-1");
  dry.set_validate_only(true);
  ASSERT_TRUE(service_->Delete(dry).ok());
  ASSERT_TRUE(service_->Delete(DeleteRequestFor({"a0"}, "id-1")).ok());
  const auto after = service_->Delete(dry);  // the call that it foresees is a repeat by now
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_FALSE(after->has_certificate());
  EXPECT_EQ(after->deleted_count(), 1U);
}

TEST_F(RequestIdTest, IdsOfTenantsAreApart) {
  v1::CreateMemoryRequest request;
  request.set_memory_id("m");
  *request.mutable_config() = SmallConfig();
  request.set_request_id("same");
  for (const char* tenant : {"tenants/one", "tenants/two"}) {
    request.set_parent(tenant);
    const auto response = service_->CreateMemory(request);
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->memory().name(), std::string(tenant) + "/memories/m");
  }
}

}  // namespace
}  // namespace expunge::core
