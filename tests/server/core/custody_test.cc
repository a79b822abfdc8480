// What certificates say of the master key, with each of its providers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "storage/token_master_key.h"
#include "tests/server/core/service_fixture.h"
#include "tests/support/soft_token.h"

namespace expunge::core {
namespace {

using test_support::SoftToken;
using ::testing::EndsWith;
using ::testing::SizeIs;

class CustodyTest : public ServiceTest {
 protected:
  void SetUp() override {}  // each test opens for itself

  // Of every certificate of an erasure, in order.
  std::vector<std::string> Custodies() {
    v1::ListCertificatesRequest request;
    request.set_parent(kTenant);
    const auto page = service_->ListCertificates(request);
    EXPECT_TRUE(page.ok()) << page.status();
    std::vector<std::string> custodies;
    for (const v1::Certificate& certificate : page->certificates()) {
      const auto payload = nlohmann::json::parse(VerifiedPayload(certificate));
      custodies.push_back(payload["predicate"]["erasure"]["custody"]);
    }
    return custodies;
  }
  void EraseOne() {
    Create("cells");
    Add(kMemory, MakePoints("a", 5));
    Delete(kMemory, {"a1"});
    ASSERT_TRUE(service_->EraseBytes().ok());
  }
};

TEST_F(CustodyTest, BothStagesNameTheFile) {
  Open();
  EraseOne();
  const std::vector<std::string> custodies = Custodies();
  ASSERT_THAT(custodies, SizeIs(2));
  for (const std::string& custody : custodies) {
    EXPECT_THAT(custody,
                EndsWith("sealed under a key of the tenant, and that under a master key from a file."));
  }
}

TEST_F(CustodyTest, BothStagesNameTheTokenAlsoAfterARestart) {
  if (!SoftToken::Available()) GTEST_SKIP() << "SoftHSM is not installed (package softhsm2)";
  const SoftToken hsm("token");
  std::ofstream(directory_ / "pin") << test_support::kPin;
  ASSERT_EQ(::chmod((directory_ / "pin").c_str(), 0600), 0);
  master_key_ = storage::MasterKeyOnToken(
      {SoftToken::Module(), "token", "expunge-master", directory_ / "pin", directory_ / "master.key.p11"});
  Open();
  EraseOne();
  Open();
  EXPECT_THAT(Tokens(kMemory), SizeIs(4));
  Delete(kMemory, {"a2"});
  const std::vector<std::string> custodies = Custodies();
  ASSERT_THAT(custodies, SizeIs(3));
  for (const std::string& custody : custodies) {
    EXPECT_THAT(
        custody,
        EndsWith("and that under a master key in a file, sealed under a key that a PKCS#11 token "
                 "holds and does not give out, and unsealed into the service's memory at its start."));
  }
}

}  // namespace
}  // namespace expunge::core
