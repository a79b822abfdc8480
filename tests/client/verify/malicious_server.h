// What a malicious server may show: a good history, which tests make a bad one.
#ifndef EXPUNGE_TESTS_CLIENT_VERIFY_MALICIOUS_SERVER_H_
#define EXPUNGE_TESTS_CLIENT_VERIFY_MALICIOUS_SERVER_H_

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "client/verify/audit.h"
#include "tests/certificate/fixtures.h"
#include "tests/client/verify/shown_service.h"
#include "tests/support/files.h"

namespace expunge::verify::testing {

// Five certificates of one memory, with keys that rotated three times: a state, a removal with both stages,
// another removal, and a state.
class MaliciousServerTest : public ::testing::Test {
 protected:
  MaliciousServerTest() : memory_("tenants/acme/memories/cells", 14) {
    service_.Add(State());
    service_.Add(memory_.Delete({"token-03", "token-05"}));
    service_.Rotate(certificate::KeyUse::kCertificate);
    service_.Complete(1);
    service_.Rotate(certificate::KeyUse::kCheckpoint);
    service_.Add(memory_.Delete({"token-08"}));
    service_.Rotate(certificate::KeyUse::kCertificate);
    service_.Add(State());
  }

  certificate::Statement State() const { return memory_.Describe(certificate::Kind::kState); }
  std::string Path(absl::string_view name) const { return absl::StrCat(folder_.path(), "/", name); }
  std::string CertificatePath(size_t i) const { return Path(absl::StrCat("certificates/00", i, ".json")); }
  std::string ProofFile(size_t i) const { return ProofPath(CertificatePath(i)); }
  void Show() const { service_.Write(folder_.path()); }
  Report Check(const Paths& paths) const {
    const auto inputs = ReadInputs(paths);
    EXPECT_TRUE(inputs.ok()) << inputs.status();
    return Audit(*inputs);
  }
  Report Check() const { return Check(AllOf(folder_.path())); }
  // The one reason for which certificate i is refused, and its claim: "log NOT_IN_LOG".
  static std::string WorstAt(const Report& report, size_t i) {
    const Claim* worst = WorstOf(report.certificates.at(i).claims);
    return worst == nullptr ? "OK" : absl::StrCat(worst->name, " ", worst->verdict.reason);
  }

  ShownMemory memory_;
  ShownService service_;
  const test_support::TemporaryDirectory folder_;
};

}  // namespace expunge::verify::testing

#endif  // EXPUNGE_TESTS_CLIENT_VERIFY_MALICIOUS_SERVER_H_
