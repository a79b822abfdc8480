#include "certificate/envelope.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "certificate/statement.h"
#include "tests/certificate/fixtures.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;
using testing::FixedStatement;
using testing::TestKey;

constexpr uint32_t kSeed = 20261129;

std::string Payload() { return EncodePayload(FixedStatement(Kind::kDeletion)); }

std::string Reason(absl::string_view envelope) {
  const std::vector<PublicKey> keys = {SigningKey::Generate().Public(), TestKey().Public()};
  const VerifyResult result = VerifyEnvelope(envelope, keys);
  EXPECT_EQ(result.payload.empty(), result.reason != VerifyReason::kOk);
  return std::string(VerifyReasonName(result.reason));
}

// An envelope of any parts, in the one form; the key signs whatever the type is.
std::string Forge(const std::string& type, const std::string& payload, const SigningKey& key) {
  return absl::StrCat(R"({"payload":")", ToBase64(payload), R"(","payloadType":")", type,
                      R"(","signatures":[{"keyid":")", key.Public().KeyId(), R"(","sig":")",
                      ToBase64(key.Sign(PreAuthEncoding(type, payload))), R"("}]})");
}

std::string Signed(const std::string& payload) {
  return Forge(std::string(kPayloadType), payload, TestKey());
}

TEST(PreAuthEncodingTest, IsThePublishedExample) {
  // https://github.com/secure-systems-lab/dsse/blob/master/protocol.md, test vectors.
  EXPECT_EQ(PreAuthEncoding("http://example.com/HelloWorld", "hello world"),
            "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
}

TEST(PreAuthEncodingTest, CountsBytesAndKeepsThem) {
  EXPECT_EQ(PreAuthEncoding("", ""), "DSSEv1 0  0 ");
  EXPECT_EQ(PreAuthEncoding("t", std::string("\0\n\xc3\xa9", 4)),
            std::string("DSSEv1 1 t 4 \0\n\xc3\xa9", 17));
}

TEST(SealTest, GivesTheSameBytesEachTime) {
  EXPECT_EQ(Seal(Payload(), TestKey()), Seal(Payload(), TestKey()));
  EXPECT_EQ(Seal(Payload(), TestKey()), Signed(Payload()));
}

TEST(VerifyEnvelopeTest, AcceptsEveryKind) {
  for (const Kind kind : {Kind::kDeletion, Kind::kPurge, Kind::kState, Kind::kMemoryDeletion}) {
    EXPECT_EQ(Reason(Seal(EncodePayload(FixedStatement(kind)), TestKey())), "OK");
  }
  EXPECT_EQ(Reason(Seal(EncodePayload(testing::LargeStatement(10'000)), TestKey())), "OK");
}

TEST(VerifyEnvelopeTest, RefusesForeignFiles) {
  EXPECT_EQ(Reason(""), "EMPTY");
  EXPECT_EQ(Reason(std::string(1, '\0')), "NOT_JSON");
  EXPECT_EQ(Reason("\x89PNG\r\n\x1a\n"), "NOT_JSON");
  EXPECT_EQ(Reason("\xff\xfe\xfd"), "NOT_JSON");
  EXPECT_EQ(Reason("{\"payload\":\"\xc3\x28\"}"), "NOT_JSON");
  EXPECT_EQ(Reason("{\"payload\":\"\\ud800\"}"), "NOT_JSON");
  EXPECT_EQ(Reason("{'payload':1}"), "NOT_JSON");
  EXPECT_EQ(Reason("// comment\n{}"), "NOT_JSON");
  EXPECT_EQ(Reason("NaN"), "NOT_JSON");
  EXPECT_EQ(Reason("1e999"), "NOT_JSON");
  EXPECT_EQ(Reason(Payload()), "NOT_AN_ENVELOPE");
  for (const char* text : {"null", "1", "\"text\"", "[]", "[1,2,3]", "{}", "123456789012345678901234567890",
                           "{\"payload\":1,\"payloadType\":\"x\",\"signatures\":[]}",
                           "{\"payload\":\"\",\"payloadType\":\"x\",\"signatures\":{}}",
                           "{\"payload\":\"\",\"payloadType\":\"x\",\"signatures\":[1]}",
                           "{\"payload\":\"\",\"payloadType\":\"x\",\"signatures\":[{\"keyid\":\"\"}]}"}) {
    EXPECT_EQ(Reason(text), "NOT_AN_ENVELOPE") << text;
  }
}

TEST(VerifyEnvelopeTest, RefusesBombs) {
  const size_t megabyte = size_t{1} << 20;
  EXPECT_EQ(Reason(std::string(megabyte, '[')), "NOT_JSON");
  EXPECT_EQ(Reason(std::string(megabyte, '{')), "NOT_JSON");
  EXPECT_EQ(Reason(std::string(megabyte, '[') + std::string(megabyte, ']')), "NOT_AN_ENVELOPE");
  EXPECT_EQ(Reason("[1" + std::string(megabyte, '0') + "]"), "NOT_JSON");  // a number beyond a double
  std::string many = "[0";
  for (size_t i = 0; i < megabyte; ++i) many += ",0";
  EXPECT_EQ(Reason(many + "]"), "NOT_AN_ENVELOPE");
  EXPECT_EQ(Reason(std::string(kMaxEnvelopeBytes + 1, ' ')), "TOO_LARGE");
}

TEST(VerifyEnvelopeTest, RefusesAnotherForm) {
  const std::string envelope = Signed(Payload());
  const json value = json::parse(envelope);
  const json& signature = value["signatures"][0];
  EXPECT_EQ(Reason(value.dump(2)), "NOT_CANONICAL");
  EXPECT_EQ(Reason(" " + envelope), "NOT_CANONICAL");
  EXPECT_EQ(Reason("\xef\xbb\xbf" + envelope), "NOT_CANONICAL");  // a byte order mark
  EXPECT_EQ(Reason(absl::StrReplaceAll(envelope, {{"+json", "\\u002bjson"}})), "NOT_CANONICAL");
  EXPECT_EQ(Reason(absl::StrCat("{\"payloadType\":", value["payloadType"].dump(),
                                ",\"payload\":", value["payload"].dump(),
                                ",\"signatures\":", value["signatures"].dump(), "}")),
            "NOT_CANONICAL");
  EXPECT_EQ(Reason(absl::StrCat("{\"payload\":\"AAAA\",", envelope.substr(1))), "NOT_CANONICAL")
      << "an equal key twice";
  json extra = value;
  extra["comment"] = "x";
  EXPECT_EQ(Reason(extra.dump()), "NOT_AN_ENVELOPE");
  extra = value;
  extra["signatures"][0]["cert"] = "x";
  EXPECT_EQ(Reason(extra.dump()), "NOT_AN_ENVELOPE");
  EXPECT_EQ(signature.size(), 2U);
}

TEST(VerifyEnvelopeTest, RefusesAnotherBase64) {
  // A payload whose base64 has both characters in which the alphabets differ.
  json envelope = json::parse(Forge(std::string(kPayloadType), "\xfb\xef\xff\xfe", TestKey()));
  const auto with_payload = [&envelope](const std::string& payload) {
    envelope["payload"] = payload;
    return Reason(envelope.dump());
  };
  EXPECT_EQ(with_payload("++///g=="), "MALFORMED_STATEMENT");
  EXPECT_EQ(with_payload("--___g=="), "BAD_BASE64");
  EXPECT_EQ(with_payload("++///g"), "BAD_BASE64");
  EXPECT_EQ(with_payload("++///g="), "BAD_BASE64");
  EXPECT_EQ(with_payload("++///h=="), "BAD_BASE64") << "bits beyond the last byte";
  EXPECT_EQ(with_payload("++//\n/g=="), "BAD_BASE64");
  EXPECT_EQ(with_payload("++///g==AAAA"), "BAD_BASE64");
  EXPECT_EQ(with_payload("*"), "BAD_BASE64");

  envelope = json::parse(Signed(Payload()));
  std::string url_safe = envelope["signatures"][0]["sig"];
  url_safe.pop_back();
  envelope["signatures"][0]["sig"] = url_safe;
  EXPECT_EQ(Reason(envelope.dump()), "BAD_BASE64");
}

TEST(VerifyEnvelopeTest, RefusesAnyNumberOfSignaturesButOne) {
  json envelope = json::parse(Signed(Payload()));
  const json signature = envelope["signatures"][0];
  envelope["signatures"] = json::array();
  EXPECT_EQ(Reason(envelope.dump()), "SIGNATURE_COUNT");
  envelope["signatures"] = {signature, signature};
  EXPECT_EQ(Reason(envelope.dump()), "SIGNATURE_COUNT");
}

TEST(VerifyEnvelopeTest, RefusesOtherKeysAndOtherSignatures) {
  const SigningKey other = SigningKey::Generate();
  EXPECT_EQ(Reason(Seal(Payload(), other)), "UNKNOWN_KEY");
  EXPECT_EQ(VerifyEnvelope(Seal(Payload(), TestKey()), {}).reason, VerifyReason::kUnknownKey);

  json envelope = json::parse(Seal(Payload(), other));
  envelope["signatures"][0]["keyid"] = TestKey().Public().KeyId();
  EXPECT_EQ(Reason(envelope.dump()), "BAD_SIGNATURE") << "the key is claimed, but did not sign";

  envelope = json::parse(Signed(Payload()));
  envelope["signatures"][0]["sig"] = "";
  EXPECT_EQ(Reason(envelope.dump()), "BAD_SIGNATURE");
  envelope["signatures"][0]["sig"] = ToBase64(TestKey().Sign(Payload()));
  EXPECT_EQ(Reason(envelope.dump()), "BAD_SIGNATURE") << "signed without the type";
  envelope["signatures"][0]["keyid"] = "";
  EXPECT_EQ(Reason(envelope.dump()), "UNKNOWN_KEY");

  envelope = json::parse(Signed(Payload()));
  envelope["payload"] = ToBase64(EncodePayload(FixedStatement(Kind::kPurge)));
  EXPECT_EQ(Reason(envelope.dump()), "BAD_SIGNATURE") << "the payload of another certificate";
}

TEST(VerifyEnvelopeTest, RefusesOtherTypes) {
  EXPECT_EQ(Reason(Forge("application/json", Payload(), TestKey())), "WRONG_PAYLOAD_TYPE");
  EXPECT_EQ(Reason(Forge("", Payload(), TestKey())), "WRONG_PAYLOAD_TYPE");
  const auto with = [](const char* field, const std::string& text) {
    json statement = json::parse(Payload());
    statement[field] = text;
    return Reason(Signed(statement.dump()));
  };
  EXPECT_EQ(with("_type", "https://in-toto.io/Statement/v0.1"), "WRONG_STATEMENT_TYPE");
  EXPECT_EQ(with("_type", std::string(kPredicateType)), "WRONG_STATEMENT_TYPE");
  EXPECT_EQ(with("predicateType", "https://slsa.dev/provenance/v1"), "WRONG_PREDICATE_TYPE");
  EXPECT_EQ(with("predicateType", "urn:expunge:certificate:v2"), "WRONG_PREDICATE_TYPE");
}

TEST(VerifyEnvelopeTest, RefusesSignedPayloadsThatAreNotOurs) {
  EXPECT_EQ(Reason(Signed("")), "MALFORMED_STATEMENT");
  EXPECT_EQ(Reason(Signed("{}")), "MALFORMED_STATEMENT");
  EXPECT_EQ(Reason(Signed("[]")), "MALFORMED_STATEMENT");
  EXPECT_EQ(Reason(Signed(std::string(100'000, '[') + std::string(100'000, ']'))), "MALFORMED_STATEMENT");
  EXPECT_EQ(Reason(Signed(Payload() + "\n")), "NOT_CANONICAL");
  EXPECT_EQ(Reason(Signed(json::parse(Payload()).dump(1))), "NOT_CANONICAL");
  EXPECT_EQ(Reason(Signed(absl::StrCat("{\"_type\":\"x\",", Payload().substr(1)))), "NOT_CANONICAL");
  EXPECT_EQ(Reason(Signed(absl::StrReplaceAll(Payload(), {{"\"R\"", "\"\\u0052\""}}))), "NOT_CANONICAL");
}

TEST(VerifyEnvelopeTest, SurvivesRandomDamage) {
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  const std::string envelope = Signed(Payload());
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = envelope;
    const size_t at = random() % damaged.size();
    const size_t size = std::min<size_t>(random() % 64, damaged.size() - at);
    switch (random() % 3) {
      case 0:
        damaged.erase(at, size + 1);
        break;
      case 1:
        damaged.insert(at, damaged.substr(random() % damaged.size(), size + 1));
        break;
      default:
        damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) + 1 + random() % 255);
    }
    ASSERT_NE(damaged, envelope);
    ASSERT_NE(Reason(damaged), "OK") << round;
  }
}

TEST(VerifyReasonTest, EveryReasonHasItsOwnNameAndText) {
  std::set<absl::string_view> names;
  std::set<absl::string_view> texts;
  const int count = static_cast<int>(VerifyReason::kMalformedStatement) + 1;
  for (int i = 0; i < count; ++i) {
    names.insert(VerifyReasonName(static_cast<VerifyReason>(i)));
    texts.insert(VerifyReasonText(static_cast<VerifyReason>(i)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(count));
  EXPECT_EQ(texts.size(), static_cast<size_t>(count));
}

}  // namespace
}  // namespace expunge::certificate
