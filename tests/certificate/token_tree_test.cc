#include "certificate/token_tree.h"

#include <gtest/gtest.h>
#include <openssl/sha.h>

#include <algorithm>
#include <iostream>
#include <numeric>
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

// Leaves whose handles differ from that of zeros in a single bit each, at every place: every split bit
// occurs.
std::vector<TreeLeaf> DeepLeaves() {
  std::vector<TreeLeaf> leaves = {{Digest{}, FixedDigest("zero")}};
  for (size_t bit = 0; bit < 256; ++bit) {
    Digest handle{};
    handle[bit / 8] = static_cast<uint8_t>(0x80U >> (bit % 8));
    leaves.push_back({handle, FixedDigest("bit " + std::to_string(bit))});
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
  std::vector<TreeLeaf> leaves = DeepLeaves();
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

// Those of `leaves` whose place is in `chosen`.
std::vector<TreeLeaf> Select(const std::vector<TreeLeaf>& leaves, const std::set<size_t>& chosen) {
  std::vector<TreeLeaf> selected;
  for (const size_t i : chosen) selected.push_back(leaves[i]);
  return selected;
}

std::vector<Digest> HandlesOf(const std::vector<TreeLeaf>& leaves) {
  std::vector<Digest> handles;
  for (const TreeLeaf& leaf : leaves) handles.push_back(leaf.handle);
  return handles;
}

TEST(ChangingTokenTreeTest, HasThePlainRootAfterEveryOrderOfInsertsAndErases) {
  for (size_t count = 0; count <= 5; ++count) {
    const std::vector<TreeLeaf> leaves = Leaves(static_cast<int>(count));
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    do {
      TokenTree tree;
      std::set<size_t> held;
      for (const size_t i : order) {
        tree.Insert({leaves[i]});
        held.insert(i);
        ASSERT_EQ(tree.Root(), TokenTreeRoot(Select(leaves, held)));
      }
      std::vector<size_t> way_back = order;
      std::sort(way_back.begin(), way_back.end());
      do {
        TokenTree shrinking = tree;
        std::set<size_t> left = held;
        for (const size_t i : way_back) {
          shrinking.Erase({leaves[i].handle});
          left.erase(i);
          ASSERT_EQ(shrinking.Root(), TokenTreeRoot(Select(leaves, left)));
        }
      } while (std::next_permutation(way_back.begin(), way_back.end()));
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(ChangingTokenTreeTest, HasThePlainRootAfterRandomBatches) {
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  const std::vector<TreeLeaf> leaves = Leaves(400);
  TokenTree tree;
  std::set<size_t> held;
  for (int round = 0; round < 300; ++round) {
    const size_t size = round % 3 == 0 ? random() % 60 : random() % 4;
    const bool insert = round % 2 == 0;
    std::set<size_t> chosen;
    for (size_t k = 0; k < size; ++k) {
      const size_t i = random() % leaves.size();
      if ((held.count(i) == 0) == insert) chosen.insert(i);
    }
    std::vector<TreeLeaf> batch = Select(leaves, chosen);
    std::shuffle(batch.begin(), batch.end(), random);
    if (insert) {
      tree.Insert(batch);
      held.insert(chosen.begin(), chosen.end());
    } else {
      tree.Erase(HandlesOf(batch));
      for (const size_t i : chosen) held.erase(i);
    }
    ASSERT_EQ(tree.Root(), TokenTreeRoot(Select(leaves, held))) << round;
  }
  EXPECT_GT(held.size(), 50U);
  tree.Erase(HandlesOf(Select(leaves, held)));
  EXPECT_EQ(tree.Root(), TokenTreeRoot({}));
}

TEST(ChangingTokenTreeTest, HasThePlainRootWhereHandlesShareLongPrefixes) {
  const std::vector<TreeLeaf> leaves = DeepLeaves();
  TokenTree at_once;
  at_once.Insert(leaves);
  EXPECT_EQ(at_once.Root(), TokenTreeRoot(leaves));
  TokenTree tree;
  std::vector<TreeLeaf> held;
  // From both ends: deep subtrees are met from above and from below.
  for (size_t k = 0; k < leaves.size(); ++k) {
    const TreeLeaf& leaf = leaves[k % 2 == 0 ? k / 2 : leaves.size() - 1 - k / 2];
    tree.Insert({leaf});
    held.push_back(leaf);
    ASSERT_EQ(tree.Root(), TokenTreeRoot(held)) << k;
  }
  std::mt19937 random(kSeed);
  std::shuffle(held.begin(), held.end(), random);
  while (!held.empty()) {
    tree.Erase({held.back().handle});
    held.pop_back();
    ASSERT_EQ(tree.Root(), TokenTreeRoot(held)) << held.size();
  }
}

TEST(ChangingTokenTreeTest, CopiesStayWhatTheyWere) {
  const std::vector<TreeLeaf> leaves = Leaves(64);
  std::vector<TokenTree> snapshots(1);
  for (const TreeLeaf& leaf : leaves) {
    snapshots.push_back(snapshots.back());
    snapshots.back().Insert({leaf});
  }
  TokenTree last = snapshots.back();
  last.Erase(HandlesOf(leaves));
  last.Insert({leaves[3]});
  for (size_t count = 0; count < snapshots.size(); ++count) {
    const std::vector<TreeLeaf> first(leaves.begin(), leaves.begin() + static_cast<std::ptrdiff_t>(count));
    EXPECT_EQ(snapshots[count].Root(), TokenTreeRoot(first)) << count;
  }
}

TEST(ChangingTokenTreeDeathTest, InsertingAHandleTwiceIsADefectOfTheProgram) {
  const std::vector<TreeLeaf> leaves = Leaves(3);
  TokenTree tree;
  EXPECT_DEATH(tree.Insert({leaves[0], leaves[1], leaves[0]}), "same handle");
  tree.Insert(leaves);
  EXPECT_DEATH(tree.Insert({leaves[2]}), "same handle");
}

TEST(ChangingTokenTreeDeathTest, ErasingAnUnknownHandleIsADefectOfTheProgram) {
  const std::vector<TreeLeaf> leaves = Leaves(4);
  TokenTree tree;
  EXPECT_DEATH(tree.Erase({leaves[0].handle}), "no such handle");
  tree.Insert({leaves[0], leaves[1], leaves[2]});
  EXPECT_DEATH(tree.Erase({leaves[3].handle}), "no such handle");
  EXPECT_DEATH(tree.Erase({leaves[0].handle, leaves[0].handle}), "no such handle");
  EXPECT_DEATH(tree.Erase({leaves[0].handle, leaves[3].handle, leaves[1].handle}), "no such handle");
}

TEST(TokenTreeDeathTest, EqualHandlesAreADefectOfTheProgram) {
  std::vector<TreeLeaf> leaves = Leaves(3);
  leaves.push_back(leaves[1]);
  EXPECT_DEATH((void)TokenTreeRoot(leaves), "same handle");
}

}  // namespace
}  // namespace expunge::certificate
