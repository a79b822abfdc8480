// Every rpc, the way it is meant to be used.
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "certificate/describe.h"
#include "certificate/envelope.h"
#include "certificate/signing_key.h"
#include "tests/server/rpc/server_fixture.h"

namespace expunge::rpc {
namespace {

class CallsTest : public ServerTest {
 protected:
  void SetUp() override { StartServer(); }

  // The envelope verifies under the keys that the server publishes; returns its payload.
  std::string Verify(const v1::Certificate& certificate) {
    v1::ListSigningKeysResponse response;
    const auto status = Call(&v1::UnlearningService::Stub::ListSigningKeys, unlearning_.get(), {}, &response);
    EXPECT_TRUE(status.ok()) << Describe(status);
    std::vector<certificate::PublicKey> keys;
    for (const auto& key : response.keys()) {
      EXPECT_EQ(key.algorithm(), "Ed25519");
      auto parsed = certificate::PublicKey::FromPem(key.public_key_pem());
      if (!parsed.ok()) {
        ADD_FAILURE() << parsed.status();
        continue;
      }
      EXPECT_EQ(parsed->KeyId(), key.key_id());
      keys.push_back(*parsed);
    }
    const auto result = certificate::VerifyEnvelope(certificate.envelope(), keys);
    EXPECT_EQ(result.reason, certificate::VerifyReason::kOk)
        << std::string(certificate::VerifyReasonName(result.reason));
    EXPECT_TRUE(certificate::DescribePayload(result.payload).ok());
    return result.payload;
  }
};

TEST_F(CallsTest, CreateGetAndListMemories) {
  for (const char* id : {"b", "a", "c"}) CreateMemory(id);
  v1::GetMemoryRequest get;
  get.set_name(MemoryName("a"));
  v1::GetMemoryResponse basic;
  ASSERT_TRUE(Call(&v1::MemoryService::Stub::GetMemory, memories_.get(), get, &basic).ok());
  EXPECT_EQ(basic.memory().name(), MemoryName("a"));
  EXPECT_EQ(basic.memory().config().min_support(), 3U);
  EXPECT_EQ(basic.memory().config().ridge(), 1e-6);
  EXPECT_EQ(basic.memory().state().epoch(), 0U);
  EXPECT_EQ(basic.memory().state().digest().size(), 32U);
  EXPECT_EQ(basic.memory().fingerprint(), "");
  EXPECT_EQ(Full("a").fingerprint().size(), 32U);

  v1::ListMemoriesRequest list;
  list.set_parent(kTenant);
  list.set_page_size(2);
  v1::ListMemoriesResponse first;
  ASSERT_TRUE(Call(&v1::MemoryService::Stub::ListMemories, memories_.get(), list, &first).ok());
  ASSERT_EQ(first.memories_size(), 2);
  EXPECT_EQ(first.memories(0).name(), MemoryName("a"));
  EXPECT_EQ(first.memories(1).name(), MemoryName("b"));
  list.set_page_token(first.next_page_token());
  v1::ListMemoriesResponse second;
  ASSERT_TRUE(Call(&v1::MemoryService::Stub::ListMemories, memories_.get(), list, &second).ok());
  ASSERT_EQ(second.memories_size(), 1);
  EXPECT_EQ(second.memories(0).name(), MemoryName("c"));
  EXPECT_EQ(second.next_page_token(), "");
}

TEST_F(CallsTest, AddGivesReceiptsAndListTokensShowsTheSameCommitments) {
  CreateMemory("m");
  const v1::AddResponse added = Add("m", 0, 12);
  EXPECT_EQ(added.state().epoch(), 1U);
  EXPECT_EQ(added.partition().margin() + added.partition().error() + added.partition().reserve(), 12U);
  ASSERT_EQ(added.receipts_size(), 12);
  const auto tokens = Tokens("m");
  ASSERT_EQ(tokens.size(), 12U);
  double total = 0;
  for (const auto& token : tokens) {
    total += token.weight();
    bool found = false;
    for (const auto& receipt : added.receipts()) {
      if (receipt.token() != token.name()) continue;
      found = true;
      EXPECT_EQ(receipt.commitment(), token.commitment());
      EXPECT_EQ(receipt.salt().size(), 32U);
    }
    EXPECT_TRUE(found) << "no receipt for a token";
    EXPECT_EQ(token.weight() == 0, token.token_class() == v1::TOKEN_CLASS_RESERVE);
  }
  EXPECT_NEAR(total, 1, 1e-12);

  v1::ListTokensRequest list;
  list.set_parent(MemoryName("m"));
  list.set_subject("s1");
  v1::ListTokensResponse of_subject;
  ASSERT_TRUE(Call(&v1::MemoryService::Stub::ListTokens, memories_.get(), list, &of_subject).ok());
  EXPECT_EQ(of_subject.tokens_size(), 4);
  for (const auto& token : of_subject.tokens()) EXPECT_EQ(token.subjects(0), "s1");
}

TEST_F(CallsTest, EvictDropsReserveTokensAndGetCertificateSaysThatTheClaimHolds) {
  CreateMemory("m");
  Add("m", 0, 12);
  size_t reserve = 0;
  for (const auto& token : Tokens("m")) reserve += token.token_class() == v1::TOKEN_CLASS_RESERVE ? 1 : 0;
  ASSERT_GT(reserve, 0U);
  v1::EvictRequest evict;
  evict.set_parent(MemoryName("m"));
  evict.set_all_reserve(true);
  v1::EvictResponse evicted;
  auto status = Call(&v1::MemoryService::Stub::Evict, memories_.get(), evict, &evicted);
  ASSERT_TRUE(status.ok()) << Describe(status) << status.error_message();
  EXPECT_EQ(evicted.evicted_count(), reserve);
  EXPECT_EQ(evicted.state().epoch(), 2U);
  EXPECT_EQ(Tokens("m").size(), 12U - reserve);
  EXPECT_EQ(evicted.certificate().kind(), v1::CERTIFICATE_KIND_SELECTION);
  Verify(evicted.certificate());
  v1::GetCertificateRequest get;
  get.set_name(evicted.certificate().name());
  v1::GetCertificateResponse got;
  ASSERT_TRUE(Call(&v1::UnlearningService::Stub::GetCertificate, unlearning_.get(), get, &got).ok());
  EXPECT_EQ(got.certificate().envelope(), evicted.certificate().envelope());
  EXPECT_EQ(got.certificate().selection().status(), v1::SELECTION_STATUS_HOLDS);
  EXPECT_EQ(got.certificate().selection().state().SerializeAsString(), evicted.state().SerializeAsString());
  status = Call(&v1::MemoryService::Stub::Evict, memories_.get(), evict, &evicted);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(CallsTest, ReadNamesItsStateAndExplainsItsAnswer) {
  CreateMemory("m");
  const v1::AddResponse added = Add("m", 0, 12);
  const v1::ReadResponse read = Read("m", {{0, 0}, {1, -1}, {1e100, 0}}, true);
  EXPECT_EQ(read.state().SerializeAsString(), added.state().SerializeAsString());
  EXPECT_EQ(read.outputs().rows(), 3U);
  EXPECT_EQ(read.outputs().columns(), 2U);
  EXPECT_EQ(read.outputs().data().size(), 48U);
  ASSERT_EQ(read.readouts_size(), 3);
  for (const auto& readout : read.readouts()) {
    EXPECT_TRUE(std::isfinite(readout.decision_value()));
    double total = 0;
    for (const auto& contribution : readout.contributions()) total += contribution.weight();
    EXPECT_NEAR(total, 1, 1e-12);
  }
  EXPECT_GT(read.readouts(0).decision_value(), read.readouts(2).decision_value());
  EXPECT_LT(read.readouts(2).decision_value(), 0) << "far outside the description";
}

TEST_F(CallsTest, Float32KeysAreWidenedExactly) {
  CreateMemory("m32");
  CreateMemory("m64");
  const Rows keys = {{0.5, -1.25}, {2, 0.0078125}, {-0.75, 1}, {0.25, 0.25}};
  const Rows values = {{1, 0}, {0, 1}, {1, 1}, {0, 0}};
  for (const auto dtype : {v1::DTYPE_FLOAT32, v1::DTYPE_FLOAT64}) {
    v1::AddRequest request = AddRequestFor(dtype == v1::DTYPE_FLOAT32 ? "m32" : "m64", 0, 4);
    *request.mutable_keys() = Pack(keys, dtype);
    *request.mutable_values() = Pack(values, dtype);
    v1::AddResponse response;
    const auto status = Call(&v1::MemoryService::Stub::Add, memories_.get(), request, &response);
    ASSERT_TRUE(status.ok()) << Describe(status);
  }
  EXPECT_EQ(Full("m32").fingerprint(), Full("m64").fingerprint());
}

TEST_F(CallsTest, DeleteRemovesCertifiesAndAnswersARetryWithTheSameBytes) {
  CreateMemory("m");
  Add("m", 0, 12);
  v1::DeleteRequest request;
  request.set_parent(MemoryName("m"));
  request.add_token_ids("t3");
  request.add_token_ids("t10");
  request.mutable_basis()->set_legal_basis("GDPR Art. 17(1)(b)");
  request.set_validate_only(true);
  const std::string before = Snapshot();
  v1::DeleteResponse rehearsal;
  ASSERT_TRUE(Call(&v1::UnlearningService::Stub::Delete, unlearning_.get(), request, &rehearsal).ok());
  EXPECT_FALSE(rehearsal.has_certificate());
  EXPECT_EQ(Snapshot(), before);

  request.set_validate_only(false);
  request.set_request_id("erasure-1");
  v1::DeleteResponse deleted;
  const auto status = Call(&v1::UnlearningService::Stub::Delete, unlearning_.get(), request, &deleted);
  ASSERT_TRUE(status.ok()) << Describe(status) << status.error_message();
  EXPECT_EQ(deleted.deleted_count(), 2U);
  EXPECT_EQ(deleted.certificate().kind(), v1::CERTIFICATE_KIND_DELETION);
  EXPECT_NE(Verify(deleted.certificate()).find("GDPR Art. 17(1)(b)"), std::string::npos);
  EXPECT_EQ(Tokens("m").size(), 10U);

  const std::string after = Snapshot();
  v1::DeleteResponse again;
  ASSERT_TRUE(Call(&v1::UnlearningService::Stub::Delete, unlearning_.get(), request, &again).ok());
  EXPECT_EQ(again.SerializeAsString(), deleted.SerializeAsString());
  EXPECT_EQ(Snapshot(), after);
}

TEST_F(CallsTest, PurgeRemovesASubjectFromEveryMemoryOfItsTenant) {
  for (const char* id : {"a", "b", "untouched"}) CreateMemory(id);
  Add("a", 0, 9);
  Add("b", 0, 6);
  Add("untouched", 3, 1);  // about s0
  v1::PurgeRequest request;
  request.set_parent(kTenant);
  request.set_subject("s1");
  v1::PurgeResponse purged;
  const auto status = Call(&v1::UnlearningService::Stub::Purge, unlearning_.get(), request, &purged);
  ASSERT_TRUE(status.ok()) << Describe(status) << status.error_message();
  EXPECT_EQ(purged.deleted_count(), 5U);
  ASSERT_EQ(purged.certificates_size(), 2);
  EXPECT_EQ(purged.certificates(0).memory(), MemoryName("a"));
  EXPECT_EQ(purged.certificates(1).memory(), MemoryName("b"));
  for (const auto& certificate : purged.certificates()) {
    EXPECT_EQ(certificate.kind(), v1::CERTIFICATE_KIND_PURGE);
    Verify(certificate);
  }
  for (const char* id : {"a", "b", "untouched"}) {
    for (const auto& token : Tokens(id)) EXPECT_NE(token.subjects(0), "s1");
  }
  EXPECT_EQ(Describe(Call(&v1::UnlearningService::Stub::Purge, unlearning_.get(), request, &purged)),
            "NOT_FOUND SUBJECT_UNKNOWN subject");
}

TEST_F(CallsTest, CertificatesAreKeptByteForByte) {
  CreateMemory("m");
  Add("m", 0, 5);
  v1::CertifyRequest certify;
  certify.set_name(MemoryName("m"));
  certify.set_nonce("an auditor's nonce");
  v1::CertifyResponse certified;
  auto status = Call(&v1::UnlearningService::Stub::Certify, unlearning_.get(), certify, &certified);
  ASSERT_TRUE(status.ok()) << Describe(status) << status.error_message();
  EXPECT_EQ(certified.certificate().kind(), v1::CERTIFICATE_KIND_STATE);
  Verify(certified.certificate());

  v1::GetCertificateRequest get;
  get.set_name(certified.certificate().name());
  v1::GetCertificateResponse got;
  ASSERT_TRUE(Call(&v1::UnlearningService::Stub::GetCertificate, unlearning_.get(), get, &got).ok());
  EXPECT_EQ(got.certificate().SerializeAsString(), certified.certificate().SerializeAsString());

  v1::DeleteMemoryRequest remove;
  remove.set_name(MemoryName("m"));
  v1::DeleteMemoryResponse removed;
  status = Call(&v1::MemoryService::Stub::DeleteMemory, memories_.get(), remove, &removed);
  ASSERT_TRUE(status.ok()) << Describe(status) << status.error_message();
  EXPECT_EQ(removed.certificate().kind(), v1::CERTIFICATE_KIND_MEMORY_DELETION);
  Verify(removed.certificate());

  v1::ListCertificatesRequest list;
  list.set_parent(kTenant);
  v1::ListCertificatesResponse listed;
  ASSERT_TRUE(Call(&v1::UnlearningService::Stub::ListCertificates, unlearning_.get(), list, &listed).ok());
  ASSERT_EQ(listed.certificates_size(), 2);
  EXPECT_EQ(listed.certificates(0).envelope(), certified.certificate().envelope());
  EXPECT_EQ(listed.certificates(1).envelope(), removed.certificate().envelope());
  list.set_kind(v1::CERTIFICATE_KIND_MEMORY_DELETION);
  ASSERT_TRUE(Call(&v1::UnlearningService::Stub::ListCertificates, unlearning_.get(), list, &listed).ok());
  EXPECT_EQ(listed.certificates_size(), 1);
}

}  // namespace
}  // namespace expunge::rpc
