// Command line and configuration file of `expunged`.
#ifndef EXPUNGE_SERVER_RPC_OPTIONS_H_
#define EXPUNGE_SERVER_RPC_OPTIONS_H_

#include <optional>
#include <string>

#include "server/rpc/fsck_command.h"
#include "server/rpc/log.h"
#include "server/rpc/restore_command.h"
#include "server/rpc/server.h"

namespace expunge::rpc {

// What the program is to do: without a subcommand, serve.
enum class Command { kServe, kFsck, kRestore };

struct ProgramOptions {
  Command command = Command::kServe;
  ServerOptions server;
  FsckCommandOptions fsck;
  RestoreCommandOptions restore;
  LogOptions log;
  std::string port_file;  // empty: none
};

// Either options, or the text to print and the exit code: 0 for --help and --version, kUsageError for a
// mistake.
struct ParseOutcome {
  std::optional<ProgramOptions> options;
  int exit_code = 0;
  std::string output;  // for standard output
  std::string error;   // for standard error
};

inline constexpr int kUsageError = 2;

// The command line wins over the configuration file, that over the defaults. Every key of the file must be
// known.
[[nodiscard]] ParseOutcome ParseProgramOptions(int argc, const char* const* argv);

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_OPTIONS_H_
