// Looking for what must not be on the disk: a needle, in the forms in which a program might have written it,
// in every file under a directory and in the names of the files.
#ifndef EXPUNGE_TESTS_SUPPORT_BYTE_SEARCH_H_
#define EXPUNGE_TESTS_SUPPORT_BYTE_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace expunge::test_support {

struct Pattern {
  std::string encoding;  // such as "hex"
  std::string bytes;
};

struct Hit {
  std::string file;
  std::string
      encoding;         // "raw in the name" if it is the name; "unreadable" if the file could not be searched
  uint64_t offset = 0;  // in the file or its name
};
std::ostream& operator<<(std::ostream& out, const Hit& hit);

// Raw; hex in both cases; base64, standard and URL-safe, at each of the three places that the needle may have
// in a longer text; UTF-16 in both byte orders, each byte a character. REQUIRES: at least 8 bytes.
[[nodiscard]] std::vector<Pattern> EncodingsOfBytes(absl::string_view needle);

// The numbers one after the other as f32 (rounded) and f64, in both byte orders. REQUIRES: at least 8 bytes
// of each; f32 finds the rounded numbers, so they must not all be small whole ones.
[[nodiscard]] std::vector<Pattern> EncodingsOfNumbers(absl::Span<const double> numbers);

// The first place of each pattern in each regular file under `directory` and in its name. A file that goes
// away meanwhile holds nothing. Cost: reads every file once, 4 MiB at a time.
[[nodiscard]] std::vector<Hit> SearchFiles(const std::string& directory, absl::Span<const Pattern> patterns);

// The same in one run of bytes. `name` stands in the hits.
[[nodiscard]] std::vector<Hit> SearchBytes(absl::string_view name, absl::string_view bytes,
                                           absl::Span<const Pattern> patterns);

}  // namespace expunge::test_support

#endif  // EXPUNGE_TESTS_SUPPORT_BYTE_SEARCH_H_
