#include "certificate/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/hash.h"
#include "certificate/statement.h"
#include "tests/certificate/fixtures.h"

namespace expunge::certificate {
namespace {

using testing::FixedStatement;
using ::testing::HasSubstr;
using ::testing::Not;

// Words alone: lines may break anywhere.
std::string Unwrapped(const std::string& text) {
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
}

std::string Describe(const Statement& statement) {
  const absl::StatusOr<std::string> text = DescribePayload(EncodePayload(statement));
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

TEST(DescribePayloadTest, SaysWhatWasRemovedWhenAndOnWhatBasis) {
  const std::string text = Describe(FixedStatement(Kind::kPurge));
  EXPECT_THAT(text, HasSubstr("all tokens of one data subject"));
  EXPECT_THAT(text, HasSubstr("3 tokens were removed"));
  EXPECT_THAT(text, HasSubstr("2026-05-28T20:26:38Z"));
  EXPECT_THAT(text, HasSubstr("GDPR Art. 17(1)(b)"));
  EXPECT_THAT(text, HasSubstr(ToHex(AsView(testing::FixedDigest("token 1")))));
  EXPECT_THAT(text, HasSubstr("569 (margin 12, error 4, reserve 553)"));
}

TEST(DescribePayloadTest, SaysWhatIsNotClaimedAndWhatMayRemain) {
  for (const Kind kind : {Kind::kDeletion, Kind::kPurge, Kind::kMemoryDeletion}) {
    const std::string text = Unwrapped(Describe(FixedStatement(kind)));
    EXPECT_THAT(text, HasSubstr("What is not claimed"));
    EXPECT_THAT(text, HasSubstr("KEY_DESTROYED"));
    EXPECT_THAT(text, HasSubstr("may remain in database files and logs until these are rewritten"));
    EXPECT_THAT(text, HasSubstr("Swap space"));
  }
  EXPECT_THAT(Describe(FixedStatement(Kind::kState)), Not(HasSubstr("removed from the memory")));
}

TEST(DescribePayloadTest, SaysThatTheFirstCertificateLeavesSealedBytes) {
  const std::string text = Unwrapped(Describe(FixedStatement(Kind::kDeletion)));
  EXPECT_THAT(text, HasSubstr("The keys of what was removed are destroyed."));
  EXPECT_THAT(text, HasSubstr("may remain in files until a second certificate"));
  EXPECT_THAT(text, Not(HasSubstr("files purged")));
  EXPECT_THAT(text, Not(HasSubstr("completes")));
}

TEST(DescribePayloadTest, SaysWhatTheSecondCertificateCompletesAndWhen) {
  for (const Kind kind : {Kind::kDeletion, Kind::kPurge, Kind::kMemoryDeletion}) {
    const std::string text = Unwrapped(DescribePayload(testing::SecondPayload(kind)).value());
    const std::string first = ToHex(AsView(Sha256(testing::FixedPayload(kind))));
    EXPECT_THAT(text, HasSubstr("It completes certificate no. 7 of this memory"));
    EXPECT_THAT(text, HasSubstr("certificate no. 9"));
    EXPECT_THAT(text, HasSubstr("completes no. 7, payload with SHA-256 " + first));
    EXPECT_THAT(text, HasSubstr("by 2026-05-28T20:31:35Z all database files"));
    EXPECT_THAT(text, HasSubstr("stage PHYSICALLY_PURGED files purged 2026-05-28T20:31:35Z"));
    EXPECT_THAT(text, HasSubstr("KEY_DESTRUCTION_AND_FILE_REWRITE"));
    EXPECT_THAT(text, HasSubstr("Backups and snapshots of the key vault"));
    EXPECT_THAT(text, HasSubstr("Swap space"));
    EXPECT_THAT(text, Not(HasSubstr("may remain in")));
  }
}

TEST(DescribePayloadTest, SaysHowMuchTheWholeRequestRemovedAndByWhenItWasDue) {
  const std::string text = Describe(FixedStatement(Kind::kPurge));
  EXPECT_THAT(text, HasSubstr("due                 2026-06-21T00:00:00Z"));
  EXPECT_THAT(text, HasSubstr("removed by it       7 tokens of 3 memories"));
  EXPECT_THAT(text, HasSubstr(ToHex(AsView(testing::FixedDigest("configuration")))));
  EXPECT_THAT(Describe(FixedStatement(Kind::kDeletion)), HasSubstr("3 tokens of 1 memory\n"));
  Statement statement = FixedStatement(Kind::kDeletion);
  statement.due = kNotStated;
  EXPECT_THAT(Describe(statement), HasSubstr("due                 not stated"));
}

TEST(DescribePayloadTest, SaysUntilWhenWhatMayRemainIsPromisedToLast) {
  const std::string text = Unwrapped(Describe(FixedStatement(Kind::kDeletion)));
  EXPECT_THAT(text, HasSubstr("were rewritten. Promised to be gone by 2026-05-28T20:41:40Z."));
  EXPECT_THAT(text, HasSubstr("what was removed. Promised to be gone by 2026-07-02T20:26:40Z."));
  Statement statement = FixedStatement(Kind::kDeletion);
  statement.sealed_bytes_expire = statement.backups_expire = kNotStated;
  EXPECT_THAT(Describe(statement), Not(HasSubstr("Promised")));
}

TEST(DescribePayloadTest, SaysWhatASelectionDroppedAndForHowLongThatHolds) {
  const std::string text = Unwrapped(Describe(FixedStatement(Kind::kSelection)));
  EXPECT_THAT(text, HasSubstr("3 tokens were dropped from the reserve"));
  EXPECT_THAT(text, HasSubstr("scope RETAINED_SET"));
  EXPECT_THAT(text, HasSubstr("margin at least about 0.148438"));
  EXPECT_THAT(text, HasSubstr("beyond the horizon"));
  EXPECT_THAT(Describe(FixedStatement(Kind::kDeletion)), HasSubstr("FULL_HISTORY"));
}

TEST(DescribePayloadTest, SaysWhoHeldTheKeys) {
  const std::string text = Unwrapped(Describe(FixedStatement(Kind::kPurge)));
  EXPECT_THAT(text, HasSubstr("sealed with XChaCha20-Poly1305 under a random key of its own"));
  EXPECT_THAT(text, HasSubstr("a master key from a file"));
}

TEST(DescribePayloadTest, HasWordsForWhatIsAbsent) {
  Statement statement = FixedStatement(Kind::kState);
  statement.request_pseudonym = Digest{};
  statement.nonce.clear();
  const std::string text = Describe(statement);
  EXPECT_THAT(text, HasSubstr("request id          none was given"));
  EXPECT_THAT(text, HasSubstr("auditor's nonce     none was given"));
  EXPECT_THAT(text, HasSubstr("legal basis         not stated"));
  EXPECT_THAT(text, HasSubstr("the first certificate of this memory"));
}

TEST(DescribePayloadTest, HasWordsForBoundsOfNothing) {
  Statement statement = FixedStatement(Kind::kState);
  statement.after.margin_lower = std::numeric_limits<double>::infinity();
  statement.after.weight_distance_lower = std::numeric_limits<double>::infinity();
  statement.after.error += statement.after.margin;
  statement.after.margin = 0;
  const std::string text = Describe(statement);
  EXPECT_THAT(text, HasSubstr("no token outside the margin"));
  EXPECT_THAT(text, HasSubstr("no token in the margin"));
  EXPECT_THAT(Describe(FixedStatement(Kind::kMemoryDeletion)), Not(HasSubstr("infinite")));
}

TEST(DescribePayloadTest, CountsOneTokenInTheSingular) {
  EXPECT_THAT(Describe(testing::LargeStatement(1)), HasSubstr("1 token was removed"));
}

TEST(DescribePayloadTest, StaysShortForManyTokens) {
  const std::string text = Describe(testing::LargeStatement(5000));
  EXPECT_THAT(text, HasSubstr("... and 4980 more"));
  EXPECT_LT(text.size(), 10'000U);
}

TEST(DescribePayloadTest, KeepsToTheWidthOfATerminal) {
  for (const testing::GoldenCase& golden : testing::kGoldenCases) {
    for (const absl::string_view line :
         absl::StrSplit(DescribePayload(testing::GoldenPayload(golden)).value(), '\n')) {
      EXPECT_LE(line.size(), 98U) << line;
    }
  }
}

TEST(DescribePayloadTest, RefusesWhatIsNotOurs) {
  EXPECT_EQ(DescribePayload("{}").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DescribePayload("").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace expunge::certificate
