// Verdicts, as text for people or as JSON for programs.
#ifndef EXPUNGE_CLIENT_VERIFY_REPORT_H_
#define EXPUNGE_CLIENT_VERIFY_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "certificate/envelope.h"
#include "client/verify/verdict.h"

namespace expunge::verify {

struct CertificateReport {
  std::string file;
  // An error: the file could not be read.
  absl::StatusOr<certificate::VerifyResult> result = absl::UnknownError("not looked at");
  std::vector<Claim> claims;  // in the order in which they were looked at

  // Nothing is refused, and every claim that was asked for was checked.
  [[nodiscard]] bool verified() const { return result.ok() && WorstOf(claims) == nullptr; }
  [[nodiscard]] bool refused() const { return result.ok() && !verified(); }
};

// Of what was given besides certificates.
struct CheckReport {
  std::string file;
  Claim claim;
};

struct Report {
  std::vector<CheckReport> checks;
  std::vector<CertificateReport> certificates;

  // All certificates, and all else.
  [[nodiscard]] bool verified() const;
  // Something could be read, and is refused or left open.
  [[nodiscard]] bool refused() const;
};

// Every check on a line; then one certificate after the other: its verdict, every claim on a line, and if it
// verified its description in plain words.
[[nodiscard]] std::string TextReport(const Report& report);

// One JSON object; keys sorted, ASCII. docs/formats/certificate.md describes it.
[[nodiscard]] std::string JsonReport(const Report& report);

}  // namespace expunge::verify

#endif  // EXPUNGE_CLIENT_VERIFY_REPORT_H_
