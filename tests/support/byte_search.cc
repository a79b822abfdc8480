#include "tests/support/byte_search.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace expunge::test_support {
namespace {

namespace fs = std::filesystem;

constexpr size_t kChunk = size_t{4} << 20;

std::optional<size_t> Find(absl::string_view bytes, absl::string_view needle) {
  const void* const found = ::memmem(bytes.data(), bytes.size(), needle.data(), needle.size());
  if (found == nullptr) return std::nullopt;
  return static_cast<const char*>(found) - bytes.data();
}

// The characters that depend on the needle alone when `before` bytes stand in front of it (modulo 3) and any
// bytes behind it.
std::string Base64Inside(absl::string_view needle, size_t before, bool url_safe) {
  const std::string padded = absl::StrCat(std::string(before, '\0'), needle, std::string(3, '\0'));
  const std::string text = url_safe ? absl::WebSafeBase64Escape(padded) : absl::Base64Escape(padded);
  const size_t first = (8 * before + 5) / 6;
  const size_t end = 8 * (before + needle.size()) / 6;
  return text.substr(first, end - first);
}

std::string Utf16(absl::string_view text, bool big_endian) {
  std::string out;
  for (const char character : text) {
    if (big_endian) out.push_back('\0');
    out.push_back(character);
    if (!big_endian) out.push_back('\0');
  }
  return out;
}

template <typename Float, typename Bits>
std::string Numbers(absl::Span<const double> numbers, bool big_endian) {
  std::string out;
  for (const double number : numbers) {
    const Bits bits = std::bit_cast<Bits>(static_cast<Float>(number));
    for (size_t i = 0; i < sizeof(Bits); ++i) {
      const size_t byte = big_endian ? sizeof(Bits) - 1 - i : i;
      out.push_back(static_cast<char>((bits >> (8 * byte)) & 0xff));
    }
  }
  return out;
}

// Searches a file by pieces that overlap by less than the longest pattern.
class FileSearch {
 public:
  FileSearch(std::string file, absl::Span<const Pattern> patterns)
      : file_(std::move(file)), patterns_(patterns), found_(patterns.size()) {
    for (const Pattern& pattern : patterns) longest_ = std::max(longest_, pattern.bytes.size());
  }

  // False if the file could not be read to its end.
  bool Run(std::vector<Hit>* hits) {
    std::ifstream in(file_, std::ios::binary);
    if (!in) return false;
    std::string window;
    uint64_t window_offset = 0;
    while (in) {
      const size_t kept = window.size();
      window.resize(kept + kChunk);
      in.read(window.data() + kept, kChunk);
      window.resize(kept + static_cast<size_t>(in.gcount()));
      SearchWindow(window, window_offset, hits);
      const size_t done = window.size() - std::min(window.size(), longest_ - 1);
      window.erase(0, done);
      window_offset += done;
    }
    return in.eof() && !in.bad();
  }

 private:
  void SearchWindow(absl::string_view window, uint64_t offset, std::vector<Hit>* hits) {
    for (size_t i = 0; i < patterns_.size(); ++i) {
      if (found_[i]) continue;
      const std::optional<size_t> place = Find(window, patterns_[i].bytes);
      if (!place.has_value()) continue;
      found_[i] = true;
      hits->push_back({file_, patterns_[i].encoding, offset + *place});
    }
  }

  std::string file_;
  absl::Span<const Pattern> patterns_;
  std::vector<bool> found_;
  size_t longest_ = 1;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Hit& hit) {
  return out << hit.file << ": " << hit.encoding << " at " << hit.offset;
}

std::vector<Pattern> EncodingsOfBytes(absl::string_view needle) {
  const std::string hex = absl::BytesToHexString(needle);
  std::vector<Pattern> patterns = {{"raw", std::string(needle)},
                                   {"hex", hex},
                                   {"HEX", absl::AsciiStrToUpper(hex)},
                                   {"utf16-le", Utf16(needle, false)},
                                   {"utf16-be", Utf16(needle, true)}};
  for (size_t before = 0; before < 3; ++before) {
    patterns.push_back({absl::StrCat("base64+", before), Base64Inside(needle, before, false)});
    patterns.push_back({absl::StrCat("base64url+", before), Base64Inside(needle, before, true)});
  }
  return patterns;
}

std::vector<Pattern> EncodingsOfNumbers(absl::Span<const double> numbers) {
  return {{"f32-le", Numbers<float, uint32_t>(numbers, false)},
          {"f32-be", Numbers<float, uint32_t>(numbers, true)},
          {"f64-le", Numbers<double, uint64_t>(numbers, false)},
          {"f64-be", Numbers<double, uint64_t>(numbers, true)}};
}

std::vector<Hit> SearchBytes(absl::string_view name, absl::string_view bytes,
                             absl::Span<const Pattern> patterns) {
  std::vector<Hit> hits;
  for (const Pattern& pattern : patterns) {
    const std::optional<size_t> place = Find(bytes, pattern.bytes);
    if (place.has_value()) hits.push_back({std::string(name), pattern.encoding, *place});
  }
  return hits;
}

std::vector<Hit> SearchFiles(const std::string& directory, absl::Span<const Pattern> patterns) {
  std::vector<Hit> hits;
  std::error_code error;
  fs::recursive_directory_iterator entry(directory, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string();
    for (Hit& hit : SearchBytes(path, entry->path().filename().string(), patterns)) {
      hit.encoding += " in the name";
      hits.push_back(std::move(hit));
    }
    std::error_code gone;
    if (!entry->is_regular_file(gone)) continue;
    if (!FileSearch(path, patterns).Run(&hits) && fs::exists(path)) hits.push_back({path, "unreadable", 0});
  }
  if (error) hits.push_back({directory, "unreadable", 0});
  return hits;
}

}  // namespace expunge::test_support
