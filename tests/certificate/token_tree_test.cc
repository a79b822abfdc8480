#include "certificate/token_tree.h"

#include <gtest/gtest.h>
#include <openssl/sha.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <set>
#include <string>

#include "base/hash.h"
#include "tests/certificate/fixtures.h"

namespace expunge::certificate {
namespace {

using testing::FixedDigest;

constexpr uint32_t kSeed = 20261129;

Digest Hash(const std::string& bytes) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

std::string Bytes(const Digest& digest) { return {digest.begin(), digest.end()}; }

std::string Bits(const Digest& digest) {
  std::string bits;
  for (const uint8_t byte : digest) {
    for (int shift = 7; shift >= 0; --shift) bits += (byte >> shift & 1) != 0 ? '1' : '0';
  }
  return bits;
}

// The definition, bit after bit from the top, without any order: a subtree whose tokens agree in this bit is
// that of the next bit.
Digest OracleRoot(const std::vector<TreeLeaf>& leaves, size_t bit = 0) {
  if (leaves.empty()) return Hash("");
  if (leaves.size() == 1) {
    return Hash(std::string(1, '\x00') + Bytes(leaves[0].handle) + Bytes(leaves[0].content));
  }
  std::vector<TreeLeaf> zeros;
  std::vector<TreeLeaf> ones;
  for (const TreeLeaf& leaf : leaves) (Bits(leaf.handle)[bit] == '0' ? zeros : ones).push_back(leaf);
  if (zeros.empty() || ones.empty()) return OracleRoot(leaves, bit + 1);
  std::string node = "\x01";
  node += static_cast<char>(bit / 256);
  node += static_cast<char>(bit % 256);
  return Hash(node + Bytes(OracleRoot(zeros, bit + 1)) + Bytes(OracleRoot(ones, bit + 1)));
}

std::vector<TreeLeaf> Leaves(int count) {
  std::vector<TreeLeaf> leaves;
  for (int i = 0; i < count; ++i) {
    leaves.push_back(
        {FixedDigest("handle " + std::to_string(i)), FixedDigest("content " + std::to_string(i))});
  }
  return leaves;
}

TEST(TokenTreeTest, EmptyTreeIsTheHashOfNothing) {
  EXPECT_EQ(ToHex(AsView(TokenTreeRoot({}))),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(TokenTreeTest, MatchesTheDefinitionAtEverySizeTo70) {
  for (int count = 0; count <= 70; ++count) {
    EXPECT_EQ(TokenTreeRoot(Leaves(count)), OracleRoot(Leaves(count))) << count;
  }
}

TEST(TokenTreeTest, MatchesTheDefinitionWhereHandlesShareLongPrefixes) {
  // Handles that differ from one another in a single bit, at every place, so that every split bit occurs.
  std::vector<TreeLeaf> leaves = {{Digest{}, FixedDigest("zero")}};
  for (size_t bit = 0; bit < 256; ++bit) {
    Digest handle{};
    handle[bit / 8] = static_cast<uint8_t>(0x80U >> (bit % 8));
    leaves.push_back({handle, FixedDigest("bit " + std::to_string(bit))});
  }
  EXPECT_EQ(TokenTreeRoot(leaves), OracleRoot(leaves));
  Digest ones;
  ones.fill(0xff);
  leaves.push_back({ones, FixedDigest("ones")});
  EXPECT_EQ(TokenTreeRoot(leaves), OracleRoot(leaves));
}

TEST(TokenTreeTest, DoesNotDependOnTheOrder) {
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  std::vector<TreeLeaf> leaves = Leaves(50);
  const Digest root = TokenTreeRoot(leaves);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(leaves.begin(), leaves.end(), random);
    EXPECT_EQ(TokenTreeRoot(leaves), root);
  }
}

TEST(TokenTreeTest, RemovingALeafGivesTheTreeThatNeverHeldIt) {
  std::vector<TreeLeaf> leaves = Leaves(40);
  const Digest before = TokenTreeRoot(leaves);
  leaves.push_back({FixedDigest("guest"), FixedDigest("of a while")});
  EXPECT_NE(TokenTreeRoot(leaves), before);
  leaves.pop_back();
  EXPECT_EQ(TokenTreeRoot(leaves), before);
}

TEST(TokenTreeTest, EveryHandleAndEveryContentChangesTheRoot) {
  const std::vector<TreeLeaf> leaves = Leaves(17);
  std::set<Digest> roots = {TokenTreeRoot(leaves)};
  for (size_t i = 0; i < leaves.size(); ++i) {
    std::vector<TreeLeaf> changed = leaves;
    changed[i].handle[31] ^= 1;
    EXPECT_TRUE(roots.insert(TokenTreeRoot(changed)).second);
    changed = leaves;
    changed[i].content[0] ^= 0x80;
    EXPECT_TRUE(roots.insert(TokenTreeRoot(changed)).second);
    changed = leaves;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(roots.insert(TokenTreeRoot(changed)).second);
  }
}

TEST(TokenTreeDeathTest, EqualHandlesAreADefectOfTheProgram) {
  std::vector<TreeLeaf> leaves = Leaves(3);
  leaves.push_back(leaves[1]);
  EXPECT_DEATH((void)TokenTreeRoot(leaves), "same handle");
}

}  // namespace
}  // namespace expunge::certificate
