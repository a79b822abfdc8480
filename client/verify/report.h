// Verdicts, as text for people or as JSON for programs.
#ifndef EXPUNGE_CLIENT_VERIFY_REPORT_H_
#define EXPUNGE_CLIENT_VERIFY_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "certificate/envelope.h"

namespace expunge::verify {

struct Verdict {
  std::string file;
  // An error: the file could not be read.
  absl::StatusOr<certificate::VerifyResult> result;

  [[nodiscard]] bool verified() const {
    return result.ok() && result->reason == certificate::VerifyReason::kOk;
  }
  [[nodiscard]] bool refused() const { return result.ok() && !verified(); }
};

// One verdict after the other; a verified certificate with its description in plain words.
[[nodiscard]] std::string TextReport(absl::Span<const Verdict> verdicts);

// One JSON object; keys sorted, ASCII. docs/formats/certificate.md describes it.
[[nodiscard]] std::string JsonReport(absl::Span<const Verdict> verdicts);

}  // namespace expunge::verify

#endif  // EXPUNGE_CLIENT_VERIFY_REPORT_H_
