#include "certificate/log/log_proof.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/certificate/fixtures.h"
#include "tests/certificate/log/log_fixtures.h"

namespace expunge::certificate {
namespace {

using testing::Entries;
using testing::FixedEntries;
using testing::FixedKeys;
using testing::FixedSigner;
using testing::LogOf;
using testing::SignerFor;
using testing::TestKey;

constexpr uint64_t kIndex = 6;
constexpr uint64_t kSize = 11;

LogProof FixedProof(const NoteSigner& signer = FixedSigner()) {
  const MerkleLog log = LogOf(FixedEntries(kSize));
  return {"", kIndex, log.InclusionProof(kIndex, kSize), SignCheckpoint({kSize, log.Root()}, signer).value()};
}

VerifiedLogProof Verify(absl::string_view text, uint64_t entry = kIndex) {
  static const auto* const kEntries = new Entries(FixedEntries(kSize));
  static const auto* const kKeys = new std::vector<NoteKey>(FixedKeys());
  return VerifyLogProof(text, (*kEntries)[entry], *kKeys);
}

TEST(LogProofTest, HasThePublishedForm) {
  LogProof proof = FixedProof();
  proof.extra = "age-v1.2.1";
  const std::string text = EncodeLogProof(proof);
  EXPECT_EQ(text.substr(0, text.find("index")), "c2sp.org/tlog-proof@v1\nextra YWdlLXYxLjIuMQ==\n");
  EXPECT_EQ(text.substr(text.find("index"), 8), "index 6\n");
  EXPECT_EQ(text.substr(text.size() - proof.checkpoint.size() - 2), absl::StrCat("\n\n", proof.checkpoint));
  const ParsedLogProof parsed = ParseLogProof(text);
  ASSERT_EQ(parsed.reason, LogReason::kOk);
  EXPECT_EQ(parsed.proof.extra, proof.extra);
  EXPECT_EQ(parsed.proof.index, kIndex);
  EXPECT_EQ(parsed.proof.hashes, proof.hashes);
  EXPECT_EQ(parsed.proof.checkpoint, proof.checkpoint);
}

TEST(LogProofTest, VerifiesEveryEntryOfALog) {
  const Entries entries = FixedEntries(kSize);
  const MerkleLog log = LogOf(entries);
  const NoteSigner signer = FixedSigner();
  const std::string checkpoint = SignCheckpoint({kSize, log.Root()}, signer).value();
  for (uint64_t index = 0; index < kSize; ++index) {
    const std::string text = EncodeLogProof({"", index, log.InclusionProof(index, kSize), checkpoint});
    const VerifiedLogProof verified = VerifyLogProof(text, entries[index], {&signer.key, 1});
    EXPECT_EQ(verified.reason, LogReason::kOk);
    EXPECT_EQ(verified.index, index);
    EXPECT_EQ(verified.checkpoint.tree.size, kSize);
    EXPECT_EQ(verified.signed_by, std::vector<size_t>{0});
    EXPECT_EQ(VerifyLogProof(text, entries[(index + 1) % kSize], {&signer.key, 1}).reason,
              LogReason::kRootMismatch);
  }
}

TEST(LogProofTest, VerifiesALogOfOneEntry) {
  const Entries entries = FixedEntries(1);
  const NoteSigner signer = FixedSigner();
  const std::string checkpoint = SignCheckpoint({1, LogOf(entries).Root()}, signer).value();
  const std::string text = EncodeLogProof({"", 0, {}, checkpoint});
  EXPECT_EQ(text.substr(0, 33), "c2sp.org/tlog-proof@v1\nindex 0\n\nl");
  EXPECT_EQ(VerifyLogProof(text, entries[0], {&signer.key, 1}).reason, LogReason::kOk);
}

TEST(LogProofTest, RefusesEveryFlippedBitAndEveryTruncation) {
  const std::string text = EncodeLogProof(FixedProof());
  ASSERT_EQ(Verify(text).reason, LogReason::kOk);
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(Verify(flipped).reason, LogReason::kOk) << bit;
  }
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_NE(Verify(text.substr(0, length)).reason, LogReason::kOk) << length;
  }
}

TEST(LogProofTest, GivesTheReason) {
  const LogProof proof = FixedProof();
  const std::string text = EncodeLogProof(proof);
  EXPECT_EQ(Verify("").reason, LogReason::kEmpty);
  EXPECT_EQ(Verify(std::string(kMaxNoteBytes + 1, 'x')).reason, LogReason::kTooLarge);
  EXPECT_EQ(Verify(absl::StrReplaceAll(text, {{"@v1", "@v2"}})).reason, LogReason::kNotAProof);
  EXPECT_EQ(Verify(absl::StrReplaceAll(text, {{"index 6", "index 06"}})).reason, LogReason::kNotAProof);
  EXPECT_EQ(Verify(absl::StrReplaceAll(text, {{"index 6", "extra \nindex 6"}})).reason,
            LogReason::kNotAProof);
  EXPECT_EQ(Verify(absl::StrReplaceAll(text, {{"index 6", "extra A\nindex 6"}})).reason,
            LogReason::kNotAProof);
  EXPECT_EQ(Verify(absl::StrReplaceAll(text, {{"index 6\n", ""}})).reason, LogReason::kNotAProof);
  EXPECT_EQ(Verify(text.substr(0, text.find("\n\n") + 2)).reason, LogReason::kNotAProof);
  EXPECT_EQ(Verify(absl::StrReplaceAll(text, {{"\n", "\r\n"}})).reason, LogReason::kNotAProof);
  EXPECT_EQ(Verify(absl::StrReplaceAll(text, {{"index 6", "index 11"}})).reason, LogReason::kIndexBeyondTree);
  EXPECT_EQ(Verify(absl::StrReplaceAll(text, {{"index 6", "index 7"}})).reason, LogReason::kRootMismatch);
  EXPECT_EQ(Verify(absl::StrReplaceAll(text, {{"index 6", "index 10"}})).reason,
            LogReason::kWrongProofLength);
  EXPECT_EQ(Verify(absl::StrReplaceAll(text, {{"\n11\n", "\n12\n"}})).reason, LogReason::kBadSignature);
  EXPECT_EQ(Verify(EncodeLogProof(FixedProof(SignerFor("other", TestKey())))).reason,
            LogReason::kUnknownLogKey);
  LogProof longer = proof;
  longer.hashes.resize(65);
  EXPECT_EQ(Verify(EncodeLogProof(longer)).reason, LogReason::kNotAProof);
}

TEST(LogProofTest, PassesOverExtraData) {
  const std::string text = EncodeLogProof(FixedProof());
  EXPECT_EQ(Verify(absl::StrReplaceAll(text, {{"index 6", "extra AAAA\nindex 6"}})).reason, LogReason::kOk);
}

}  // namespace
}  // namespace expunge::certificate
