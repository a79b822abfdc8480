// EncodePayload and CheckPayload.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "certificate/check_payload.h"
#include "certificate/statement.h"
#include "tests/certificate/fixtures.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;
using testing::FixedStatement;
using Pointer = json::json_pointer;

json Document(Kind kind) { return json::parse(testing::FixedPayload(kind)); }

// A payload of every kind, and the second one of every removal.
std::vector<std::string> Payloads() {
  std::vector<std::string> payloads;
  for (const Kind kind : kKinds) {
    payloads.push_back(testing::FixedPayload(kind));
    if (kind != Kind::kState) payloads.push_back(testing::SecondPayload(kind));
  }
  return payloads;
}

std::string Reason(const json& document) {
  return std::string(VerifyReasonName(CheckPayload(document.dump())));
}

// Every value below `at`, itself included.
void Walk(const json& document, const Pointer& at,
          const std::function<void(const Pointer&, const json&)>& visit) {
  const json& value = document[at];
  visit(at, value);
  if (value.is_object()) {
    for (const auto& [key, ignored] : value.items()) Walk(document, at / key, visit);
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) Walk(document, at / i, visit);
  }
}

TEST(EncodePayloadTest, PassesTheCheckForEveryKindAndStage) {
  for (const std::string& payload : Payloads())
    EXPECT_EQ(CheckPayload(payload), VerifyReason::kOk) << payload;
}

TEST(EncodePayloadTest, FollowsThePayloadRules) {
  for (const std::string& payload : Payloads()) {
    for (const char c : payload) ASSERT_TRUE(c >= ' ' && c <= '~');
    EXPECT_EQ(payload, json::parse(payload).dump()) << "sorted keys, no white space";
    Walk(json::parse(payload), Pointer(), [](const Pointer& at, const json& value) {
      EXPECT_FALSE(value.is_number() || value.is_null()) << at.to_string();
    });
  }
}

TEST(EncodePayloadTest, WritesEveryFieldInItsForm) {
  const json document = Document(Kind::kDeletion);
  const auto at = [&document](const char* pointer) { return document[Pointer(pointer)]; };
  EXPECT_EQ(at("/subject/0/name"), ToHex(AsView(testing::FixedDigest("memory"))));
  EXPECT_EQ(at("/subject/0/digest/hmacSha256"), ToHex(AsView(testing::FixedDigest("after state"))));
  EXPECT_EQ(at("/predicate/kind"), "DELETION");
  EXPECT_EQ(at("/predicate/issued"), "2026-05-28T20:26:40Z");
  EXPECT_EQ(at("/predicate/request/received"), "2026-05-28T20:26:38Z") << "whole seconds, rounded down";
  EXPECT_EQ(at("/predicate/request/legalBasis"), "GDPR Art. 17(1)(b)");
  EXPECT_EQ(at("/predicate/memory/sequence"), "7");
  EXPECT_EQ(at("/predicate/memory/dimensions/key"), "30");
  EXPECT_EQ(at("/predicate/algorithm/gamma"), "0x1.999999999999ap-4");
  EXPECT_EQ(at("/predicate/after/proof/dualityGapUpper"), "0x0.0000000000001p-1022");
  EXPECT_EQ(at("/predicate/before/tokenCount"), "569");
  EXPECT_EQ(at("/predicate/removedCount"), "3");
  EXPECT_EQ(at("/predicate/exactness/claim"), "BITWISE");
  EXPECT_EQ(at("/predicate/erasure/stage"), "KEY_DESTROYED");
  EXPECT_EQ(Document(Kind::kMemoryDeletion)[Pointer("/predicate/after/proof/marginLower")], "inf");
  EXPECT_EQ(Document(Kind::kState)[Pointer("/predicate/request/nonce")], "007fff206e6f6e6365");
}

