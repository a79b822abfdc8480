#include "certificate/bundle/audit_bundle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/hash.h"
#include "certificate/token_tree.h"
#include "tests/certificate/fixtures.h"

namespace expunge::certificate {
namespace {

std::string Golden() { return testing::ReadBytes(testing::GoldenPath("audit_bundle.jsonl")); }

absl::StatusOr<AuditBundle> Read(absl::string_view bytes, size_t step = 1 << 20) {
  AuditBundleReader reader;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    const absl::Status added = reader.Add(bytes.substr(0, step));
    if (added.ok()) continue;
    EXPECT_EQ(reader.Finish().status(), added);
    return added;
  }
  return reader.Finish();
}

// With a last line that fits the lines before it.
std::string Ended(std::vector<std::string> lines) {
  const std::string body = absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
  return absl::StrCat(body, R"({"sha256":")", ToHex(AsView(Sha256(body))), R"(","tokens":")",
                      lines.size() - 1, "\"}\n");
}

std::vector<std::string> GoldenLines() {
  std::vector<std::string> lines = absl::StrSplit(Golden(), '\n', absl::SkipEmpty());
  lines.pop_back();
  return lines;
}

TEST(AuditBundleTest, ReadsTheGoldenBundleHoweverItComes) {
  for (const size_t step : {size_t{1}, size_t{7}, size_t{1000}, size_t{1} << 20}) {
    const auto bundle = Read(Golden(), step);
    ASSERT_TRUE(bundle.ok()) << bundle.status();
    EXPECT_EQ(bundle->memory, "tenants/acme/memories/cells");
    EXPECT_EQ(bundle->box_bound, "2/(2*s-1), s=4");
    EXPECT_EQ(bundle->parameters.min_support, 4U);
    EXPECT_EQ(bundle->parameters.key_dimension, 2U);
    EXPECT_EQ(bundle->parameters.gamma, 0.5);
    EXPECT_EQ(bundle->scope, "FULL_HISTORY");
    ASSERT_EQ(bundle->tokens.size(), 6U);
    EXPECT_EQ(bundle->tokens[1].subjects, (std::vector<std::string>{"patient-04", "patient-17"}));
    EXPECT_EQ(bundle->tokens[1].key, (std::vector<double>{-1, 0.25}));
    EXPECT_EQ(bundle->tokens[5].token_class, 'E');
  }
}

TEST(AuditBundleTest, HasTheDigestsThatFollowFromTheGoldenBundle) {
  const AuditBundle bundle = Read(Golden()).value();
  std::vector<TreeLeaf> leaves;
  std::vector<StateEntry> entries;
  for (const BundleToken& token : bundle.tokens) {
    const Digest handle = TokenHandle(bundle.audit_key, token.id);
    leaves.push_back({handle, token.commitment});
    if (token.token_class != 'R') entries.push_back({handle, token.token_class, token.weight});
  }
  EXPECT_EQ(MemoryPseudonym(bundle.audit_key, bundle.memory), bundle.memory_pseudonym);
  EXPECT_EQ(TokenTreeRoot(leaves), bundle.token_root);
  EXPECT_EQ(EntriesRoot(bundle.audit_key, entries), bundle.entries_root);
  EXPECT_EQ(StateDigest(bundle.audit_key, bundle.parameters, bundle.token_root, entries, bundle.rho),
            bundle.state_digest);
}

TEST(AuditBundleTest, RefusesEveryTruncationAndEveryFlippedBit) {
  const std::string golden = Golden();
  for (size_t length = 0; length < golden.size(); length += 3) {
    EXPECT_FALSE(Read(golden.substr(0, length)).ok()) << length;
  }
  for (size_t byte = 0; byte < golden.size(); ++byte) {
    std::string flipped = golden;
    flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << (byte % 8)));
    EXPECT_FALSE(Read(flipped).ok()) << byte;
  }
}

