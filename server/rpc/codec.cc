#include "server/rpc/codec.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace expunge::rpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using Traits = grpc::SerializationTraits<google::protobuf::Message>;

// Counts the fields of an encoded message, and of the known messages in it. Ends early beyond kMaxFields.
// Recursion is as deep as the types are, and those are not recursive.
class FieldCounter {
 public:
  explicit FieldCounter(CodedInputStream* in) : in_(*in) {}

  // False if the bytes up to the end, or to the limit, are no message.
  bool Count(const Descriptor& type) {
    uint64_t open_groups = 0;
    while (const uint32_t tag = in_.ReadTag()) {
      if (++count_ > kMaxFields) return true;
      const auto wire_type = WireFormatLite::GetTagWireType(tag);
      if (wire_type == WireFormatLite::WIRETYPE_END_GROUP && open_groups-- == 0) return false;
      if (wire_type == WireFormatLite::WIRETYPE_START_GROUP) ++open_groups;
      // No type has groups: what is in one is unknown, whatever its number.
      const FieldDescriptor* field =
          open_groups > 0 ? nullptr : type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      if (!Pass(wire_type, field)) return false;
      if (count_ > kMaxFields) return true;
    }
    return open_groups == 0 && in_.ConsumedEntireMessage();
  }

  [[nodiscard]] bool exceeded() const { return count_ > kMaxFields; }

 private:
  bool Pass(WireFormatLite::WireType wire_type, const FieldDescriptor* field) {
    uint64_t varint = 0;
    switch (wire_type) {
      case WireFormatLite::WIRETYPE_VARINT:
        return in_.ReadVarint64(&varint);
      case WireFormatLite::WIRETYPE_FIXED64:
        return in_.Skip(sizeof(uint64_t));
      case WireFormatLite::WIRETYPE_FIXED32:
        return in_.Skip(sizeof(uint32_t));
      case WireFormatLite::WIRETYPE_START_GROUP:
      case WireFormatLite::WIRETYPE_END_GROUP:
        return true;  // the fields of a group come next
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return PassDelimited(field);
      default:
        return false;
    }
  }

  bool PassDelimited(const FieldDescriptor* field) {
    uint32_t length = 0;
    if (!in_.ReadVarint32(&length) || length > std::numeric_limits<int32_t>::max()) return false;
    if (field == nullptr || field->type() != FieldDescriptor::TYPE_MESSAGE) {
      return in_.Skip(static_cast<int>(length));
    }
    const CodedInputStream::Limit outer = in_.PushLimit(static_cast<int>(length));
    const bool whole = Count(*field->message_type()) && (exceeded() || in_.BytesUntilLimit() == 0);
    in_.PopLimit(outer);
    return whole;
  }

  CodedInputStream& in_;
  uint64_t count_ = 0;
};

absl::Status Malformed() {
  return MakeError(Reason::kMessageMalformed, "",
                   "the bytes are no message of the method's request type, or a text in it is not UTF-8");
}

// Refuses whatever it cannot count, so that nothing gets around it.
absl::Status CheckFields(const grpc::ByteBuffer& bytes, const Descriptor& type) {
  grpc::ByteBuffer shared(bytes);
  grpc::ProtoBufferReader reader(&shared);
  if (!reader.status().ok()) return Malformed();
  CodedInputStream in(&reader);
  FieldCounter counter(&in);
  if (!counter.Count(type)) return Malformed();
  if (!counter.exceeded()) return absl::OkStatus();
  return MakeError(Reason::kMessageTooLarge, "",
                   absl::StrCat("the message has more than ", kMaxFields, " fields: send less in a call"));
}

}  // namespace

absl::Status Decode(const grpc::ByteBuffer& bytes, google::protobuf::Message* request) {
  EXPUNGE_RETURN_IF_ERROR(CheckFields(bytes, *request->GetDescriptor()));
  grpc::ByteBuffer shared(bytes);  // reading uses it up
  if (Traits::Deserialize(&shared, request).ok()) return absl::OkStatus();
  return Malformed();
}

absl::Status Encode(const google::protobuf::Message& answer, grpc::ByteBuffer* bytes) {
  if (answer.ByteSizeLong() > std::numeric_limits<int32_t>::max()) {
    return absl::InternalError("the answer is more than a message can hold");
  }
  bool own = false;
  const grpc::Status status = Traits::Serialize(answer, bytes, &own);
  return status.ok() ? absl::OkStatus() : absl::InternalError("the answer could not be encoded");
}

}  // namespace expunge::rpc
