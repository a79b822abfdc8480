// The bundle of one fixed memory, byte for byte; and that everything it states follows from its tokens.
#include "server/core/audit_bundle.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "certificate/hex_double.h"
#include "certificate/token_tree.h"
#include "server/core/digests.h"
#include "server/core/vectors.h"
#include "solver/reference_solver.h"
#include "tests/server/core/bundle_fixture.h"
#include "tests/support/files.h"

namespace expunge::core {
namespace {

using Json = nlohmann::json;

std::string WholeBundle(const Snapshot& memory, size_t chunk) {
  AuditBundleWriter writer(memory);
  std::string bundle;
  for (std::string next = writer.Next(chunk); !next.empty(); next = writer.Next(chunk)) {
    EXPECT_EQ(next.back(), '\n');
    bundle += next;
  }
  EXPECT_EQ(writer.tokens_written(), memory->tokens().size());
  return bundle;
}

// A reader that knows nothing of the writer: the lines as JSON, and those that are tokens as the solver wants
// them.
struct PlainBundle {
  Json header;
  std::vector<Json> tokens;
  Json trailer;
  size_t trailer_at = 0;
};

PlainBundle ReadPlainly(const std::string& bundle) {
  PlainBundle read;
  const std::vector<std::string> lines = absl::StrSplit(bundle, '\n');
  EXPECT_EQ(lines.back(), "") << "the last line has no end";
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    Json line = Json::parse(lines[i]);
    EXPECT_EQ(line.dump(), lines[i]) << "not in its one form";
    if (i == 0) {
      read.header = std::move(line);
    } else if (i + 2 == lines.size()) {
      read.trailer = std::move(line);
    } else {
      read.tokens.push_back(std::move(line));
    }
  }
  read.trailer_at = bundle.size() - lines[lines.size() - 2].size() - 1;
  return read;
}

Digest DigestOf(const Json& hex) { return *DigestFromBytes(*FromHex(hex.get<std::string>())); }

std::vector<double> DoublesOf(const Json& base64) {
  return *UnpackDoubles(*FromBase64(base64.get<std::string>()));
}

double DoubleOf(const Json& hex) { return *certificate::ParseHexDouble(hex.get<std::string>()); }

solver::Config GoldenConfig(const Json& header) {
  EXPECT_EQ(header.at("boxBound"), "2/(2*s-1), s=4");
  return {2, 1, DoubleOf(header.at("gamma")), {4, 0}, DoubleOf(header.at("ridge"))};
}

TEST(AuditBundleTest, IsTheGoldenFileWhateverTheChunks) {
  const std::string golden = test_support::ReadWholeFile(EXPUNGE_GOLDEN_BUNDLE);
  ASSERT_FALSE(golden.empty()) << EXPUNGE_GOLDEN_BUNDLE;
  const Snapshot memory = GoldenMemory();
  for (const size_t chunk : {size_t{1}, size_t{100}, size_t{700}, size_t{100'000}}) {
    EXPECT_EQ(WholeBundle(memory, chunk), golden) << chunk;
  }
}

TEST(AuditBundleTest, ThePageShowsTheGoldenFile) {
  const std::string golden = test_support::ReadWholeFile(EXPUNGE_GOLDEN_BUNDLE);
  EXPECT_TRUE(absl::StrContains(test_support::ReadWholeFile(EXPUNGE_BUNDLE_PAGE), "```\n" + golden + "```"));
}

TEST(AuditBundleTest, ItsLastLineIsTheHashOfAllBeforeIt) {
  const std::string bundle = WholeBundle(GoldenMemory(), 1);
  const PlainBundle read = ReadPlainly(bundle);
  EXPECT_EQ(read.trailer.at("sha256"), ToHex(AsView(Sha256(bundle.substr(0, read.trailer_at)))));
  EXPECT_EQ(read.trailer.at("tokens"), "6");
  EXPECT_EQ(read.header.at("tokenCount"), "6");
  EXPECT_EQ(read.tokens.size(), 6U);
}

TEST(AuditBundleTest, ASolverThatHasItAloneFindsTheSameBits) {
  const PlainBundle read = ReadPlainly(WholeBundle(GoldenMemory(), 1));
  solver::MemoryState state;
  state.config = GoldenConfig(read.header);
  for (const Json& line : read.tokens) {
    state.tokens.push_back(ShareToken(
        {line.at("id").get<std::string>(), DoublesOf(line.at("key")), DoublesOf(line.at("value"))}));
  }
  auto solution = solver::SolveFromNothing(state.config, state.tokens);
  ASSERT_TRUE(solution.ok()) << solution.status();
  state.solution = *std::move(solution);
  std::string classes;
  for (size_t i = 0; i < read.tokens.size(); ++i) {
    classes.push_back(static_cast<char>(state.solution.classes[i]));
    EXPECT_EQ(read.tokens[i].at("class"), classes.substr(i));
    EXPECT_EQ(DoubleOf(read.tokens[i].at("weight")), state.solution.weights[i]);
  }
  EXPECT_EQ(classes, "SSSSRE") << "the golden memory has tokens of every class";
  EXPECT_EQ(DoubleOf(read.header.at("rho")), state.solution.rho);
  EXPECT_EQ(DigestOf(read.header.at("fingerprint")), solver::Fingerprint(state));
}

TEST(AuditBundleTest, ItsDigestsFollowFromItsLines) {
  const PlainBundle read = ReadPlainly(WholeBundle(GoldenMemory(), 1));
  const Digest audit_key = DigestOf(read.header.at("auditKey"));
  std::vector<certificate::TreeLeaf> leaves;
  std::vector<certificate::StateEntry> entries;
  std::string last_id;
  for (const Json& line : read.tokens) {
    const auto id = line.at("id").get<std::string>();
    EXPECT_LT(last_id, id);
    last_id = id;
    const Digest handle = TokenHandle(audit_key, id);
    leaves.push_back({handle, DigestOf(line.at("commitment"))});
    if (line.at("class") == "R") continue;
    entries.push_back({handle, line.at("class").get<std::string>()[0], DoubleOf(line.at("weight"))});
  }
  const Digest token_root = certificate::TokenTreeRoot(leaves);
  EXPECT_EQ(DigestOf(read.header.at("tokenRoot")), token_root);
  EXPECT_EQ(DigestOf(read.header.at("entriesRoot")), EntriesRoot(audit_key, entries));
  EXPECT_EQ(DigestOf(read.header.at("memoryPseudonym")),
            MemoryPseudonym(audit_key, read.header.at("memory").get<std::string>()));
  EXPECT_EQ(DigestOf(read.header.at("stateDigest")),
            StateDigest(audit_key, GoldenConfig(read.header), token_root, entries,
                        DoubleOf(read.header.at("rho"))));
}

TEST(AuditBundleTest, SubjectsStandInOrderWhateverTheCallersWas) {
  const PlainBundle read = ReadPlainly(WholeBundle(GoldenMemory(), 1));
  EXPECT_EQ(read.tokens[1].at("subjects"), Json({"patient-04", "patient-17"}));
}

}  // namespace
}  // namespace expunge::core
