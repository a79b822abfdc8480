// expunge-verify from the outside, and OpenSSL's command line as the second opinion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "certificate/envelope.h"
#include "tests/certificate/fixtures.h"
#include "tests/support/files.h"

namespace expunge::certificate {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Outcome {
  int code = -1;
  std::string output;  // standard output and error together
};

class VerifyCliTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write("pub.pem", testing::TestKey().Public().ToPem());
    Write("other.pem", SigningKey::Generate().Public().ToPem());
    Write("good.json", Golden(testing::kGoldenCases[0].file));
    std::string bad = Golden(testing::kGoldenCases[1].file);
    bad[100] = bad[100] == 'A' ? 'B' : 'A';
    Write("bad.json", bad);
  }

  static std::string Golden(const char* file) { return testing::ReadBytes(testing::GoldenPath(file)); }
  [[nodiscard]] std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void Write(const std::string& name, const std::string& bytes) const {
    testing::WriteBytes(Path(name), bytes);
  }
  [[nodiscard]] std::string Read(const std::string& name) const { return testing::ReadBytes(Path(name)); }

  // Runs a command line in the folder of the test. All commands are fixed by this file.
  [[nodiscard]] Outcome Shell(const std::string& command) const {
    Outcome outcome;
    const std::string line = absl::StrCat("cd '", folder_.string(), "' && { ", command, "\n} 2>&1");
    std::FILE* pipe = ::popen(line.c_str(), "r");  // NOLINT(cert-env33-c): see above
    EXPECT_NE(pipe, nullptr);
    std::array<char, 4096> buffer;
    for (size_t got = 1; got > 0;) {
      got = std::fread(buffer.data(), 1, buffer.size(), pipe);
      outcome.output.append(buffer.data(), got);
    }
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    return outcome;
  }
  [[nodiscard]] Outcome Verify(const std::string& arguments) const {
    return Shell(absl::StrCat("'", EXPUNGE_VERIFY_BINARY, "' ", arguments));
  }

  const test_support::TemporaryDirectory directory_;
  const fs::path folder_ = directory_.path();
};

TEST_F(VerifyCliTest, AcceptsAGenuineCertificateAndDescribesIt) {
  const Outcome outcome = Verify("--key pub.pem good.json");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, StartsWith("good.json: VERIFIED (OK)"));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr(testing::TestKey().Public().KeyId()),
                                    HasSubstr("3 tokens were removed"), HasSubstr("What is not claimed")));
}

TEST_F(VerifyCliTest, DescribesTheSecondCertificateOfARemoval) {
  Write("second.json", Golden(testing::kGoldenCases[4].file));
  const Outcome outcome = Verify("--key pub.pem second.json");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(StartsWith("second.json: VERIFIED (OK)"), HasSubstr("PHYSICALLY_PURGED"),
                                    HasSubstr("second certificate of this removal")));
}

TEST_F(VerifyCliTest, AcceptsAnyOfTheKeys) {
  EXPECT_EQ(Verify("--key other.pem --key pub.pem good.json").code, 0);
  EXPECT_EQ(Verify("--key pub.pem --key other.pem good.json").code, 0);
}

TEST_F(VerifyCliTest, RefusesWithAReason) {
  Write("empty.json", "");
  Write("png.json", "\x89PNG\r\n\x1a\n");
  Write("brackets.json", std::string(size_t{1} << 20, '['));
  Write("short.json", Read("good.json").substr(0, 1000));
  Write("newline.json", Read("good.json") + "\n");
  const std::pair<const char*, const char*> cases[] = {
      {"bad.json", "BAD_SIGNATURE"}, {"empty.json", "EMPTY"},    {"png.json", "NOT_JSON"},
      {"brackets.json", "NOT_JSON"}, {"short.json", "NOT_JSON"}, {"newline.json", "NOT_CANONICAL"},
  };
  for (const auto& [file, reason] : cases) {
    const Outcome outcome = Verify(absl::StrCat("--key pub.pem ", file));
    EXPECT_EQ(outcome.code, 1) << outcome.output;
    EXPECT_THAT(outcome.output, StartsWith(absl::StrCat(file, ": REFUSED (", reason, "): ")));
  }
  const Outcome outcome = Verify("--key other.pem good.json");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, StartsWith("good.json: REFUSED (UNKNOWN_KEY)"));
}

TEST_F(VerifyCliTest, OneRefusalAmongManyDecides) {
  const Outcome outcome = Verify("--key pub.pem good.json bad.json absent.json");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("good.json: VERIFIED"), HasSubstr("bad.json: REFUSED"),
                                    HasSubstr("absent.json: UNREADABLE")));
}

TEST_F(VerifyCliTest, UnreadableFilesAndWrongUsageAreStatusTwo) {
  Write("private.pem", testing::ReadBytes(testing::GoldenPath("test_only_key.pem")));
  fs::create_directory(Path("empty"));
  for (const char* arguments :
       {"", "good.json", "--key pub.pem", "--key absent.pem good.json", "--key good.json good.json",
        "--key private.pem good.json", "--key pub.pem absent.json", "--key pub.pem empty",
        "--key pub.pem --keys absent.json good.json", "--key pub.pem --log good.json good.json",
        "--key pub.pem --log-key none good.json", "--key pub.pem --bundle absent good.json",
        "--key pub.pem --payload payload empty", "--key pub.pem --output xml good.json",
        "--key pub.pem --unknown good.json", "--key pub.pem --pae pae good.json good.json",
        "--key pub.pem --pae absent/pae good.json"}) {
    const Outcome outcome = Verify(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.output;
    EXPECT_FALSE(outcome.output.empty()) << arguments;
  }
}

TEST_F(VerifyCliTest, HelpHasExamplesAndStatusZero) {
  const Outcome outcome = Verify("--help");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("Examples:"), HasSubstr("--signature"), HasSubstr("Exit status")));
}

