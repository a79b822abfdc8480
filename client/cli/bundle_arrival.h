// An audit bundle (docs/formats/audit_bundle.md) as it arrives: whether it is whole, by its own last line.
#ifndef EXPUNGE_CLIENT_CLI_BUNDLE_ARRIVAL_H_
#define EXPUNGE_CLIENT_CLI_BUNDLE_ARRIVAL_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/hash.h"

namespace expunge::cli {

// Holds one line at most. Threads: one at a time.
class BundleArrival {
 public:
  // The next bytes, cut anywhere.
  void Take(absl::string_view bytes);

  // After the last byte, once. Returns: a Refusal (BUNDLE_DAMAGED) unless the last line is the hash of all
  // before it and the number of token lines.
  [[nodiscard]] absl::Status Finish();

  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  Sha256Stream hash_;         // of the lines before last_line_
  std::string last_line_;     // the last that has begun, whole or not
  uint64_t whole_lines_ = 0;  // hashed
  uint64_t bytes_ = 0;
};

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_BUNDLE_ARRIVAL_H_
