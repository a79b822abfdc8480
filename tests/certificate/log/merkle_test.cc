#include "certificate/log/merkle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/certificate/log/log_fixtures.h"

namespace expunge::certificate {
namespace {

using testing::Entries;
using testing::FixedEntries;
using testing::LogOf;
using testing::OraclePath;
using testing::OracleProof;
using testing::OracleRoot;

// The eight leaves, the roots and the proofs with which implementations of Certificate Transparency test
// theirs.
Entries KnownEntries() {
  Entries entries;
  for (const char* hex :
       {"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"}) {
    entries.push_back(*FromHex(hex));
  }
  return entries;
}

const std::vector<std::string>& KnownRoots() {
  static const auto* const kRoots = new std::vector<std::string>{
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
      "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
      "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
      "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
      "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
      "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
      "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
  };
  return *kRoots;
}

std::vector<std::string> Hex(const std::vector<Digest>& digests) {
  std::vector<std::string> hex;
  hex.reserve(digests.size());
  for (const Digest& digest : digests) hex.push_back(ToHex(AsView(digest)));
  return hex;
}

TEST(MerkleLogTest, HasTheKnownRoots) {
  const MerkleLog log = LogOf(KnownEntries());
  for (uint64_t size = 0; size <= 8; ++size) {
    EXPECT_EQ(ToHex(AsView(log.Root(size))), KnownRoots()[size]) << size;
  }
}

TEST(MerkleLogTest, HasTheKnownInclusionProofs) {
  const MerkleLog log = LogOf(KnownEntries());
  EXPECT_EQ(Hex(log.InclusionProof(0, 1)), std::vector<std::string>{});
  EXPECT_EQ(Hex(log.InclusionProof(0, 8)),
            (std::vector<std::string>{
                "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
            }));
  EXPECT_EQ(Hex(log.InclusionProof(5, 8)),
            (std::vector<std::string>{
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                KnownRoots()[4],
            }));
  EXPECT_EQ(Hex(log.InclusionProof(2, 3)), std::vector<std::string>{KnownRoots()[2]});
  EXPECT_EQ(Hex(log.InclusionProof(1, 5)),
            (std::vector<std::string>{
                KnownRoots()[1],
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            }));
}

TEST(MerkleLogTest, HasTheKnownConsistencyProofs) {
  const MerkleLog log = LogOf(KnownEntries());
  EXPECT_EQ(Hex(log.ConsistencyProof(1, 1)), std::vector<std::string>{});
  EXPECT_EQ(Hex(log.ConsistencyProof(1, 8)), Hex(log.InclusionProof(0, 8)));
  EXPECT_EQ(Hex(log.ConsistencyProof(6, 8)),
            (std::vector<std::string>{
                "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                KnownRoots()[4],
            }));
  EXPECT_EQ(Hex(log.ConsistencyProof(2, 5)),
            (std::vector<std::string>{
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
            }));
}

constexpr uint64_t kSizes = 130;

TEST(MerkleLogTest, ProvesEveryLeafOfEverySizeAsDefined) {
  const Entries entries = FixedEntries(kSizes);
  const MerkleLog log = LogOf(entries);
  for (uint64_t size = 1; size <= kSizes; ++size) {
    const auto first = absl::MakeConstSpan(entries).first(size);
    const Digest root = log.Root(size);
    ASSERT_EQ(root, OracleRoot(first)) << size;
    for (uint64_t index = 0; index < size; ++index) {
      const std::vector<Digest> proof = log.InclusionProof(index, size);
      ASSERT_EQ(proof, OraclePath(index, first));
      ASSERT_EQ(VerifyInclusion(HashLogLeaf(entries[index]), index, size, root, proof), LogReason::kOk)
          << index << " of " << size;
    }
  }
}

TEST(MerkleLogTest, ProvesEveryGrowthAsDefined) {
  const Entries entries = FixedEntries(kSizes);
  const MerkleLog log = LogOf(entries);
  for (uint64_t size = 0; size <= kSizes; ++size) {
    const auto first = absl::MakeConstSpan(entries).first(size);
    for (uint64_t old_size = 0; old_size <= size; ++old_size) {
      const std::vector<Digest> proof = log.ConsistencyProof(old_size, size);
      ASSERT_EQ(proof, OracleProof(old_size, first));
      ASSERT_EQ(VerifyConsistency({old_size, log.Root(old_size)}, {size, log.Root(size)}, proof),
                LogReason::kOk)
          << old_size << " to " << size;
    }
  }
}

TEST(MerkleLogTest, ForgetsWhatIsTruncated) {
  const Entries entries = FixedEntries(70);
  for (uint64_t size = 0; size <= 70; ++size) {
    MerkleLog log = LogOf(entries);
    log.Truncate(size);
    ASSERT_EQ(log.size(), size);
    ASSERT_EQ(log.Root(), OracleRoot(absl::MakeConstSpan(entries).first(size)));
    // And goes on with others.
    Entries others(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(size));
    for (const char* entry : {"x", "y", "z"}) {
      log.Append(HashLogLeaf(entry));
      others.emplace_back(entry);
    }
    ASSERT_EQ(log.Root(), OracleRoot(others));
  }
}

TEST(VerifyInclusionTest, RefusesEveryOtherIndexAndSize) {
  const Entries entries = FixedEntries(33);
  const MerkleLog log = LogOf(entries);
  for (uint64_t size = 1; size <= 33; ++size) {
    for (uint64_t index = 0; index < size; ++index) {
      const Digest leaf = HashLogLeaf(entries[index]);
      const std::vector<Digest> proof = log.InclusionProof(index, size);
      for (uint64_t other = 0; other < 40; ++other) {
        if (other == index) continue;
        EXPECT_NE(VerifyInclusion(leaf, other, size, log.Root(size), proof), LogReason::kOk);
      }
      EXPECT_EQ(VerifyInclusion(leaf, size, size, log.Root(size), proof), LogReason::kIndexBeyondTree);
      for (uint64_t other = 1; other <= 33; ++other) {
        if (other == size) continue;
        EXPECT_NE(VerifyInclusion(leaf, index, size, log.Root(other), proof), LogReason::kOk);
      }
    }
  }
}

TEST(VerifyInclusionTest, RefusesEveryFlippedBitAndEveryOtherLength) {
  const Entries entries = FixedEntries(11);
  const MerkleLog log = LogOf(entries);
  const Digest leaf = HashLogLeaf(entries[6]);
  const std::vector<Digest> proof = log.InclusionProof(6, 11);
  for (size_t hash = 0; hash < proof.size(); ++hash) {
    for (size_t bit = 0; bit < 256; ++bit) {
      std::vector<Digest> flipped = proof;
      flipped[hash][bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
      ASSERT_EQ(VerifyInclusion(leaf, 6, 11, log.Root(), flipped), LogReason::kRootMismatch);
    }
  }
  std::vector<Digest> longer = proof;
  longer.push_back(proof.front());
  EXPECT_EQ(VerifyInclusion(leaf, 6, 11, log.Root(), longer), LogReason::kWrongProofLength);
  for (size_t length = 0; length < proof.size(); ++length) {
    EXPECT_EQ(VerifyInclusion(leaf, 6, 11, log.Root(), absl::MakeConstSpan(proof).first(length)),
              LogReason::kWrongProofLength);
  }
  std::vector<Digest> reversed(proof.rbegin(), proof.rend());
  EXPECT_EQ(VerifyInclusion(leaf, 6, 11, log.Root(), reversed), LogReason::kRootMismatch);
}

TEST(VerifyInclusionTest, StandsTheLargestSizes) {
  const Digest hash = HashLogLeaf("x");
  const std::vector<Digest> proof(64, hash);
  for (const uint64_t index : {uint64_t{0}, UINT64_MAX / 2, UINT64_MAX - 1}) {
    EXPECT_NE(VerifyInclusion(hash, index, UINT64_MAX, hash, proof), LogReason::kOk);
  }
  EXPECT_EQ(VerifyInclusion(hash, UINT64_MAX, UINT64_MAX, hash, proof), LogReason::kIndexBeyondTree);
  EXPECT_EQ(VerifyInclusion(hash, 0, 0, hash, proof), LogReason::kIndexBeyondTree);
  EXPECT_NE(VerifyConsistency({UINT64_MAX - 1, hash}, {UINT64_MAX, hash}, proof), LogReason::kOk);
  EXPECT_NE(VerifyConsistency({uint64_t{1} << 63, hash}, {UINT64_MAX, hash}, proof), LogReason::kOk);
}

TEST(VerifyConsistencyTest, RefusesAForkOfEverySize) {
  const Entries entries = FixedEntries(40);
  Entries forked = entries;
  forked[17] = "another entry";
  const MerkleLog log = LogOf(entries);
  const MerkleLog fork = LogOf(forked);
  for (uint64_t old_size = 18; old_size <= 40; ++old_size) {
    for (uint64_t size = old_size; size <= 40; ++size) {
      const TreeHead older{old_size, log.Root(old_size)};
      const TreeHead newer{size, fork.Root(size)};
      EXPECT_EQ(VerifyConsistency(older, newer, log.ConsistencyProof(old_size, size)),
                LogReason::kRootMismatch);
      EXPECT_EQ(VerifyConsistency(older, newer, fork.ConsistencyProof(old_size, size)),
                LogReason::kRootMismatch);
    }
  }
}

TEST(VerifyConsistencyTest, RefusesWrongSizesLengthsAndBits) {
  const MerkleLog log = LogOf(FixedEntries(13));
  const TreeHead older{7, log.Root(7)};
  const TreeHead newer{13, log.Root(13)};
  const std::vector<Digest> proof = log.ConsistencyProof(7, 13);
  EXPECT_EQ(VerifyConsistency(newer, older, proof), LogReason::kWrongSizes);
  EXPECT_EQ(VerifyConsistency(older, newer, absl::MakeConstSpan(proof).subspan(1)),
            LogReason::kWrongProofLength);
  EXPECT_EQ(VerifyConsistency(older, newer, {}), LogReason::kWrongProofLength);
  for (size_t hash = 0; hash < proof.size(); ++hash) {
    std::vector<Digest> flipped = proof;
    flipped[hash][31] ^= 1;
    EXPECT_EQ(VerifyConsistency(older, newer, flipped), LogReason::kRootMismatch) << hash;
  }
  EXPECT_EQ(VerifyConsistency(older, older, {}), LogReason::kOk);
  EXPECT_EQ(VerifyConsistency(older, older, proof), LogReason::kWrongProofLength);
  EXPECT_EQ(VerifyConsistency(older, {7, log.Root(8)}, {}), LogReason::kRootMismatch);
}

TEST(VerifyConsistencyTest, LetsEveryTreeFollowTheEmptyOneAlone) {
  const MerkleLog log = LogOf(FixedEntries(5));
  EXPECT_EQ(VerifyConsistency({0, EmptyLogRoot()}, {5, log.Root()}, {}), LogReason::kOk);
  EXPECT_EQ(VerifyConsistency({0, EmptyLogRoot()}, {0, EmptyLogRoot()}, {}), LogReason::kOk);
  EXPECT_EQ(VerifyConsistency({0, log.Root()}, {5, log.Root()}, {}), LogReason::kRootMismatch);
  EXPECT_EQ(VerifyConsistency({0, EmptyLogRoot()}, {0, log.Root()}, {}), LogReason::kRootMismatch);
  EXPECT_EQ(VerifyConsistency({0, EmptyLogRoot()}, {5, log.Root()}, {log.Root()}),
            LogReason::kWrongProofLength);
}

}  // namespace
}  // namespace expunge::certificate
