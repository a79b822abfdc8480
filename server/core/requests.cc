#include "server/core/requests.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <memory>

#include "server/core/handles.h"
#include "server/core/records.h"

namespace expunge::core {
namespace {

constexpr char kRequestIdField[] = "request_id";
constexpr char kValidateOnlyField[] = "validate_only";

void ClearField(const char* name, google::protobuf::Message* message) {
  const google::protobuf::FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(name);
  if (field != nullptr) message->GetReflection()->ClearField(message, field);
}

std::string RequestId(const google::protobuf::Message& request) {
  const google::protobuf::FieldDescriptor* field = request.GetDescriptor()->FindFieldByName(kRequestIdField);
  return field == nullptr ? std::string() : request.GetReflection()->GetString(request, field);
}

std::string DeterministicBytes(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeWithCachedSizes(&coded);
  coded.Trim();
  return bytes;
}

std::string Body(const google::protobuf::Message& request) {
  const std::unique_ptr<google::protobuf::Message> body(request.New());
  body->CopyFrom(request);
  ClearField(kRequestIdField, body.get());
  ClearField(kValidateOnlyField, body.get());
  body->ByteSizeLong();  // fills the cached sizes
  return DeterministicBytes(*body);
}

}  // namespace

RequestIdentity IdentifyRequest(const Context& context, absl::string_view tenant, absl::string_view method,
                                const google::protobuf::Message& request) {
  RequestIdentity identity;
  identity.method = std::string(method);
  const std::string id = RequestId(request);
  if (id.empty()) return identity;
  identity.has_id = true;
  identity.handle = RequestHandle(context.secret, tenant, id);
  identity.body_mac = BodyMac(context.secret, tenant, method, Body(request));
  return identity;
}

absl::StatusOr<std::optional<storage::v1::RequestRecord>> FindAnswer(const Context& context,
                                                                     const Tenant& tenant,
                                                                     const RequestIdentity& request) {
  using Found = std::optional<storage::v1::RequestRecord>;
  if (!request.has_id) return Found();
  const absl::StatusOr<storage::OpenRecord> opened =
      context.store->Get(storage::Table::kRequests, RequestKey(tenant.handle(), request.handle));
  if (absl::IsNotFound(opened.status())) return Found();
  EXPUNGE_RETURN_IF_ERROR(opened.status());
  storage::v1::RequestRecord record;
  const bool parsed = ParseRecord(*opened, &record);
  // Only one that says nothing may be public.
  if (!parsed || (opened->key == storage::KeyName{} && !record.lost())) {
    return MakeError(Reason::kStorageCorrupt, "", "a remembered request is unreadable");
  }
  if (record.lost()) {
    return MakeError(Reason::kRequestLost, "request_id",
                     "this request was carried out before a backup was restored, and its result is lost: see "
                     "what the memory holds, and choose a new request_id for what is missing");
  }
  if (record.method() != request.method || record.body_mac() != ToBytes(request.body_mac)) {
    return MakeError(Reason::kRequestIdReused, "request_id",
                     "this request_id was used for another request; choose a new one");
  }
  return Found(std::move(record));
}

}  // namespace expunge::core
