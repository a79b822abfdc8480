#include "base/progress.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace expunge {
namespace {

constexpr size_t kBarWidth = 30;

}  // namespace

std::string FormatSeconds(absl::Duration duration) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(duration));
  if (seconds >= 3600) {
    return absl::StrFormat("%d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
  }
  return absl::StrFormat("%d:%02d", seconds / 60, seconds % 60);
}

std::string FormatProgress(absl::string_view label, size_t done, size_t total, absl::Duration elapsed) {
  const double share = total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
  const auto full = static_cast<size_t>(share * static_cast<double>(kBarWidth));
  const auto digits = static_cast<int>(absl::StrCat(total).size());
  std::string line =
      absl::StrFormat("%s [%s%s] %*d/%d  %3d %%", label, std::string(full, '#'),
                      std::string(kBarWidth - full, '-'), digits, done, total, static_cast<int>(share * 100));
  const double seconds = absl::ToDoubleSeconds(elapsed);
  if (done == 0 || seconds <= 0) return line;
  const double rate = static_cast<double>(done) / seconds;
  const absl::Duration left = absl::Seconds(static_cast<double>(total - done) / rate);
  absl::StrAppendFormat(&line, "  %.0f/s  %s left", rate, FormatSeconds(left));
  return line;
}

Progress::Progress(ProgressMode mode, std::string label, size_t total, FILE* stream)
    : stream_(stream),
      terminal_(isatty(fileno(stream)) == 1),
      active_(mode == ProgressMode::kAlways || (mode == ProgressMode::kAuto && terminal_)),
      label_(std::move(label)),
      total_(total),
      start_(absl::Now()) {}

Progress::~Progress() {
  if (drawn_ && terminal_) absl::FPrintF(stream_, "\n");
}

void Progress::Show(size_t done) {
  if (!active_) return;
  const std::string line = FormatProgress(label_, done, total_, absl::Now() - start_);
  // Carriage return and "erase to the end of the line".
  if (terminal_) {
    absl::FPrintF(stream_, "\r%s\x1b[K", line);
  } else {
    absl::FPrintF(stream_, "%s\n", line);
  }
  static_cast<void>(std::fflush(stream_));
  drawn_ = true;
}

}  // namespace expunge
