// The program itself, with all that it can be given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/certificate/fixtures.h"
#include "tests/client/verify/shown_service.h"
#include "tests/support/files.h"

namespace expunge::verify {
namespace {

using certificate::Kind;
using certificate::testing::WriteBytes;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ShownMemory;
using testing::ShownService;

constexpr absl::string_view kEverything =
    "--key pinned.pem --keys keys.json --log log --old-checkpoint kept --receipts receipts.jsonl "
    "--bundle bundle.jsonl certificates";

class VerifyProgramTest : public ::testing::Test {
 protected:
  VerifyProgramTest() : memory_("tenants/acme/memories/cells", 12) {
    WriteBytes(folder_ / "receipts.jsonl", memory_.Receipt("token-03", true));
    service_.Add(memory_.Describe(Kind::kState));
    WriteBytes(folder_ / "kept", service_.Checkpoint(2));
    service_.Add(memory_.Delete({"token-03"}));
    service_.Complete(1);
    service_.Write(folder_.path());
    WriteBytes(folder_ / "bundle.jsonl", memory_.Bundle());
    WriteBytes(folder_ / "log.vkey", absl::StrCat(LogKey(), "\n"));
  }

  std::string LogKey() const {
    const auto key = certificate::testing::NumberedKey(1).Public();
    return certificate::NoteKey::Create(service_.keys().sets().back().log_origin, key)->ToText();
  }

  struct Run {
    int code = -1;
    std::string output;  // standard output and error together
  };
  Run Verify(absl::string_view arguments) const { return Start(EXPUNGE_VERIFY_BINARY, arguments); }
  Run Expunge(absl::string_view arguments) const { return Start(EXPUNGE_BINARY, arguments); }
  // All command lines are fixed by this file.
  Run Start(absl::string_view binary, absl::string_view arguments) const {
    Run run;
    const std::string line = absl::StrCat("cd '", folder_.path(), "' && '", binary, "' ", arguments, " 2>&1");
    std::FILE* pipe = ::popen(line.c_str(), "r");  // NOLINT(cert-env33-c): see above
    EXPECT_NE(pipe, nullptr);
    std::array<char, 4096> buffer;
    for (size_t got = 1; got > 0;) {
      got = std::fread(buffer.data(), 1, buffer.size(), pipe);
      run.output.append(buffer.data(), got);
    }
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) run.code = WEXITSTATUS(status);
    return run;
  }

  ShownMemory memory_;
  mutable ShownService service_;
  const test_support::TemporaryDirectory folder_;
};

TEST_F(VerifyProgramTest, ChecksEverythingAtOnce) {
  const Run run = Verify(kEverything);
  EXPECT_EQ(run.code, 0) << run.output;
  for (const char* line :
       {"keys.json: keys: OK: ", "log: log: OK: 4 entries have the root",
        "kept: oldCheckpoint: OK: the log still begins with the 2 entries",
        "receipts.jsonl: receipts: OK: 1 receipts", "bundle.jsonl: bundle: OK: ",
        "bundle.jsonl: digests: OK: ", "bundle.jsonl: solution: OK: 11 tokens solved again",
        "bundle.jsonl: bundleTied: OK", "certificates/001.json: VERIFIED (OK): ", "  signature   OK: ",
        "  statement   OK: ", "  key         OK: ", "  log         OK: entry 2 of the 4",
        "  transition  OK: 1 removed", "  receipt     OK: it names 1",
        "  bundle      OK: the bundle is its state after", "  chain       OK: number 2",
        "  completion  OK: certificate 3 completes certificate 2",
        "  transition  NOT_CHECKED NOTHING_REMOVED: "}) {
    EXPECT_THAT(run.output, HasSubstr(line));
  }
}

TEST_F(VerifyProgramTest, SaysAllOfItInJson) {
  const Run run = Verify(absl::StrCat("--output json ", kEverything));
  EXPECT_EQ(run.code, 0) << run.output;
  const auto report = nlohmann::json::parse(run.output, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(report.is_object()) << run.output;
  EXPECT_EQ(report["verified"], true);
  for (const char* check :
       {"keys", "log", "oldCheckpoint", "receipts", "bundle", "digests", "solution", "bundleTied"}) {
    EXPECT_EQ(report["checks"][check]["verdict"], "OK") << check;
  }
  ASSERT_EQ(report["certificates"].size(), 3U);
  const auto& removal = report["certificates"][1];
  EXPECT_EQ(removal["verified"], true);
  EXPECT_EQ(removal["statement"]["predicate"]["kind"], "DELETION");
  for (const char* claim :
       {"signature", "statement", "key", "log", "transition", "receipt", "bundle", "chain", "completion"}) {
    EXPECT_EQ(removal["claims"][claim]["verdict"], "OK") << claim;
    EXPECT_EQ(removal["claims"][claim]["reason"], "OK") << claim;
  }
  EXPECT_EQ(report["certificates"][0]["claims"]["transition"]["verdict"], "NOT_CHECKED");
}

TEST_F(VerifyProgramTest, TakesTheLogsKeyAsTextOrFile) {
  for (const std::string& key : {absl::StrCat("'", LogKey(), "'"), std::string("log.vkey")}) {
    const Run run = Verify(absl::StrCat("--key pinned.pem --log-key ", key, " --log log certificates"));
    EXPECT_EQ(run.code, 0) << run.output;
    EXPECT_THAT(run.output, HasSubstr("  log         OK"));
    EXPECT_THAT(run.output, HasSubstr("  key         NOT_CHECKED NO_KEY_SETS"));
  }
}

TEST_F(VerifyProgramTest, WhatWasAskedForAndIsMissingIsStatusOne) {
  std::filesystem::remove(folder_ / "certificates/001.tlog-proof");
  const Run run = Verify("--key pinned.pem --keys keys.json certificates/001.json");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("certificates/001.json: LEFT OPEN (NO_PROOF): "));
  const Run kept = Verify("--key pinned.pem --keys keys.json --old-checkpoint kept certificates/000.json");
  EXPECT_EQ(kept.code, 1);
  EXPECT_THAT(kept.output, HasSubstr("kept: oldCheckpoint: NOT_CHECKED NO_LOG: "));
}

TEST_F(VerifyProgramTest, NothingOfARefusedClaimIsDescribed) {
  WriteBytes(folder_ / "certificates/001.tlog-proof",
             service_.Proof(service_.certificates()[0].index, service_.log_size()));
  const Run run = Verify("--key pinned.pem --keys keys.json certificates/001.json");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("certificates/001.json: REFUSED (NOT_IN_LOG): "));
  EXPECT_THAT(run.output, Not(HasSubstr("was removed")));
  EXPECT_THAT(run.output, Not(HasSubstr("were removed")));
}

