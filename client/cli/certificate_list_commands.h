// expunge cert list|watch|export
#ifndef EXPUNGE_CLIENT_CLI_CERTIFICATE_LIST_COMMANDS_H_
#define EXPUNGE_CLIENT_CLI_CERTIFICATE_LIST_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "client/cli/context.h"

namespace expunge::cli {

void AddListCommand(CLI::App* group, Context* context);
void AddWatchCommand(CLI::App* group, Context* context);
void AddExportCommand(CLI::App* group, Context* context);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_CERTIFICATE_LIST_COMMANDS_H_
