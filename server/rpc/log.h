// The server's log: JSON, one object a line.
//
// Fields: time (RFC 3339, UTC, microseconds), level, message; and for calls method, code, reason, latency_us,
// trace_id. Privacy.  No line carries a name, an id, a subject, a vector or an address of a caller: a message
// is a fixed text or the message of an error, and those never contain input (base/error.h).
#ifndef EXPUNGE_SERVER_RPC_LOG_H_
#define EXPUNGE_SERVER_RPC_LOG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace spdlog {
class logger;
}

namespace expunge::rpc {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// "debug", "info", "warning", "error"; nullopt for anything else.
[[nodiscard]] std::optional<LogLevel> ParseLogLevel(absl::string_view name);

struct LogOptions {
  LogLevel level = LogLevel::kInfo;  // lines below it are dropped
  std::string file;                  // appended to, created with mode 0600; empty: standard error
};

// Empty fields are left out.
struct LogFields {
  absl::string_view method;
  absl::string_view code;
  absl::string_view reason;
  absl::string_view trace_id;
  std::optional<int64_t> latency_us;
};

// Threads: any number at once; a line is written whole.
class Log {
 public:
  // Returns: Unavailable if the file cannot be opened; the message says what to do.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<Log>> Open(const LogOptions& options);
  ~Log();

  // Cost: one write, at once. Bytes that are not UTF-8 are replaced. Never fails: a log that cannot be
  // written stops nothing.
  void Write(LogLevel level, absl::string_view message, const LogFields& fields = {});

 private:
  explicit Log(std::shared_ptr<spdlog::logger> logger);
  std::shared_ptr<spdlog::logger> logger_;
};

// Sends what the gRPC library reports (errors; with `verbose` its warnings and notices too), and at level
// debug what Protocol Buffers does, to `log` from now on, for the life of the process: where it arose, not
// the text.
void RouteGrpcLog(std::shared_ptr<Log> log, bool verbose);

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_LOG_H_
