#include "client/cpp/status.h"

#include <optional>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace expunge::client {
namespace {

constexpr absl::string_view kOriginUrl = "expunge.client/origin";
constexpr absl::string_view kReasonUrl = "expunge.client/reason";
constexpr absl::string_view kService = "service";
constexpr absl::string_view kTransport = "transport";

struct Details {
  std::string reason;
  std::string field;
};

// Empty parts for whatever is absent or malformed.
Details UnpackDetails(const google::rpc::Status& status) {
  Details details;
  for (const auto& any : status.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad;
    if (any.Is<google::rpc::ErrorInfo>() && any.UnpackTo(&info)) {
      details.reason = info.reason();
    } else if (any.Is<google::rpc::BadRequest>() && any.UnpackTo(&bad) && bad.field_violations_size() > 0) {
      details.field = bad.field_violations(0).field();
    }
  }
  return details;
}

// Of a google.rpc.Status, encoded.
Details ParseDetails(const std::string& bytes) {
  google::rpc::Status status;
  return !bytes.empty() && status.ParseFromString(bytes) ? UnpackDetails(status) : Details();
}

std::optional<Reason> KnownReason(absl::string_view name) {
  for (const Reason reason : AllReasons()) {
    if (ReasonName(reason) == name) return reason;
  }
  return std::nullopt;
}

// Without details, these codes are made by the gRPC library on this side of the wire.
bool FromTransport(const grpc::Status& status, const Details& details) {
  return details.reason.empty() && (status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                                    status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
}

absl::Status Make(absl::StatusCode code, const std::string& message, const Details& details,
                  absl::string_view origin) {
  absl::Status result(code, message);
  if (const auto reason = KnownReason(details.reason); reason.has_value() && ReasonCode(*reason) == code) {
    result = MakeError(*reason, details.field, message);
  } else if (!details.reason.empty()) {
    result.SetPayload(kReasonUrl, absl::Cord(details.reason));
  }
  result.SetPayload(kOriginUrl, absl::Cord(origin));
  return result;
}

std::string GetText(const absl::Status& status, absl::string_view url) {
  const auto payload = status.GetPayload(url);
  return payload.has_value() ? std::string(*payload) : std::string();
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const Details details = ParseDetails(status.error_details());
  // The codes of gRPC and of Abseil are the same numbers.
  return Make(static_cast<absl::StatusCode>(status.error_code()), status.error_message(), details,
              FromTransport(status, details) ? kTransport : kService);
}

absl::Status FromRich(const google::rpc::Status& status) {
  if (status.code() == 0) return absl::OkStatus();
  return Make(static_cast<absl::StatusCode>(status.code()), status.message(), UnpackDetails(status),
              kService);
}

Origin GetOrigin(const absl::Status& status) {
  const std::string origin = GetText(status, kOriginUrl);
  if (origin == kService) return Origin::kService;
  if (origin == kTransport) return Origin::kTransport;
  return Origin::kLocal;
}

CallError Explain(const absl::Status& status) {
  CallError error;
  error.code = absl::StatusCodeToString(status.code());
  const auto reason = GetReason(status);
  error.reason = reason.has_value() ? std::string(ReasonName(*reason)) : GetText(status, kReasonUrl);
  error.field = GetField(status);
  error.message = std::string(status.message());
  error.origin = GetOrigin(status);
  return error;
}

std::string ToText(const CallError& error) {
  std::vector<std::string> parts;
  if (!error.reason.empty()) parts.push_back(error.reason);
  if (!error.field.empty()) parts.push_back(absl::StrCat("field ", error.field));
  if (parts.empty()) return absl::StrCat(error.code, ": ", error.message);
  return absl::StrCat(error.code, " (", absl::StrJoin(parts, ", "), "): ", error.message);
}

}  // namespace expunge::client
