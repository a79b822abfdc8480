// The worked example of docs/formats/records.md, byte by byte.
#include "server/core/records.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "server/core/digests.h"
#include "server/core/handles.h"
#include "server/core/memory.h"

namespace expunge::core {
namespace {

// 32 bytes that count up from `first`.
Digest CountingFrom(uint8_t first) {
  Digest digest;
  for (uint8_t& byte : digest) byte = first++;
  return digest;
}

MemoryIdentity ExampleMemory() {
  MemoryIdentity memory;
  memory.tenant = "acme";
  memory.memory = "cells";
  memory.config.key_dimension = 2;
  memory.config.value_dimension = 1;
  memory.config.gamma = 1;
  memory.config.box.min_support = 4;
  memory.audit_key = CountingFrom(0);
  memory.pseudonym = MemoryPseudonym(memory.audit_key, memory.Name());
  return memory;
}

HeldToken ExampleToken(const MemoryIdentity& memory) {
  HeldToken held;
  held.token = std::make_shared<const solver::Token>(solver::Token{"a", {1, -2}, {0.5}});
  held.subjects = {"s"};
  held.salt = CountingFrom(32);
  held.commitment = ExpectedCommitment(memory, held);
  held.handle = TokenHandle(memory.audit_key, "a");
  return held;
}

constexpr char kPseudonym[] = "9566d0e4e0e733e7a1e44326dd87110b141ccf62c4e95d32051b249f01680eed";
constexpr char kHandle[] = "fc31300e4597addf1ed0ef7397256aa2cc85ec871a6f6b4b9146d62a9b242dbc";
constexpr char kRecord[] =
    "0a0161120173"
    "1a10000000000000f03f00000000000000c0"
    "2208000000000000e03f"
    "2a20202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
    "3220c84c7e1ce156a5bcce9e6503da5e74fd8f3dbda1ff4a1b90e51379ef4fdedb8d"
    "3a20fc31300e4597addf1ed0ef7397256aa2cc85ec871a6f6b4b9146d62a9b242dbc";

TEST(RecordsTest, ATokenIsStoredAsInTheWorkedExample) {
  const MemoryIdentity memory = ExampleMemory();
  const HeldToken token = ExampleToken(memory);
  EXPECT_EQ(ToHex(TokenKey(memory.pseudonym, token.handle)), std::string(kPseudonym) + kHandle);
  EXPECT_EQ(ToHex(EncodeToken(token).SerializeAsString()), kRecord);
}

TEST(RecordsTest, TheWorkedExampleIsReadBack) {
  const MemoryIdentity memory = ExampleMemory();
  storage::v1::TokenRecord record;
  ASSERT_TRUE(record.ParseFromString(*FromHex(kRecord)));
  const auto token = DecodeToken(memory, record, 1);
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ((*token)->token->id, "a");
  EXPECT_EQ((*token)->token->key, (std::vector<double>{1, -2}));
  EXPECT_EQ((*token)->token->value, std::vector<double>{0.5});
  EXPECT_EQ((*token)->commitment, ExpectedCommitment(memory, **token));
}

TEST(RecordsTest, RecordsOfWrongSizesAreRefused) {
  const MemoryIdentity memory = ExampleMemory();
  const storage::v1::TokenRecord good = EncodeToken(ExampleToken(memory));
  for (const int field : {3, 4, 5, 6, 7}) {
    storage::v1::TokenRecord bad = good;
    const auto* descriptor = bad.GetDescriptor()->FindFieldByNumber(field);
    std::string bytes = bad.GetReflection()->GetString(bad, descriptor);
    bytes.pop_back();
    bad.GetReflection()->SetString(&bad, descriptor, bytes);
    EXPECT_TRUE(absl::IsInvalidArgument(DecodeToken(memory, bad, 1).status())) << field;
  }
}

// With that token alone, of class E and weight 1, and rho = -1.000002; computed independently, as the
// example.
TEST(RecordsTest, DigestsFollowTheDocumentedLayout) {
  const MemoryIdentity memory = ExampleMemory();
  const auto token = std::make_shared<const HeldToken>(ExampleToken(memory));
  const std::vector<certificate::StateEntry> entries = {
      EntryOf(token->handle, solver::TokenClass::kError, 1.0)};
  const Digest token_root = TreeOf({token}).Root();
  EXPECT_EQ(ToHex(AsView(token_root)), "42e4bc943cdbbc8b95f4674d4b17252545da6b624c22112fd2ba6b2b0a1e0c20");
  EXPECT_EQ(ToHex(AsView(EntriesRoot(memory.audit_key, entries))),
            "c8fda7eae42cc2e1f39f7fba25e02ab43fcea8bed4810065f9a7ab73bc6c7e78");
  EXPECT_EQ(ToHex(AsView(StateDigest(memory.audit_key, memory.config, token_root, entries, -1.000002))),
            "1c700948540a563b02570bedd6149c5e9d528d4cdd4b16979d818d792cdbdae7");
}

TEST(RecordsTest, CertificateKeysAreInTheOrderOfTheNumbers) {
  const Digest tenant = CountingFrom(7);
  uint64_t previous = 0;
  for (const uint64_t number : {uint64_t{1}, uint64_t{2}, uint64_t{255}, uint64_t{256}, uint64_t{70000},
                                uint64_t{1} << 40, ~uint64_t{0}}) {
    EXPECT_LT(CertificateKey(tenant, previous), CertificateKey(tenant, number));
    EXPECT_EQ(CertificateNumber(CertificateKey(tenant, number)), number);
    previous = number;
  }
}

}  // namespace
}  // namespace expunge::core