TEST(AuditBundleTest, RefusesOtherFormsAlsoWithARightEnd) {
  const std::vector<std::string> lines = GoldenLines();
  ASSERT_TRUE(Read(Ended(lines)).ok());
  ASSERT_EQ(Ended(lines), Golden());
  const std::vector<std::pair<size_t, std::pair<const char*, const char*>>> edits = {
      {0, {"expunge-audit-bundle-v1", "expunge-audit-bundle-v2"}},
      {0, {"\"gamma\":\"0x1p-1\"", "\"gamma\":\"0x0p+0\""}},
      {0, {"\"gamma\":\"0x1p-1\"", "\"gamma\":\"inf\""}},
      {0, {"\"gamma\":\"0x1p-1\"", "\"gamma\":0.5"}},
      {0, {"\"gamma\":\"0x1p-1\"", "\"gamma\":\"0x1p-1\",\"gammb\":\"\""}},
      {0, {"s=4", "s=04"}},
      {0, {"s=4", "s=0"}},
      {0, {"s=4", "s=4294967296"}},
      {0, {"s=4", "s=2147483649"}},
      {0, {"2/(2*s-1), s=4", "-0x1p-2"}},
      {0, {"\"keyDimension\":\"2\"", "\"keyDimension\":\"3\""}},
      {0, {"\"keyDimension\":\"2\"", "\"keyDimension\":\"0\""}},
      {0, {"\"keyDimension\":\"2\"", "\"keyDimension\":\"5000\""}},
      {0, {"FULL_HISTORY", "SOME_HISTORY"}},
      {0, {"\"tokenCount\":\"6\"", "\"tokenCount\":\"7\""}},
      {0, {"\"rho\":\"0x1.a66ed5daac5d2p-2\"", "\"rho\":\"-0x0p+0\""}},
      {0, {"\"rho\":\"0x1.a66ed5daac5d2p-2\"", "\"rho\":\"nan\""}},
      {0, {"{\"auditKey\"", "{ \"auditKey\""}},
      {1, {"\"class\":\"S\"", "\"class\":\"X\""}},
      {1, {"\"class\":\"S\"", "\"class\":\"R\""}},
      {1, {"biopsy-0001", "biopsy-0003"}},
      {1, {"biopsy-0001", "biopsy/0001"}},
      {1, {"biopsy-0001", ""}},
      {1, {"[\"patient-17\"]", "[]"}},
      {1, {"[\"patient-17\"]", "[\"patient-17\",\"patient-17\"]"}},
      {1, {"[\"patient-17\"]", "[\"patient-17\",\"patient-04\"]"}},
      {1, {"[\"patient-17\"]", "\"patient-17\""}},
      {1, {"AAAAAAAA8D8AAAAAAAAAAA==", "AAAAAAAA8D8AAAAAAAAAgA=="}},  // -0
      {1, {"AAAAAAAA8D8AAAAAAAAAAA==", "AAAAAAAA8H8AAAAAAAAAAA=="}},  // infinity
      {1, {"AAAAAAAA8D8AAAAAAAAAAA==", "AAAAAAAA8D8="}},
      {1, {"AAAAAAAA8D8AAAAAAAAAAA==", "AAAAAAAA8D8AAAAAAAAAAB=="}},
      {1, {"\"weight\":\"0x1", "\"weight\":\"-0x1"}},
      {1, {"\"weight\"", "\"weighu\""}},
  };
  for (const auto& [line, edit] : edits) {
    std::vector<std::string> edited = lines;
    edited[line] = absl::StrReplaceAll(edited[line], {{edit.first, edit.second}});
    ASSERT_NE(edited[line], lines[line]) << edit.first;
    EXPECT_FALSE(Read(Ended(edited)).ok()) << edit.second;
  }
}

TEST(AuditBundleTest, RefusesOtherLines) {
  const std::vector<std::string> lines = GoldenLines();
  const std::string golden = Golden();
  EXPECT_FALSE(Read(golden + "\n").ok());
  EXPECT_FALSE(Read(golden + golden).ok());
  EXPECT_FALSE(Read(golden + "x").ok());
  EXPECT_FALSE(Read(absl::StrCat("\n", golden)).ok());
  EXPECT_FALSE(Read(absl::StrReplaceAll(golden, {{"\n", "\r\n"}})).ok());
  EXPECT_FALSE(Read(Ended({lines[0], lines[1]})).ok());
  EXPECT_FALSE(Read(Ended({lines[1]})).ok());
  std::vector<std::string> swapped = lines;
  std::swap(swapped[1], swapped[2]);
  EXPECT_FALSE(Read(Ended(swapped)).ok());
  std::vector<std::string> twice = lines;
  twice[2] = twice[1];
  EXPECT_FALSE(Read(Ended(twice)).ok());
  EXPECT_FALSE(Read(std::string(kMaxBundleLineBytes + 1, 'x')).ok());
  EXPECT_FALSE(Read(std::string(kMaxBundleLineBytes + 1, '['), 1000).ok());
}

TEST(AuditBundleTest, ReadsAnEmptyMemory) {
  std::string header = GoldenLines()[0];
  header = absl::StrReplaceAll(header, {{"\"tokenCount\":\"6\"", "\"tokenCount\":\"0\""}});
  const auto bundle = Read(Ended({header}));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_TRUE(bundle->tokens.empty());
}

}  // namespace
}  // namespace expunge::certificate
