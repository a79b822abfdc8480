// The chain of key sets, and the windows of keys.
#include "certificate/key_chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/certificate/key_set_fixture.h"

namespace expunge::certificate {
namespace {

using testing::At;
using testing::GrowingChain;
using testing::NumberedKey;

// Certificate keys 0, 2, 4, 5; checkpoint keys 1, 3.
GrowingChain Rotated() {
  GrowingChain chain;
  chain.Rotate(KeyUse::kCertificate, 10);
  chain.Rotate(KeyUse::kCheckpoint, 20);
  chain.Rotate(KeyUse::kCertificate, 30);
  chain.Rotate(KeyUse::kCertificate, 40);
  return chain;
}

std::vector<PublicKey> Pinned(int n) { return {NumberedKey(n).Public()}; }

TEST(KeyChainTest, IsTrustedFromAnyKeyThatSignedOneOfItsSets) {
  const GrowingChain chain = Rotated();
  for (const int pinned : {0, 2, 4}) {
    const KeyChain verified = chain.Verify(Pinned(pinned));
    ASSERT_EQ(verified.reason, KeyChainReason::kOk) << pinned;
    ASSERT_EQ(verified.sets.size(), 5U);
    EXPECT_EQ(verified.sets.back().keys, chain.sets().back().keys);
  }
}

TEST(KeyChainTest, IsNotTrustedFromOtherKeys) {
  const GrowingChain chain = Rotated();
  // A checkpoint key; a key that has signed no set; a key that nobody lists; none.
  for (const int pinned : {1, 5, 77}) {
    EXPECT_EQ(chain.Verify(Pinned(pinned)).reason, KeyChainReason::kUnpinned) << pinned;
  }
  EXPECT_EQ(chain.Verify({}).reason, KeyChainReason::kUnpinned);
  EXPECT_EQ(chain.Verify({NumberedKey(77).Public(), NumberedKey(2).Public()}).reason, KeyChainReason::kOk);
}

TEST(KeyChainTest, EveryFlippedBitIsRefused) {
  GrowingChain chain;
  chain.Rotate(KeyUse::kCertificate, 10);
  const std::string file = KeysFile(chain.envelopes());
  for (size_t bit = 0; bit < 8 * file.size(); bit += 29) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(VerifyKeysFile(damaged, Pinned(0)).reason, KeyChainReason::kOk) << bit;
  }
}

TEST(KeyChainTest, EveryTruncationAndEveryOtherFormIsRefused) {
  GrowingChain chain;
  chain.Rotate(KeyUse::kCertificate, 10);
  const std::string file = KeysFile(chain.envelopes());
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(VerifyKeysFile(file.substr(0, size), Pinned(0)).reason, KeyChainReason::kOk) << size;
  }
  for (const std::string& text :
       {file + "\n", " " + file, std::string(R"({"keySets":[]})"), std::string("[]"),
        std::string(R"({"keySets":[{}]})"), std::string(R"({"keySets":[1]})")}) {
    EXPECT_NE(VerifyKeysFile(text, Pinned(0)).reason, KeyChainReason::kOk) << text.substr(0, 40);
  }
}