TEST(EncodePayloadTest, TheOrderOfRemovedTokensDoesNotMatter) {
  Statement statement = FixedStatement(Kind::kPurge);
  const std::string payload = EncodePayload(statement);
  std::swap(statement.removed.front(), statement.removed.back());
  EXPECT_EQ(EncodePayload(statement), payload);
}

TEST(EncodePayloadTest, NegativeZeroIsZero) {
  Statement statement = FixedStatement(Kind::kDeletion);
  statement.after.margin_lower = -0.0;
  const json document = json::parse(EncodePayload(statement));
  EXPECT_EQ(document[Pointer("/predicate/after/proof/marginLower")], "0x0p+0");
  EXPECT_EQ(Reason(document), "OK");
}

TEST(EncodePayloadTest, TextThatIsNotAsciiIsEncodedWithoutACrashAndRefused) {
  Statement statement = FixedStatement(Kind::kDeletion);
  statement.legal_basis = "\xff caf\xc3\xa9";
  EXPECT_EQ(CheckPayload(EncodePayload(statement)), VerifyReason::kMalformedStatement);
}

TEST(CheckPayloadTest, RefusesEveryAbsentField) {
  for (const std::string& payload : Payloads()) {
    const json document = json::parse(payload);
    int tried = 0;
    Walk(document, Pointer(), [&](const Pointer& at, const json& value) {
      if (!value.is_object()) return;
      for (const auto& [key, ignored] : value.items()) {
        json damaged = document;
        damaged[at].erase(key);
        ++tried;
        EXPECT_EQ(Reason(damaged), "MALFORMED_STATEMENT") << (at / key).to_string();
      }
    });
    EXPECT_GT(tried, 50);
  }
}

TEST(CheckPayloadTest, RefusesAnUnknownFieldInEveryObject) {
  for (const std::string& payload : Payloads()) {
    const json document = json::parse(payload);
    Walk(document, Pointer(), [&](const Pointer& at, const json& value) {
      if (!value.is_object()) return;
      json damaged = document;
      damaged[at]["unknown"] = "x";
      EXPECT_EQ(Reason(damaged), "MALFORMED_STATEMENT") << at.to_string();
    });
  }
}

TEST(CheckPayloadTest, RefusesEveryValueOfAnotherType) {
  const json others[] = {
      nullptr, 0, 1.5, -1, "", "\n", "caf\xc3\xa9", json::array(), json::object(), json::array({"x"})};
  for (const std::string& payload : Payloads()) {
    const json document = json::parse(payload);
    Walk(document, Pointer(), [&](const Pointer& at, const json& value) {
      const std::string path = at.to_string();
      for (const json& other : others) {
        const bool may_be_empty = path == "/predicate/request/legalBasis" ||
                                  path == "/predicate/request/nonce" || path == "/predicate/request/due" ||
                                  absl::EndsWith(path, "/expires");
        const bool is_text_list = path == "/predicate/notClaimed";
        if ((other == "" && may_be_empty) || (other == json::array({"x"}) && is_text_list)) continue;
        json damaged = document;
        damaged[at] = other;
        EXPECT_NE(Reason(damaged), "OK") << path << " = " << other.dump();
      }
      if (!value.is_boolean()) {
        json damaged = document;
        damaged[at] = true;
        EXPECT_NE(Reason(damaged), "OK") << path;
      }
    });
  }
}

struct Change {
  const char* pointer;
  json value;
};

