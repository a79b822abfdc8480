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

[[nodiscard]] inline google::protobuf::Duration DurationProto(std::chrono::nanoseconds duration) {
  const int64_t nanos = duration.count();
  google::protobuf::Duration proto;
  proto.set_seconds(nanos / 1'000'000'000);
  proto.set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  return proto;
}

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_TIMES_H_
