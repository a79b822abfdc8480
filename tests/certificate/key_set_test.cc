// One key set: its form, and what is refused.
#include "certificate/key_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "certificate/key_export.h"
#include "tests/certificate/key_set_fixture.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;
using testing::At;
using testing::GrowingChain;
using testing::NumberedKey;

KeySet RotatedSet() {
  GrowingChain chain;
  chain.Rotate(KeyUse::kCertificate, 17);
  chain.Rotate(KeyUse::kCheckpoint, 21);
  return chain.sets().back();
}

TEST(KeySetTest, IsReadBackAsItWasWritten) {
  const KeySet set = RotatedSet();
  const std::string payload = EncodeKeySet(set);
  EXPECT_EQ(CheckKeySetPayload(payload), VerifyReason::kOk);
  const auto read = ReadKeySet(payload);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->software_version, set.software_version);
  EXPECT_EQ(read->software_commit, set.software_commit);
  EXPECT_EQ(read->issued, set.issued);
  EXPECT_EQ(read->sequence, 3U);
  EXPECT_EQ(read->previous_payload_sha256, set.previous_payload_sha256);
  EXPECT_EQ(read->log_origin, set.log_origin);
  EXPECT_EQ(read->keys, set.keys);
  EXPECT_EQ(EncodeKeySet(*read), payload);
}

TEST(KeySetTest, NamesTheActiveKeyOfEachUse) {
  const KeySet set = RotatedSet();
  EXPECT_EQ(set.Active(KeyUse::kCertificate).key_id, NumberedKey(2).Public().KeyId());
  EXPECT_EQ(set.Active(KeyUse::kCheckpoint).key_id, NumberedKey(3).Public().KeyId());
  EXPECT_FALSE(set.Find(NumberedKey(0).Public().KeyId())->active());
  EXPECT_EQ(set.Find(NumberedKey(9).Public().KeyId()), nullptr);
}

TEST(KeySetTest, EveryPrefixIsRefused) {
  const std::string payload = EncodeKeySet(RotatedSet());
  for (size_t size = 0; size < payload.size(); ++size) {
    EXPECT_NE(CheckKeySetPayload(absl::string_view(payload).substr(0, size)), VerifyReason::kOk) << size;
  }
}

TEST(KeySetTest, NoFieldMayBeAbsentUnknownOrOfAnotherType) {
  const json good = json::parse(EncodeKeySet(RotatedSet()));
  ASSERT_EQ(CheckKeySetPayload(good.dump()), VerifyReason::kOk);
  size_t tried = 0;
  const json flat = good.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    const json::json_pointer place(pointer);
    for (const json& other : {json(), json(7), json(""), json("x"), json::array(), json::object()}) {
      json bad = good;
      if (bad[place] == other || (other == "" && absl::EndsWith(pointer, "/notAfter"))) continue;
      bad[place] = other;
      // Text that says nothing of the keys may be another text.
      const bool free = pointer.find("/issuer/") != std::string::npos ||
                        pointer.find("/custody") != std::string::npos ||
                        pointer.find("/logOrigin") != std::string::npos;
      if (free && other == "x") continue;
      EXPECT_NE(CheckKeySetPayload(bad.dump()), VerifyReason::kOk) << pointer << " = " << other;
      ++tried;
    }
    json absent = good;
    json& parent = absent[place.parent_pointer()];
    if (!parent.is_object()) continue;
    parent.erase(place.back());
    EXPECT_NE(CheckKeySetPayload(absent.dump()), VerifyReason::kOk) << pointer;
    parent[place.back()] = value;
    parent["more"] = "x";
    EXPECT_NE(CheckKeySetPayload(absent.dump()), VerifyReason::kOk) << pointer;
  }
  EXPECT_GT(tried, 150U);
}

TEST(KeySetTest, HasOneForm) {
  const std::string payload = EncodeKeySet(RotatedSet());
  EXPECT_EQ(CheckKeySetPayload(json::parse(payload).dump(1)), VerifyReason::kNotCanonical);
  EXPECT_EQ(CheckKeySetPayload(payload + "\n"), VerifyReason::kNotCanonical);
  EXPECT_EQ(CheckKeySetPayload(absl::StrReplaceAll(payload, {{"a file", "a f\\u0069le"}})),
            VerifyReason::kNotCanonical);
}

