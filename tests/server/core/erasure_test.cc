// Purge, certificates and their chains, the life of a memory, lists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "certificate/envelope.h"
#include "tests/server/core/service_fixture.h"

namespace expunge::core {
namespace {

using ::testing::ElementsAre;

class ErasureTest : public ServiceTest {
 protected:
  nlohmann::json Predicate(const v1::Certificate& certificate) {
    return nlohmann::json::parse(VerifiedPayload(certificate)).at("predicate");
  }

  absl::StatusOr<v1::PurgeResponse> Purge(const std::string& subject) {
    v1::PurgeRequest request;
    request.set_parent(kTenant);
    request.set_subject(subject);
    request.mutable_basis()->set_legal_basis("GDPR Art. 17(1)(b)");
    return service_->Purge(request);
  }

  v1::Certificate Certify(const std::string& memory) {
    v1::CertifyRequest request;
    request.set_name(memory);
    const auto response = service_->Certify(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->certificate() : v1::Certificate();
  }

  std::vector<v1::Certificate> Certificates(const std::string& memory, v1::CertificateKind kind,
                                            uint32_t page_size) {
    std::vector<v1::Certificate> all;
    v1::ListCertificatesRequest request;
    request.set_parent(kTenant);
    request.set_memory(memory);
    request.set_kind(kind);
    request.set_page_size(page_size);
    do {
      const auto page = service_->ListCertificates(request);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) break;
      EXPECT_LE(static_cast<uint32_t>(page->certificates_size()), page_size);
      all.insert(all.end(), page->certificates().begin(), page->certificates().end());
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    return all;
  }

  static std::vector<std::string> NamesOf(const std::vector<v1::Certificate>& certificates) {
    std::vector<std::string> names;
    for (const v1::Certificate& certificate : certificates) {
      names.push_back(certificate.name().substr(certificate.name().rfind('/') + 1));
    }
    return names;
  }
};

TEST_F(ErasureTest, PurgeRemovesEveryTokenOfTheSubjectInAllMemories) {
  for (const char* id : {"c", "a", "b", "untouched"}) Create(id);
  const std::string base = std::string(kTenant) + "/memories/";
  std::vector<std::string> fingerprints;
  for (const char* id : {"a", "b", "c"}) {
    Add(base + id, MakePoints("p", 8));
    fingerprints.push_back(Full(base + id).fingerprint());
    Add(base + id, {{"q1", {"eve"}, 0.5, 0.5, 1}, {"q2", {"ann", "eve"}, -0.5, 0.25, 2}});
  }
  Add(base + "untouched", MakePoints("p", 5));
  const std::string untouched = Full(base + "untouched").SerializeAsString();

  const auto purged = Purge("eve");
  ASSERT_TRUE(purged.ok()) << purged.status();
  EXPECT_EQ(purged->deleted_count(), 6U);
  ASSERT_EQ(purged->certificates_size(), 3);
  for (int i = 0; i < 3; ++i) {
    const std::string memory = base + std::string(1, static_cast<char>('a' + i));
    EXPECT_EQ(purged->certificates(i).memory(), memory);
    EXPECT_EQ(purged->certificates(i).kind(), v1::CERTIFICATE_KIND_PURGE);
    EXPECT_FALSE(VerifiedPayload(purged->certificates(i)).empty());
    EXPECT_EQ(Full(memory).fingerprint(), fingerprints[static_cast<size_t>(i)]);
  }
  EXPECT_EQ(Full(base + "untouched").SerializeAsString(), untouched);
  EXPECT_TRUE(Fails(Purge("eve").status(), Reason::kSubjectUnknown, "subject"));
  // Whoever shared a token with the subject lost that token alone.
  EXPECT_TRUE(Fails(Purge("ann").status(), Reason::kSubjectUnknown, "subject"));
}

// A payload that failed its own check would make a memory from which nothing can be removed.
TEST_F(ErasureTest, EveryConfigurationThatIsAcceptedCanBeErasedFrom) {
  constexpr double kTiny = std::numeric_limits<double>::denorm_min();
  constexpr double kLargest = std::numeric_limits<double>::max();
  int made = 0;
  for (const double gamma : {kTiny, 1.0, kLargest}) {
    for (const double box : {kTiny, 0.25, 1.0, kLargest, 0.0, -1.0}) {  // 0: s = 1; -1: s = 2^31
      for (const double ridge : {1e-8, 1.0}) {
        v1::MemoryConfig config = SmallConfig();
        config.set_gamma(gamma);
        config.set_ridge(ridge);
        if (box > 0) {
          config.set_box_bound(box);
        } else {
          config.set_min_support(box == 0 ? 1 : uint32_t{1} << 31);
        }
        const std::string id = "m" + std::to_string(made++);
        SCOPED_TRACE(id + " gamma " + std::to_string(gamma) + " box " + std::to_string(box));
        Create(id, config);
        const std::string memory = std::string(kTenant) + "/memories/" + id;
        std::vector<Point> points = MakePoints("p", 5);
        points.push_back({"twin", {"twin"}, points[0].x, points[0].y, 1e100});
        points.push_back({"far", {"far"}, 1e150, -1e150, -1e100});
        points.push_back({"tiny", {"tiny"}, kTiny, -kTiny, 0});
        Add(memory, points);
        EXPECT_NE(VerifiedPayload(Certify(memory)), "");
        EXPECT_NE(VerifiedPayload(Delete(memory, {"twin", "far", "tiny"}).certificate()), "");
        v1::DeleteMemoryRequest remove;
        remove.set_name(memory);
        const auto removed = service_->DeleteMemory(remove);
        ASSERT_TRUE(removed.ok()) << removed.status();
        EXPECT_NE(VerifiedPayload(removed->certificate()), "");
      }
    }
  }
  EXPECT_EQ(made, 36);
  EXPECT_TRUE(TryOpen().ok());
}

TEST_F(ErasureTest, CertificatesOfAMemoryFormAChain) {
  Create("cells");
  Create("other");
  Add(kMemory, MakePoints("a", 8));
  std::vector<v1::Certificate> chain;
  chain.push_back(Certify(kMemory));
  Certify(std::string(kTenant) + "/memories/other");
  chain.push_back(Delete(kMemory, {"a1"}).certificate());
  Open();
  chain.push_back(Delete(kMemory, {"a2", "a3"}).certificate());
  const auto purged = Purge("subject-a4");
  ASSERT_TRUE(purged.ok());
  chain.push_back(purged->certificates(0));

  std::string previous(sizeof(Digest), '\0');
  for (size_t i = 0; i < chain.size(); ++i) {
    const std::string payload = VerifiedPayload(chain[i]);
    EXPECT_NE(payload.find("\"" + ToHex(previous) + "\""), std::string::npos) << i;
    const Digest hash = Sha256(payload);
    previous.assign(hash.begin(), hash.end());
    // As fetched, byte for byte.
    v1::GetCertificateRequest get;
    get.set_name(chain[i].name());
    const auto fetched = service_->GetCertificate(get);
    ASSERT_TRUE(fetched.ok());
    EXPECT_EQ(Lasting(fetched->certificate()), Lasting(chain[i]));
  }
}

TEST_F(ErasureTest, ACertificateNamesNoIdentifierAndNoWeight) {
  Create("cells");
  Add(kMemory, {{"patient-77", {"jane.doe"}, 0.5, 0.25, 1}, {"patient-78", {"john.doe"}, 1.5, 0.25, 1}});
  const std::string payload = VerifiedPayload(Delete(kMemory, {"patient-77"}, "ticket-9").certificate());
  for (const char* needle : {"patient", "jane", ".doe", "cells", "acme", "ticket"}) {
    EXPECT_EQ(payload.find(needle), std::string::npos) << needle;
  }
}

TEST_F(ErasureTest, AReceiptProvesThatTheCertificateSpeaksOfTheToken) {
  Create("cells");
  const v1::AddResponse added = Add(kMemory, {{"t", {"s"}, 0.5, 0.25, 1}, {"u", {"s"}, 1, 1, 1}});
  const std::string payload = VerifiedPayload(Delete(kMemory, {"t"}).certificate());
  EXPECT_NE(payload.find(ToHex(added.receipts(0).commitment())), std::string::npos);
  EXPECT_EQ(payload.find(ToHex(added.receipts(1).commitment())), std::string::npos);
}

TEST_F(ErasureTest, TheEndOfTheLargestMemoryFitsIntoACertificate) {
  constexpr int kTokens = 1000;
  Create("cells");
  Add(kMemory, MakePoints("a", kTokens));
  v1::DeleteMemoryRequest remove;
  remove.set_name(kMemory);
  const auto removed = service_->DeleteMemory(remove);
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_LE(removed->certificate().envelope().size() * (kMostTokensPerMemory / kTokens),
            certificate::kMaxEnvelopeBytes);
}

TEST_F(ErasureTest, ADeletedMemoryIsGoneAndItsNameStartsAnew) {
  Create("cells");
  Add(kMemory, MakePoints("a", 5));
  const v1::Memory old_memory = Full(kMemory);
  const nlohmann::json old_predicate = Predicate(Certify(kMemory));
  now_ += absl::Seconds(90);
  v1::DeleteMemoryRequest remove;
  remove.set_name(kMemory);
  const auto removed = service_->DeleteMemory(remove);
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->certificate().kind(), v1::CERTIFICATE_KIND_MEMORY_DELETION);
  for (const auto& [key, value] : DumpStore()) {
    EXPECT_NE(key.first, static_cast<int>(storage::Table::kTokens));
    EXPECT_NE(key.first, static_cast<int>(storage::Table::kStates));
    EXPECT_NE(key.first, static_cast<int>(storage::Table::kMemories));
  }
  v1::GetMemoryRequest get;
  get.set_name(kMemory);
  EXPECT_TRUE(Fails(service_->GetMemory(get).status(), Reason::kMemoryUnknown, "name"));
  Open();
  EXPECT_TRUE(Fails(service_->GetMemory(get).status(), Reason::kMemoryUnknown, "name"));

