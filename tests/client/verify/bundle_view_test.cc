// An audit bundle is solved again, and held against certificates.
#include "client/verify/bundle_view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "certificate/statement.h"
#include "solver/reference_solver.h"
#include "tests/certificate/fixtures.h"
#include "tests/client/verify/shown_memory.h"
#include "tests/support/files.h"

namespace expunge::verify {
namespace {

using certificate::Kind;
using certificate::testing::WriteBytes;
using solver::TokenClass;
using testing::ShownMemory;

class BundleViewTest : public ::testing::Test {
 protected:
  BundleViewTest() : memory_("tenants/acme/memories/cells", 20) {}

  // "OK", or the first reason of reading and solving.
  std::string Solve(const std::string& bundle) {
    WriteBytes(folder_ / "bundle", bundle);
    view_ = BundleView();
    const Verdict read = view_.Read(folder_ / "bundle");
    if (!read.ok()) return read.reason;
    const std::vector<Claim> claims = view_.Solve();
    const Claim* worst = WorstOf(claims);
    return worst == nullptr ? "OK" : worst->verdict.reason;
  }
  std::string Judge(const certificate::Statement& statement) {
    return view_.CheckCertificate(nlohmann::json::parse(EncodePayload(statement))).reason;
  }
  static size_t FirstOf(const solver::MemoryState& state, TokenClass token_class) {
    for (size_t i = 0; i < state.tokens.size(); ++i) {
      if (state.solution.classes[i] == token_class) return i;
    }
    ADD_FAILURE() << "no token is of this class";
    return 0;
  }