TEST(KeySetTest, IsNoCertificateAndACertificateIsNoKeySet) {
  const std::string payload = EncodeKeySet(RotatedSet());
  const SigningKey key = NumberedKey(0);
  const std::vector<PublicKey> keys = {key.Public()};
  EXPECT_EQ(VerifyEnvelope(Seal(payload, key), keys).reason, VerifyReason::kWrongPredicateType);
  const std::string certificate = Seal(testing::FixedPayload(Kind::kState), key);
  EXPECT_EQ(VerifyEnvelopeOf(certificate, keys, &CheckKeySetPayload).reason,
            VerifyReason::kWrongPredicateType);
}

// Sets that have the form, and contradict themselves.
TEST(KeySetTest, ContradictionsAreRefused) {
  using Damage = std::function<void(KeySet&)>;
  const std::vector<std::pair<const char*, Damage>> damages = {
      {"two active certificate keys", [](KeySet& set) { set.keys[0].end.reset(); }},
      {"no active certificate key", [](KeySet& set) { set.keys[2].end = set.keys[0].end; }},
      {"no active checkpoint key", [](KeySet& set) { set.keys[3].end = set.keys[1].end; }},
      {"another use",
       [](KeySet& set) {
         std::swap(set.keys[2].use, set.keys[0].use), set.keys[2].use = KeyUse::kCheckpoint;
       }},
      {"a key twice", [](KeySet& set) { set.keys.push_back(set.keys[0]); }},
      {"another key's id", [](KeySet& set) { std::swap(set.keys[0].key_id, set.keys[1].key_id); }},
      {"a public key that is none of this id", [](KeySet& set) { set.keys[0].public_key[3] ^= 1; }},
      {"an end before the beginning",
       [](KeySet& set) { set.keys[0].end->not_after = set.keys[0].not_before - absl::Seconds(1); }},
      {"an end after the set was made",
       [](KeySet& set) { set.keys[0].end->not_after = set.issued + absl::Seconds(1); }},
      {"a beginning after the set was made",
       [](KeySet& set) { set.keys[2].not_before = set.issued + absl::Seconds(1); }},
      {"the first, with one before it", [](KeySet& set) { set.sequence = 1; }},
      {"not the first, with none before it", [](KeySet& set) { set.previous_payload_sha256 = {}; }},
      {"no sequence", [](KeySet& set) { set.sequence = 0; }},
      {"an origin with a blank", [](KeySet& set) { set.log_origin = "a log"; }},
      {"an origin with a plus", [](KeySet& set) { set.log_origin = "a+log"; }},
      {"no origin", [](KeySet& set) { set.log_origin = ""; }},
      {"no custody", [](KeySet& set) { set.keys[0].custody = ""; }},
      {"no keys", [](KeySet& set) { set.keys.clear(); }},
  };
  for (const auto& [what, damage] : damages) {
    KeySet set = RotatedSet();
    damage(set);
    EXPECT_EQ(CheckKeySetPayload(EncodeKeySet(set)), VerifyReason::kMalformedStatement) << what;
  }
}

TEST(KeySetTest, HoldsAtMost256Keys) {
  for (const size_t count : {kMaxKeys, kMaxKeys + 1}) {
    KeySet set = GrowingChain().sets().front();
    while (set.keys.size() < count) {
      PublishedKey key =
          Publish(KeyUse::kCertificate, NumberedKey(static_cast<int>(set.keys.size())).Public(), kFileCustody,
                  set.issued);
      key.end = PublishedKey::End{set.issued, 5};
      set.keys.push_back(key);
    }
    EXPECT_EQ(CheckKeySetPayload(EncodeKeySet(set)) == VerifyReason::kOk, count == kMaxKeys);
  }
}

TEST(JwksTest, ListsEveryKeyInTheFormOfRfc8037) {
  const KeySet set = RotatedSet();
  const json file = json::parse(JwksFile(set));
  ASSERT_EQ(file["keys"].size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    const json& key = file["keys"][i];
    EXPECT_EQ(key["kty"], "OKP");
    EXPECT_EQ(key["crv"], "Ed25519");
    EXPECT_EQ(key["kid"], set.keys[i].key_id);
    EXPECT_EQ(key["expunge_use"], i % 2 == 0 ? "certificate" : "checkpoint");
    EXPECT_EQ(key["nbf"], absl::ToUnixSeconds(set.keys[i].not_before));
    EXPECT_EQ(key.contains("exp"), i < 2);
    std::string raw;
    ASSERT_TRUE(absl::WebSafeBase64Unescape(key["x"].get<std::string>(), &raw));
    EXPECT_EQ(raw, set.keys[i].public_key);
    EXPECT_EQ(key["x"].get<std::string>().find('='), std::string::npos);
  }
}

}  // namespace
}  // namespace expunge::certificate
