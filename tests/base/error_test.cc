#include "base/error.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

#include "base/status_macros.h"

namespace expunge {
namespace {

TEST(ErrorTest, EveryReasonHasItsOwnNameAndAMeaningfulCode) {
  std::set<std::string> names;
  for (const Reason reason : AllReasons()) {
    const std::string name(ReasonName(reason));
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
    for (const char c : name)
      EXPECT_TRUE(std::isupper(static_cast<unsigned char>(c)) != 0 || c == '_') << name;
    EXPECT_NE(ReasonCode(reason), absl::StatusCode::kOk) << name;
    EXPECT_NE(ReasonCode(reason), absl::StatusCode::kUnknown) << name;
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(Reason::kInternal) + 1);
}

TEST(ErrorTest, CarriesReasonFieldCodeAndMessage) {
  for (const Reason reason : AllReasons()) {
    const absl::Status status = MakeError(reason, "tokens[3].token_id", "has 10240 bytes; the limit is 128");
    EXPECT_EQ(status.code(), ReasonCode(reason));
    EXPECT_EQ(GetReason(status), reason);
    EXPECT_EQ(GetField(status), "tokens[3].token_id");
    EXPECT_EQ(status.message(), "has 10240 bytes; the limit is 128");
    EXPECT_EQ(GetField(MakeError(reason, "", "no field")), "");
  }
}

TEST(ErrorTest, OtherStatusesHaveNoReason) {
  EXPECT_EQ(GetReason(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(GetReason(absl::InvalidArgumentError("foreign")), std::nullopt);
  EXPECT_EQ(GetField(absl::InvalidArgumentError("foreign")), "");
  absl::Status forged = absl::InvalidArgumentError("forged");
  forged.SetPayload("expunge/reason", absl::Cord("NOT_A_REASON"));
  EXPECT_EQ(GetReason(forged), std::nullopt);
}

TEST(ErrorTest, PrefixGoesBeforeTheFieldAndChangesNothingElse) {
  const absl::Status inner = MakeError(Reason::kNotFinite, "key", "element 4 is not finite");
  const absl::Status outer = PrefixField("tokens[3]", inner);
  EXPECT_EQ(GetField(outer), "tokens[3].key");
  EXPECT_EQ(GetReason(outer), Reason::kNotFinite);
  EXPECT_EQ(outer.message(), inner.message());
  EXPECT_EQ(GetField(inner), "key");
  EXPECT_TRUE(PrefixField("x", absl::OkStatus()).ok());
  EXPECT_EQ(GetField(PrefixField("x", MakeError(Reason::kInternal, "", "none"))), "");
}

absl::StatusOr<int> Half(int value) {
  if (value % 2 != 0) return MakeError(Reason::kOutOfRange, "value", "odd");
  return value / 2;
}

absl::StatusOr<int> Quarter(int value) {
  EXPUNGE_ASSIGN_OR_RETURN(const int half, Half(value));
  EXPUNGE_RETURN_IF_ERROR(Half(half).status());
  return half / 2;
}

TEST(StatusMacrosTest, ReturnTheFirstErrorWithItsReason) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(GetReason(Quarter(7).status()), Reason::kOutOfRange);
  EXPECT_EQ(GetField(Quarter(6).status()), "value");
}

}  // namespace
}  // namespace expunge
