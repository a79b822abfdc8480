// `expunged restore`: a backup put in place, and the deletions since carried out again
// (server/core/restore.h).
#ifndef EXPUNGE_SERVER_RPC_RESTORE_COMMAND_H_
#define EXPUNGE_SERVER_RPC_RESTORE_COMMAND_H_

#include <ostream>
#include <string>

#include "server/rpc/server.h"

namespace expunge::rpc {

struct RestoreCommandOptions {
  std::string from_database;
  std::string from_vault;
  // Where the deletions since the backup are found: ServerOptions::ledger_copy_file, or this, or
  // `without_ledger`: nowhere.
  std::string replaced_data_dir;
  bool without_ledger = false;
  bool json = false;
};

// Restores to where a server with these options would serve from. The report goes to `out`, steps and errors
// to `err`. Returns 0; 1 if it could not be restored, and nothing may be served; 2 for options that make no
// sense together.
[[nodiscard]] int RunRestore(const ServerOptions& server, const RestoreCommandOptions& options,
                             std::ostream& out, std::ostream& err);

}  // namespace expunge::rpc

#endif  // EXPUNGE_SERVER_RPC_RESTORE_COMMAND_H_
