// A progress bar on standard error.
#ifndef EXPUNGE_BASE_PROGRESS_H_
#define EXPUNGE_BASE_PROGRESS_H_

#include <cstddef>
#include <cstdio>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace expunge {

enum class ProgressMode { kAuto, kAlways, kNever };

// One line: "importing [#####-----]  256/512  50 %  1280/s  0:00 left". The time left is shown once something
// is done; the line is the same for the same numbers. REQUIRES: done <= total.
[[nodiscard]] std::string FormatProgress(absl::string_view label, size_t done, size_t total,
                                         absl::Duration elapsed);

// "0:07", "12:34", "3:02:11".
[[nodiscard]] std::string FormatSeconds(absl::Duration duration);

// Draws on `stream`: over itself on a terminal, one line a step with kAlways elsewhere, and nothing
// otherwise.
class Progress {
 public:
  Progress(ProgressMode mode, std::string label, size_t total, FILE* stream);
  // Ends the line, so that what follows starts on a new one.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(size_t done);

 private:
  FILE* stream_;
  bool terminal_;
  bool active_;
  bool drawn_ = false;
  std::string label_;
  size_t total_;
  absl::Time start_;
};

}  // namespace expunge

#endif  // EXPUNGE_BASE_PROGRESS_H_
