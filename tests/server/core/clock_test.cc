// A clock that is set back, by much: nothing but the times in what is written may depend on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "tests/server/core/service_fixture.h"

namespace expunge::core {
namespace {

using ::testing::SizeIs;

constexpr absl::Duration kYear = absl::Hours(24 * 365);

class ClockTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    Create("cells");
    Add(kMemory, MakePoints("a", 12));
  }

  // Each verifies, they are numbered without a gap, and each names the one before by its hash.
  void ExpectChain(size_t length) {
    const std::vector<v1::Certificate> certificates = Certificates();
    ASSERT_EQ(certificates.size(), length);
    std::string previous(64, '0');
    for (size_t i = 0; i < length; ++i) {
      const std::string payload = VerifiedPayload(certificates[i]);
      const auto memory = nlohmann::json::parse(payload)["predicate"]["memory"];
      EXPECT_EQ(memory["sequence"], std::to_string(i + 1));
      EXPECT_EQ(memory["previousPayloadSha256"], previous) << i;
      previous = ToHex(AsView(Sha256(payload)));
    }
  }

  // How long the oldest erasure has waited.
  absl::Duration OldestAge() {
    v1::GetErasureStatusRequest request;
    request.set_parent(kTenant);
    const auto status = service_->GetErasureStatus(request);
    EXPECT_TRUE(status.ok()) << status.status();
    EXPECT_TRUE(status->has_oldest_age());
    return absl::Seconds(status->oldest_age().seconds()) + absl::Nanoseconds(status->oldest_age().nanos());
  }

  void CertifyNow() {
    v1::CertifyRequest request;
    request.set_name(kMemory);
    request.set_nonce("nonce");
    const auto response = service_->Certify(request);
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_FALSE(VerifiedPayload(response->certificate()).empty());
  }

  // Delete, certify, erase the bytes, purge: five certificates.
  void RunErasures(const std::string& first, const std::string& second) {
    Delete(kMemory, {first});
    EXPECT_GE(OldestAge(), absl::ZeroDuration());
    EXPECT_LT(OldestAge(), absl::Hours(1));
    CertifyNow();
    ASSERT_TRUE(service_->EraseBytes().ok());
    v1::PurgeRequest purge;
    purge.set_parent(kTenant);
    purge.set_subject("subject-" + second);
    ASSERT_TRUE(service_->Purge(purge).ok());
    ASSERT_TRUE(service_->EraseBytes().ok());
  }
};

TEST_F(ClockTest, SetBackBetweenOperationsEveryErasureStillWorksInOrder) {
  RunErasures("a0", "a1");
  now_ -= kYear;
  RunErasures("a2", "a3");
  Add(kMemory, {{"b0", {"subject-b0"}, 1, 2, 3}});
  now_ -= 20 * kYear;
  RunErasures("a4", "b0");
  ExpectChain(15);
  EXPECT_THAT(Tokens(kMemory), SizeIs(7));
  Open();
  ExpectChain(15);
}

TEST_F(ClockTest, SetBackDuringOperationsEveryErasureStillWorksInOrder) {
  clock_step_ = -absl::Hours(24 * 30);
  RunErasures("a0", "a1");
  RunErasures("a2", "a3");
  ExpectChain(10);
  Open();
  ExpectChain(10);
  EXPECT_THAT(Tokens(kMemory), SizeIs(8));
}

TEST_F(ClockTest, SetBackAcrossARestartTheBytesAreStillErasedInTime) {
  options_.erase_bytes_within = std::chrono::hours(24);  // not before the test is over
  Open();
  Delete(kMemory, {"a0"}, "request");
  now_ -= kYear;
  Open();
  EXPECT_GE(OldestAge(), absl::ZeroDuration()) << "as if it had been deleted just now";
  EXPECT_LT(OldestAge(), absl::Hours(1));
  Delete(kMemory, {"a1"});
  ASSERT_TRUE(service_->EraseBytes().ok());
  ExpectChain(4);
  Open();
  ExpectChain(4);
}

TEST_F(ClockTest, SetForwardAcrossARestartAnErasureIsDueAtOnce) {
  Delete(kMemory, {"a0"});
  now_ += kYear;
  Open();
  EXPECT_GE(OldestAge(), kYear);
  EXPECT_LT(OldestAge(), kYear + absl::Hours(1));
}

TEST_F(ClockTest, ARetryAfterTheClockWasSetBackGetsTheSameBytes) {
  const auto first = Delete(kMemory, {"a0"}, "request");
  now_ -= kYear;
  const auto second = Delete(kMemory, {"a0"}, "request");
  EXPECT_EQ(second.SerializeAsString(), first.SerializeAsString());
  Open();
  EXPECT_EQ(Delete(kMemory, {"a0"}, "request").SerializeAsString(), first.SerializeAsString());
}

}  // namespace
}  // namespace expunge::core
