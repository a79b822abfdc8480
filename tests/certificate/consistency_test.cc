// What CheckPayload makes of statements in which each field has its form, and some contradict others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "certificate/check_payload.h"
#include "certificate/statement.h"
#include "tests/certificate/fixtures.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;
using testing::FixedStatement;
using Pointer = json::json_pointer;

json Document(Kind kind) { return json::parse(testing::FixedPayload(kind)); }

std::string Reason(const json& document) {
  return std::string(VerifyReasonName(CheckPayload(document.dump())));
}

std::string ReasonOf(const Statement& statement) {
  return std::string(VerifyReasonName(CheckPayload(EncodePayload(statement))));
}

TEST(ConsistencyTest, ASignedTransitionThatDoesNotVerifyIsRefused) {
  for (const Kind kind : kKinds) {
    if (kind == Kind::kState) continue;
    const Statement statement = FixedStatement(kind);
    Statement other = statement;
    other.before.token_root[0] ^= 1;
    EXPECT_EQ(ReasonOf(other), "MALFORMED_STATEMENT");
    other = statement;
    other.after.token_root[0] ^= 1;
    EXPECT_EQ(ReasonOf(other), "MALFORMED_STATEMENT");
    other = statement;
    other.removed[0].handle[31] ^= 1;
    EXPECT_EQ(ReasonOf(other), "MALFORMED_STATEMENT");
    other = statement;
    std::swap(other.removed[0].handle, other.removed[1].handle);
    EXPECT_EQ(ReasonOf(other), "MALFORMED_STATEMENT");
    for (size_t i = 0; i < statement.transition.size(); ++i) {
      other = statement;
      other.transition.erase(other.transition.begin() + static_cast<std::ptrdiff_t>(i));
      ASSERT_EQ(ReasonOf(other), "MALFORMED_STATEMENT") << i;
      json document = json::parse(EncodePayload(statement));
      json& text = document[Pointer("/predicate/transition")][i];
      text = text.get<std::string>() + " ";
      ASSERT_EQ(Reason(document), "MALFORMED_STATEMENT") << i;
    }
  }
}

TEST(ConsistencyTest, AStateOfNoTokensHasTheRootOfNoTokensAndItAlone) {
  Statement statement = FixedStatement(Kind::kState);
  statement.after.token_root = FixedStatement(Kind::kMemoryDeletion).after.token_root;
  EXPECT_EQ(ReasonOf(statement), "MALFORMED_STATEMENT");
  statement.after = FixedStatement(Kind::kMemoryDeletion).after;
  EXPECT_EQ(ReasonOf(statement), "OK");
  statement.after.token_root[0] ^= 1;
  EXPECT_EQ(ReasonOf(statement), "MALFORMED_STATEMENT");
}

TEST(ConsistencyTest, OnlyAStateWithoutMarginHasNoDistanceOfWeights) {
  Statement statement = FixedStatement(Kind::kState);
  statement.after.weight_distance_lower = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ReasonOf(statement), "MALFORMED_STATEMENT");
  statement = FixedStatement(Kind::kDeletion);
  statement.before.weight_distance_lower = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ReasonOf(statement), "MALFORMED_STATEMENT");
  statement = FixedStatement(Kind::kMemoryDeletion);
  statement.after.weight_distance_lower = 1;
  EXPECT_EQ(ReasonOf(statement), "MALFORMED_STATEMENT");
}

TEST(ConsistencyTest, AClassThatRestsOnAnEqualityIsATie) {
  Statement statement = FixedStatement(Kind::kState);
  statement.after.strict = false;
  EXPECT_EQ(ReasonOf(statement), "OK");
  statement.after.ties = 0;
  EXPECT_EQ(ReasonOf(statement), "MALFORMED_STATEMENT");
  statement.after.strict = true;
  EXPECT_EQ(ReasonOf(statement), "OK");
}

