#include "storage/token_pin.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/private_file.h"

namespace expunge::storage {
namespace {

constexpr size_t kMaxPinBytes = 255;

}  // namespace

absl::StatusOr<SecretBytes> ReadTokenPin(const std::string& path) {
  EXPUNGE_ASSIGN_OR_RETURN(SecretBytes pin,
                           ReadPrivateFile("the file with the token's PIN", path, kMaxPinBytes));
  if (!pin.empty() && pin.back() == '\n') pin.pop_back();
  if (!pin.empty() && pin.size() <= kMaxPinBytes && AsView(pin).find('\n') == absl::string_view::npos) {
    return pin;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the file ", path, " must hold the token's PIN and at most a line feed: no log-in was tried"));
}

}  // namespace expunge::storage
