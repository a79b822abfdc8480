#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "client/cli/failure.h"
#include "client/cpp/client.h"
#include "client/cpp/status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace expunge::client {
namespace {

using ::testing::HasSubstr;

// What a service sends: a status with details.
grpc::Status Refused(grpc::StatusCode code, const std::string& reason, const std::string& field) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("expunge.v1");
  details.add_details()->PackFrom(info);
  if (!field.empty()) {
    google::rpc::BadRequest bad;
    bad.add_field_violations()->set_field(field);
    details.add_details()->PackFrom(bad);
  }
  return {code, "what happened", details.SerializeAsString()};
}

TEST(StatusTest, KeepsReasonAndFieldOfTheService) {
  const absl::Status status = FromGrpc(Refused(grpc::StatusCode::NOT_FOUND, "TOKEN_UNKNOWN", "token_ids[0]"));
  EXPECT_EQ(GetReason(status), Reason::kTokenUnknown);
  EXPECT_EQ(GetField(status), "token_ids[0]");
  EXPECT_EQ(GetOrigin(status), Origin::kService);
  EXPECT_EQ(ToText(Explain(status)), "NOT_FOUND (TOKEN_UNKNOWN, field token_ids[0]): what happened");
  EXPECT_EQ(cli::ExitCodeOf(status), cli::kExitRefused);
  EXPECT_THAT(cli::HintOf(status), HasSubstr("expunge tokens"));
}

TEST(StatusTest, KeepsReasonsThatThisClientDoesNotKnow) {
  const absl::Status status = FromGrpc(Refused(grpc::StatusCode::ABORTED, "FROM_THE_FUTURE", ""));
  EXPECT_EQ(ToText(Explain(status)), "ABORTED (FROM_THE_FUTURE): what happened");
  EXPECT_EQ(cli::ExitCodeOf(status), cli::kExitRefused);
}

TEST(StatusTest, TellsTheTransportFromTheService) {
  const absl::Status transport = FromGrpc({grpc::StatusCode::UNAVAILABLE, "no route"});
  EXPECT_EQ(GetOrigin(transport), Origin::kTransport);
  EXPECT_EQ(cli::ExitCodeOf(transport), cli::kExitUnreachable);
  const absl::Status service = FromGrpc(Refused(grpc::StatusCode::UNAVAILABLE, "OVERLOADED", ""));
  EXPECT_EQ(GetOrigin(service), Origin::kService);
  EXPECT_EQ(cli::ExitCodeOf(service), cli::kExitRefused);
}

TEST(StatusTest, AnErrorInAnAnswerIsWhatTheSameCallWouldHaveFailedWith) {
  const grpc::Status refused = Refused(grpc::StatusCode::NOT_FOUND, "MEMORY_UNKNOWN", "name");
  google::rpc::Status rich;
  ASSERT_TRUE(rich.ParseFromString(refused.error_details()));
  rich.set_code(refused.error_code());
  rich.set_message(refused.error_message());
  const absl::Status status = FromRich(rich);
  EXPECT_EQ(ToText(Explain(status)), ToText(Explain(FromGrpc(refused))));
  EXPECT_EQ(GetReason(status), Reason::kMemoryUnknown);
  EXPECT_EQ(GetField(status), "name");
  // Whatever the code: it was the service that answered.
  rich.Clear();
  rich.set_code(grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(GetOrigin(FromRich(rich)), Origin::kService);
  EXPECT_TRUE(FromRich(google::rpc::Status()).ok());
}

TEST(StatusTest, BrokenDetailsAreLeftOut) {
  const absl::Status status = FromGrpc({grpc::StatusCode::INTERNAL, "odd", "\xff\xff\xff"});
  EXPECT_EQ(ToText(Explain(status)), "INTERNAL: odd");
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
}

TEST(FailureTest, ContextAndHintKeepReasonAndOrigin) {
  const absl::Status status = FromGrpc(Refused(grpc::StatusCode::NOT_FOUND, "MEMORY_UNKNOWN", "name"));
  const absl::Status wrapped = cli::WithHint(cli::WithContext("rows 1 to 2", status), "do this");
  EXPECT_EQ(wrapped.message(), "rows 1 to 2: what happened");
  EXPECT_EQ(GetReason(wrapped), Reason::kMemoryUnknown);
  EXPECT_EQ(cli::ExitCodeOf(wrapped), cli::kExitRefused);
  EXPECT_EQ(cli::HintOf(wrapped), "do this");
  EXPECT_TRUE(cli::WithHint(absl::OkStatus(), "x").ok());
}

TEST(FailureTest, EveryFailureHasItsExitCode) {
  EXPECT_EQ(cli::ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(cli::ExitCodeOf(cli::Refusal("BAD_SIGNATURE", "x", "y")), 1);
  EXPECT_EQ(cli::RefusalReason(cli::Refusal("BAD_SIGNATURE", "x", "y")), "BAD_SIGNATURE");
  EXPECT_EQ(cli::ExitCodeOf(cli::UsageFailure("x", "y")), 2);
}

TEST(ClientTest, SaysThatNobodyListensWithinTheDeadline) {
  Client client({.server = "127.0.0.1:1", .timeout = absl::Seconds(5)});
  const auto keys = client.ListSigningKeys();
  EXPECT_EQ(GetOrigin(keys.status()), Origin::kTransport);
  EXPECT_EQ(cli::ExitCodeOf(keys.status()), cli::kExitUnreachable);
}

}  // namespace
}  // namespace expunge::client
