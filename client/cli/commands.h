// The subcommands of `expunge`, one function a group.
//
// Each adds its subcommands with options, help and examples to `app`. When one of them was chosen, parsing
// sets context->action; nothing is sent before that runs. REQUIRES: `app` and `context` outlive the parsing
// and the action.
#ifndef EXPUNGE_CLIENT_CLI_COMMANDS_H_
#define EXPUNGE_CLIENT_CLI_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "client/cli/context.h"

namespace expunge::cli {

void AddMemoryCommands(CLI::App* app, Context* context);       // memory create|get|list|delete
void AddImportCommand(CLI::App* app, Context* context);        // import
void AddReadCommand(CLI::App* app, Context* context);          // read
void AddTokensCommand(CLI::App* app, Context* context);        // tokens
void AddErasureCommands(CLI::App* app, Context* context);      // delete, purge, erasure status
void AddEvictCommand(CLI::App* app, Context* context);         // evict
void AddCertificateCommands(CLI::App* app, Context* context);  // certify, cert get|list|...
void AddKeysCommands(CLI::App* app, Context* context);         // keys list|export|rotate
void AddLogCommands(CLI::App* app, Context* context);          // log proof|timestamp|verify-timestamp
void AddAuditCommands(CLI::App* app, Context* context);        // audit export
void AddAdminCommands(CLI::App* app, Context* context);        // backup create, server status

void AddLogProofCommand(CLI::App* group, Context* context);  // log proof

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_COMMANDS_H_
