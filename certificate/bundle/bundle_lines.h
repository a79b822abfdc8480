// The lines of an audit bundle, one at a time. For use inside this folder only.
#ifndef EXPUNGE_CERTIFICATE_BUNDLE_BUNDLE_LINES_H_
#define EXPUNGE_CERTIFICATE_BUNDLE_BUNDLE_LINES_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/string_view.h"
#include "certificate/bundle/audit_bundle.h"

namespace expunge::certificate {

// The value of a line, without its line end, that is JSON in its one form.
[[nodiscard]] std::optional<nlohmann::json> ParseBundleLine(absl::string_view line);

// Whether the line is of that kind, with every field and of its form; then what it says is in the last
// argument.
[[nodiscard]] bool ReadHeader(const nlohmann::json& line, AuditBundle* bundle);
[[nodiscard]] bool ReadToken(const nlohmann::json& line, const MemoryParameters& parameters,
                             BundleToken* token);

struct BundleEnd {
  Digest sha256{};
  uint64_t tokens = 0;
};
[[nodiscard]] bool ReadEnd(const nlohmann::json& line, BundleEnd* end);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_BUNDLE_BUNDLE_LINES_H_
