#include "client/cli/bundle_arrival.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "client/cli/failure.h"

namespace expunge::cli {

void BundleArrival::Take(absl::string_view bytes) {
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (absl::EndsWith(last_line_, "\n")) {  // it was not the last
      hash_.Update(last_line_);
      last_line_.clear();
      ++whole_lines_;
    }
    const size_t end = bytes.find('\n');
    const size_t taken = end == absl::string_view::npos ? bytes.size() : end + 1;
    absl::StrAppend(&last_line_, bytes.substr(0, taken));
    bytes.remove_prefix(taken);
  }
}

absl::Status BundleArrival::Finish() {
  // Before the last line are the header and the tokens.
  const uint64_t tokens = whole_lines_ == 0 ? 0 : whole_lines_ - 1;
  const std::string expected =
      absl::StrCat(R"({"sha256":")", ToHex(AsView(hash_.Finish())), R"(","tokens":")", tokens, "\"}\n");
  if (whole_lines_ > 0 && last_line_ == expected) return absl::OkStatus();
  return Refusal("BUNDLE_DAMAGED", "the bundle is not whole: its last line does not fit what came before",
                 "nothing was saved; try again");
}

}  // namespace expunge::cli
