// Keys that a malicious server signs with, and key sets that it shows.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/hash.h"
#include "certificate/envelope.h"
#include "tests/certificate/fixtures.h"
#include "tests/client/verify/malicious_server.h"

namespace expunge::verify {
namespace {

using certificate::KeyUse;
using certificate::testing::At;
using certificate::testing::NumberedKey;
using certificate::testing::WriteBytes;
using testing::CheckOf;
using testing::ClaimOf;
using MaliciousKeysTest = testing::MaliciousServerTest;

TEST_F(MaliciousKeysTest, SignsCheckpointsWithAnotherKey) {
  Show();
  WriteBytes(Path("log/checkpoint"), service_.Checkpoint(service_.log_size(), NumberedKey(77)));
  EXPECT_EQ(CheckOf(Check(), "log").reason, "UNKNOWN_CHECKPOINT_KEY");
  // A certificate key is none of the log's.
  WriteBytes(Path("log/checkpoint"), service_.Checkpoint(service_.log_size(), NumberedKey(0)));
  EXPECT_EQ(CheckOf(Check(), "log").reason, "UNKNOWN_CHECKPOINT_KEY");
  // Nor is the retired one, for what came after it.
  WriteBytes(Path("log/checkpoint"), service_.Checkpoint(service_.log_size(), NumberedKey(1)));
  EXPECT_EQ(CheckOf(Check(), "log").reason, "BEYOND_KEY");
}

TEST_F(MaliciousKeysTest, SignsWithARetiredKey) {
  certificate::Statement statement = State();
  statement.sequence = 6;
  statement.previous_payload_sha256 = Sha256(service_.certificates()[4].payload);
  statement.issued = service_.now();
  service_.AddPayload(EncodePayload(statement), NumberedKey(0));
  Show();
  EXPECT_EQ(WorstAt(Check(), 5), "key AFTER_KEY");
}

TEST_F(MaliciousKeysTest, SignsWithARetiredKeyAndDatesItBack) {
  certificate::Statement statement = State();
  statement.sequence = 6;
  statement.previous_payload_sha256 = Sha256(service_.certificates()[4].payload);
  statement.issued = At(2);
  statement.received = At(1);
  service_.AddPayload(EncodePayload(statement), NumberedKey(0));
  Show();
  // Its place in the log tells.
  EXPECT_EQ(WorstAt(Check(), 5), "key BEYOND_KEY");
}

TEST_F(MaliciousKeysTest, SignsWithARetiredKeyInALogThatARestoreLeft) {
  certificate::Statement statement = State();
  statement.sequence = 6;
  statement.previous_payload_sha256 = Sha256(service_.certificates()[4].payload);
  statement.issued = At(2);
  statement.received = At(1);
  service_.AddPayload(EncodePayload(statement), NumberedKey(0));
  const std::string envelope = service_.certificates()[5].envelope;
  const std::string proof = service_.Proof(service_.certificates()[5].index, service_.log_size());
  service_.entries().pop_back();
  service_.certificates().pop_back();
  service_.keys().next().log_origin = "expunge.invalid/log/anew";
  service_.keys().Seal(service_.keys().ActiveCertificateKey());
  Show();
  WriteBytes(CertificatePath(5), envelope);
  WriteBytes(ProofFile(5), proof);
  // Its place there tells nothing.
  EXPECT_EQ(WorstAt(Check(), 5), "key ANOTHER_LOG");
}

TEST_F(MaliciousKeysTest, SignsWithAKeyThatNobodyPublished) {
  Show();
  WriteBytes(CertificatePath(4), certificate::Seal(service_.certificates()[4].payload, NumberedKey(77)));
  EXPECT_EQ(WorstAt(Check(), 4), "signature UNKNOWN_KEY");
  // Nor may a checkpoint key sign certificates.
  WriteBytes(CertificatePath(4), certificate::Seal(service_.certificates()[4].payload, NumberedKey(1)));
  EXPECT_EQ(WorstAt(Check(), 4), "signature UNKNOWN_KEY");
}

TEST_F(MaliciousKeysTest, ForksTheKeySets) {
  certificate::testing::GrowingChain& keys = service_.keys();
  const std::vector<std::string> good = keys.envelopes();
  const auto reason = [this] {
    Show();
    const Report report = Check();
    EXPECT_TRUE(report.refused());
    EXPECT_EQ(ClaimOf(report, "000.json", "key").reason, "NO_KEY_SETS");
    return CheckOf(report, "keys").reason;
  };
  // A set that somebody else signed, or that a retired key did.
  keys.envelopes()[1] = certificate::Seal(keys.payloads()[1], NumberedKey(77));
  EXPECT_EQ(reason(), "WRONG_SIGNER");
  keys.envelopes() = good;
  keys.envelopes()[3] = certificate::Seal(keys.payloads()[3], NumberedKey(0));
  EXPECT_EQ(reason(), "WRONG_SIGNER");
  // A set left out, in the middle or at the beginning.
  keys.envelopes() = {good[0], good[1], good[3]};
  EXPECT_EQ(reason(), "BROKEN_SEQUENCE");
  keys.envelopes() = {good[1], good[2], good[3]};
  EXPECT_EQ(reason(), "WRONG_SIGNER");
  // Other sets altogether, whole in themselves.
  certificate::KeySet own = keys.sets()[0];
  own.keys[0] = Publish(KeyUse::kCertificate, NumberedKey(77).Public(), "a file", own.issued);
  keys.envelopes() = {certificate::Seal(EncodeKeySet(own), NumberedKey(77))};
  EXPECT_EQ(reason(), "UNPINNED");
  keys.envelopes() = {"{}"};
  EXPECT_EQ(reason(), "BAD_ENVELOPE");
  keys.envelopes() = {};
  EXPECT_EQ(reason(), "NOT_A_KEYS_FILE");
}

TEST_F(MaliciousKeysTest, WithholdsTheNewestKeySet) {
  // What the newest key signed is then by a key that nobody published.
  service_.keys().envelopes().pop_back();
  Show();
  const Report report = Check();
  EXPECT_TRUE(CheckOf(report, "keys").ok());
  EXPECT_EQ(WorstAt(report, 4), "signature UNKNOWN_KEY");
}

}  // namespace
}  // namespace expunge::verify
