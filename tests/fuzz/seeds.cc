#include "tests/fuzz/seeds.h"

#include "absl/strings/str_cat.h"
#include "certificate/envelope.h"
#include "certificate/hex_double.h"
#include "certificate/key_chain.h"
#include "certificate/log/checkpoint.h"
#include "certificate/log/merkle.h"
#include "certificate/log/tiles.h"
#include "certificate/timestamp/timestamp.h"
#include "tests/certificate/fixtures.h"
#include "tests/client/verify/shown_service.h"

namespace expunge::fuzz {
namespace {

using certificate::Kind;
using certificate::testing::NumberedKey;
using verify::testing::ShownMemory;
using verify::testing::ShownService;

// A service with a chain of certificates, rotated keys and a log; and its memory.
struct World {
  World() : memory("tenants/acme/memories/cells", 12) {
    service.Add(memory.Describe(Kind::kState));
    service.Add(memory.Delete({"token-03", "token-05"}));
    service.Rotate(certificate::KeyUse::kCertificate);
    service.Complete(1);
    service.Rotate(certificate::KeyUse::kCheckpoint);
  }
  ShownMemory memory;
  ShownService service;
};

World& TheWorld() {
  static auto* const world = new World();
  return *world;
}

std::string SetOf(const certificate::testing::GrowingChain& keys, size_t n) { return keys.payloads()[n]; }

}  // namespace

const std::vector<certificate::PublicKey>& TrustedKeys() {
  static const auto* const keys = new std::vector<certificate::PublicKey>{
      certificate::testing::TestKey().Public(), NumberedKey(0).Public(), NumberedKey(2).Public()};
  return *keys;
}

const std::vector<certificate::NoteKey>& TrustedLogKeys() {
  static const auto* const keys = new std::vector<certificate::NoteKey>{
      *certificate::NoteKey::Create(TheWorld().service.keys().sets().back().log_origin,
                                    NumberedKey(1).Public()),
      *certificate::NoteKey::Create(TheWorld().service.keys().sets().back().log_origin,
                                    NumberedKey(3).Public())};
  return *keys;
}

const std::string& LoggedEntry() { return TheWorld().service.entries()[1]; }

Seeds AuditBundleSeeds() {
  return {TheWorld().memory.Bundle(), ShownMemory("tenants/acme/memories/empty", 0).Bundle(),
          certificate::testing::ReadBytes(certificate::testing::GoldenPath("audit_bundle.jsonl"))};
}

Seeds CheckpointSeeds() {
  return {"log.example/a\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
          "log.example/a\n18446744073709551615\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\nmore\n"};
}

Seeds EntryTileSeeds() {
  std::string three("\0\3abc\0\0\0\1x", 10);
  return {three, absl::StrCat(std::string("\0\x80", 2), LoggedEntry())};
}

Seeds EnvelopeSeeds() {
  Seeds seeds;
  for (const certificate::testing::GoldenCase& golden : certificate::testing::kGoldenCases) {
    seeds.push_back(certificate::testing::ReadBytes(certificate::testing::GoldenPath(golden.file)));
  }
  for (const auto& shown : TheWorld().service.certificates()) seeds.push_back(shown.envelope);
  return seeds;
}

Seeds HashTileSeeds() { return {std::string(64, 'h'), std::string(8192, 'h')}; }

Seeds HexDoubleSeeds() {
  Seeds seeds;
  for (const double value : {0.0, 1.0, -1.5, 0.1, 5e-324, 1e308, -0.0}) {
    seeds.push_back(certificate::HexDouble(value));
  }
  seeds.emplace_back("inf");
  return seeds;
}

Seeds JsonSeeds() {
  return {R"({"a":[1,-2.5e3,true,false,null,"\u00fc\"\\"],"b":{"c":{}}})", "[[[[[[[[[[[[]]]]]]]]]]]]",
          "\"\xC3\xBC\""};
}

Seeds KeySetSeeds() { return {SetOf(TheWorld().service.keys(), 0), SetOf(TheWorld().service.keys(), 2)}; }

Seeds KeysFileSeeds() {
  const auto& envelopes = TheWorld().service.keys().envelopes();
  return {certificate::KeysFile(envelopes), certificate::KeysFile({envelopes.data(), 1})};
}

Seeds LogProofSeeds() {
  return {TheWorld().service.Proof(1, TheWorld().service.log_size()), TheWorld().service.Proof(1, 2)};
}

// Index, size, and then hashes.
Seeds MerkleSeeds() {
  std::string seed;
  AppendU64(3, &seed);
  AppendU64(7, &seed);
  return {absl::StrCat(seed, std::string(96, 'h')), absl::StrCat(seed, std::string(128, 'h'))};
}

Seeds NoteSeeds() {
  return {TheWorld().service.Checkpoint(3), TheWorld().service.Checkpoint(4, NumberedKey(1)),
          "a\n\nb\n\n\xE2\x80\x94 name AAAAAAA=\n"};
}

Seeds PayloadSeeds() {
  Seeds seeds;
  for (const certificate::testing::GoldenCase& golden : certificate::testing::kGoldenCases) {
    seeds.push_back(certificate::testing::GoldenPayload(golden));
  }
  for (const auto& shown : TheWorld().service.certificates()) seeds.push_back(shown.payload);
  return seeds;
}

Seeds PublicPemSeeds() { return {NumberedKey(0).Public().ToPem()}; }

Seeds ReceiptsSeeds() {
  const ShownMemory& memory = TheWorld().memory;
  return {memory.Receipt("token-01", false) + memory.Receipt("token-02", true)};
}

Seeds TilePathSeeds() { return {"tile/0/x001/x234/067", "tile/7/000.p/255", "tile/entries/001.p/1"}; }

Seeds TimestampSeeds() {
  // A query is no response, but of the same kind of bytes; a refusal is the shortest response.
  return {certificate::MakeTimestampQuery("message"), std::string("\x30\x05\x30\x03\x02\x01\x02", 7)};
}

Seeds TransitionSeeds() { return {"n17\nr\nd" + std::string(64, 'a'), "r", "n0\nn255\nr\nr\nr"}; }

Seeds VkeySeeds() { return {TrustedLogKeys().front().ToText()}; }

}  // namespace expunge::fuzz