TEST(CheckPayloadTest, RefusesValuesOutOfForm) {
  const std::string upper(64, 'A');
  const Change changes[] = {
      {"/predicate/kind", "SELECTION"},
      {"/predicate/kind", "EVICTION"},
      {"/predicate/kind", "STATE"},
      {"/predicate/issued", "2026-05-28T20:26:40.5Z"},
      {"/predicate/issued", "2026-05-28T20:26:40+00:00"},
      {"/predicate/issued", "2026-05-28t20:26:40z"},
      {"/predicate/issued", "2026-05-28 20:26:40Z"},
      {"/predicate/issued", "2026-02-30T20:26:40Z"},
      {"/predicate/issued", "2026-05-28T24:00:00Z"},
      {"/predicate/issued", "2026-05-28T20:26:60Z"},
      {"/predicate/issued", "-999-05-28T20:26:40Z"},
      {"/predicate/issued", "0000-05-28T20:26:40Z"},
      {"/predicate/request/legalBasis", std::string(5000, 'x')},
      {"/predicate/request/idPseudonym", upper},
      {"/predicate/memory/tenant", std::string(62, 'a')},
      {"/predicate/memory/tenant", std::string(63, 'a')},
      {"/predicate/memory/sequence", "0"},
      {"/predicate/memory/sequence", "07"},
      {"/predicate/memory/sequence", "+7"},
      {"/predicate/memory/sequence", " 7"},
      {"/predicate/memory/sequence", "-7"},
      {"/predicate/memory/sequence", "7.0"},
      {"/predicate/memory/sequence", "18446744073709551616"},
      {"/predicate/memory/dimensions/key", "0"},
      {"/predicate/algorithm/gamma", "0.1"},
      {"/predicate/algorithm/gamma", "0x0p+0"},
      {"/predicate/algorithm/gamma", "inf"},
      {"/predicate/algorithm/ridge", "-0x1p-20"},
      {"/predicate/algorithm/kernel", "linear"},
      {"/predicate/after/proof/eta", "nan"},
      {"/predicate/after/proof/eta", "-0x0p+0"},
      {"/predicate/after/proof/eta", "-0x1p-53"},
      {"/predicate/after/proof/strict", "true"},
      {"/predicate/removed/0/classBefore", "M"},
      {"/predicate/exactness/claim", "APPROXIMATE"},
      {"/predicate/exactness/scope", "RETAINED"},
      {"/predicate/request/due", "2026-05-28"},
      {"/predicate/request/tokens", "-3"},
      {"/predicate/request/memories", "0"},
      {"/predicate/removed/0/handle", upper},
      {"/predicate/issuer/configurationSha256", std::string(63, 'a')},
      {"/predicate/erasure/residuals/0/expires", "soon"},
      {"/predicate/erasure/residuals/0/what", ""},
      {"/predicate/erasure/stage", "PHYSICALLY_PURGED"},
      {"/predicate/erasure/stage", "LOGICALLY_REMOVED"},
      {"/predicate/erasure/method", "LOGICAL_REMOVAL"},
      {"/predicate/erasure/method", "KEY_DESTRUCTION_AND_FILE_REWRITE"},
  };
  const json document = Document(Kind::kDeletion);
  for (const Change& change : changes) {
    json damaged = document;
    damaged[Pointer(change.pointer)] = change.value;
    EXPECT_EQ(Reason(damaged), "MALFORMED_STATEMENT") << change.pointer << " = " << change.value.dump();
  }
}

TEST(CheckPayloadTest, RefusesFieldsThatContradictEachOther) {
  const Change changes[] = {
      {"/subject/0/name", std::string(64, 'a')},
      {"/subject/0/digest/hmacSha256", std::string(64, 'a')},
      {"/predicate/memory/memory", std::string(64, 'a')},
      {"/predicate/after/stateDigest", std::string(64, 'a')},
      {"/predicate/memory/sequence", "1"},
      {"/predicate/memory/previousPayloadSha256", std::string(64, '0')},
      {"/predicate/removedCount", "2"},
      {"/predicate/removedCount", "4"},
      {"/predicate/removed", json::array()},
      {"/predicate/before/tokenCount", "570"},
      {"/predicate/after/tokenCount", "565"},
      {"/predicate/before/partition/margin", "13"},
      {"/predicate/after/partition/reserve", "18446744073709551615"},
      {"/predicate/after/epoch", "41"},
      {"/predicate/request/tokens", "2"},
      {"/predicate/request/memories", "1"},
      {"/predicate/request/memories", "6"},
      {"/predicate/before/tokenRoot", std::string(64, 'a')},
      {"/predicate/after/tokenRoot", std::string(64, 'a')},
      {"/predicate/transition", json::array()},
      {"/predicate/removed/0/handle", std::string(64, 'a')},
      {"/predicate/removed/0/commitment", std::string(64, '0')},
      {"/predicate/erasure/residuals", json::array()},
  };
  const json document = Document(Kind::kPurge);
  for (const Change& change : changes) {
    json damaged = document;
    damaged[Pointer(change.pointer)] = change.value;
    EXPECT_EQ(Reason(damaged), "MALFORMED_STATEMENT") << change.pointer << " = " << change.value.dump();
  }
}

