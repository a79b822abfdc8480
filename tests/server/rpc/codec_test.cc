// What is decoded, what is refused, and that the count of fields cannot be got around.
#include "server/rpc/codec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "expunge/v1/memory_service.pb.h"

namespace expunge::rpc {
namespace {

absl::Status DecodeAdd(const std::string& text, v1::AddRequest* request) {
  // In small slices, so that fields lie across their edges.
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < text.size(); at += 1000) slices.emplace_back(text.substr(at, 1000));
  return Decode(grpc::ByteBuffer(slices.data(), slices.size()), request);
}

Reason ReasonOf(const std::string& text) {
  v1::AddRequest request;
  const absl::Status status = DecodeAdd(text, &request);
  return GetReason(status).value_or(Reason::kInternal);
}

std::string Repeat(const std::string& text, uint64_t times) {
  std::string all;
  for (uint64_t i = 0; i < times; ++i) all += text;
  return all;
}

// A field of this tag that holds `content`.
std::string Field(char tag, const std::string& content) {
  std::string bytes(1, tag);
  size_t length = content.size();
  for (; length > 0x7f; length >>= 7) bytes.push_back(static_cast<char>(length | 0x80));
  bytes.push_back(static_cast<char>(length));
  return bytes + content;
}

constexpr char kTokens = 0x12;    // of AddRequest
constexpr char kKeys = 0x1a;      // of AddRequest
constexpr char kSubjects = 0x12;  // of NewToken

TEST(CodecTest, TheLargestValidRequestIsDecodedToTheSame) {
  v1::AddRequest request;
  request.set_parent("tenants/t/memories/m");
  for (int i = 0; i < 10'000; ++i) {
    v1::NewToken* token = request.add_tokens();
    token->set_token_id(std::to_string(i));
    for (int k = 0; k < 64; ++k) token->add_subjects(std::to_string(k));
  }
  request.mutable_keys()->set_data(std::string(100'000, '\x12'));  // bytes that look like fields
  v1::AddRequest decoded;
  ASSERT_TRUE(DecodeAdd(request.SerializeAsString(), &decoded).ok());
  EXPECT_EQ(decoded.SerializeAsString(), request.SerializeAsString());
}

TEST(CodecTest, CountsFieldsToTheLastOne) {
  v1::AddRequest request;
  const std::string token("\x12\x00", 2);
  EXPECT_TRUE(DecodeAdd(Repeat(token, kMaxFields), &request).ok());
  EXPECT_EQ(static_cast<uint64_t>(request.tokens_size()), kMaxFields);
  EXPECT_EQ(ReasonOf(Repeat(token, kMaxFields + 1)), Reason::kMessageTooLarge);
}

TEST(CodecTest, CountsFieldsOfInnerMessagesUnknownFieldsAndGroups) {
  const std::string subjects = Repeat(std::string{kSubjects, '\0'}, kMaxFields);
  EXPECT_EQ(ReasonOf(Field(kTokens, subjects)), Reason::kMessageTooLarge);
  EXPECT_EQ(ReasonOf(Repeat("\x7a\x01x", kMaxFields + 1)), Reason::kMessageTooLarge);
  EXPECT_EQ(ReasonOf("\x7b" + Repeat("\x08\x01", kMaxFields) + "\x7c"), Reason::kMessageTooLarge);
  EXPECT_EQ(ReasonOf(Field(kKeys, Repeat("\x7d"
                                         "1234",
                                         kMaxFields + 1))),
            Reason::kMessageTooLarge);
}

// What is in a group is unknown, also a field with the number of a message: it may be anything.
TEST(CodecTest, AGroupDoesNotHideWhatFollows) {
  const std::string group = "\x7b\x12\x01\xff\x7c";
  EXPECT_EQ(ReasonOf(group + Repeat(std::string("\x12\x00", 2), kMaxFields)), Reason::kMessageTooLarge);
  v1::AddRequest request;
  ASSERT_TRUE(DecodeAdd(group + std::string("\x12\x00", 2), &request).ok());
  EXPECT_EQ(request.tokens_size(), 1);
}

TEST(CodecTest, RefusesWhatIsNoMessage) {
  for (const std::string text :
       {"\x08\xff", "\x0a\x7fx", "\x7b", "\x7c", "\x12\x02\x12\x05", "\x0f", "\x09x"}) {
    EXPECT_EQ(ReasonOf(text), Reason::kMessageMalformed) << text;
  }
  EXPECT_EQ(ReasonOf(Field(0x0a, "caf\xe9")), Reason::kMessageMalformed);
  EXPECT_EQ(ReasonOf(std::string("\x00", 1)), Reason::kMessageMalformed);
}

}  // namespace
}  // namespace expunge::rpc
