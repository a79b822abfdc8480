// Time-stamps, by an authority made with `openssl ts` for the test.
#include "certificate/timestamp/timestamp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/files.h"

namespace expunge::certificate {
namespace {

using test_support::ReadWholeFile;
using test_support::TemporaryDirectory;
using ::testing::HasSubstr;

constexpr char kConfiguration[] = R"(
[tsa]
default_tsa = here
[here]
serial = $ENV::TSA_DIRECTORY/serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:1
ess_cert_id_alg = sha256
)";

// The extensions of an authority's own certificate.
constexpr char kExtensions[] = R"(
[stamps]
extendedKeyUsage = critical,timeStamping
keyUsage = critical,digitalSignature
)";

void WriteWholeFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A CA, and an authority that it certified, in a directory.
class TimestampTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteWholeFile(directory_ / "tsa.cnf", kConfiguration);
    WriteWholeFile(directory_ / "extensions.cnf", kExtensions);
    WriteWholeFile(directory_ / "serial", "01\n");
    MakeCa("ca");
    MakeSigner("ca", "tsa", "stamps");
  }

  void OpenSsl(const std::string& arguments) const {
    const std::string command =
        absl::StrCat("cd '", directory_.path(), "' && TSA_DIRECTORY=. " EXPUNGE_OPENSSL " ", arguments,
                     " >openssl.log 2>&1");
    ASSERT_EQ(std::system(command.c_str()), 0) << arguments << "\n"
                                               << ReadWholeFile(directory_ / "openssl.log");
  }
  void MakeCa(const std::string& name) const {
    OpenSsl(absl::StrCat("req -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=Test CA ", name, "' -keyout ",
                         name, ".key -out ", name, ".pem"));
  }
  void MakeSigner(const std::string& ca, const std::string& name, const std::string& extensions) const {
    OpenSsl(absl::StrCat("req -newkey rsa:2048 -nodes -subj '/CN=Test TSA ", name, "' -keyout ", name,
                         ".key -out ", name, ".csr"));
    OpenSsl(absl::StrCat("x509 -req -in ", name, ".csr -CA ", ca, ".pem -CAkey ", ca,
                         ".key -CAcreateserial -days 1 -extfile extensions.cnf -extensions ", extensions,
                         " -out ", name, ".pem"));
  }
  [[nodiscard]] std::string Answer(const std::string& query) const {
    WriteWholeFile(directory_ / "query", query);
    OpenSsl(
        "ts -reply -config tsa.cnf -queryfile query -signer tsa.pem -inkey tsa.key -chain ca.pem -out "
        "response");
    return ReadWholeFile(directory_ / "response");
  }
  [[nodiscard]] std::string Ca(const std::string& name = "ca") const {
    return ReadWholeFile(directory_ / (name + ".pem"));
  }

  const TemporaryDirectory directory_;
  const std::string message_ = "expunge.invalid/log/x\n5\nAAAA\n";
};

TEST_F(TimestampTest, AnAuthoritysAnswerVerifiesHereAndByOpenSsl) {
  const std::string query = MakeTimestampQuery(message_);
  const std::string response = Answer(query);
  EXPECT_EQ(ReadTimestamp(message_, response, query).reason, TimestampReason::kOk);
  const Timestamp stamp = VerifyTimestamp(message_, response, Ca());
  EXPECT_EQ(stamp.reason, TimestampReason::kOk) << TimestampReasonName(stamp.reason);
  EXPECT_LT(absl::AbsDuration(absl::Now() - stamp.time), absl::Minutes(1));
  EXPECT_THAT(stamp.authority, HasSubstr("Test TSA tsa"));
  WriteWholeFile(directory_ / "message", message_);
  OpenSsl("ts -verify -data message -in response -CAfile ca.pem");
  OpenSsl("ts -verify -queryfile query -in response -CAfile ca.pem");
}

TEST_F(TimestampTest, AStampOfSomethingElseIsRefused) {
  const std::string query = MakeTimestampQuery(message_);
  const std::string response = Answer(query);
  EXPECT_EQ(VerifyTimestamp(message_ + "x", response, Ca()).reason, TimestampReason::kOtherMessage);
  EXPECT_EQ(ReadTimestamp(message_, response, MakeTimestampQuery(message_)).reason,
            TimestampReason::kOtherQuery)
      << "an old answer to another query";
  EXPECT_EQ(ReadTimestamp(message_, response, "no query").reason, TimestampReason::kOtherQuery);
}

TEST_F(TimestampTest, OnlyATimeStampingCertificateOfATrustedAuthorityCounts) {
  const std::string response = Answer(MakeTimestampQuery(message_));
  MakeCa("other");
  EXPECT_EQ(VerifyTimestamp(message_, response, Ca("other")).reason, TimestampReason::kUntrusted);
  EXPECT_EQ(VerifyTimestamp(message_, response, Ca("other") + Ca()).reason, TimestampReason::kOk);
  EXPECT_EQ(VerifyTimestamp(message_, response, "").reason, TimestampReason::kBadCa);
  EXPECT_EQ(VerifyTimestamp(message_, response, "-----BEGIN CERTIFICATE-----\nAAAA\n").reason,
            TimestampReason::kBadCa);
}

TEST_F(TimestampTest, ATruncatedResponseIsRefusedAndNoDamageGivesAnotherTime) {
  const std::string response = Answer(MakeTimestampQuery(message_));
  const std::string ca = Ca();
  for (size_t size = 0; size < response.size(); size += 3) {
    EXPECT_NE(VerifyTimestamp(message_, response.substr(0, size), ca).reason, TimestampReason::kOk) << size;
  }
  EXPECT_EQ(VerifyTimestamp(message_, response + "x", ca).reason, TimestampReason::kNotAResponse);
  const absl::Time stamped = VerifyTimestamp(message_, response, ca).time;
  size_t refused = 0;
  for (size_t at = 0; at < response.size(); ++at) {
    std::string damaged = response;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const Timestamp stamp = VerifyTimestamp(message_, damaged, ca);
    // What nobody signs may pass: a certificate that came along and was not needed.
    if (stamp.reason != TimestampReason::kOk) {
      ++refused;
    } else {
      EXPECT_EQ(stamp.time, stamped) << at;
    }
  }
  EXPECT_GT(refused, 800U) << "signature, signed attributes, content, and the certificate that signed";
}

TEST_F(TimestampTest, ARefusalOfTheAuthorityIsTold) {
  std::string query = MakeTimestampQuery(message_);
  const size_t sha256 = query.find("\x60\x86\x48\x01\x65\x03\x04\x02\x01");
  ASSERT_NE(sha256, std::string::npos);
  query[sha256 + 8] = 9;  // a digest that it does not know
  WriteWholeFile(directory_ / "query", query);
  // It ends with an error, and writes the refusal all the same; without that the next line fails.
  OpenSsl("ts -reply -config tsa.cnf -queryfile query -signer tsa.pem -inkey tsa.key -out response || true");
  EXPECT_EQ(VerifyTimestamp(message_, ReadWholeFile(directory_ / "response"), Ca()).reason,
            TimestampReason::kRefused);
}

}  // namespace
}  // namespace expunge::certificate
