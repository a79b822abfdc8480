// Time as the service sees it: injected, so that tests decide it.
#ifndef EXPUNGE_BASE_CLOCK_H_
#define EXPUNGE_BASE_CLOCK_H_

#include <functional>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace expunge {

// Returns the present time. Called from many threads at once.
using Clock = std::function<absl::Time()>;

[[nodiscard]] inline Clock SystemClock() {
  return [] { return absl::Now(); };
}

}  // namespace expunge

#endif  // EXPUNGE_BASE_CLOCK_H_