  ShownMemory memory_;
  BundleView view_;
  const test_support::TemporaryDirectory folder_;
};

TEST_F(BundleViewTest, SolvesATrueBundle) {
  const solver::MemoryState state = memory_.State();
  // All three classes are there.
  for (const TokenClass token_class : {TokenClass::kMargin, TokenClass::kError, TokenClass::kReserve}) {
    FirstOf(state, token_class);
  }
  EXPECT_EQ(Solve(memory_.Bundle()), "OK");
  EXPECT_EQ(Judge(memory_.Describe(Kind::kState)), "OK");
  EXPECT_TRUE(view_.CheckTied().ok());
}

TEST_F(BundleViewTest, SolvesTheGoldenBundleOfTheService) {
  EXPECT_EQ(Solve(certificate::testing::ReadBytes(certificate::testing::GoldenPath("audit_bundle.jsonl"))),
            "OK");
}

TEST_F(BundleViewTest, SolvesSmallAndEmptyMemories) {
  for (const int tokens : {0, 1, 2, 3}) {
    memory_ = ShownMemory("tenants/acme/memories/small", tokens);
    EXPECT_EQ(Solve(memory_.Bundle()), "OK") << tokens;
    EXPECT_EQ(Judge(memory_.Describe(Kind::kState)), "OK") << tokens;
  }
}

TEST_F(BundleViewTest, RefusesEveryUlp) {
  const solver::MemoryState good = memory_.State();
  for (const TokenClass token_class : {TokenClass::kMargin, TokenClass::kError}) {
    const size_t i = FirstOf(good, token_class);
    for (const double direction : {0.0, 1.0}) {
      solver::MemoryState bad = good;
      bad.solution.weights[i] = std::nextafter(bad.solution.weights[i], direction);
      // The digests follow from the wrong weight: only the solution tells.
      EXPECT_EQ(Solve(memory_.Bundle(bad)), "BUNDLE_WEIGHT");
    }
  }
  for (const double direction : {-10.0, 10.0}) {
    solver::MemoryState bad = good;
    bad.solution.rho = std::nextafter(bad.solution.rho, direction);
    EXPECT_EQ(Solve(memory_.Bundle(bad)), "BUNDLE_RHO");
  }
}

TEST_F(BundleViewTest, RefusesOtherClasses) {
  solver::MemoryState bad = memory_.State();
  bad.solution.classes[FirstOf(bad, TokenClass::kError)] = TokenClass::kMargin;
  EXPECT_EQ(Solve(memory_.Bundle(bad)), "BUNDLE_CLASS");
}

TEST_F(BundleViewTest, RefusesAMovedKeyALostTokenAndAnotherDigest) {
  const solver::MemoryState good = memory_.State();
  solver::MemoryState moved = good;
  const size_t margin = FirstOf(good, TokenClass::kMargin);
  solver::Token token = *good.tokens[margin];
  token.key[0] = std::nextafter(token.key[0], 10);
  moved.tokens[margin] = std::make_shared<const solver::Token>(token);
  EXPECT_NE(Solve(memory_.Bundle(moved)), "OK");

  // A token left out, solved without it: the token tree is another one.
  ShownMemory fewer = memory_;
  const std::string id = good.tokens[FirstOf(good, TokenClass::kReserve)]->id;
  EXPECT_EQ(fewer.Delete({id}).removed.size(), 1U);
  EXPECT_EQ(Solve(fewer.Bundle()), "OK");
  EXPECT_EQ(Judge(memory_.Describe(Kind::kState)), "ANOTHER_STATE");
  EXPECT_EQ(view_.CheckTied().reason, "BUNDLE_UNRELATED");
}

TEST_F(BundleViewTest, RefusesWhatNoMemoryCanHold) {
  solver::MemoryState bad = memory_.State();
  solver::Token token = *bad.tokens[0];
  token.key[0] = 1e300;  // |x - y|^2 overflows
  bad.tokens[0] = std::make_shared<const solver::Token>(token);
  EXPECT_EQ(Solve(memory_.Bundle(bad)), "BUNDLE_INVALID");
}

TEST_F(BundleViewTest, RefusesFilesThatAreNone) {
  EXPECT_EQ(Solve(""), "BAD_BUNDLE");
  EXPECT_EQ(Solve("{}\n"), "BAD_BUNDLE");
  const std::string bundle = memory_.Bundle();
  EXPECT_EQ(Solve(bundle.substr(0, bundle.size() / 2)), "BAD_BUNDLE");
  EXPECT_EQ(view_.CheckCertificate(nlohmann::json::object()).reason, "NO_BUNDLE");
  EXPECT_EQ(BundleView().Read(folder_ / "absent").reason, "BAD_BUNDLE");
}

TEST_F(BundleViewTest, RefusesCertificatesThatSayOtherThingsOfTheState) {
  ASSERT_EQ(Solve(memory_.Bundle()), "OK");
  const certificate::Statement good = memory_.Describe(Kind::kState);
  const auto with = [&](auto change) {
    certificate::Statement statement = good;
    change(&statement);
    return Judge(statement);
  };
  EXPECT_EQ(with([](auto*) {}), "OK");
  const char* mismatch = "BUNDLE_MISMATCH";
  EXPECT_EQ(with([](auto* s) { s->memory_pseudonym[0] ^= 1; }), mismatch);
  EXPECT_EQ(with([](auto* s) { s->algorithm.gamma = 0.25; }), mismatch);
  EXPECT_EQ(with([](auto* s) { s->algorithm.ridge *= 2; }), mismatch);
  EXPECT_EQ(with([](auto* s) { s->algorithm.box_bound = "2/(2*s-1), s=4"; }), mismatch);
  EXPECT_EQ(with([](auto* s) { s->algorithm.key_dimension = 3; }), mismatch);
  EXPECT_EQ(with([](auto* s) { s->algorithm.value_dimension = 3; }), mismatch);
  // A memory comes back to a state when what was added is removed.
  EXPECT_EQ(with([](auto* s) { s->after.epoch += 2; }), "OK");
  EXPECT_EQ(with([](auto* s) { s->after.token_root[0] ^= 1; }), mismatch);
  EXPECT_EQ(with([](auto* s) { s->after.entries_root[0] ^= 1; }), mismatch);
  EXPECT_EQ(with([](auto* s) { ++s->after.margin, --s->after.reserve; }), mismatch);
  EXPECT_EQ(with([](auto* s) { ++s->after.error, --s->after.reserve; }), mismatch);
  EXPECT_EQ(with([](auto* s) { s->scope = certificate::Scope::kRetainedSet; }), mismatch);
  EXPECT_EQ(with([](auto* s) { s->after.state_digest[0] ^= 1; }), "ANOTHER_STATE");
}

TEST_F(BundleViewTest, RefusesBoundsThatAreMoreThanHolds) {
  ASSERT_EQ(Solve(memory_.Bundle()), "OK");
  const certificate::Statement good = memory_.Describe(Kind::kState);
  const auto with = [&](auto change) {
    certificate::Statement statement = good;
    change(&statement.after);
    return Judge(statement);
  };
  const char* refused = "BUNDLE_PROOF";
  EXPECT_EQ(with([](auto* s) { s->margin_lower *= 1 + 1e-6; }), refused);
  EXPECT_EQ(with([](auto* s) { s->weight_distance_lower *= 1 + 1e-6; }), refused);
  EXPECT_EQ(with([](auto* s) { s->margin_lower = HUGE_VAL; }), refused);
  EXPECT_EQ(with([](auto* s) { s->duality_gap_upper = 0; }), refused);
  EXPECT_EQ(with([](auto* s) { s->eigenvalue_lower *= 2; }), refused);
  EXPECT_EQ(with([](auto* s) { s->eta /= 2; }), refused);
  // Weaker ones are true.
  EXPECT_EQ(with([](auto* s) { s->margin_lower /= 2; }), "OK");
  EXPECT_EQ(with([](auto* s) { s->weight_distance_lower = 0; }), "OK");
  EXPECT_EQ(with([](auto* s) { s->duality_gap_upper *= 2; }), "OK");
  EXPECT_EQ(with([](auto* s) { s->eigenvalue_lower /= 2; }), "OK");
  EXPECT_EQ(with([](auto* s) { s->eta = HUGE_VAL; }), "OK");
  EXPECT_EQ(with([](auto* s) { s->strict = false; }), "OK");
}

TEST_F(BundleViewTest, RefusesTiesThatAreDenied) {
  // Two tokens: each has half the weight, which is the bound: a single feasible point, all of it in E.
  memory_ = ShownMemory("tenants/acme/memories/small", 4);
  const solver::MemoryState state = memory_.State();
  ASSERT_EQ(Solve(memory_.Bundle()), "OK");
  certificate::Statement statement = memory_.Describe(Kind::kState);
  EXPECT_EQ(Judge(statement), "OK");
  statement.after.strict = true;
  EXPECT_EQ(Judge(statement), state.solution.proof.strict ? "OK" : "BUNDLE_PROOF");
}

TEST_F(BundleViewTest, KnowsTheStateBeforeARemoval) {
  ASSERT_EQ(Solve(memory_.Bundle()), "OK");
  const certificate::Statement removal = memory_.Delete({"token-01", "token-04"});
  EXPECT_EQ(Judge(removal), "OK");
  certificate::Statement other = removal;
  other.removed[0].class_before = other.removed[0].class_before == 'R' ? 'S' : 'R';
  EXPECT_EQ(Judge(other), "BUNDLE_MISMATCH");
  other = removal;
  other.removed[0].handle[5] ^= 1;
  EXPECT_EQ(Judge(other), "BUNDLE_MISMATCH");
  other = removal;
  other.removed[0].commitment[5] ^= 1;
  EXPECT_EQ(Judge(other), "BUNDLE_MISMATCH");
  // And after it.
  ASSERT_EQ(Solve(memory_.Bundle()), "OK");
  EXPECT_EQ(Judge(removal), "OK");
}

}  // namespace
}  // namespace expunge::verify
