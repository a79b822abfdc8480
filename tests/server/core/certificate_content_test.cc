// What the service fills into certificates: its settings, the whole request, and what it promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "tests/server/core/service_fixture.h"

namespace expunge::core {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class CertificateContentTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    Create("cells");
    Create("other");
    Add(kMemory, MakePoints("a", 12));
    Add(Other(), MakePoints("a", 5));
  }

  static std::string Other() { return absl::StrCat(kTenant, "/memories/other"); }

  json PredicateOf(const v1::Certificate& certificate) {
    return json::parse(VerifiedPayload(certificate)).at("predicate");
  }

  json DeleteOne(const std::string& id, const v1::ErasureBasis& basis = {}) {
    v1::DeleteRequest request;
    request.set_parent(kMemory);
    request.add_token_ids(id);
    *request.mutable_basis() = basis;
    const auto response = service_->Delete(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return PredicateOf(response->certificate());
  }

  static std::string ExpiryOf(const json& predicate, const std::string& what) {
    for (const json& residual : predicate.at("erasure").at("residuals")) {
      if (residual.at("what") == what) return residual.at("expires");
    }
    return "absent";
  }
};

TEST_F(CertificateContentTest, TheSettingsAreThoseThatTheServerSays) {
  const v1::GetServerStatusResponse status = service_->GetServerStatus({}).value();
  EXPECT_EQ(status.configuration_sha256(), AsView(Sha256(status.configuration())));
  EXPECT_THAT(status.configuration(), HasSubstr("\nerase_bytes_within_ms=0\n"));
  EXPECT_THAT(status.configuration(), HasSubstr("\nmaster_key=a master key from a file\n"));
  EXPECT_THAT(status.configuration(), Not(HasSubstr("/")));
  const json before = DeleteOne("a1");
  EXPECT_EQ(before["issuer"]["configurationSha256"], ToHex(status.configuration_sha256()));
  options_.max_tokens_per_memory = 77;
  Open();
  const v1::GetServerStatusResponse changed = service_->GetServerStatus({}).value();
  EXPECT_THAT(changed.configuration(), HasSubstr("\nmax_tokens_per_memory=77\n"));
  EXPECT_EQ(DeleteOne("a2")["issuer"]["configurationSha256"], ToHex(changed.configuration_sha256()));
  // A second certificate names those that it was issued under.
  ASSERT_TRUE(service_->EraseBytes().ok());
  for (const v1::Certificate& certificate : Certificates()) {
    if (certificate.stage() != v1::ERASURE_STAGE_PHYSICALLY_PURGED) continue;
    EXPECT_EQ(PredicateOf(certificate)["issuer"]["configurationSha256"],
              ToHex(changed.configuration_sha256()));
  }
}

TEST_F(CertificateContentTest, ARequestIsDueWhenItsCallerSays) {
  EXPECT_EQ(DeleteOne("a1")["request"]["due"], "");
  v1::ErasureBasis basis;
  basis.mutable_due()->set_seconds(1'800'000'000);
  basis.mutable_due()->set_nanos(999'999'999);
  EXPECT_EQ(DeleteOne("a2", basis)["request"]["due"], "2027-01-15T08:00:00Z");
  basis.mutable_due()->set_seconds(-62'135'596'800);
  EXPECT_EQ(DeleteOne("a3", basis)["request"]["due"], "0001-01-01T00:00:00Z");
  basis.mutable_due()->set_seconds(253'402'300'799);
  EXPECT_EQ(DeleteOne("a4", basis)["request"]["due"], "9999-12-31T23:59:59Z");
  v1::DeleteRequest request;
  request.set_parent(kMemory);
  request.add_token_ids("a5");
  for (const int64_t seconds : {int64_t{-62'135'596'801}, int64_t{253'402'300'800},
                                std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    request.mutable_basis()->mutable_due()->set_seconds(seconds);
    EXPECT_TRUE(Fails(service_->Delete(request).status(), Reason::kOutOfRange, "basis.due"));
  }
}

TEST_F(CertificateContentTest, EachCertificateOfAPurgeCountsTheWholeOfIt) {
  std::vector<Point> more = MakePoints("b", 3);
  for (Point& point : more) point.subjects = {"subject-a1"};
  Add(kMemory, more);
  v1::PurgeRequest purge;
  purge.set_parent(kTenant);
  purge.set_subject("subject-a1");
  const v1::PurgeResponse response = service_->Purge(purge).value();
  ASSERT_EQ(response.certificates_size(), 2);
  for (const v1::Certificate& certificate : response.certificates()) {
    const json predicate = PredicateOf(certificate);
    EXPECT_EQ(predicate["request"]["tokens"], "5");
    EXPECT_EQ(predicate["request"]["memories"], "2");
    EXPECT_EQ(predicate["removedCount"], certificate.memory() == kMemory ? "4" : "1");
  }
  v1::DeleteMemoryRequest remove;
  remove.set_name(Other());
  const json removed = PredicateOf(service_->DeleteMemory(remove)->certificate());
  EXPECT_EQ(removed["request"]["tokens"], "4");
  EXPECT_EQ(removed["request"]["memories"], "1");
}

TEST_F(CertificateContentTest, WhatIsNotPromisedIsNotSaid) {
  const json predicate = DeleteOne("a1");
  for (const json& residual : predicate["erasure"]["residuals"]) EXPECT_EQ(residual["expires"], "");
}

TEST_F(CertificateContentTest, PromisesAreNotEarlierThanWhatIsPromised) {
  now_ = absl::FromUnixSeconds(1'800'000'000) + absl::Milliseconds(900);
  options_.erase_bytes_within = std::chrono::milliseconds(900'500);
  options_.backups_kept_for = std::chrono::hours(24);
  Open();
  const json predicate = DeleteOne("a1");
  EXPECT_EQ(predicate["issued"], "2027-01-15T08:00:00Z");
  EXPECT_EQ(ExpiryOf(predicate, "SEALED_BYTES"), "2027-01-15T08:15:02Z");
  EXPECT_EQ(ExpiryOf(predicate, "BACKUPS"), "2027-01-16T08:00:01Z");
  EXPECT_EQ(ExpiryOf(predicate, "FREED_BLOCKS"), "");
  EXPECT_EQ(ExpiryOf(predicate, "PROCESS_MEMORY"), "");
  EXPECT_EQ(ExpiryOf(predicate, "LEDGER"), "");
  ASSERT_TRUE(service_->EraseBytes().ok());
  const json second = PredicateOf(Certificates().back());
  EXPECT_EQ(ExpiryOf(second, "SEALED_BYTES"), "absent");
  EXPECT_EQ(ExpiryOf(second, "BACKUPS"), "2027-01-16T08:00:01Z");
}

}  // namespace
}  // namespace expunge::core
