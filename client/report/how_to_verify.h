// How the reader can check the certificates of a page, with our tools and without.
#ifndef EXPUNGE_CLIENT_REPORT_HOW_TO_VERIFY_H_
#define EXPUNGE_CLIENT_REPORT_HOW_TO_VERIFY_H_

#include <string>

#include "client/verify/inputs.h"

namespace expunge::report {

// `paths`: what this page's verification was given, so that the commands can be copied.
[[nodiscard]] std::string HowToVerify(const verify::Inputs& inputs, const verify::Paths& paths);

// `text` as one word of a POSIX shell.
[[nodiscard]] std::string ShellWord(const std::string& text);

}  // namespace expunge::report

#endif  // EXPUNGE_CLIENT_REPORT_HOW_TO_VERIFY_H_
