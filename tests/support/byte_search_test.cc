#include "tests/support/byte_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/support/files.h"

namespace expunge::test_support {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::string_view kNeedle = "canary \xfb\xff of 23 bytes";

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::set<std::string> EncodingsFound(const std::vector<Hit>& hits) {
  std::set<std::string> found;
  for (const Hit& hit : hits) found.insert(hit.encoding);
  return found;
}

TEST(ByteSearchTest, FindsEachFormOfBytesAnywhereInAFile) {
  const TemporaryDirectory directory;
  const std::vector<Pattern> patterns = EncodingsOfBytes(kNeedle);
  EXPECT_THAT(SearchFiles(directory.path(), patterns), IsEmpty());
  std::filesystem::create_directories(directory / "a/b");
  const std::string raw(kNeedle);
  const std::string hex = absl::BytesToHexString(kNeedle);
  EXPECT_EQ(hex.substr(0, 20), "63616e61727920fbff20");
  Write(directory / "a/b/file", "before" + raw + "after");
  EXPECT_THAT(EncodingsFound(SearchFiles(directory.path(), patterns)), ::testing::ElementsAre("raw"));
  Write(directory / "a/b/file", "{\"x\": \"" + hex + "\"}");
  EXPECT_THAT(EncodingsFound(SearchFiles(directory.path(), patterns)), ::testing::ElementsAre("hex"));
  Write(directory / "a/b/file", "63616E61727920FBFF206F66203233206279746573");
  EXPECT_THAT(EncodingsFound(SearchFiles(directory.path(), patterns)), ::testing::ElementsAre("HEX"));
}

TEST(ByteSearchTest, FindsUtf16OfAKnownText) {
  const std::vector<Pattern> patterns = EncodingsOfBytes("canaries");
  const std::string little("xc\0a\0n\0a\0r\0i\0e\0s\0y", 18);
  EXPECT_THAT(EncodingsFound(SearchBytes("", little, patterns)), ::testing::ElementsAre("utf16-le"));
  const std::string big("x\0c\0a\0n\0a\0r\0i\0e\0sy", 18);
  EXPECT_THAT(EncodingsFound(SearchBytes("", big, patterns)), ::testing::ElementsAre("utf16-be"));
}

// Every length before and behind: whatever the neighbours are, one of the three forms is there.
TEST(ByteSearchTest, FindsBase64WhereverTheNeedleLies) {
  const std::vector<Pattern> patterns = EncodingsOfBytes(kNeedle);
  for (size_t before = 0; before < 6; ++before) {
    for (size_t after = 0; after < 6; ++after) {
      for (const char filler : {'\0', '\x55', '\xff'}) {
        const std::string bytes =
            absl::StrCat(std::string(before, filler), kNeedle, std::string(after, filler));
        EXPECT_THAT(EncodingsFound(SearchBytes("", absl::Base64Escape(bytes), patterns)),
                    Contains(absl::StrCat("base64+", before % 3)));
        EXPECT_THAT(EncodingsFound(SearchBytes("", absl::WebSafeBase64Escape(bytes), patterns)),
                    Contains(absl::StrCat("base64url+", before % 3)));
      }
    }
  }
}

TEST(ByteSearchTest, FindsNumbersInBothSizesAndByteOrders) {
  const std::vector<double> numbers = {0.1, -2.0 / 3.0, 1e10};
  const std::vector<Pattern> patterns = EncodingsOfNumbers(numbers);
  // 0.1, -2/3 and 1e10 as IEEE 754 defines them.
  const std::string f32_be = absl::HexStringToBytes("3dcccccdbf2aaaab501502f9");
  const std::string f64_be = absl::HexStringToBytes("3fb999999999999abfe55555555555554202a05f20000000");
  EXPECT_THAT(EncodingsFound(SearchBytes("", "x" + f32_be, patterns)), ::testing::ElementsAre("f32-be"));
  EXPECT_THAT(EncodingsFound(SearchBytes("", "x" + f64_be, patterns)), ::testing::ElementsAre("f64-be"));
  std::string f32_le(12, '\0');
  const float singles[3] = {0.1F, -2.0F / 3.0F, 1e10F};
  std::memcpy(f32_le.data(), singles, 12);
  EXPECT_THAT(EncodingsFound(SearchBytes("", "x" + f32_le, patterns)), ::testing::ElementsAre("f32-le"));
  std::string f64_le(24, '\0');
  std::memcpy(f64_le.data(), numbers.data(), 24);
  EXPECT_THAT(EncodingsFound(SearchBytes("", "x" + f64_le, patterns)), ::testing::ElementsAre("f64-le"));
}

TEST(ByteSearchTest, FindsWhatLiesAcrossTheReadsOfALargeFile) {
  const TemporaryDirectory directory;
  const std::vector<Pattern> patterns = EncodingsOfBytes(kNeedle);
  constexpr size_t kRead = size_t{4} << 20;
  for (const size_t offset : {kRead - kNeedle.size(), kRead - kNeedle.size() + 1, kRead - 1, kRead,
                              2 * kRead - 5, 2 * kRead + 100}) {
    Write(directory / "file", absl::StrCat(std::string(offset, 'x'), kNeedle));
    const std::vector<Hit> hits = SearchFiles(directory.path(), patterns);
    ASSERT_THAT(hits, SizeIs(1));
    EXPECT_EQ(hits[0].offset, offset);
    EXPECT_EQ(hits[0].encoding, "raw");
  }
}

TEST(ByteSearchTest, FindsTheNeedleInTheNameOfAFileOrDirectory) {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory / "x_canaries_y");
  const std::vector<Hit> hits = SearchFiles(directory.path(), EncodingsOfBytes("canaries"));
  ASSERT_THAT(hits, SizeIs(1));
  EXPECT_EQ(hits[0].encoding, "raw in the name");
}

TEST(ByteSearchTest, DoesNotTakeTheDirectorysAbsenceForASuccess) {
  const TemporaryDirectory directory;
  const std::vector<Hit> hits = SearchFiles(directory / "absent", EncodingsOfBytes(kNeedle));
  ASSERT_THAT(hits, SizeIs(1));
  EXPECT_EQ(hits[0].encoding, "unreadable");
}

}  // namespace
}  // namespace expunge::test_support
