// Transitions of the token tree: made by TokenTree, verified, and held against trees that are built from
// nothing.
#include "certificate/transition.h"

#include <gtest/gtest.h>
#include <openssl/sha.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "certificate/token_tree.h"
#include "tests/certificate/fixtures.h"

namespace expunge::certificate {
namespace {

using testing::FixedDigest;

constexpr uint32_t kSeed = 20261130;

// ---- The oracle: trees of bits as text, and the definition of the transition. ----

Digest Hash(const std::string& bytes) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

std::string Bytes(const Digest& digest) { return {digest.begin(), digest.end()}; }

bool BitOf(const Digest& digest, size_t bit) { return (digest[bit / 8] & (0x80U >> bit % 8)) != 0; }

struct Oracle {
  Digest root{};
  std::vector<std::string> transition;
};

// Of the tree of `leaves`, which agree in all bits before `bit`. Not empty.
Oracle OracleOf(const std::vector<TreeLeaf>& leaves, const std::set<Digest>& removed, size_t bit = 0) {
  Oracle oracle;
  const bool untouched = std::none_of(leaves.begin(), leaves.end(),
                                      [&](const TreeLeaf& leaf) { return removed.contains(leaf.handle); });
  if (leaves.size() == 1) {
    oracle.root = Hash(std::string(1, '\0') + Bytes(leaves[0].handle) + Bytes(leaves[0].content));
    oracle.transition = {"r"};
  } else {
    std::vector<TreeLeaf> zeros;
    std::vector<TreeLeaf> ones;
    for (const TreeLeaf& leaf : leaves) (BitOf(leaf.handle, bit) ? ones : zeros).push_back(leaf);
    if (zeros.empty() || ones.empty()) return OracleOf(leaves, removed, bit + 1);
    const Oracle left = OracleOf(zeros, removed, bit + 1);
    const Oracle right = OracleOf(ones, removed, bit + 1);
    oracle.root = Hash(std::string("\1") + static_cast<char>(bit / 256) + static_cast<char>(bit % 256) +
                       Bytes(left.root) + Bytes(right.root));
    oracle.transition = {absl::StrCat("n", bit)};
    for (const Oracle& part : {left, right}) {
      oracle.transition.insert(oracle.transition.end(), part.transition.begin(), part.transition.end());
    }
  }
  if (untouched) oracle.transition = {"d" + ToHex(AsView(oracle.root))};
  return oracle;
}

Digest OracleRoot(const std::vector<TreeLeaf>& leaves) {
  return leaves.empty() ? Hash("") : OracleOf(leaves, {}).root;
}

// ---- Removals. ----

struct Removal {
  std::vector<TreeLeaf> before;
  std::vector<TreeLeaf> removed;
  std::vector<TreeLeaf> after;
};

Removal RemovalOf(const std::vector<TreeLeaf>& leaves, const std::vector<bool>& chosen) {
  Removal removal{leaves, {}, {}};
  for (size_t i = 0; i < leaves.size(); ++i) {
    (chosen[i] ? removal.removed : removal.after).push_back(leaves[i]);
  }
  return removal;
}

std::vector<Digest> HandlesOf(const std::vector<TreeLeaf>& leaves) {
  std::vector<Digest> handles;
  for (const TreeLeaf& leaf : leaves) handles.push_back(leaf.handle);
  return handles;
}

Transition TransitionOf(const Removal& removal) {
  TokenTree tree;
  tree.Insert(removal.before);
  return tree.TransitionOf(HandlesOf(removal.removed));
}

std::vector<std::string> Texts(const Transition& transition) {
  std::vector<std::string> texts;
  for (const TransitionNode& node : transition) texts.push_back(TransitionText(node));
  return texts;
}

bool Verifies(const Transition& transition, const Removal& removal) {
  return VerifyTransition(transition, removal.removed, OracleRoot(removal.before), OracleRoot(removal.after));
}

void ExpectExact(const Removal& removal) {
  const Transition transition = TransitionOf(removal);
  std::vector<std::string> expected;
  if (!removal.removed.empty()) {
    const std::vector<Digest> handles = HandlesOf(removal.removed);
    expected = OracleOf(removal.before, {handles.begin(), handles.end()}).transition;
  }
  ASSERT_EQ(Texts(transition), expected);
  ASSERT_TRUE(Verifies(transition, removal));
}

// Handles that share long prefixes: `count` different ones with random bits at a few places alone.
std::vector<TreeLeaf> ClusteredLeaves(std::mt19937* random, size_t count) {
  std::vector<size_t> places;
  for (int i = 0; i < 12; ++i) places.push_back((*random)() % 256);
  std::set<Digest> handles;
  while (handles.size() < count) {
    Digest handle = FixedDigest("cluster");
    for (const size_t place : places) {
      if ((*random)() % 2 == 0) handle[place / 8] ^= static_cast<uint8_t>(0x80U >> place % 8);
    }
    handles.insert(handle);
  }
  std::vector<TreeLeaf> leaves;
  for (const Digest& handle : handles) leaves.push_back({handle, FixedDigest(ToHex(AsView(handle)))});
  std::shuffle(leaves.begin(), leaves.end(), *random);
  return leaves;
}

std::vector<TreeLeaf> Leaves(size_t count) {
  std::vector<TreeLeaf> leaves;
  for (size_t i = 0; i < count; ++i) {
    leaves.push_back({FixedDigest(absl::StrCat("handle ", i)), FixedDigest(absl::StrCat("content ", i))});
  }
  return leaves;
}

TEST(TransitionTest, IsThatOfTheDefinitionForEverySubsetOfSmallSets) {
  for (size_t count = 0; count <= 9; ++count) {
    const std::vector<TreeLeaf> leaves = Leaves(count);
    for (unsigned mask = 0; mask < 1U << count; ++mask) {
      std::vector<bool> chosen;
      for (size_t i = 0; i < count; ++i) chosen.push_back((mask >> i & 1U) != 0);
      ASSERT_NO_FATAL_FAILURE(ExpectExact(RemovalOf(leaves, chosen))) << count << " " << mask;
    }
  }
}

TEST(TransitionTest, IsThatOfTheDefinitionForEverySubsetOfHandlesWithLongPrefixes) {
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  for (int round = 0; round < 8; ++round) {
    const std::vector<TreeLeaf> leaves = ClusteredLeaves(&random, 7);
    for (unsigned mask = 0; mask < 1U << 7; ++mask) {
      std::vector<bool> chosen;
      for (size_t i = 0; i < 7; ++i) chosen.push_back((mask >> i & 1U) != 0);
      ASSERT_NO_FATAL_FAILURE(ExpectExact(RemovalOf(leaves, chosen))) << round << " " << mask;
    }
  }
}

TEST(TransitionTest, IsThatOfTheDefinitionForRandomRemovals) {
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  for (int round = 0; round < 60; ++round) {
    const size_t count = 1 + random() % 300;
    const std::vector<TreeLeaf> leaves = round % 3 == 0 ? ClusteredLeaves(&random, count) : Leaves(count);
    const unsigned share = 1 + random() % 100;
    std::vector<bool> chosen;
    for (size_t i = 0; i < count; ++i) chosen.push_back(random() % 100 < share);
    ASSERT_NO_FATAL_FAILURE(ExpectExact(RemovalOf(leaves, chosen))) << round;
  }
}

TEST(TransitionTest, ReachesTheDeepestTree) {
  std::vector<TreeLeaf> leaves = {{Digest{}, FixedDigest("zero")}};
  for (size_t bit = 0; bit < 256; ++bit) {
    Digest handle{};
    handle[bit / 8] = static_cast<uint8_t>(0x80U >> (bit % 8));
    leaves.push_back({handle, FixedDigest(absl::StrCat("bit ", bit))});
  }
  std::vector<bool> chosen(leaves.size(), false);
  chosen[0] = true;
  const Removal deepest = RemovalOf(leaves, chosen);
  ExpectExact(deepest);
  EXPECT_EQ(TransitionOf(deepest).size(), 513U);
  ExpectExact(RemovalOf(leaves, std::vector<bool>(leaves.size(), true)));
}

TEST(TransitionTest, OfEverythingHasNoDigestAndOfNothingIsEmpty) {
  const std::vector<TreeLeaf> leaves = Leaves(12);
  for (const std::string& text : Texts(TransitionOf(RemovalOf(leaves, std::vector<bool>(12, true))))) {
    EXPECT_NE(text.front(), 'd');
  }
  EXPECT_TRUE(TransitionOf(RemovalOf(leaves, std::vector<bool>(12, false))).empty());
  EXPECT_TRUE(TransitionOf({}).empty());
  EXPECT_EQ(Texts(TransitionOf(RemovalOf(Leaves(1), {true}))), std::vector<std::string>{"r"});
}

// A removal with digests, inner nodes and removed leaves on both sides of the root.
Removal Fixed() {
  std::vector<bool> chosen(40, false);
  for (const size_t i : {1, 7, 8, 20, 33, 34}) chosen[i] = true;
  return RemovalOf(Leaves(40), chosen);
}

TEST(VerifyTransitionTest, RefusesEveryOtherRoot) {
  const Removal removal = Fixed();
  const Transition transition = TransitionOf(removal);
  const Digest before = OracleRoot(removal.before);
  const Digest after = OracleRoot(removal.after);
  ASSERT_TRUE(VerifyTransition(transition, removal.removed, before, after));
  EXPECT_FALSE(VerifyTransition(transition, removal.removed, after, before));
  EXPECT_FALSE(VerifyTransition(transition, removal.removed, before, before));
  EXPECT_FALSE(VerifyTransition(transition, removal.removed, before, Hash("")));
  EXPECT_FALSE(VerifyTransition({}, {}, before, after));
  EXPECT_TRUE(VerifyTransition({}, {}, before, before));
}

TEST(VerifyTransitionTest, RefusesOtherRemovedLeaves) {
  const Removal removal = Fixed();
  const Transition transition = TransitionOf(removal);
  for (size_t i = 0; i < removal.removed.size(); ++i) {
    for (int bit = 0; bit < 256; ++bit) {
      Removal other = removal;
      other.removed[i].handle[static_cast<size_t>(bit / 8)] ^= static_cast<uint8_t>(0x80U >> bit % 8);
      ASSERT_FALSE(Verifies(transition, other)) << i << " " << bit;
      other = removal;
      other.removed[i].content[static_cast<size_t>(bit / 8)] ^= static_cast<uint8_t>(0x80U >> bit % 8);
      ASSERT_FALSE(Verifies(transition, other)) << i << " " << bit;
    }
    Removal other = removal;
    other.removed.erase(other.removed.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(Verifies(transition, other));
    other = removal;
    other.removed.push_back(removal.removed[i]);
    EXPECT_FALSE(Verifies(transition, other)) << "a token twice";
    other = removal;
    std::swap(other.removed[i].content, other.removed[(i + 1) % other.removed.size()].content);
    EXPECT_FALSE(Verifies(transition, other));
  }
}

TEST(VerifyTransitionTest, TheOrderOfTheRemovedDoesNotMatter) {
  Removal removal = Fixed();
  std::reverse(removal.removed.begin(), removal.removed.end());
  EXPECT_TRUE(Verifies(TransitionOf(removal), removal));
}

TEST(VerifyTransitionTest, RefusesEveryDamagedElement) {
  const Removal removal = Fixed();
  const Transition transition = TransitionOf(removal);
  for (size_t i = 0; i < transition.size(); ++i) {
    Transition damaged = transition;
    damaged.erase(damaged.begin() + static_cast<std::ptrdiff_t>(i));
    ASSERT_FALSE(Verifies(damaged, removal)) << i;
    damaged = transition;
    damaged.insert(damaged.begin() + static_cast<std::ptrdiff_t>(i), transition[i]);
    ASSERT_FALSE(Verifies(damaged, removal)) << i;
    ASSERT_FALSE(Verifies(Transition(transition.begin(), transition.begin() + static_cast<std::ptrdiff_t>(i)),
                          removal))
        << i;
    for (const auto type :
         {TransitionNode::Type::kInner, TransitionNode::Type::kRemoved, TransitionNode::Type::kUntouched}) {
      damaged = transition;
      damaged[i].type = type;
      if (type != transition[i].type) {
        ASSERT_FALSE(Verifies(damaged, removal)) << i;
      }
    }
    damaged = transition;
    if (transition[i].type == TransitionNode::Type::kInner) {
      for (int split = -2; split <= 257; ++split) {
        damaged[i].split = split;
        ASSERT_EQ(Verifies(damaged, removal), split == transition[i].split) << i << " " << split;
      }
    }
    if (transition[i].type == TransitionNode::Type::kUntouched) {
      damaged[i].digest[5] ^= 1;
      ASSERT_FALSE(Verifies(damaged, removal)) << i;
    }
  }
  Transition longer = transition;
  longer.push_back({TransitionNode::Type::kUntouched, 0, {}});
  EXPECT_FALSE(Verifies(longer, removal));
}

// Forms with the right roots that are not the one form.
TEST(VerifyTransitionTest, RefusesDigestsThatAreNotTheLargest) {
  const Removal removal = Fixed();
  const std::vector<Digest> removed = HandlesOf(removal.removed);
  // One of the kept leaves is said to be removed when the tree is pruned; then its leaf becomes a digest.
  for (const TreeLeaf& kept : removal.after) {
    TokenTree tree;
    tree.Insert(removal.before);
    std::vector<Digest> handles = removed;
    handles.push_back(kept.handle);
    Transition finer = tree.TransitionOf(handles);
    std::sort(handles.begin(), handles.end());
    const auto place = std::find(handles.begin(), handles.end(), kept.handle) - handles.begin();
    ptrdiff_t leaf = 0;
    for (TransitionNode& node : finer) {
      if (node.type != TransitionNode::Type::kRemoved || leaf++ != place) continue;
      node = {TransitionNode::Type::kUntouched, 0, OracleRoot({kept})};
      break;
    }
    // If its sibling loses a token, this is the one form; if not, two digests are below one node.
    EXPECT_EQ(Verifies(finer, removal), finer == TransitionOf(removal));
  }
}

// Trees with the right roots and wrong places: what a service could sign that hides a token.
TEST(VerifyTransitionTest, RefusesATokenAtAPlaceThatItsHandleContradicts) {
  const TreeLeaf low{Digest{}, FixedDigest("low")};
  TreeLeaf high = low;
  high.handle[0] = 0x80;
  const auto leaf = [](const TreeLeaf& of) { return OracleRoot({of}); };
  const auto node = [](char split, const Digest& left, const Digest& right) {
    return Hash(std::string("\1") + '\0' + split + Bytes(left) + Bytes(right));
  };
  const TransitionNode removed{TransitionNode::Type::kRemoved, 0, {}};
  const auto inner = [](int split) { return TransitionNode{TransitionNode::Type::kInner, split, {}}; };
  const auto digest = [](const Digest& of) {
    return TransitionNode{TransitionNode::Type::kUntouched, 0, of};
  };
  // On the wrong side of its parent.
  EXPECT_TRUE(VerifyTransition({inner(0), digest(leaf(low)), removed}, {high}, node(0, leaf(low), leaf(high)),
                               leaf(low)));
  EXPECT_FALSE(VerifyTransition({inner(0), removed, digest(leaf(low))}, {high},
                                node(0, leaf(high), leaf(low)), leaf(low)));
  // The parent's bit is not the first in which the two differ.
  TreeLeaf both = high;
  both.handle[0] = 0xc0;
  EXPECT_FALSE(
      VerifyTransition({inner(1), removed, removed}, {low, both}, node(1, leaf(low), leaf(both)), Hash("")));
  EXPECT_TRUE(
      VerifyTransition({inner(0), removed, removed}, {low, both}, node(0, leaf(low), leaf(both)), Hash("")));
  // Split bits that do not ascend.
  const Digest pair = node(1, leaf(high), leaf(both));
  EXPECT_TRUE(VerifyTransition({inner(0), digest(leaf(low)), inner(1), removed, removed}, {high, both},
                               node(0, leaf(low), pair), leaf(low)));
  for (const int split : {0, 1}) {
    const Digest wrong = node(static_cast<char>(split), leaf(high), leaf(both));
    EXPECT_FALSE(VerifyTransition({inner(1), digest(leaf(low)), inner(split), removed, removed}, {high, both},
                                  node(1, leaf(low), wrong), leaf(low)));
  }
}

TEST(VerifyTransitionTest, HostileDepthEndsAtTheFirstSplitBitThatDoesNotAscend) {
  Transition endless(1'000'000, {TransitionNode::Type::kInner, 0, {}});
  EXPECT_FALSE(VerifyTransition(endless, Leaves(2), Hash("x"), Hash("y")));
  for (size_t i = 0; i < endless.size(); ++i) endless[i].split = static_cast<int>(i);
  EXPECT_FALSE(VerifyTransition(endless, Leaves(2), Hash("x"), Hash("y")));
}

TEST(VerifyTransitionTest, RandomElementsAreRefused) {
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  const Removal removal = Fixed();
  for (int round = 0; round < 20'000; ++round) {
    Transition transition;
    const size_t size = random() % 12;
    for (size_t i = 0; i < size; ++i) {
      transition.push_back({static_cast<TransitionNode::Type>(random() % 3), static_cast<int>(random() % 256),
                            FixedDigest(absl::StrCat(random() % 3))});
    }
    ASSERT_FALSE(Verifies(transition, removal)) << round;
  }
}

TEST(TransitionTextTest, EveryElementHasOneForm) {
  for (const TransitionNode& node : TransitionOf(Fixed())) {
    EXPECT_EQ(ParseTransitionNode(TransitionText(node)), std::optional<TransitionNode>(node));
  }
  for (int split = 0; split < 256; ++split) {
    const auto node = ParseTransitionNode(absl::StrCat("n", split));
    ASSERT_TRUE(node.has_value());
    EXPECT_EQ(node->split, split);
  }
  const std::string digest(64, 'a');
  EXPECT_TRUE(ParseTransitionNode("d" + digest).has_value());
  for (const std::string& text :
       {std::string(),         std::string("n"),    std::string("n256"),    std::string("n-1"),
        std::string("n01"),    std::string("n+1"),  std::string("n 1"),     std::string("n1 "),
        std::string("N1"),     std::string("rr"),   std::string("r "),      std::string("R"),
        std::string("d"),      "D" + digest,        "x" + digest,           digest,
        "d" + digest + "a",    "d" + digest + "aa", "d" + digest.substr(1), "d" + std::string(64, 'A'),
        std::string("r\0", 2), std::string("n1\n")}) {
    EXPECT_FALSE(ParseTransitionNode(text).has_value()) << text;
  }
}

TEST(TransitionDeathTest, OfAnUnknownHandleIsADefectOfTheProgram) {
  TokenTree tree;
  EXPECT_DEATH((void)tree.TransitionOf({FixedDigest("guest")}), "no such handle");
  tree.Insert(Leaves(3));
  EXPECT_DEATH((void)tree.TransitionOf({FixedDigest("guest")}), "no such handle");
}

}  // namespace
}  // namespace expunge::certificate
