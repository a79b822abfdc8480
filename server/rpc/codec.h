// Requests and answers as the bytes that travel.
//
// A decoded message can be many times as large as its bytes: two of them make an empty token of about 70. So
// the fields are counted first, and a message with more of them than any valid request has is not decoded.
#ifndef EXPUNGE_SERVER_RPC_CODEC_H_
#define EXPUNGE_SERVER_RPC_CODEC_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "absl/status/status.h"

namespace expunge::rpc {

// Fields of a request, those of messages in it included. The largest valid request, an Add of 10,000 tokens
// with 64 subjects each, has fewer.
inline constexpr uint64_t kMaxFields = 1'000'000;

// Cost: O(bytes). Threads: any number at once.
// Returns: kMessageMalformed; kMessageTooLarge with more than kMaxFields.
[[nodiscard]] absl::Status Decode(const grpc::ByteBuffer& bytes, google::protobuf::Message* request);

// Returns: Internal if the answer is more than a message can hold.
[[nodiscard]] absl::Status Encode(const google::protobuf::Message& answer, grpc::ByteBuffer* bytes);

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_CODEC_H_
