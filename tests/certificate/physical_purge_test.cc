// The second certificate of an erasure: EncodePhysicalPurge, and what CheckPayload makes of the two stages.
#include "certificate/physical_purge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "certificate/check_payload.h"
#include "certificate/statement.h"
#include "tests/certificate/fixtures.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;
using testing::FixedPayload;
using testing::FixedPurge;
using testing::SecondPayload;

constexpr Kind kRemovals[] = {Kind::kDeletion, Kind::kPurge, Kind::kMemoryDeletion, Kind::kSelection};

std::string Sha256Hex(const std::string& bytes) { return ToHex(AsView(Sha256(bytes))); }

json Second() { return json::parse(SecondPayload(Kind::kPurge)); }

json First() { return json::parse(FixedPayload(Kind::kPurge)); }

std::string Reason(const json& document) {
  return std::string(VerifyReasonName(CheckPayload(document.dump())));
}

absl::StatusCode EncodeCode(absl::string_view first) {
  return EncodePhysicalPurge(first, FixedPurge()).status().code();
}

TEST(EncodePhysicalPurgeTest, ChangesItsOwnFieldsAlone) {
  for (const Kind kind : kRemovals) {
    const std::string first = FixedPayload(kind);
    json expected = json::parse(first);
    const std::pair<const char*, json> changes[] = {
        {"/predicate/issued", "2026-05-28T20:31:40Z"},
        {"/predicate/issuer/version", "0.1.1"},
        {"/predicate/issuer/commit", "89abcdef0123456789abcdef0123456789abcdef"},
        {"/predicate/issuer/configurationSha256",
         ToHex(AsView(testing::FixedDigest("configuration of the second")))},
        {"/predicate/memory/sequence", "9"},
        {"/predicate/memory/previousPayloadSha256",
         ToHex(AsView(testing::FixedDigest("previous of the second")))},
        {"/predicate/completes", {{"sequence", "7"}, {"payloadSha256", Sha256Hex(first)}}},
        {"/predicate/erasure/stage", "PHYSICALLY_PURGED"},
        {"/predicate/erasure/method", "KEY_DESTRUCTION_AND_FILE_REWRITE"},
        {"/predicate/erasure/purged", "2026-05-28T20:31:35Z"},
    };
    for (const auto& [pointer, value] : changes) {
      if (expected.contains(Pointer(pointer))) {
        EXPECT_NE(expected[Pointer(pointer)], value) << pointer;
      }
      expected[Pointer(pointer)] = value;
    }
    // All that may remain after the first stage, but sealed bytes in files.
    json& residuals = expected[Pointer("/predicate/erasure/residuals")];
    EXPECT_EQ(residuals[0]["what"], "SEALED_BYTES");
    residuals.erase(0);
    EXPECT_FALSE(residuals.empty());
    EXPECT_EQ(SecondPayload(kind), expected.dump()) << KindName(kind);
  }
}

TEST(EncodePhysicalPurgeTest, IsTheSameEachTime) {
  EXPECT_EQ(SecondPayload(Kind::kDeletion), SecondPayload(Kind::kDeletion));
}

TEST(EncodePhysicalPurgeTest, MayFollowTheFirstAtOnce) {
  const std::string first = FixedPayload(Kind::kDeletion);
  PhysicalPurge purge = FixedPurge();
  purge.sequence = 8;
  purge.previous_payload_sha256 = Sha256(first);
  const absl::StatusOr<std::string> second = EncodePhysicalPurge(first, purge);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(CheckPayload(*second), VerifyReason::kOk);
}

TEST(EncodePhysicalPurgeTest, RefusesWhatIsNoStatement) {
  const std::string first = FixedPayload(Kind::kDeletion);
  EXPECT_EQ(EncodeCode(first), absl::StatusCode::kOk);
  const std::string others[] = {"", "{}", "null", "\xff", first + "\n", first.substr(1), " " + first};
  for (const std::string& other : others) {
    EXPECT_EQ(EncodeCode(other), absl::StatusCode::kInvalidArgument) << other;
  }
}

TEST(EncodePhysicalPurgeTest, RefusesEveryTruncationOfAStatement) {
  const std::string first = FixedPayload(Kind::kMemoryDeletion);
  for (size_t size = 0; size < first.size(); ++size) {
    ASSERT_EQ(EncodeCode(absl::string_view(first).substr(0, size)), absl::StatusCode::kInvalidArgument)
        << size;
  }
}

TEST(EncodePhysicalPurgeTest, RefusesAStatementThatTheCheckRefuses) {
  json document = First();
  document[Pointer("/predicate/removedCount")] = "2";
  EXPECT_EQ(EncodeCode(document.dump()), absl::StatusCode::kInvalidArgument);
  document = First();
  document[Pointer("/predicate/erasure/stage")] = "LOGICALLY_REMOVED";
  EXPECT_EQ(EncodeCode(document.dump()), absl::StatusCode::kInvalidArgument);
}

