#include "server/rpc/log.h"

#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace expunge::rpc {
namespace {

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

absl::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      break;
  }
  return "error";
}

std::string Render(LogLevel level, absl::string_view message, const LogFields& fields) {
  nlohmann::ordered_json line;
  const auto put = [&line](const char* name, absl::string_view value) {
    if (!value.empty()) line[name] = std::string(value);
  };
  put("time", absl::FormatTime("%Y-%m-%d%ET%H:%M:%E6SZ", absl::Now(), absl::UTCTimeZone()));
  put("level", LevelName(level));
  put("message", message);
  put("method", fields.method);
  put("code", fields.code);
  put("reason", fields.reason);
  if (fields.latency_us.has_value()) line["latency_us"] = *fields.latency_us;
  put("trace_id", fields.trace_id);
  return line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

// spdlog would create the file with the default mode, readable by all.
absl::Status CreatePrivate(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return absl::UnavailableError(absl::StrCat(
        "the log file ", path, " cannot be opened: check that its folder exists and is writable"));
  }
  close(fd);
  return absl::OkStatus();
}

}  // namespace

std::optional<LogLevel> ParseLogLevel(absl::string_view name) {
  for (const LogLevel level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (name == LevelName(level)) return level;
  }
  return std::nullopt;
}

absl::StatusOr<std::shared_ptr<Log>> Log::Open(const LogOptions& options) {
  try {
    std::shared_ptr<spdlog::sinks::sink> sink;
    if (options.file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
      const absl::Status created = CreatePrivate(options.file);
      if (!created.ok()) return created;
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file);
    }
    auto logger = std::make_shared<spdlog::logger>("expunged", std::move(sink));
    logger->set_pattern("%v");
    logger->set_level(SpdlogLevel(options.level));
    logger->flush_on(spdlog::level::trace);
    return std::shared_ptr<Log>(new Log(std::move(logger)));
  } catch (const spdlog::spdlog_ex& error) {
    return absl::UnavailableError(absl::StrCat("the log cannot be opened: ", error.what()));
  }
}

Log::Log(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}

Log::~Log() = default;

void Log::Write(LogLevel level, absl::string_view message, const LogFields& fields) {
  const auto spdlog_level = SpdlogLevel(level);
  if (!logger_->should_log(spdlog_level)) return;
  const std::string line = Render(level, message, fields);
  logger_->log(spdlog_level, spdlog::string_view_t(line.data(), line.size()));
}

void RouteGrpcLog(std::shared_ptr<Log> log, bool verbose) {
  static std::shared_ptr<Log>* target = nullptr;  // never freed: gRPC's threads outlive main
  target = new std::shared_ptr<Log>(std::move(log));
  // What it says of a message that it cannot decode is said by the call's own line.
  google::protobuf::SetLogHandler(
      [](google::protobuf::LogLevel severity, const char* file, int line, const std::string& /*message*/) {
        const char* slash = std::strrchr(file, '/');
        (*target)->Write(severity == google::protobuf::LOGLEVEL_FATAL ? LogLevel::kError : LogLevel::kDebug,
                         absl::StrCat("protobuf: ", slash == nullptr ? file : slash + 1, ":", line));
      });
  gpr_set_log_verbosity(verbose ? GPR_LOG_SEVERITY_INFO : GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function([](gpr_log_func_args* args) {
    const LogLevel level = args->severity == GPR_LOG_SEVERITY_ERROR ? LogLevel::kWarning : LogLevel::kDebug;
    const char* slash = std::strrchr(args->file, '/');
    (*target)->Write(level,
                     absl::StrCat("grpc: ", slash == nullptr ? args->file : slash + 1, ":", args->line));
  });
}

}  // namespace expunge::rpc
