// What became of one claim: it holds, it is refused, or it was not checked.
#ifndef EXPUNGE_CLIENT_VERIFY_VERDICT_H_
#define EXPUNGE_CLIENT_VERIFY_VERDICT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace expunge::verify {

enum class Outcome { kOk, kFailed, kNotChecked };

// "OK", "FAILED", "NOT_CHECKED".
[[nodiscard]] absl::string_view OutcomeName(Outcome outcome);

struct Verdict {
  Outcome outcome = Outcome::kNotChecked;
  std::string reason;  // a code: "OK", or why not; docs/formats/certificate.md lists them
  std::string text;    // one sentence for people
  bool asked = false;  // not checked, though what was given asks for it

  [[nodiscard]] bool ok() const { return outcome == Outcome::kOk; }
  [[nodiscard]] bool failed() const { return outcome == Outcome::kFailed; }
  // Neither refused nor left open.
  [[nodiscard]] bool good() const { return ok() || (outcome == Outcome::kNotChecked && !asked); }
};

[[nodiscard]] Verdict Ok(absl::string_view text);
[[nodiscard]] Verdict Failed(absl::string_view reason, absl::string_view text);
// Nothing that was given asks for it.
[[nodiscard]] Verdict NotChecked(absl::string_view reason, absl::string_view text);
// Something that is needed is missing.
[[nodiscard]] Verdict LeftOpen(absl::string_view reason, absl::string_view text);

struct Claim {
  std::string name;
  Verdict verdict;
};

// The first verdict that is refused; else the first that was left open; nullptr if all are good.
[[nodiscard]] const Claim* WorstOf(const std::vector<Claim>& claims);

}  // namespace expunge::verify

#endif  // EXPUNGE_CLIENT_VERIFY_VERDICT_H_
