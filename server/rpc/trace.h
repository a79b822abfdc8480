// Trace ids: W3C Trace Context (https://www.w3.org/TR/trace-context/), the part that a server needs to name a
// request.
#ifndef EXPUNGE_SERVER_RPC_TRACE_H_
#define EXPUNGE_SERVER_RPC_TRACE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace expunge::rpc {

// The trace id of a `traceparent` header, 32 lower-case hexadecimal digits. nullopt unless the header is
// well-formed: version (not ff), trace id (not zero), parent id (not zero), flags; version 00 has nothing
// after them.
[[nodiscard]] std::optional<std::string> ParseTraceParent(absl::string_view header);

// A random trace id, not zero. It identifies a request, it protects nothing. Threads: any number at once.
[[nodiscard]] std::string RandomTraceId();

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_TRACE_H_
