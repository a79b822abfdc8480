#include "client/verify/receipts.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/verify/audit.h"
#include "tests/certificate/fixtures.h"
#include "tests/client/verify/shown_service.h"
#include "tests/support/files.h"

namespace expunge::verify {
namespace {

using certificate::testing::WriteBytes;
using testing::CheckOf;
using testing::ClaimOf;
using testing::ShownMemory;
using testing::ShownService;

Verdict Read(const std::string& text) { return Receipts().Read(text); }

TEST(ReceiptsTest, AreReadAndOpenedWhereTheyHaveTheirToken) {
  const ShownMemory memory("tenants/acme/memories/cells", 12);
  const std::string plain = memory.Receipt("token-01", false);
  const std::string full = memory.Receipt("token-02", true);
  EXPECT_EQ(Read(plain + full).text, "2 receipts, 1 of them opened with their tokens");
  EXPECT_TRUE(Read(full.substr(0, full.size() - 1)).ok());
}

TEST(ReceiptsTest, AreRefusedIfTheirTokenIsAnother) {
  const ShownMemory memory("tenants/acme/memories/cells", 12);
  const std::string full = memory.Receipt("token-02", true);
  for (const auto& [from, to] : {std::pair<const char*, const char*>{"token-02", "token-03"},
                                 {"subject-2", "subject-1"},
                                 {"\"salt\":\"", "\"salt\":\"00"}}) {
    std::string edited = absl::StrReplaceAll(full, {{from, to}});
    ASSERT_NE(edited, full);
    EXPECT_EQ(Read(edited).reason, "BAD_RECEIPT") << to;
  }
}

TEST(ReceiptsTest, AreRefusedInOtherForms) {
  const ShownMemory memory("tenants/acme/memories/cells", 12);
  const std::string good = memory.Receipt("token-01", false);
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("{}"), std::string("[]"), good + "\n", good + "x",
        absl::StrReplaceAll(good, {{"token\"", "name\""}}),
        absl::StrReplaceAll(good, {{"}", ",\"more\":1}"}}),
        absl::StrReplaceAll(good, {{"\"salt\":\"", "\"salt\":\"Z"}}), good.substr(0, 30)}) {
    EXPECT_EQ(Read(text).reason, "BAD_RECEIPT") << text;
  }
}

class ReceiptsOfCertificatesTest : public ::testing::Test {
 protected:
  ReceiptsOfCertificatesTest() : memory_("tenants/acme/memories/cells", 12) {
    WriteBytes(folder_ / "removed", memory_.Receipt("token-03", true));
    WriteBytes(folder_ / "unopened", memory_.Receipt("token-03", false));
    WriteBytes(folder_ / "before", memory_.Bundle());
    WriteBytes(folder_ / "kept", memory_.Receipt("token-04", true));
    service_.Add(memory_.Delete({"token-03"}));
    service_.Write(folder_.path());
    WriteBytes(folder_ / "bundle", memory_.Bundle());
    paths_ = testing::AllOf(folder_.path());
  }

  Report Check() const { return Audit(ReadInputs(paths_).value()); }

  ShownMemory memory_;
  ShownService service_;
  Paths paths_;
  const test_support::TemporaryDirectory folder_;
};

TEST_F(ReceiptsOfCertificatesTest, ShowThatACertificateSpeaksOfTheToken) {
  paths_.receipts = folder_ / "removed";
  const Report report = Check();
  EXPECT_TRUE(report.verified()) << TextReport(report);
  EXPECT_EQ(ClaimOf(report, "000.json", "receipt").text,
            "it names 1 of the tokens of the receipts as removed");
}

TEST_F(ReceiptsOfCertificatesTest, CountForNothingIfNobodyOpensThem) {
  paths_.receipts = folder_ / "unopened";
  const Report report = Check();
  EXPECT_TRUE(report.verified()) << TextReport(report);
  const Verdict verdict = ClaimOf(report, "000.json", "receipt");
  EXPECT_EQ(verdict.outcome, Outcome::kNotChecked);
  EXPECT_EQ(verdict.reason, "NOT_OPENED");
}

TEST_F(ReceiptsOfCertificatesTest, AreOpenedByABundleOfTheStateBefore) {
  paths_.receipts = folder_ / "unopened";
  paths_.bundle = folder_ / "before";
  const Report report = Check();
  EXPECT_TRUE(report.verified()) << TextReport(report);
  EXPECT_TRUE(ClaimOf(report, "000.json", "receipt").ok());
}

TEST_F(ReceiptsOfCertificatesTest, OfOtherTokensLeaveTheQuestionOpen) {
  paths_.receipts = folder_ / "kept";
  const Report report = Check();
  EXPECT_FALSE(report.verified());
  EXPECT_TRUE(report.refused());
  EXPECT_EQ(CheckOf(report, "receiptsFound").reason, "NO_RECEIPT");
}

TEST_F(ReceiptsOfCertificatesTest, OpenTheTokensOfABundle) {
  paths_.receipts = folder_ / "kept";
  paths_.bundle = folder_ / "bundle";
  const Report report = Check();
  EXPECT_TRUE(report.verified()) << TextReport(report);
  EXPECT_EQ(CheckOf(report, "receiptsOfBundle").text,
            "1 receipts open the commitments of the bundle's tokens");
}

TEST_F(ReceiptsOfCertificatesTest, ThatDoNotOpenTheBundlesTokenAreRefused) {
  ShownMemory other("tenants/acme/memories/cells", 12);
  const std::string good = other.Receipt("token-04", false);
  const std::string salt = good.substr(good.find("salt") + 7, 64);
  std::string wrong = salt;
  wrong[0] = wrong[0] == '0' ? '1' : '0';
  WriteBytes(folder_ / "kept", absl::StrReplaceAll(good, {{salt, wrong}}));
  paths_.receipts = folder_ / "kept";
  paths_.bundle = folder_ / "bundle";
  EXPECT_EQ(CheckOf(Check(), "receiptsOfBundle").reason, "BAD_RECEIPT");
}

}  // namespace
}  // namespace expunge::verify
