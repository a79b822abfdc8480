// The settings of the service that bear on what its certificates say, as a text that has one form.
#ifndef EXPUNGE_SERVER_CORE_CONFIGURATION_H_
#define EXPUNGE_SERVER_CORE_CONFIGURATION_H_

#include <string>

#include "base/bytes.h"
#include "server/core/context.h"

namespace expunge::core {

// Lines "name=value", each with a line end, in ascending order of the names; no paths, no addresses, no
// secrets. docs/formats/certificate.md lists the names.
[[nodiscard]] std::string ConfigurationText(const ServiceOptions& options, absl::string_view master_key);

// Of the running service; and its SHA-256, which every certificate has.
[[nodiscard]] std::string ConfigurationText(const Context& context);
[[nodiscard]] Digest ConfigurationSha256(const Context& context);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_CONFIGURATION_H_