TEST(ConsistencyTest, OnlyAPurgeGoesThroughMoreThanOneMemoryAndEachLosesAToken) {
  struct Case {
    Kind kind;
    uint64_t tokens, memories;
    const char* reason;
  };
  for (const Case& c :
       {Case{Kind::kDeletion, 3, 1, "OK"}, Case{Kind::kDeletion, 4, 1, "MALFORMED_STATEMENT"},
        Case{Kind::kDeletion, 2, 1, "MALFORMED_STATEMENT"},
        Case{Kind::kDeletion, 4, 2, "MALFORMED_STATEMENT"},
        Case{Kind::kSelection, 4, 2, "MALFORMED_STATEMENT"},
        Case{Kind::kMemoryDeletion, 3, 2, "MALFORMED_STATEMENT"}, Case{Kind::kPurge, 3, 1, "OK"},
        Case{Kind::kPurge, 4, 2, "OK"}, Case{Kind::kPurge, 400, 2, "OK"},
        Case{Kind::kPurge, 3, 2, "MALFORMED_STATEMENT"}, Case{Kind::kPurge, 4, 3, "MALFORMED_STATEMENT"},
        Case{Kind::kPurge, 2, 2, "MALFORMED_STATEMENT"}}) {
    Statement statement = FixedStatement(c.kind);
    statement.request_tokens = c.tokens;
    statement.request_memories = c.memories;
    EXPECT_EQ(ReasonOf(statement), c.reason) << KindName(c.kind) << " " << c.tokens << " " << c.memories;
  }
}

TEST(ConsistencyTest, ASelectionDropsReserveTokensAndChangesNothingThatCarriesWeight) {
  Statement statement = FixedStatement(Kind::kSelection);
  EXPECT_EQ(ReasonOf(statement), "OK");
  statement.horizon_margin_lower = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ReasonOf(statement), "OK");
  statement.removed[0].class_before = 'E';
  EXPECT_EQ(ReasonOf(statement), "MALFORMED_STATEMENT");
  statement = FixedStatement(Kind::kSelection);
  statement.scope = Scope::kFullHistory;
  EXPECT_EQ(ReasonOf(statement), "MALFORMED_STATEMENT");
  statement = FixedStatement(Kind::kSelection);
  statement.after.entries_root[0] ^= 1;
  EXPECT_EQ(ReasonOf(statement), "MALFORMED_STATEMENT");
  statement = FixedStatement(Kind::kSelection);
  ++statement.after.error;
  --statement.after.margin;
  EXPECT_EQ(ReasonOf(statement), "MALFORMED_STATEMENT");
  json document = Document(Kind::kSelection);
  document[Pointer("/predicate/horizon/reference")] = std::string(64, 'a');
  EXPECT_EQ(Reason(document), "MALFORMED_STATEMENT");
}

TEST(ConsistencyTest, EveryKindMayHaveTheScopeOfTheRetainedSet) {
  for (const Kind kind : kKinds) {
    Statement statement = FixedStatement(kind);
    statement.scope = Scope::kRetainedSet;
    EXPECT_EQ(ReasonOf(statement), "OK") << KindName(kind);
    const json document = json::parse(EncodePayload(statement));
    EXPECT_EQ(document[Pointer("/predicate/exactness/scope")], "RETAINED_SET");
  }
}

TEST(ConsistencyTest, WhatMayRemainIsNamedInFullAndInOrder) {
  const json document = Document(Kind::kDeletion);
  const Pointer residuals("/predicate/erasure/residuals");
  for (size_t i = 0; i < document[residuals].size(); ++i) {
    json damaged = document;
    damaged[residuals].erase(i);
    EXPECT_EQ(Reason(damaged), "MALFORMED_STATEMENT") << i;
    damaged = document;
    damaged[residuals].push_back(document[residuals][i]);
    EXPECT_EQ(Reason(damaged), "MALFORMED_STATEMENT") << i;
    damaged = document;
    damaged[residuals][i]["what"] = "OTHER";
    EXPECT_EQ(Reason(damaged), "MALFORMED_STATEMENT") << i;
    damaged = document;
    damaged[residuals][i]["expires"] = "";
    EXPECT_EQ(Reason(damaged), "OK") << i;
  }
}

}  // namespace
}  // namespace expunge::certificate
