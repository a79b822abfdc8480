// Values and objects of a payload that both stages of an erasure write. For use inside this folder only.
#ifndef EXPUNGE_CERTIFICATE_PAYLOAD_FIELDS_H_
#define EXPUNGE_CERTIFICATE_PAYLOAD_FIELDS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/bytes.h"

namespace expunge::certificate {

[[nodiscard]] std::string TextField(absl::string_view text);
[[nodiscard]] std::string DigestField(const Digest& digest);
[[nodiscard]] std::string CountField(uint64_t count);
// Whole seconds, rounded down.
[[nodiscard]] std::string TimeField(absl::Time time);
// Empty for kNotStated (statement.h).
[[nodiscard]] std::string TimeOrEmptyField(absl::Time time);
[[nodiscard]] nlohmann::json TextList(absl::Span<const absl::string_view> texts);
[[nodiscard]] nlohmann::json IssuerObject(const std::string& version, const std::string& commit,
                                          const Digest& configuration_sha256);
// The one form of a payload: keys in the order of their bytes, ASCII, no white space.
[[nodiscard]] std::string PayloadText(const nlohmann::json& document);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_PAYLOAD_FIELDS_H_
