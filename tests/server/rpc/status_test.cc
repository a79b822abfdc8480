#include "server/rpc/status.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/support/files.h"

namespace expunge::rpc {
namespace {

// The names that gRPC gives to the codes, as the documentation writes them.
std::string GrpcCodeName(absl::StatusCode code) { return absl::StatusCodeToString(code); }

google::rpc::Status Details(const grpc::Status& status) {
  google::rpc::Status rich;
  EXPECT_TRUE(rich.ParseFromString(status.error_details()));
  EXPECT_EQ(rich.code(), static_cast<int>(status.error_code()));
  EXPECT_EQ(rich.message(), status.error_message());
  return rich;
}

TEST(ToGrpcStatusTest, OkHasNoDetails) {
  const grpc::Status status = ToGrpcStatus(absl::OkStatus());
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.error_details(), "");
}

TEST(ToGrpcStatusTest, EveryReasonKeepsCodeMessageReasonAndField) {
  for (const Reason reason : AllReasons()) {
    SCOPED_TRACE(std::string(ReasonName(reason)));
    const grpc::Status status = ToGrpcStatus(MakeError(reason, "keys.data", "element 4 is not finite"));
    EXPECT_EQ(static_cast<int>(status.error_code()), static_cast<int>(ReasonCode(reason)));
    EXPECT_NE(status.error_code(), grpc::StatusCode::UNKNOWN);
    EXPECT_EQ(status.error_message(), "element 4 is not finite");
    const google::rpc::Status rich = Details(status);
    ASSERT_EQ(rich.details_size(), 2);
    google::rpc::ErrorInfo info;
    ASSERT_TRUE(rich.details(0).UnpackTo(&info));
    EXPECT_EQ(info.reason(), std::string(ReasonName(reason)));
    EXPECT_EQ(info.domain(), "expunge.v1");
    EXPECT_EQ(info.metadata().at("field"), "keys.data");
    google::rpc::BadRequest bad_request;
    ASSERT_TRUE(rich.details(1).UnpackTo(&bad_request));
    ASSERT_EQ(bad_request.field_violations_size(), 1);
    EXPECT_EQ(bad_request.field_violations(0).field(), "keys.data");
    EXPECT_EQ(bad_request.field_violations(0).description(), "element 4 is not finite");
  }
}

TEST(ToGrpcStatusTest, WithoutAFieldThereIsNoBadRequest) {
  for (const Reason reason : AllReasons()) {
    const google::rpc::Status rich = Details(ToGrpcStatus(MakeError(reason, "", "no field")));
    ASSERT_EQ(rich.details_size(), 1);
    google::rpc::ErrorInfo info;
    ASSERT_TRUE(rich.details(0).UnpackTo(&info));
    EXPECT_EQ(info.reason(), std::string(ReasonName(reason)));
    EXPECT_TRUE(info.metadata().empty());
  }
}

TEST(ToGrpcStatusTest, AStatusWithoutAReasonBecomesInternalAndTellsNothing) {
  for (int code = 1; code <= 16; ++code) {
    const grpc::Status status =
        ToGrpcStatus(absl::Status(static_cast<absl::StatusCode>(code), "/secret/path of alice"));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
    EXPECT_EQ(status.error_message().find("secret"), std::string::npos);
    EXPECT_EQ(status.error_details().find("alice"), std::string::npos);
    google::rpc::ErrorInfo info;
    ASSERT_TRUE(Details(status).details(0).UnpackTo(&info));
    EXPECT_EQ(info.reason(), "INTERNAL");
  }
}

TEST(ErrorsPageTest, ListsEveryReasonOnceWithItsCodeAndNoOther) {
  size_t rows = 0;
  const std::string page = test_support::ReadWholeFile(EXPUNGE_ERRORS_PAGE);
  ASSERT_FALSE(page.empty()) << EXPUNGE_ERRORS_PAGE;
  const std::string catalogue = page.substr(page.find("## Catalogue"));
  for (const absl::string_view line : absl::StrSplit(catalogue, '\n'))
    rows += absl::StartsWith(line, "| `") ? 1 : 0;
  EXPECT_EQ(rows, AllReasons().size());
  for (const Reason reason : AllReasons()) {
    const std::string begin =
        absl::StrCat("\n| `", ReasonName(reason), "` | `", GrpcCodeName(ReasonCode(reason)), "` | ");
    EXPECT_TRUE(absl::StrContains(catalogue, begin)) << "docs/formats/errors.md lacks the row " << begin;
  }
}

}  // namespace
}  // namespace expunge::rpc
