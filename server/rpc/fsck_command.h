// `expunged fsck`: the integrity check (server/core/fsck.h) for people and for scripts.
#ifndef EXPUNGE_SERVER_RPC_FSCK_COMMAND_H_
#define EXPUNGE_SERVER_RPC_FSCK_COMMAND_H_

#include <cstdio>
#include <ostream>

#include "server/core/fsck.h"
#include "server/rpc/server.h"

namespace expunge::rpc {

struct FsckCommandOptions {
  bool json = false;
  bool solve = true;
};

inline constexpr int kFsckClean = 0;
inline constexpr int kFsckNotChecked = 1;
inline constexpr int kFsckUsage = 2;
inline constexpr int kFsckProblems = 3;

// Checks the data that a server with these options would serve; changes nothing. The report goes to `out`; a
// progress bar, if it is a terminal, and errors go to `err`. Returns one of the exit codes above.
[[nodiscard]] int RunFsck(const ServerOptions& server, const FsckCommandOptions& options, std::ostream& out,
                          FILE* err);

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_FSCK_COMMAND_H_
