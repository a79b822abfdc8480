// The part of the page about one certificate, and the table of its verdicts.
#ifndef EXPUNGE_CLIENT_REPORT_CERTIFICATE_PART_H_
#define EXPUNGE_CLIENT_REPORT_CERTIFICATE_PART_H_

#include <string>

#include "client/verify/inputs.h"
#include "client/verify/report.h"
#include "client/verify/verdict.h"

namespace expunge::report {

// A coloured box: a sign, a line in bold, and text. `css_class`: "good", "bad" or "open".
[[nodiscard]] std::string VerdictBox(const std::string& css_class, const std::string& line,
                                     const std::string& text);

// A row of a table of verdicts.
[[nodiscard]] std::string VerdictRow(const std::string& about, const verify::Verdict& verdict);

// "good", "bad" or "open".
[[nodiscard]] std::string CssClassOf(const verify::CertificateReport& certificate);

// `file` is what the report is of; `first`: of the page.
[[nodiscard]] std::string CertificatePart(const verify::CertificateFile& file,
                                          const verify::CertificateReport& certificate, bool first);

}  // namespace expunge::report

#endif  // EXPUNGE_CLIENT_REPORT_CERTIFICATE_PART_H_
