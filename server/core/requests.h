// Request ids: a repeated call gets the first answer, byte for byte, also after a restart.
//
// Only answers to calls that succeeded are kept, in the batch of the change that they report. Nothing of the
// request itself is kept but a keyed hash of its body; nothing of a token is kept in an answer: the receipts
// of Add are made again from the tokens that still exist. So an erased token leaves no salt, id or subject
// behind, and a retry of its Add returns the old answer without that token's receipt, and adds nothing.
#ifndef EXPUNGE_SERVER_CORE_REQUESTS_H_
#define EXPUNGE_SERVER_CORE_REQUESTS_H_

#include <google/protobuf/message.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/core/context.h"
#include "server/core/tenant.h"
#include "storage/records.pb.h"

namespace expunge::core {

struct RequestIdentity {
  std::string method;
  bool has_id = false;
  // Zero if there is no id.
  Digest handle{};
  Digest body_mac{};
};

// Reads `request_id` of `request`; the body is everything but it and validate_only.
// Cost: O(size of the request). REQUIRES: the request id is well-formed.
[[nodiscard]] RequestIdentity IdentifyRequest(const Context& context, absl::string_view tenant,
                                              absl::string_view method,
                                              const google::protobuf::Message& request);

// The record of this request; nullopt if it has no id, or that is new.
// Returns: kRequestIdReused if the id was used with another method or body; kRequestLost; errors of the
// store.
[[nodiscard]] absl::StatusOr<std::optional<storage::v1::RequestRecord>> FindAnswer(
    const Context& context, const Tenant& tenant, const RequestIdentity& request);

// The answer in a record; what a retry makes again is still missing in it. Returns: kStorageCorrupt.
template <typename Response>
[[nodiscard]] absl::StatusOr<Response> DecodeAnswer(const storage::v1::RequestRecord& record) {
  Response response;
  if (response.ParseFromString(record.response())) return response;
  return MakeError(Reason::kStorageCorrupt, "", "a remembered answer is unreadable");
}

// As FindAnswer, with the answer decoded.
template <typename Response>
[[nodiscard]] absl::StatusOr<std::optional<Response>> FindResponse(const Context& context,
                                                                   const Tenant& tenant,
                                                                   const RequestIdentity& request) {
  EXPUNGE_ASSIGN_OR_RETURN(const auto record, FindAnswer(context, tenant, request));
  if (!record.has_value()) return std::optional<Response>();
  EXPUNGE_ASSIGN_OR_RETURN(Response response, DecodeAnswer<Response>(*record));
  return std::optional<Response>(std::move(response));
}

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_REQUESTS_H_