TEST(KeyChainTest, AMissingOrMisplacedSetIsNoticed) {
  const GrowingChain whole = Rotated();
  for (size_t missing = 0; missing + 1 < whole.sets().size(); ++missing) {
    GrowingChain chain = whole;
    chain.envelopes().erase(chain.envelopes().begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_NE(chain.Verify(Pinned(0)).reason, KeyChainReason::kOk) << missing;
  }
  GrowingChain swapped = whole;
  std::swap(swapped.envelopes()[2], swapped.envelopes()[3]);
  EXPECT_NE(swapped.Verify(Pinned(0)).reason, KeyChainReason::kOk);
  GrowingChain twice = whole;
  twice.envelopes().insert(twice.envelopes().begin() + 2, twice.envelopes()[2]);
  EXPECT_EQ(twice.Verify(Pinned(0)).reason, KeyChainReason::kBrokenSequence);
  EXPECT_EQ(twice.Verify(Pinned(0)).at, 3U);
}

TEST(KeyChainTest, OnlyTheKeyThatWasActiveBeforeSignsASet) {
  // Retired; just introduced by the set itself; of another use; unknown.
  for (const int signer : {0, 4, 1, 77}) {
    GrowingChain chain;
    chain.Rotate(KeyUse::kCertificate, 10);
    KeySet& next = chain.next();
    next.issued = At(30);
    next.keys[2].end = PublishedKey::End{next.issued, 12};
    next.keys.push_back(Publish(KeyUse::kCertificate, NumberedKey(4).Public(), kFileCustody, next.issued));
    chain.Seal(NumberedKey(signer));
    const KeyChain verified = chain.Verify(Pinned(0));
    EXPECT_EQ(verified.reason, KeyChainReason::kWrongSigner) << signer;
    EXPECT_EQ(verified.at, 2U);
  }
  GrowingChain first;
  first.envelopes().front() = Seal(first.payloads().front(), NumberedKey(1));
  EXPECT_EQ(first.Verify({NumberedKey(0).Public(), NumberedKey(1).Public()}).reason,
            KeyChainReason::kWrongSigner);
}

TEST(KeyChainTest, WhatWasSaidIsNotTakenBack) {
  using Damage = std::function<void(KeySet&)>;
  const std::vector<std::pair<const char*, Damage>> damages = {
      {"a longer time for a retired key",
       [](KeySet& set) { set.keys[0].end->not_after += absl::Minutes(1); }},
      {"a later end in the log", [](KeySet& set) { set.keys[0].end->end_log_size += 1; }},
      {"another custody", [](KeySet& set) { set.keys[2].custody = "a drawer"; }},
      {"another beginning", [](KeySet& set) { set.keys[2].not_before -= absl::Minutes(1); }},
      {"a key that is gone", [](KeySet& set) { set.keys.erase(set.keys.begin()); }},
      {"another order", [](KeySet& set) { std::swap(set.keys[0], set.keys[1]); }},
      {"made before the one before", [](KeySet& set) { set.issued -= absl::Minutes(1); }},
      {"a retired key that is active again",
       [](KeySet& set) {
         set.keys[0].end.reset();
         set.keys[2].end = PublishedKey::End{set.issued, 12};
       }},
      {"an end before the set that called the key active",
       [](KeySet& set) {
         set.issued += absl::Minutes(5);
         set.keys[2].end = PublishedKey::End{set.issued - absl::Minutes(6), 12};
         set.keys[2].not_before -= absl::Minutes(0);
         set.keys.push_back(Publish(KeyUse::kCertificate, NumberedKey(4).Public(), kFileCustody, set.issued));
       }},
      {"a new key that begins before the one that it follows",
       [](KeySet& set) {
         set.issued += absl::Minutes(5);
         set.keys[2].end = PublishedKey::End{set.issued, 12};
         set.keys.push_back(Publish(KeyUse::kCertificate, NumberedKey(4).Public(), kFileCustody, At(0)));
       }},
  };
  for (const auto& [what, damage] : damages) {
    GrowingChain chain;
    chain.Rotate(KeyUse::kCertificate, 10);
    const SigningKey signer = chain.ActiveCertificateKey();
    damage(chain.next());
    chain.Seal(signer);
    const KeyChainReason reason = chain.Verify(Pinned(0)).reason;
    // Some are refused by the set's own form already.
    EXPECT_TRUE(reason == KeyChainReason::kContradiction || reason == KeyChainReason::kBadEnvelope)
        << what << ": " << KeyChainReasonName(reason);
  }
}

TEST(KeyChainTest, ASetThatRepeatsTheKeysUnderANewOriginMayFollow) {
  GrowingChain chain;
  chain.Rotate(KeyUse::kCertificate, 10);
  chain.next().log_origin = "expunge.invalid/log/after-a-restore";
  chain.Seal(chain.ActiveCertificateKey());
  EXPECT_EQ(chain.Verify(Pinned(2)).reason, KeyChainReason::kOk);
}

TEST(KeyChainTest, ReasonsHaveNamesAndSentences) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(KeyChainReason::kUnpinned); ++i) {
    names.insert(std::string(KeyChainReasonName(static_cast<KeyChainReason>(i))));
    EXPECT_FALSE(KeyChainReasonText(static_cast<KeyChainReason>(i)).empty());
  }
  for (int i = 1; i <= static_cast<int>(KeyWindowReason::kBeyondEnd); ++i) {
    names.insert(std::string(KeyWindowReasonName(static_cast<KeyWindowReason>(i))));
    EXPECT_FALSE(KeyWindowReasonText(static_cast<KeyWindowReason>(i)).empty());
  }
  EXPECT_EQ(names.size(), 12U);
}