  Create("cells");
  const v1::Memory fresh = Full(kMemory);
  EXPECT_EQ(fresh.state().epoch(), 0U);
  EXPECT_EQ(fresh.token_count(), 0U);
  EXPECT_NE(fresh.state().digest(), old_memory.state().digest());
  const v1::Certificate first = Certify(kMemory);
  const std::string payload = VerifiedPayload(first);
  EXPECT_NE(payload.find("\"" + std::string(64, '0') + "\""), std::string::npos);  // no previous payload
  // Numbers of certificates go on; the old ones can still be fetched.
  EXPECT_THAT(NamesOf(Certificates(kMemory, v1::CERTIFICATE_KIND_UNSPECIFIED, 10)),
              ElementsAre("000000000001", "000000000002", "000000000003"));
}

TEST_F(ErasureTest, ListsCertificatesPageByPageAndFiltered) {
  Create("cells");
  Create("other");
  const std::string other = std::string(kTenant) + "/memories/other";
  Add(kMemory, MakePoints("a", 6));
  Certify(kMemory);
  Certify(other);
  Delete(kMemory, {"a0"});
  Certify(kMemory);
  Delete(kMemory, {"a1"});
  const auto any = v1::CERTIFICATE_KIND_UNSPECIFIED;
  for (const uint32_t page_size : {1U, 2U, 3U, 5U, 1000U}) {
    EXPECT_THAT(NamesOf(Certificates("", any, page_size)),
                ElementsAre("000000000001", "000000000002", "000000000003", "000000000004", "000000000005"));
    EXPECT_THAT(NamesOf(Certificates(kMemory, any, page_size)),
                ElementsAre("000000000001", "000000000003", "000000000004", "000000000005"));
    EXPECT_THAT(NamesOf(Certificates(kMemory, v1::CERTIFICATE_KIND_DELETION, page_size)),
                ElementsAre("000000000003", "000000000005"));
    EXPECT_THAT(NamesOf(Certificates(other, v1::CERTIFICATE_KIND_DELETION, page_size)), ElementsAre());
  }
}

TEST_F(ErasureTest, ListsMemoriesAndTokensPageByPage) {
  for (const char* id : {"m3", "m1", "m2"}) Create(id);
  v1::ListMemoriesRequest memories;
  memories.set_parent(kTenant);
  memories.set_page_size(2);
  auto page = service_->ListMemories(memories);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->memories_size(), 2);
  EXPECT_EQ(page->memories(0).name(), std::string(kTenant) + "/memories/m1");
  memories.set_page_token(page->next_page_token());
  page = service_->ListMemories(memories);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->memories_size(), 1);
  EXPECT_EQ(page->memories(0).name(), std::string(kTenant) + "/memories/m3");
  EXPECT_EQ(page->next_page_token(), "");
  memories.set_parent("tenants/nobody");
  memories.clear_page_token();
  page = service_->ListMemories(memories);
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->memories_size(), 0);

  const std::string memory = std::string(kTenant) + "/memories/m1";
  std::vector<Point> points = MakePoints("p", 9);
  points[3].subjects = {"subject-p1", "x"};
  Add(memory, points);
  for (const uint32_t page_size : {1U, 2U, 4U, 9U, 10U}) {
    for (const std::string& subject : {std::string(), std::string("subject-p1")}) {
      v1::ListTokensRequest request;
      request.set_parent(memory);
      request.set_subject(subject);
      request.set_page_size(page_size);
      std::vector<std::string> names;
      do {
        const auto tokens = service_->ListTokens(request);
        ASSERT_TRUE(tokens.ok()) << tokens.status();
        ASSERT_LE(static_cast<uint32_t>(tokens->tokens_size()), page_size);
        for (const v1::TokenInfo& token : tokens->tokens()) names.push_back(token.name());
        request.set_page_token(tokens->next_page_token());
      } while (!request.page_token().empty());
      std::vector<std::string> expected;
      for (size_t i = 0; i < points.size(); ++i) {
        if (subject.empty() || i == 1 || i == 3) expected.push_back(memory + "/tokens/" + points[i].id);
      }
      EXPECT_EQ(names, expected) << page_size << subject;
    }
  }
}

TEST_F(ErasureTest, ListsTheSigningKeysWithTheTimeOfTheirFirstUse) {
  const auto keys = service_->ListSigningKeys({});
  ASSERT_TRUE(keys.ok());
  ASSERT_EQ(keys->keys_size(), 2);
  EXPECT_EQ(keys->keys(0).key_id(), key_.Public().KeyId());
  EXPECT_EQ(keys->keys(0).public_key_pem(), key_.Public().ToPem());
  now_ += absl::Hours(1);
  Open();
  EXPECT_EQ(service_->ListSigningKeys({})->SerializeAsString(), keys->SerializeAsString());
}

}  // namespace
}  // namespace expunge::core
