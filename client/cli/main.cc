// expunge: the command line of the Expunge service.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/printable.h"
#include "client/cli/commands.h"
#include "client/cli/context.h"
#include "client/cli/failure.h"
#include "client/cpp/status.h"

namespace expunge::cli {
namespace {

constexpr char kFooter[] =
    "Examples:\n"
    "  expunge memory create cancer --key-dimension 30 --value-dimension 2 --gamma 1/30 --min-support 50\n"
    "  expunge import cancer --csv patients.csv --key-columns 4-33 --one-hot diagnosis \\\n"
    "      --subject-columns patient --id-column token --standardize --standardization std.json\n"
    "  expunge read cancer --csv new.csv --standardization std.json\n"
    "  expunge purge --subject patient-007 --legal-basis 'GDPR Art. 17(1)(b)' --out-dir certificates\n"
    "  expunge cert keys --out issuer.pem\n"
    "  expunge cert verify certificates/*.json --key issuer.pem\n"
    "  expunge --admin unix:/var/lib/expunge/admin.sock server status\n\n"
    "Every subcommand has its own --help with examples.\n\n"
    "Exit codes:\n"
    "  0  done\n"
    "  1  refused: by the service, or a certificate does not verify\n"
    "  2  wrong usage, or a local file that cannot be used\n"
    "  3  no answer from the service";

void AddGlobalOptions(CLI::App* app, GlobalOptions* options) {
  app->add_option("--server", options->server, "HOST:PORT of the service (default: 127.0.0.1:7420)")
      ->take_last()
      ->envname("EXPUNGE_SERVER")
      ->check(CLI::Validator(
          [](std::string& text) { return absl::StrContains(text, ":") ? "" : "must be HOST:PORT"; },
          "HOST:PORT"));
  app->add_option("--admin", options->admin,
                  "unix:PATH or HOST:PORT of the service's administration, for backup and server (default: "
                  "unix:/var/lib/expunge/admin.sock)")
      ->take_last()
      ->envname("EXPUNGE_ADMIN")
      ->check(CLI::Validator(
          [](std::string& text) {
            return absl::StrContains(text, ":") ? "" : "must be unix:PATH or HOST:PORT";
          },
          "unix:PATH|HOST:PORT"));
  app->add_option("--tenant", options->tenant, "The tenant (default: default)")
      ->take_last()
      ->envname("EXPUNGE_TENANT");
  app->add_option("--output", options->output, "text or json")
      ->take_last()
      ->check(CLI::IsMember({"text", "json"}));
  app->add_option("--timeout", options->timeout_s,
                  "Seconds to wait for each answer (default: 60; for a backup, a day)")
      ->take_last()
      ->check(CLI::Range(0.001, 86400.0));
}

// The command line so far as it was understood, for "run '...' --help".
std::string ChosenCommand(const CLI::App& app) {
  std::string words = "expunge";
  const CLI::App* level = &app;
  while (!level->get_subcommands().empty()) {
    level = level->get_subcommands().front();
    absl::StrAppend(&words, " ", level->get_name());
  }
  return words;
}

// Whether --output json was asked for, also where parsing failed before it was read.
bool WantsJson(const std::vector<std::string>& arguments) {
  const auto option = std::find(arguments.begin(), arguments.end(), "--output");
  const bool separate = option != arguments.end() && option + 1 != arguments.end() && *(option + 1) == "json";
  return separate || std::find(arguments.begin(), arguments.end(), "--output=json") != arguments.end();
}

// Prints the failure to standard error and returns its exit code.
int Report(const absl::Status& status, bool json) {
  const client::CallError error = client::Explain(status);
  const std::string hint = HintOf(status);
  const int exit_code = ExitCodeOf(status);
  const std::string reason = error.reason.empty() ? RefusalReason(status) : error.reason;
  if (json) {
    Json out;
    out["error"] = {{"code", error.code},       {"reason", reason}, {"field", error.field},
                    {"message", error.message}, {"hint", hint},     {"exit_code", exit_code}};
    absl::FPrintF(stderr, "%s\n", Dump(out));
    return exit_code;
  }
  switch (error.origin) {
    case client::Origin::kService:
      absl::FPrintF(stderr, "expunge: the service refused: %s\n", Printable(client::ToText(error)));
      break;
    case client::Origin::kTransport:
      absl::FPrintF(stderr, "expunge: no answer from the service: %s\n", Printable(error.message));
      break;
    case client::Origin::kLocal:
      absl::FPrintF(stderr, "expunge: %s%s\n", PrintableLines(error.message),
                    reason.empty() ? std::string() : absl::StrCat(" (", reason, ")"));
      break;
  }
  if (!hint.empty()) absl::FPrintF(stderr, "  -> %s\n", Printable(hint));
  return exit_code;
}

int Run(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  Context context;
  CLI::App app("Expunge: attention memories that forget exactly, and certificates that say so.", "expunge");
  app.fallthrough();
  app.require_subcommand(1);
  app.set_version_flag("--version", EXPUNGE_VERSION);
  app.footer(kFooter);
  AddGlobalOptions(&app, &context.options);
  AddMemoryCommands(&app, &context);
  AddImportCommand(&app, &context);
  AddReadCommand(&app, &context);
  AddTokensCommand(&app, &context);
  AddErasureCommands(&app, &context);
  AddEvictCommand(&app, &context);
  AddCertificateCommands(&app, &context);
  AddKeysCommands(&app, &context);
  AddLogCommands(&app, &context);
  AddAuditCommands(&app, &context);
  AddAdminCommands(&app, &context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    return Report(UsageFailure(error.what(), absl::StrCat("run '", ChosenCommand(app),
                                                          " --help' for options and examples")),
                  WantsJson(arguments));
  }
  absl::Status status = context.action();
  if (status.ok() && std::fflush(stdout) != 0) {
    status = UsageFailure("cannot write to standard output",
                          "the call itself is done; give the output another place");
  }
  return status.ok() ? static_cast<int>(kExitOk) : Report(status, context.json());
}

}  // namespace
}  // namespace expunge::cli

int main(int argc, char** argv) {
  try {
    return expunge::cli::Run(argc, argv);
  } catch (const std::exception& error) {
    static_cast<void>(std::fprintf(stderr, "expunge: cannot go on: %s\n", error.what()));
    return expunge::cli::kExitUsage;
  }
}
