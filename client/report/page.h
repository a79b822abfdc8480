// Certificates and what a verification found, as one HTML page for whoever answers for an erasure.
//
// The page stands alone: no script, no network, no font or picture from elsewhere; light and dark; made to be
// printed. Nothing in it is signed: it shows what the certificates say, and what this program found when it
// checked them. What a certificate says is shown only if its signature holds.
#ifndef EXPUNGE_CLIENT_REPORT_PAGE_H_
#define EXPUNGE_CLIENT_REPORT_PAGE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/verify/inputs.h"
#include "client/verify/report.h"

namespace expunge::report {

struct PageOptions {
  absl::Time made;
  std::string program;  // and its version
  verify::Paths paths;  // what the verification was given
};

// `report` is what verify::Audit found of `inputs`. Well-formed XML, ASCII but for what is in the texts.
// Cost: O(size of the certificates).
[[nodiscard]] std::string ReportPage(const verify::Inputs& inputs, const verify::Report& report,
                                     const PageOptions& options);

}  // namespace expunge::report

#endif  // EXPUNGE_CLIENT_REPORT_PAGE_H_
