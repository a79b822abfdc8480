// Times and durations on the wire.
#ifndef EXPUNGE_SERVER_CORE_TIMES_H_
#define EXPUNGE_SERVER_CORE_TIMES_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <chrono>
#include <cstdint>

#include "absl/time/time.h"

namespace expunge::core {

// Rounded down to nanoseconds.
[[nodiscard]] inline google::protobuf::Timestamp TimestampProto(absl::Time time) {
  const int64_t seconds = absl::ToUnixSeconds(time);
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(seconds);
  timestamp.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  return timestamp;
}

// Whether it is in the years 0001 to 9999, and its nanoseconds are not negative and less than a second.
[[nodiscard]] inline bool IsTimeOfProto(const google::protobuf::Timestamp& timestamp) {
  return timestamp.seconds() >= -62'135'596'800 && timestamp.seconds() <= 253'402'300'799 &&
         timestamp.nanos() >= 0 && timestamp.nanos() < 1'000'000'000;
}

// REQUIRES: IsTimeOfProto.
[[nodiscard]] inline absl::Time TimeFromProto(const google::protobuf::Timestamp& timestamp) {
  return absl::FromUnixSeconds(timestamp.seconds()) + absl::Nanoseconds(timestamp.nanos());
}

[[nodiscard]] inline google::protobuf::Duration DurationProto(std::chrono::nanoseconds duration) {
  const int64_t nanos = duration.count();
  google::protobuf::Duration proto;
  proto.set_seconds(nanos / 1'000'000'000);
  proto.set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  return proto;
}

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_TIMES_H_