TEST(KeyWindowTest, ACertificateStandsWithinItsKeysTimeAndBeforeItsEndInTheLog) {
  const KeySet set = Rotated().sets().back();
  const std::string retired = NumberedKey(2).Public().KeyId();  // from 10 to 30 minutes, leaves 10 to 29
  const auto check = [&](int minute, int seconds, std::optional<uint64_t> index) {
    return CheckCertificateKey(set, retired, At(minute) + absl::Seconds(seconds), index);
  };
  EXPECT_EQ(check(10, 0, 12), KeyWindowReason::kOk);
  EXPECT_EQ(check(30, 0, 29), KeyWindowReason::kOk);
  EXPECT_EQ(check(30, 0, std::nullopt), KeyWindowReason::kOk);
  EXPECT_EQ(check(10, -1, 12), KeyWindowReason::kBeforeKey);
  EXPECT_EQ(check(30, 1, 12), KeyWindowReason::kAfterKey);
  // What a thief of the retired key would sign: within the time that it claims, but late in the log.
  EXPECT_EQ(check(20, 0, 30), KeyWindowReason::kBeyondEnd);
  EXPECT_EQ(check(20, 0, std::numeric_limits<uint64_t>::max()), KeyWindowReason::kBeyondEnd);
  EXPECT_EQ(CheckCertificateKey(set, NumberedKey(5).Public().KeyId(), At(400), 1'000'000),
            KeyWindowReason::kOk)
      << "the active one has no end";
  EXPECT_EQ(CheckCertificateKey(set, NumberedKey(3).Public().KeyId(), At(25), 25),
            KeyWindowReason::kWrongUse);
  EXPECT_EQ(CheckCertificateKey(set, NumberedKey(77).Public().KeyId(), At(25), 25),
            KeyWindowReason::kUnlistedKey);
}

TEST(KeyWindowTest, ACheckpointIsNoLargerThanTheLogWasAtItsKeysEnd) {
  const KeySet set = Rotated().sets().back();
  const std::string retired = NumberedKey(1).Public().KeyId();
  EXPECT_EQ(CheckCheckpointKey(set, retired, 20), KeyWindowReason::kOk);
  EXPECT_EQ(CheckCheckpointKey(set, retired, 21), KeyWindowReason::kBeyondEnd);
  EXPECT_EQ(CheckCheckpointKey(set, NumberedKey(3).Public().KeyId(), 1'000'000), KeyWindowReason::kOk);
  EXPECT_EQ(CheckCheckpointKey(set, NumberedKey(0).Public().KeyId(), 5), KeyWindowReason::kWrongUse);
  EXPECT_EQ(CheckCheckpointKey(set, NumberedKey(77).Public().KeyId(), 5), KeyWindowReason::kUnlistedKey);
}

}  // namespace
}  // namespace expunge::certificate
