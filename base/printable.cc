#include "base/printable.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace expunge {
namespace {

struct Character {
  uint32_t code = 0;
  size_t size = 0;  // in bytes; 0: not UTF-8
};

// The character at the front of `text`, which is not empty.
Character Front(absl::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return {first, 1};
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {};
  uint32_t code = first & (0x7fU >> size);
  for (size_t i = 1; i < size; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xc0U) != 0x80) return {};
    code = code << 6 | (next & 0x3fU);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  if (overlong || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, size};
}

bool IsHarmless(uint32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;  // control characters
  // Zero width, directions, line and paragraph separators, isolates, byte order mark.
  const bool hidden = (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                      (code >= 0x2060 && code <= 0x206f) || code == 0x61c || code == 0xfeff;
  return !hidden;
}

std::string Escape(absl::string_view text, bool keep_line_ends) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character front = Front(text);
    const size_t size = front.size == 0 ? 1 : front.size;
    const bool line_end = keep_line_ends && front.code == '\n';
    if (front.size != 0 && (line_end || IsHarmless(front.code))) {
      absl::StrAppend(&out, text.substr(0, size));
    } else {
      for (const char byte : text.substr(0, size)) {
        absl::StrAppend(&out, "\\x", absl::Hex(static_cast<uint8_t>(byte), absl::kZeroPad2));
      }
    }
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace

std::string Printable(absl::string_view text) { return Escape(text, /*keep_line_ends=*/false); }

std::string PrintableLines(absl::string_view text) { return Escape(text, /*keep_line_ends=*/true); }

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t size = Front(text).size;
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace expunge
