// Pages of a list: how many, and from where.
//
// A page token names the last item of the page before, sealed with the query under the store's secret: a
// token that was altered, or comes from another query, is refused.
#ifndef EXPUNGE_SERVER_CORE_PAGING_H_
#define EXPUNGE_SERVER_CORE_PAGING_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/bytes.h"

namespace expunge::core {

inline constexpr uint32_t kDefaultPageSize = 100;
inline constexpr uint32_t kMaxPageSize = 1000;

// Returns: kOutOfRange, field "page_size", above the maximum.
[[nodiscard]] absl::StatusOr<uint32_t> CheckPageSize(uint32_t requested);

class Pages {
 public:
  // `query`: the method and everything that selects the items, but not the page size.
  Pages(const Digest& secret, std::initializer_list<absl::string_view> query);

  // The key of the last item before this page; empty for the first page.
  // Returns: kPageTokenInvalid, field "page_token".
  [[nodiscard]] absl::StatusOr<std::string> Start(absl::string_view page_token) const;

  // The token of the page after the one that ends with `last`, not empty.
  [[nodiscard]] std::string Next(absl::string_view last) const;

 private:
  Digest secret_;
  std::string query_;
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_PAGING_H_
