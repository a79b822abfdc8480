#include "certificate/payload_fields.h"

#include "absl/strings/str_cat.h"
#include "certificate/claims.h"
#include "certificate/statement.h"

namespace expunge::certificate {

using nlohmann::json;

std::string TextField(absl::string_view text) { return {text.data(), text.size()}; }

std::string DigestField(const Digest& digest) { return ToHex(AsView(digest)); }

std::string CountField(uint64_t count) { return absl::StrCat(count); }

std::string TimeField(absl::Time time) {
  return absl::FormatTime("%E4Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

std::string TimeOrEmptyField(absl::Time time) { return time == kNotStated ? std::string() : TimeField(time); }

json TextList(absl::Span<const absl::string_view> texts) {
  json list = json::array();
  for (const absl::string_view text : texts) list.push_back(TextField(text));
  return list;
}

json IssuerObject(const std::string& version, const std::string& commit, const Digest& configuration_sha256) {
  return {{"name", TextField(kIssuerName)},
          {"software", TextField(kSoftware)},
          {"version", version},
          {"commit", commit},
          {"configurationSha256", DigestField(configuration_sha256)}};
}

std::string PayloadText(const json& document) {
  // nlohmann::json keeps the keys of an object sorted by their bytes.
  return document.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
}

}  // namespace expunge::certificate
