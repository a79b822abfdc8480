// What a malicious server may show, each refused with its own reason.
#include "tests/client/verify/malicious_server.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/hash.h"
#include "certificate/envelope.h"
#include "client/verify/audit.h"
#include "tests/certificate/fixtures.h"
#include "tests/client/verify/shown_service.h"

namespace expunge::verify {
namespace {

namespace fs = std::filesystem;
using certificate::Kind;
using certificate::testing::NumberedKey;
using certificate::testing::ReadBytes;
using certificate::testing::WriteBytes;
using testing::AllOf;
using testing::CheckOf;
using testing::ClaimOf;
using testing::MaliciousServerTest;
using testing::ShownMemory;
using testing::ShownService;

TEST_F(MaliciousServerTest, AnHonestOneIsVerifiedInEveryClaim) {
  Show();
  WriteBytes(Path("kept"), service_.Checkpoint(3, NumberedKey(1)));
  WriteBytes(Path("bundle"), memory_.Bundle());
  WriteBytes(Path("receipts"), memory_.Receipt("token-01", false) + memory_.Receipt("token-02", true));
  Paths paths = AllOf(folder_.path());
  paths.old_checkpoint = Path("kept");
  paths.bundle = Path("bundle");
  paths.receipts = Path("receipts");
  const Report report = Check(paths);
  EXPECT_TRUE(report.verified()) << TextReport(report);
  EXPECT_EQ(report.checks.size(), 9U);
  for (const CheckReport& check : report.checks) {
    EXPECT_TRUE(check.claim.verdict.ok()) << check.claim.name << check.claim.verdict.text;
  }
  ASSERT_EQ(report.certificates.size(), 5U);
  for (const CertificateReport& certificate : report.certificates) {
    for (const char* claim : {"signature", "statement", "key", "log", "chain"}) {
      EXPECT_TRUE(ClaimOf(report, certificate.file, claim).ok()) << claim;
    }
  }
  for (const char* removal : {"001.json", "002.json", "003.json"}) {
    EXPECT_TRUE(ClaimOf(report, removal, "transition").ok());
  }
  EXPECT_TRUE(ClaimOf(report, "001.json", "completion").ok());
  EXPECT_TRUE(ClaimOf(report, "002.json", "completion").ok());
  EXPECT_EQ(ClaimOf(report, "003.json", "completion").reason, "NOT_COMPLETED");
  EXPECT_TRUE(ClaimOf(report, "003.json", "bundle").ok());
  EXPECT_TRUE(ClaimOf(report, "004.json", "bundle").ok());
}

TEST_F(MaliciousServerTest, AnHonestOneCompletesRemovalsLate) {
  // After a later change: the second stage speaks of an older epoch.
  const size_t later = service_.Add(memory_.Delete({"token-09"}));
  service_.Complete(3);
  service_.Complete(later);
  service_.Add(State());
  Show();
  const Report report = Check();
  EXPECT_TRUE(report.verified()) << TextReport(report);
  EXPECT_TRUE(ClaimOf(report, "003.json", "completion").ok());
}

TEST_F(MaliciousServerTest, AnHonestOneBeginsItsLogAnewAfterARestore) {
  Show();
  const std::string old_proof = ReadBytes(ProofFile(4));
  const std::string old_envelope = service_.certificates()[4].envelope;
  WriteBytes(Path("kept"), service_.Checkpoint(5));
  // The restored database lacks the last leaves; another name keeps the two histories apart.
  service_.entries().resize(7);
  service_.certificates().pop_back();
  service_.keys().next().log_origin = "expunge.invalid/log/anew";
  service_.keys().Seal(service_.keys().ActiveCertificateKey());
  Show();
  WriteBytes(ProofFile(4), old_proof);
  WriteBytes(CertificatePath(4), old_envelope);
  const Report report = Check();
  EXPECT_TRUE(report.verified()) << TextReport(report);
  EXPECT_EQ(ClaimOf(report, "004.json", "key").reason, "ANOTHER_LOG");
  EXPECT_TRUE(ClaimOf(report, "003.json", "key").ok());
  Paths paths = AllOf(folder_.path());
  paths.old_checkpoint = Path("kept");
  EXPECT_EQ(CheckOf(Check(paths), "oldCheckpoint").reason, "ANOTHER_LOG");
}

TEST_F(MaliciousServerTest, IsVerifiedByProofsAloneToo) {
  Show();
  Paths paths = AllOf(folder_.path());
  paths.log.clear();
  EXPECT_TRUE(Check(paths).verified());
  paths.certificates = {CertificatePath(1)};
  EXPECT_TRUE(Check(paths).verified());
  paths.key_sets.clear();
  const Report alone = Check(paths);
  EXPECT_TRUE(alone.verified());
  EXPECT_EQ(ClaimOf(alone, "001.json", "log").reason, "NO_LOG_KEY");
  EXPECT_EQ(ClaimOf(alone, "001.json", "key").reason, "NO_KEY_SETS");
}

TEST_F(MaliciousServerTest, MakesProofsOfAnotherPlace) {
  Show();
  const std::string good = service_.Proof(service_.certificates()[3].index, service_.log_size());
  const std::pair<std::string, const char*> proofs[] = {
      {service_.Proof(service_.certificates()[3].index - 1, service_.log_size()), "log NOT_IN_LOG"},
      {absl::StrReplaceAll(good, {{"index ", "index 9"}}), "log INDEX_BEYOND_TREE"},
      {"", "log EMPTY"},
      {good.substr(0, 40), "log NOT_A_PROOF"},
      {good.substr(0, good.size() - 2), "log NOT_A_NOTE"},
      {absl::StrReplaceAll(good, {{"index 6\n", "index 6\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"}}),
       "log WRONG_PROOF_LENGTH"},
  };
  for (const auto& [proof, reason] : proofs) {
    WriteBytes(ProofFile(3), proof);
    const Report report = Check();
    EXPECT_EQ(WorstAt(report, 3), reason) << proof;
    EXPECT_TRUE(report.refused());
    EXPECT_EQ(WorstAt(report, 2), "OK");
  }
}

TEST_F(MaliciousServerTest, SwapsTwoProofs) {
  Show();
  const std::string first = ReadBytes(ProofFile(0));
  WriteBytes(ProofFile(0), ReadBytes(ProofFile(1)));
  WriteBytes(ProofFile(1), first);
  const Report report = Check();
  EXPECT_EQ(WorstAt(report, 0), "log NOT_IN_LOG");
  EXPECT_EQ(WorstAt(report, 1), "log NOT_IN_LOG");
}

TEST_F(MaliciousServerTest, LeavesAProofOut) {
  Show();
  fs::remove(ProofFile(1));
  // The copy of the log has it.
  EXPECT_TRUE(Check().verified());
  Paths paths = AllOf(folder_.path());
  paths.log.clear();
  const Report report = Check(paths);
  EXPECT_FALSE(report.verified());
  EXPECT_EQ(WorstAt(report, 1), "log NO_PROOF");
}

TEST_F(MaliciousServerTest, NeverLoggedACertificate) {
  const std::string entry = service_.entries().back();
  service_.entries().back() = std::string(128, 'x');
  Show();
  fs::remove(ProofFile(4));
  EXPECT_EQ(WorstAt(Check(), 4), "log NOT_IN_LOG");
}

TEST_F(MaliciousServerTest, WithholdsACertificate) {
  for (size_t withheld = 0; withheld < 4; ++withheld) {
    Show();
    fs::remove(CertificatePath(withheld));
    const Report report = Check();
    ASSERT_EQ(report.certificates.size(), 4U);
    // The one that followed.
    EXPECT_EQ(WorstAt(report, withheld), "chain CHAIN_GAP") << withheld;
    EXPECT_TRUE(report.refused());
  }
}

TEST_F(MaliciousServerTest, SignsTwoCertificatesOfOneSequence) {
  ShownService other = service_;
  certificate::Statement statement = State();
  statement.sequence = 5;
  statement.previous_payload_sha256 = Sha256(service_.certificates()[3].payload);
  statement.issued = service_.now();
  statement.nonce = "another";
  service_.AddPayload(EncodePayload(statement), service_.keys().ActiveCertificateKey());
  Show();
  const Report report = Check();
  EXPECT_EQ(WorstAt(report, 4), "chain CHAIN_FORKED");
  EXPECT_EQ(WorstAt(report, 5), "chain CHAIN_FORKED");
}

TEST_F(MaliciousServerTest, RewritesTheChain) {
  certificate::Statement statement = State();
  statement.sequence = 6;
  statement.previous_payload_sha256 = Sha256(service_.certificates()[3].payload);  // skips one
  statement.issued = service_.now();
  service_.AddPayload(EncodePayload(statement), service_.keys().ActiveCertificateKey());
  Show();
  EXPECT_EQ(WorstAt(Check(), 5), "chain CHAIN_BROKEN");
}

TEST_F(MaliciousServerTest, TurnsTheEpochBack) {
  certificate::Statement statement = State();
  statement.after.epoch = 1;
  service_.Add(statement);
  Show();
  EXPECT_EQ(WorstAt(Check(), 5), "chain CHAIN_BROKEN");
}

TEST_F(MaliciousServerTest, CompletesAnotherRemoval) {
  // A second stage of what is not the chain's removal of that sequence.
  ShownService other;
  ShownMemory memory("tenants/acme/memories/cells", 14);
  other.Add(memory.Describe(Kind::kState));
  other.Add(memory.Delete({"token-03"}));
  certificate::PhysicalPurge purge = certificate::testing::FixedPurge();
  purge.sequence = 6;
  purge.previous_payload_sha256 = Sha256(service_.certificates()[4].payload);
  purge.issued = purge.purged = service_.now();
  const std::string payload = EncodePhysicalPurge(other.certificates()[1].payload, purge).value();
  service_.AddPayload(payload, service_.keys().ActiveCertificateKey());
  Show();
  EXPECT_EQ(WorstAt(Check(), 5), "completion BAD_COMPLETION");
}

TEST_F(MaliciousServerTest, SaysSomethingElseInTheSecondStage) {
  const std::string& payload = service_.certificates()[2].payload;
  for (const auto& [from, to] : {std::pair<const char*, const char*>{"17(1)(b)", "17(1)(a)"},
                                 {"a master key from a file", "a master key from afar"},
                                 {"\"received\":\"2026", "\"received\":\"2025"}}) {
    const std::string edited = absl::StrReplaceAll(payload, {{from, to}});
    ASSERT_NE(edited, payload);
    service_.certificates()[2].envelope = certificate::Seal(edited, NumberedKey(2));
    Show();
    Paths paths = AllOf(folder_.path());
    paths.certificates = {CertificatePath(1), CertificatePath(2)};
    const Report report = Check(paths);
    EXPECT_EQ(ClaimOf(report, "002.json", "statement").reason, "OK") << to;
    EXPECT_EQ(ClaimOf(report, "002.json", "completion").reason, "BAD_COMPLETION") << to;
    EXPECT_EQ(ClaimOf(report, "002.json", "log").reason, "NOT_IN_LOG");
  }
}

TEST_F(MaliciousServerTest, ForksTheLogForOneAuditor) {
  Show();
  ShownService fork = service_;
  fork.entries()[2] = std::string(128, 'x');
  // The other history's proof, of the same size: against the copy, and against other proofs.
  WriteBytes(ProofFile(4), fork.Proof(service_.certificates()[4].index, fork.log_size()));
  EXPECT_EQ(WorstAt(Check(), 4), "log LOG_FORKED");
  Paths paths = AllOf(folder_.path());
  paths.log.clear();
  EXPECT_EQ(WorstAt(Check(paths), 4), "log LOG_FORKED");
  // Of another size: only the copy can tell.
  WriteBytes(ProofFile(4), fork.Proof(4, 5));
  WriteBytes(ProofFile(2), fork.Proof(service_.certificates()[2].index, 6));
  EXPECT_EQ(WorstAt(Check(), 2), "log LOG_FORKED");
}

TEST_F(MaliciousServerTest, ShowsACopyOfAnotherHistory) {
  Show();
  ShownService fork = service_;
  fork.entries()[2] = std::string(128, 'x');
  fork.WriteLog(Path("log"), fork.log_size());
  const Report report = Check();
  EXPECT_TRUE(CheckOf(report, "log").ok());
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(WorstAt(report, i), "log LOG_FORKED");
}

TEST_F(MaliciousServerTest, ReplaysAnOldCheckpoint) {
  Show();
  WriteBytes(Path("kept"), service_.Checkpoint(7));
  service_.WriteLog(Path("log"), 5);
  Paths paths = AllOf(folder_.path());
  paths.old_checkpoint = Path("kept");
  const Report report = Check(paths);
  EXPECT_TRUE(CheckOf(report, "log").ok());
  EXPECT_EQ(CheckOf(report, "oldCheckpoint").reason, "LOG_ROLLED_BACK");
  // And the proofs are of more than the copy has.
  EXPECT_EQ(ClaimOf(report, "004.json", "log").reason, "LOG_BEHIND");
}

TEST_F(MaliciousServerTest, RewritesTheLogAfterACheckpoint) {
  WriteBytes(Path("kept"), service_.Checkpoint(5));
  service_.entries()[2] = std::string(128, 'x');
  Show();
  Paths paths = AllOf(folder_.path());
  paths.old_checkpoint = Path("kept");
  EXPECT_EQ(CheckOf(Check(paths), "oldCheckpoint").reason, "LOG_FORKED");
}

TEST_F(MaliciousServerTest, ShowsADamagedLog) {
  Show();
  for (const char* file : {"log/tile/0/000.p/9", "log/tile/entries/000.p/9", "log/checkpoint"}) {
    const std::string good = ReadBytes(Path(file));
    std::string bad = good;
    bad[40] = static_cast<char>(bad[40] ^ 1);
    WriteBytes(Path(file), bad);
    const Verdict damaged = CheckOf(Check(), "log");
    EXPECT_EQ(damaged.reason,
              absl::StrContains(file, "checkpoint") ? "BAD_CHECKPOINT_SIGNATURE" : "LOG_DAMAGED")
        << file;
    fs::remove(Path(file));
    const Verdict missing = CheckOf(Check(), "log");
    EXPECT_EQ(missing.reason, absl::StrContains(file, "tile/0") ? "LOG_DAMAGED" : "LOG_INCOMPLETE") << file;
    WriteBytes(Path(file), good);
  }
  EXPECT_TRUE(Check().verified());
}

TEST_F(MaliciousServerTest, AltersACertificate) {
  Show();
  const std::string good = ReadBytes(CertificatePath(1));
  std::string bad = good;
  bad[200] = bad[200] == 'A' ? 'B' : 'A';
  WriteBytes(CertificatePath(1), bad);
  const Report report = Check();
  EXPECT_EQ(WorstAt(report, 1), "signature BAD_SIGNATURE");
  // What is not signed says nothing, not even of its place.
  EXPECT_EQ(report.certificates[1].claims.size(), 1U);
  EXPECT_EQ(WorstAt(report, 2), "chain CHAIN_GAP");
}

TEST_F(MaliciousServerTest, SignsAFalseTransition) {
  // It must not even be a statement.
  const std::string& payload = service_.certificates()[3].payload;
  const size_t at = payload.find("\"transition\":[\"n") + 16;
  std::string edited = payload;
  edited.replace(at, 1, edited[at] == '1' ? "2" : "1");
  service_.certificates()[3].envelope = certificate::Seal(edited, NumberedKey(2));
  Show();
  EXPECT_EQ(WorstAt(Check(), 3), "statement MALFORMED_STATEMENT");
}

}  // namespace
}  // namespace expunge::verify
