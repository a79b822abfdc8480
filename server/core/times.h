// absl::Time on the wire.
#ifndef EXPUNGE_SERVER_CORE_TIMES_H_
#define EXPUNGE_SERVER_CORE_TIMES_H_

#include <google/protobuf/timestamp.pb.h>

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

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_TIMES_H_
