// Examples in our own documents, so that tests hold us to them.
#ifndef EXPUNGE_TESTS_SUPPORT_DOCUMENTS_H_
#define EXPUNGE_TESTS_SUPPORT_DOCUMENTS_H_

#include <cctype>
#include <sstream>
#include <string>

#include "base/bytes.h"
#include "tests/support/files.h"

namespace expunge::test_support {

// The bytes of the first indented block after the text `marker` in the file `page`: of each of its lines, the
// hexadecimal digits that it begins with. Empty if there is none.
inline std::string ExampleAfter(const std::string& page, const std::string& marker) {
  const std::string text = ReadWholeFile(page);
  const size_t begin = text.find(marker);
  if (begin == std::string::npos) return "";
  std::istringstream lines(text.substr(begin + marker.size()));
  std::string hex;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("    ", 0) != 0) {
      if (hex.empty()) continue;
      break;
    }
    size_t end = 4;
    while (end < line.size() && std::isxdigit(static_cast<unsigned char>(line[end])) != 0) ++end;
    hex += line.substr(4, end - 4);
  }
  return FromHex(hex).value_or("");
}

}  // namespace expunge::test_support

#endif  // EXPUNGE_TESTS_SUPPORT_DOCUMENTS_H_
