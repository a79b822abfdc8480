#include "server/core/names.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace expunge::core {
namespace {

constexpr size_t kMaxIdBytes = 128;
constexpr size_t kMaxSubjectBytes = 256;
constexpr size_t kCertificateDigits = 12;
// The longest resource name has three ids.
constexpr size_t kMaxNameBytes = 3 * kMaxIdBytes + 64;

absl::Status CheckText(absl::string_view text, absl::string_view field, size_t limit,
                       absl::string_view punctuation) {
  if (text.empty()) return MakeError(Reason::kFieldMissing, field, absl::StrCat(field, " is required"));
  if (text.size() > limit) {
    return MakeError(Reason::kTooLong, field,
                     absl::StrCat(field, " has ", text.size(), " bytes; at most ", limit, " are allowed"));
  }
  const bool allowed = std::all_of(text.begin(), text.end(), [punctuation](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           punctuation.find(c) != absl::string_view::npos;
  });
  if (allowed && text != "." && text != "..") return absl::OkStatus();
  return MakeError(Reason::kNameMalformed, field,
                   absl::StrCat(field, " may only have letters, digits and ", punctuation,
                                ", and not be \".\" or \"..\""));
}

// Splits `name` by the alternating literals of `shape`, such as {"tenants", "", "memories", ""}, and returns
// the ids in the places of the empty ones.
absl::StatusOr<std::vector<std::string>> ParseName(absl::string_view name, absl::string_view field,
                                                   const std::vector<absl::string_view>& shape,
                                                   absl::string_view form) {
  if (name.empty()) return MakeError(Reason::kFieldMissing, field, absl::StrCat(field, " is required"));
  if (name.size() > kMaxNameBytes) {
    return MakeError(
        Reason::kTooLong, field,
        absl::StrCat(field, " has ", name.size(), " bytes; no name is longer than ", kMaxNameBytes));
  }
  const std::vector<std::string> parts = absl::StrSplit(name, '/');
  bool matches = parts.size() == shape.size();
  for (size_t i = 0; matches && i < shape.size(); i += 2) matches = parts[i] == shape[i];
  if (!matches) {
    return MakeError(Reason::kNameMalformed, field, absl::StrCat(field, " must have the form ", form));
  }
  std::vector<std::string> ids;
  for (size_t i = 1; i < parts.size(); i += 2) {
    if (parts[i].empty()) {
      return MakeError(Reason::kNameMalformed, field, absl::StrCat(field, " must have the form ", form));
    }
    EXPUNGE_RETURN_IF_ERROR(CheckId(parts[i], field));
    ids.push_back(parts[i]);
  }
  return ids;
}

}  // namespace

absl::Status CheckId(absl::string_view id, absl::string_view field) {
  return CheckText(id, field, kMaxIdBytes, "._~-");
}

absl::Status CheckSubject(absl::string_view subject, absl::string_view field) {
  return CheckText(subject, field, kMaxSubjectBytes, "._~@:+-");
}

absl::Status CheckRequestId(absl::string_view request_id) {
  return request_id.empty() ? absl::OkStatus() : CheckId(request_id, "request_id");
}

absl::StatusOr<std::string> ParseTenantName(absl::string_view name, absl::string_view field) {
  EXPUNGE_ASSIGN_OR_RETURN(const auto ids, ParseName(name, field, {"tenants", ""}, "tenants/{tenant}"));
  return ids[0];
}

absl::StatusOr<MemoryName> ParseMemoryName(absl::string_view name, absl::string_view field) {
  EXPUNGE_ASSIGN_OR_RETURN(const auto ids, ParseName(name, field, {"tenants", "", "memories", ""},
                                                     "tenants/{tenant}/memories/{memory}"));
  return MemoryName{ids[0], ids[1]};
}

absl::StatusOr<CertificateName> ParseCertificateName(absl::string_view name, absl::string_view field) {
  EXPUNGE_ASSIGN_OR_RETURN(const auto ids, ParseName(name, field, {"tenants", "", "certificates", ""},
                                                     "tenants/{tenant}/certificates/{certificate}"));
  CertificateName parsed{ids[0], 0};
  const bool decimal = std::all_of(ids[1].begin(), ids[1].end(), [](char c) { return c >= '0' && c <= '9'; });
  uint64_t number = 0;
  if (decimal && ids[1].size() == kCertificateDigits && absl::SimpleAtoi(ids[1], &number)) {
    parsed.number = number;
  }
  return parsed;
}

std::string FormatMemoryName(absl::string_view tenant, absl::string_view memory) {
  return absl::StrCat("tenants/", tenant, "/memories/", memory);
}

std::string FormatTokenName(absl::string_view tenant, absl::string_view memory, absl::string_view token) {
  return absl::StrCat(FormatMemoryName(tenant, memory), "/tokens/", token);
}

std::string FormatCertificateName(absl::string_view tenant, uint64_t number) {
  return absl::StrCat("tenants/", tenant, "/certificates/", absl::StrFormat("%012d", number));
}

}  // namespace expunge::core
