// What every page rests on: escaping, commands that a shell takes as they are meant, numbers in words.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "client/cli/certificate_files.h"
#include "client/cli/certificate_filters.h"
#include "client/cli/failure.h"
#include "client/report/how_to_verify.h"
#include "client/report/html.h"
#include "client/report/style.h"
#include "client/report/words.h"
#include "tests/support/files.h"

namespace expunge::report {
namespace {

TEST(ReportTest, NothingInATextCanBecomeMarkup) {
  EXPECT_EQ(Escape("<script>&'\"</script>"), "&lt;script&gt;&amp;&#39;&quot;&lt;/script&gt;");
  EXPECT_EQ(Escape(std::string("a\0b\x1b[31m\xff", 9)).find_first_of(std::string("\0\x1b\xff", 3)),
            std::string::npos);
  EXPECT_EQ(Code("]]>"), "<code>]]&gt;</code>");
}

TEST(ReportTest, TheStyleNeedsNoNetworkAndNoEscaping) {
  const std::string style(Style());
  EXPECT_EQ(style.find_first_of("<&"), std::string::npos);
  for (const char* word : {"url(", "@import", "http"}) EXPECT_FALSE(absl::StrContains(style, word)) << word;
}

TEST(ReportTest, ANameIsOneWordOfTheShellAndNoOption) {
  EXPECT_EQ(ShellWord("certificates/1.json"), "certificates/1.json");
  EXPECT_EQ(ShellWord("a b"), "'a b'");
  EXPECT_EQ(ShellWord("a'b; rm -rf $(x)"), "'a'\\''b; rm -rf $(x)'");
  EXPECT_EQ(ShellWord("--key"), "./'--key'");
  EXPECT_EQ(ShellWord(""), "''");
}

TEST(ReportTest, NumbersAndTimesAreWrittenForPeople) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(1234567), "1,234,567");
  EXPECT_EQ(Tokens(1), "1 token");
  EXPECT_EQ(TimeWords("2026-05-03T20:26:40Z"), "3 May 2026, 20:26:40 UTC");
  EXPECT_EQ(TimeWords("no time"), "no time");
  EXPECT_EQ(About("0x1p-2"), "about 0.25");
  EXPECT_EQ(About("inf"), "infinite");
}

TEST(CertificateFilesTest, AProofLiesBesideItsCertificate) {
  EXPECT_EQ(cli::ProofPath("d/1.json"), "d/1.tlog-proof");
  EXPECT_EQ(cli::ProofPath("d/1"), "d/1.tlog-proof");
}

TEST(CertificateFilesTest, ACertificateOfOtherBytesIsNotReplaced) {
  const test_support::TemporaryDirectory folder;
  const std::string path = folder / "1.json";
  v1::Certificate certificate;
  certificate.set_envelope("envelope");
  certificate.set_log_proof("proof");
  ASSERT_TRUE(cli::SaveNamedCertificate(certificate, path).ok());
  certificate.set_log_proof("proof in a larger log");
  ASSERT_TRUE(cli::SaveNamedCertificate(certificate, path).ok());
  EXPECT_EQ(test_support::ReadWholeFile(folder / "1.tlog-proof"), "proof in a larger log");
  for (const char* other : {"Envelope", "envelope and more", "envelop", ""}) {
    certificate.set_envelope(other);
    certificate.set_log_proof("of the other");
    const absl::Status status = cli::SaveNamedCertificate(certificate, path);
    EXPECT_EQ(cli::RefusalReason(status), "ANOTHER_CERTIFICATE") << other;
    EXPECT_TRUE(absl::StrContains(status.message(), path));
    EXPECT_EQ(test_support::ReadWholeFile(path), "envelope");
    EXPECT_EQ(test_support::ReadWholeFile(folder / "1.tlog-proof"), "proof in a larger log");
  }
}

TEST(CertificateFiltersTest, TimesAreDaysOrSecondsInUtc) {
  EXPECT_EQ(cli::ParseTimeOption("--since", "2026-05-28")->seconds(), 1'779'926'400);
  EXPECT_EQ(cli::ParseTimeOption("--since", "2026-05-28T20:26:40Z")->seconds(), 1'780'000'000);
  for (const char* wrong : {"", "yesterday", "2026-13-01", "2026-05-28T20:26:40", "2026-05-28 x"}) {
    EXPECT_FALSE(cli::ParseTimeOption("--since", wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace expunge::report