TEST_F(VerifyProgramTest, ExpungeShowsNothingBesideKeySetsThatAreRefused) {
  constexpr absl::string_view kShow =
      "cert show --file certificates/001.json --key pinned.pem --keys keys.json";
  EXPECT_EQ(Expunge(kShow).code, 0);
  WriteBytes(folder_ / "keys.json", "{}");
  const Run run = Expunge(kShow);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("NOT_A_KEYS_FILE"));
  EXPECT_THAT(run.output, Not(HasSubstr("was removed")));
}

TEST_F(VerifyProgramTest, AReportCallsACheckpointSignedOnlyIfItsLogVerifies) {
  const auto report = [this](absl::string_view options) {
    const Run run =
        Expunge(absl::StrCat("cert report page.html certificates/001.json --key pinned.pem ", options));
    EXPECT_EQ(run.code, 0) << run.output;
    return test_support::ReadWholeFile(folder_ / "page.html");
  };
  EXPECT_THAT(report("--keys keys.json"), HasSubstr("as the log signed it:"));
  const std::string unverified = report("");
  EXPECT_THAT(unverified, HasSubstr("as it stands in the file; not verified:"));
  EXPECT_THAT(unverified, Not(HasSubstr("as the log signed it")));
}

TEST_F(VerifyProgramTest, AReportSaysWhoSignedWhatItDoesNotShow) {
  const std::string good = test_support::ReadWholeFile(folder_ / "certificates/001.json");
  const auto report = [this](const std::string& envelope) {
    WriteBytes(folder_ / "certificates/001.json", envelope);
    EXPECT_EQ(Expunge("cert report page.html certificates/001.json --key pinned.pem").code, 1);
    return test_support::ReadWholeFile(folder_ / "page.html");
  };
  EXPECT_THAT(report(good + "\n"), HasSubstr("a key that was named as trusted has signed it, but"));
  EXPECT_THAT(report(good.substr(0, 100)), HasSubstr("nobody who was named as trusted has signed it"));
}

TEST_F(VerifyProgramTest, KeysMayLieBesideCertificates) {
  std::filesystem::copy_file(folder_ / "keys.json", folder_ / "certificates/keys.json");
  WriteBytes(folder_ / "certificates/jwks.json", "{}");
  EXPECT_EQ(Verify("--key pinned.pem --keys certificates/keys.json certificates").code, 0);
  EXPECT_EQ(Verify("--key pinned.pem certificates").code, 0);
}

TEST_F(VerifyProgramTest, NeverWritesOverWhatItReads) {
  for (const char* file : {"keys.json", "kept", "receipts.jsonl", "bundle.jsonl", "log.vkey"}) {
    const std::string before = test_support::ReadWholeFile(folder_ / file);
    const Run run = Verify(absl::StrCat(
        "--payload ", file, " --key pinned.pem --keys keys.json --log log --old-checkpoint kept ",
        "--receipts receipts.jsonl --bundle bundle.jsonl --log-key log.vkey certificates/001.json"));
    EXPECT_EQ(run.code, 2) << run.output;
    EXPECT_EQ(test_support::ReadWholeFile(folder_ / file), before);
  }
}

}  // namespace
}  // namespace expunge::verify
