#include "server/core/paging.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "server/core/handles.h"

namespace expunge::core {
namespace {

constexpr size_t kMacBytes = 16;
// Longer than that of any item.
constexpr size_t kMaxTokenBytes = 1024;

}  // namespace

absl::StatusOr<uint32_t> CheckPageSize(uint32_t requested) {
  if (requested == 0) return kDefaultPageSize;
  if (requested <= kMaxPageSize) return requested;
  return MakeError(Reason::kOutOfRange, "page_size",
                   absl::StrCat("page_size is ", requested, "; at most ", kMaxPageSize, " is allowed"));
}

Pages::Pages(const Digest& secret, std::initializer_list<absl::string_view> query) : secret_(secret) {
  for (const absl::string_view part : query) AppendField(part, &query_);
}

absl::StatusOr<std::string> Pages::Start(absl::string_view page_token) const {
  if (page_token.empty()) return std::string();
  const absl::Status invalid = MakeError(Reason::kPageTokenInvalid, "page_token",
                                         "page_token must be one that the same list returned");
  if (page_token.size() > kMaxTokenBytes) return invalid;
  const std::optional<std::string> bytes = FromBase64(page_token);
  if (!bytes.has_value() || bytes->size() <= kMacBytes) return invalid;
  std::string last = bytes->substr(kMacBytes);
  if (Next(last) != page_token) return invalid;
  return last;
}

std::string Pages::Next(absl::string_view last) const {
  const Digest mac = PageMac(secret_, query_, last);
  return ToBase64(absl::StrCat(AsView(mac).substr(0, kMacBytes), last));
}

}  // namespace expunge::core