TEST(EncodePhysicalPurgeTest, RefusesAStateAndWhatIsPurgedAlready) {
  EXPECT_EQ(EncodeCode(FixedPayload(Kind::kState)), absl::StatusCode::kInvalidArgument);
  for (const Kind kind : kRemovals) {
    EXPECT_EQ(CheckPayload(SecondPayload(kind)), VerifyReason::kOk);
    EXPECT_EQ(EncodeCode(SecondPayload(kind)), absl::StatusCode::kInvalidArgument) << KindName(kind);
  }
}

TEST(StagesTest, WhatIsCompletedStandsEarlierInTheChain) {
  json document = Second();
  const Pointer completed("/predicate/completes/sequence");
  for (const char* sequence : {"1", "7"}) {
    document[completed] = sequence;
    EXPECT_EQ(Reason(document), "OK") << sequence;
  }
  for (const char* sequence : {"0", "9", "10", "18446744073709551615"}) {
    document[completed] = sequence;
    EXPECT_EQ(Reason(document), "MALFORMED_STATEMENT") << sequence;
  }
}

TEST(StagesTest, TheCertificateBeforeIsTheOneCompletedOnlyIfItsHashSaysSo) {
  json document = Second();
  document[Pointer("/predicate/completes/sequence")] = "8";
  EXPECT_EQ(Reason(document), "MALFORMED_STATEMENT");
  document[Pointer("/predicate/completes/payloadSha256")] =
      document[Pointer("/predicate/memory/previousPayloadSha256")];
  EXPECT_EQ(Reason(document), "OK");
}

TEST(StagesTest, TheFirstOfAChainCompletesNothing) {
  json document = Second();
  document[Pointer("/predicate/memory/sequence")] = "1";
  document[Pointer("/predicate/memory/previousPayloadSha256")] = std::string(64, '0');
  for (const char* sequence : {"0", "1", "2"}) {
    document[Pointer("/predicate/completes/sequence")] = sequence;
    EXPECT_EQ(Reason(document), "MALFORMED_STATEMENT") << sequence;
  }
}

// Takes the value at each of `pointers` (nothing, if it is absent there) from `source`.
json Mixed(json document, const json& source, const std::vector<const char*>& pointers) {
  for (const char* text : pointers) {
    const Pointer pointer(text);
    if (source.contains(pointer)) {
      document[pointer] = source[pointer];
    } else {
      document[pointer.parent_pointer()].erase(pointer.back());
    }
  }
  return document;
}

TEST(StagesTest, NoMixtureOfTheTwoIsAccepted) {
  const char* const differing[] = {"/predicate/completes", "/predicate/erasure/method",
                                   "/predicate/erasure/stage", "/predicate/erasure/purged",
                                   "/predicate/erasure/residuals"};
  for (unsigned mask = 0; mask < 32; ++mask) {
    std::vector<const char*> pointers;
    for (unsigned bit = 0; bit < 5; ++bit) {
      if ((mask >> bit & 1U) != 0) pointers.push_back(differing[bit]);
    }
    const bool whole = mask == 0 || mask == 31;
    EXPECT_EQ(Reason(Mixed(Second(), First(), pointers)), whole ? "OK" : "MALFORMED_STATEMENT") << mask;
  }
}

TEST(StagesTest, AStateHasNoStage) {
  const json state = json::parse(FixedPayload(Kind::kState));
  EXPECT_EQ(Reason(state), "OK");
  EXPECT_EQ(Reason(Mixed(state, Second(), {"/predicate/completes"})), "MALFORMED_STATEMENT");
  EXPECT_EQ(Reason(Mixed(state, First(), {"/predicate/erasure"})), "MALFORMED_STATEMENT");
}

TEST(StagesTest, NothingButTheTwoIsAccepted) {
  for (const json& document : {First(), Second()}) {
    for (const char* stage : {"LOGICALLY_REMOVED", "key_destroyed", "PHYSICALLY_PURGED ", ""}) {
      json damaged = document;
      damaged[Pointer("/predicate/erasure/stage")] = stage;
      EXPECT_EQ(Reason(damaged), "MALFORMED_STATEMENT") << stage;
    }
  }
}

TEST(StagesTest, WhatIsPurgedIsSoWhenItIsSaid) {
  json document = Second();
  document[Pointer("/predicate/erasure/purged")] = document[Pointer("/predicate/issued")];
  EXPECT_EQ(Reason(document), "OK");
  document[Pointer("/predicate/erasure/purged")] = "2026-05-28T20:31:41Z";
  EXPECT_EQ(Reason(document), "MALFORMED_STATEMENT");
}

TEST(StagesTest, TheTimeOfThePurgeHasTheFormOfATime) {
  for (const char* time : {"2026-05-28T20:31:35.5Z", "2026-02-30T20:26:40Z", "2026-05-28 20:31:35Z", ""}) {
    json document = Second();
    document[Pointer("/predicate/erasure/purged")] = time;
    EXPECT_EQ(Reason(document), "MALFORMED_STATEMENT") << time;
  }
}

}  // namespace
}  // namespace expunge::certificate