TEST(CheckPayloadTest, RefusesRemovedTokensOutOfOrderTwiceOrOfClassesThatWereNotThere) {
  const json document = Document(Kind::kPurge);
  const Pointer removed("/predicate/removed");
  json damaged = document;
  std::swap(damaged[removed][0], damaged[removed][1]);
  EXPECT_EQ(Reason(damaged), "MALFORMED_STATEMENT");
  damaged = document;
  damaged[removed][1] = damaged[removed][0];
  EXPECT_EQ(Reason(damaged), "MALFORMED_STATEMENT");

  Statement statement = testing::LargeStatement(5);
  EXPECT_EQ(CheckPayload(EncodePayload(statement)), VerifyReason::kOk);
  for (RemovedToken& token : statement.removed) token.class_before = 'E';  // there were 4
  EXPECT_EQ(CheckPayload(EncodePayload(statement)), VerifyReason::kMalformedStatement);
}

TEST(CheckPayloadTest, AMemoryDeletionLeavesNothing) {
  Statement statement = FixedStatement(Kind::kMemoryDeletion);
  statement.removed.pop_back();
  statement.after.token_count = statement.after.margin = 1;
  EXPECT_EQ(CheckPayload(EncodePayload(statement)), VerifyReason::kMalformedStatement);
}

TEST(CheckPayloadTest, AnEmptyMemoryMayBeDeleted) {
  Statement statement = FixedStatement(Kind::kMemoryDeletion);
  statement.before = statement.after;
  statement.removed.clear();
  statement.transition.clear();
  statement.request_tokens = 0;
  EXPECT_EQ(CheckPayload(EncodePayload(statement)), VerifyReason::kOk);
  // Of no tokens, there is nothing to show.
  statement.transition = {{TransitionNode::Type::kUntouched, 0, statement.before.token_root}};
  EXPECT_EQ(CheckPayload(EncodePayload(statement)), VerifyReason::kMalformedStatement);
}

// Of a memory with as many tokens as the service allows (server/core/service.h), which is removed as a whole:
// nothing takes more bytes. The split bits of the inner nodes are those of handles that nobody could choose.
TEST(EncodePayloadTest, APayloadTakesAtMost190BytesARemovedToken) {
  constexpr int kTokens = 20'000;
  const Statement statement = testing::LargeStatement(kTokens);
  const std::string all = EncodePayload(statement);
  EXPECT_EQ(CheckPayload(all), VerifyReason::kOk);
  const std::string few = EncodePayload(testing::LargeStatement(1));
  const double bytes = static_cast<double>(all.size() - few.size()) / (kTokens - 1);
  std::cout << bytes << " bytes a removed token\n";
  EXPECT_LT(bytes, 190);
  // In base64, with room for the rest of the statement.
  EXPECT_LT((250'000 * 190.0 + 1e6) * 4 / 3, static_cast<double>(kMaxEnvelopeBytes));
}

TEST(CheckPayloadTest, TheFirstOfAChainFollowsNothing) {
  Statement statement = FixedStatement(Kind::kDeletion);
  statement.sequence = 1;
  statement.previous_payload_sha256 = Digest{};
  EXPECT_EQ(CheckPayload(EncodePayload(statement)), VerifyReason::kOk);
}

}  // namespace
}  // namespace expunge::certificate
