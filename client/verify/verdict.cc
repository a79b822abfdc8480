#include "client/verify/verdict.h"

#include <algorithm>

namespace expunge::verify {

absl::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return "OK";
    case Outcome::kFailed:
      return "FAILED";
    case Outcome::kNotChecked:
      break;
  }
  return "NOT_CHECKED";
}

Verdict Ok(absl::string_view text) { return {Outcome::kOk, "OK", std::string(text), false}; }

Verdict Failed(absl::string_view reason, absl::string_view text) {
  return {Outcome::kFailed, std::string(reason), std::string(text), false};
}

Verdict NotChecked(absl::string_view reason, absl::string_view text) {
  return {Outcome::kNotChecked, std::string(reason), std::string(text), false};
}

Verdict LeftOpen(absl::string_view reason, absl::string_view text) {
  return {Outcome::kNotChecked, std::string(reason), std::string(text), true};
}

const Claim* WorstOf(const std::vector<Claim>& claims) {
  const auto failed =
      std::find_if(claims.begin(), claims.end(), [](const Claim& claim) { return claim.verdict.failed(); });
  if (failed != claims.end()) return &*failed;
  const auto open =
      std::find_if(claims.begin(), claims.end(), [](const Claim& claim) { return !claim.verdict.good(); });
  return open == claims.end() ? nullptr : &*open;
}

}  // namespace expunge::verify
