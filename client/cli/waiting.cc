#include "client/cli/waiting.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/progress.h"

namespace expunge::cli {

Waiting::Waiting(std::string label, FILE* stream) : label_(std::move(label)), stream_(stream) {
  if (isatty(fileno(stream)) == 1) drawer_ = std::thread([this] { Draw(); });
}

Waiting::~Waiting() {
  if (!drawer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  drawer_.join();
}

void Waiting::Draw() {
  const absl::Time start = absl::Now();
  std::unique_lock lock(mutex_);
  do {
    // Carriage return and "erase to the end of the line".
    absl::FPrintF(stream_, "\r%s  %s\x1b[K", label_, FormatSeconds(absl::Now() - start));
    static_cast<void>(std::fflush(stream_));
  } while (!changed_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; }));
  absl::FPrintF(stream_, "\r\x1b[K");
  static_cast<void>(std::fflush(stream_));
}

}  // namespace expunge::cli