TEST_F(VerifyCliTest, JsonOutputIsForPrograms) {
  const Outcome outcome = Verify("--key pub.pem --output json good.json bad.json absent.json");
  EXPECT_EQ(outcome.code, 1);
  const auto report = nlohmann::json::parse(outcome.output, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(report.is_object()) << outcome.output;
  EXPECT_EQ(report["verified"], false);
  ASSERT_EQ(report["certificates"].size(), 3U);
  const auto& good = report["certificates"][0];
  EXPECT_EQ(good["file"], "good.json");
  EXPECT_EQ(good["verified"], true);
  EXPECT_EQ(good["reason"], "OK");
  EXPECT_EQ(good["keyId"], testing::TestKey().Public().KeyId());
  EXPECT_EQ(good["statement"].dump(), EncodePayload(testing::FixedStatement(Kind::kDeletion)));
  EXPECT_EQ(report["certificates"][1]["reason"], "BAD_SIGNATURE");
  EXPECT_FALSE(report["certificates"][1].contains("statement"));
  EXPECT_EQ(report["certificates"][2]["reason"], "UNREADABLE");
}

TEST_F(VerifyCliTest, NothingOfARefusedCertificateIsWritten) {
  EXPECT_EQ(Verify("--key pub.pem --payload payload --pae pae --signature sig bad.json").code, 1);
  for (const char* name : {"payload", "pae", "sig"}) EXPECT_FALSE(fs::exists(Path(name))) << name;
}

TEST_F(VerifyCliTest, WhatItWritesNeverReplacesCertificateOrKey) {
  const std::string good = Read("good.json");
  fs::create_symlink("good.json", Path("link.json"));
  for (const char* arguments :
       {"--key pub.pem --payload good.json good.json", "--key pub.pem --pae ./good.json good.json",
        "--key pub.pem --signature link.json good.json", "--key pub.pem --signature pub.pem good.json",
        "--key pub.pem --payload same --signature same good.json"}) {
    EXPECT_EQ(Verify(arguments).code, 2) << arguments;
  }
  EXPECT_EQ(Read("good.json"), good);
  EXPECT_EQ(Read("pub.pem"), testing::TestKey().Public().ToPem());
  EXPECT_FALSE(fs::exists(Path("same")));
}

TEST_F(VerifyCliTest, AFileNamedLikeAVerdictGivesOneLine) {
  Write("bad.json\nother.json: VERIFIED (OK): \x1b[2J", "{}");
  const Outcome outcome = Verify("--key pub.pem bad.json?other*");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("bad.json\\x0aother.json: VERIFIED (OK): \\x1b[2J: REFUSED"));
  EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1);
}

TEST_F(VerifyCliTest, OpensslVerifiesWhatItWrites) {
  const Outcome written = Verify("--key pub.pem --payload payload --pae pae --signature sig good.json");
  ASSERT_EQ(written.code, 0) << written.output;
  EXPECT_EQ(Read("payload"), EncodePayload(testing::FixedStatement(Kind::kDeletion)));
  EXPECT_EQ(Read("pae"), PreAuthEncoding(kPayloadType, Read("payload")));
  EXPECT_EQ(Read("sig").size(), 64U);
  const std::string check = absl::StrCat(
      "'", EXPUNGE_OPENSSL, "' pkeyutl -verify -pubin -inkey pub.pem -rawin -in pae -sigfile sig");
  const Outcome accepted = Shell(check);
  EXPECT_EQ(accepted.code, 0) << accepted.output;
  EXPECT_THAT(accepted.output, HasSubstr("Signature Verified Successfully"));
  Write("pae", Read("pae") + "x");
  EXPECT_NE(Shell(check).code, 0);
}

// The commands that docs/formats/certificate.md gives for a check with OpenSSL alone.
std::string DocumentedCommands() {
  const std::string text = testing::ReadBytes(EXPUNGE_FORMAT_DOC);
  size_t at = 0;
  while ((at = text.find("```sh\n", at)) != std::string::npos) {
    at += 6;
    const std::string block = text.substr(at, text.find("```", at) - at);
    if (absl::StrContains(block, "base64 -d")) return block;
  }
  ADD_FAILURE() << "the commands are not there";
  return "false";
}

TEST_F(VerifyCliTest, TheDocumentedCommandsVerifyWithOpensslAlone) {
  Write("expunge.pub.pem", Read("pub.pem"));
  Write("commands.sh", "set -e\n" + DocumentedCommands());
  const std::string run = absl::StrCat("'", EXPUNGE_SHELL, "' commands.sh");
  for (const testing::GoldenCase& golden : testing::kGoldenCases) {
    Write("certificate.json", Golden(golden.file));
    const Outcome outcome = Shell(run);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(Read("payload"), testing::GoldenPayload(golden));
  }
  Write("certificate.json", Seal(EncodePayload(testing::LargeStatement(3000)), testing::TestKey()));
  const Outcome large = Shell(run);
  EXPECT_EQ(large.code, 0) << large.output;
  Write("certificate.json", Read("bad.json"));
  EXPECT_NE(Shell(run).code, 0);
}

}  // namespace
}  // namespace expunge::certificate
