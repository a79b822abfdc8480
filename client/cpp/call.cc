#include "client/cpp/call.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/printable.h"

namespace expunge::client {
namespace {

// A certificate of 10,000 tokens, or 10,000 readouts with their contributions, is larger than gRPC's default.
constexpr int kMaxReceiveBytes = 128 << 20;

// A stream that waits must notice a peer that has gone without a word. Servers take more than one ping in
// five minutes for an attack.
constexpr int kKeepaliveMs = 6 * 60 * 1000;

// gRPC takes its targets for URIs: a '?' or a '%' in a path must be escaped.
std::string EscapedPath(absl::string_view path) {
  std::string escaped;
  for (const char c : path) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("/-._~", c)) {
      escaped.push_back(c);
    } else {
      absl::StrAppendFormat(&escaped, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxReceiveBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  absl::string_view path = address;
  const std::string target =
      absl::ConsumePrefix(&path, "unix:") ? absl::StrCat("unix:", EscapedPath(path)) : address;
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

absl::Status CheckText(const google::protobuf::Message& message) {
  const google::protobuf::Reflection* reflection = message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const auto* field : fields) {
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->type() == google::protobuf::FieldDescriptor::TYPE_STRING) {
        std::string scratch;
        const std::string& text = field->is_repeated()
                                      ? reflection->GetRepeatedStringReference(message, field, i, &scratch)
                                      : reflection->GetStringReference(message, field, &scratch);
        if (IsUtf8(text)) continue;
        return MakeError(Reason::kNameMalformed, field->name(), absl::StrCat(field->name(), " is not UTF-8"));
      }
      if (field->type() != google::protobuf::FieldDescriptor::TYPE_MESSAGE) continue;
      EXPUNGE_RETURN_IF_ERROR(CheckText(field->is_repeated()
                                            ? reflection->GetRepeatedMessage(message, field, i)
                                            : reflection->GetMessage(message, field)));
    }
  }
  return absl::OkStatus();
}

}  // namespace expunge::client
