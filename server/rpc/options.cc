#include "server/rpc/options.h"

#include <CLI/CLI.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/fault_point.h"
#include "server/core/build_info.h"
#include "server/core/service.h"

namespace expunge::rpc {
namespace {

constexpr const char* kExamples = R"(Examples:
  # Serve a directory on the default address, 127.0.0.1:7420:
  expunged --data-dir /var/lib/expunge
  # Put a backup in place (expunged restore --help):
  expunged restore --data-dir "$dir" --from-database "$db" --from-vault "$vault" --ledger-copy "$ledger"
  # Check a directory that no server has open (expunged fsck --help):
  expunged fsck --data-dir /var/lib/expunge
  # Settings from a file, one of them overridden:
  expunged --config /etc/expunge/expunged.toml --log-level debug
  # For scripts: any free port, written to a file once the server answers:
  expunged --data-dir "$dir" --address 127.0.0.1:0 --port-file "$dir/port"

Each option is also a key of the configuration file, without the dashes: max-queued = 64
SIGTERM and SIGINT stop the server cleanly. Exit codes: 0 stopped, 1 could not start, 2 wrong usage.)";

constexpr const char* kFsckHelp =
    R"(Of the server's options it needs --data-dir, and takes --config, --vault-dir, --key-file, --master-key-file and
the --master-key- options of a token, as the server was started with. The server must be stopped.

Examples:
  # Is everything there, readable, and consistent?
  expunged fsck --data-dir /var/lib/expunge
  # For scripts, with the server's settings:
  expunged fsck --config /etc/expunge/expunged.toml --output json

Each problem is one line that names the table, the pseudonym of the tenant or memory, or the number of the
certificate; never content. Exit codes: 0 no problems, 1 could not check, 2 wrong usage, 3 problems found.)";

constexpr const char* kRestoreHelp =
    R"(Of the server's options it needs --data-dir, and takes --config, --vault-dir, --key-file, --master-key-file and
the --master-key- options of a token. Master key and signing key are in no backup: put them in their places first.
Database and vault are put where a server with these options would look for them; nothing may be there yet. Until
the end no server starts on them, so after a crash the command is repeated.

What was deleted since the backup is deleted again, with the certificates that were issued then. So it must be found:
in the copy that the server kept with --ledger-copy, or in the data directory that is replaced, if that can be read.

Examples:
  # The disk is lost; the ledger's copy was on another:
  expunged restore --data-dir /var/lib/expunge --from-database /backup/db --from-vault /safe/vault \
    --ledger-copy /mnt/other/ledger
  # The old directory is there, and is to be replaced:
  expunged restore --data-dir /var/lib/expunge-new --from-database /backup/db --from-vault /safe/vault \
    --replaced-data-dir /var/lib/expunge

Exit codes: 0 restored, 1 could not restore, 2 wrong usage.)";

std::string VersionText() {
  return absl::StrCat("expunged ", core::SoftwareVersion(), " (", core::SoftwareCommit(), ")",
                      kHasFaultPoints ? ", with fault points: for tests, not for use" : "");
}

// CLI11 binds options to variables; these are the ones that need a second look.
struct RawText {
  std::string log_level = "info";
  std::string recover = "solve";
  std::string erase_bytes_within = "15m";
  std::string backups_kept_for = "0";
  std::string readout = "auto";
  std::string readout_batch_delay = "0";
  std::string fsck_output = "text";
  std::string restore_output = "text";
  std::string fsck_states = "solve";
};

void AddServiceOptions(CLI::App* app, ServerOptions* server, RawText* raw) {
  app->add_option("--data-dir", server->data_dir, "Where everything is kept; made if it does not exist")
      ->required();
  app->add_option("--address", server->address, "host:port to listen on; port 0 picks a free one")
      ->capture_default_str();
  app->add_option("--admin-address", server->admin_address,
                  "Where backups and status are asked for: unix:PATH, host:port of the loopback, or none "
                  "[unix:DATA-DIR/admin.sock]");
  app->add_option("--key-file", server->key_file,
                  "The Ed25519 signing key (PEM); made at first start [DATA-DIR/signing_key.pem]");
  app->add_option("--checkpoint-key-file", server->checkpoint_key_file,
                  "The Ed25519 key (PEM) that signs checkpoints of the log; made at first start "
                  "[DATA-DIR/checkpoint_key.pem]");
  app->add_option("--log-origin", server->log_origin,
                  "The name of the log of certificates, set at first start, such as example.org/expunge "
                  "[expunge.invalid/log/RANDOM]");
  app->add_option(
      "--checkpoint-copy", server->checkpoint_copy_file,
      "A file on another disk that has the log's latest checkpoint before a certificate is released: a "
      "server on an older copy of the data does not start beside it");
  app->add_option("--vault-dir", server->vault_dir,
                  "Where the keys of tokens are kept, best on another disk than backups of the data reach "
                  "[DATA-DIR/vault]");
  app->add_option("--master-key-file", server->master_key_file,
                  "The key under which the vault lies; made at first start [DATA-DIR/master.key; sealed by a "
                  "token: DATA-DIR/master.key.p11]");
  app->add_option(
      "--ledger-copy", server->ledger_copy_file,
      "A file on another disk that every deletion is copied to before its certificate is released: "
      "what a restore carries out again");
  app->add_option(
         "--reserve-bytes", server->reserve_bytes,
         "Disk space kept for erasures: other changes are refused while less than half as much is free; "
         "0: none")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 40))
      ->capture_default_str();
  app->add_option("--backups-kept-for", raw->backups_kept_for,
                  "For how long you keep backups, such as 720h: certificates say it; 0: they say nothing")
      ->capture_default_str();
  app->add_option("--erase-bytes-within", raw->erase_bytes_within,
                  "Within which time the ciphertext of what was erased leaves all files, such as 90s or 15m")
      ->capture_default_str();
  app->add_option(
         "--recover", raw->recover,
         "How every memory is checked at start: solve it again from nothing, or only hash what is stored")
      ->check(CLI::IsMember({"solve", "hash"}))
      ->capture_default_str();
  app->add_flag("--allow-remote-plaintext", server->allow_remote_plaintext,
                "Accept unencrypted calls from other machines: only on a network that you trust");
}

// Needs and excludes are checked where the options are used, as a configuration file may have them, too.
void AddTokenOptions(CLI::App* app, TokenOptions* token) {
  app->add_option("--master-key-module", token->module,
                  "The PKCS#11 library of a token that seals the master key; the next three say how");
  app->add_option("--master-key-token", token->label, "The token's label");
  app->add_option("--master-key-label", token->key,
                  "The label of the AES key in it; made at first start unless it is there")
      ->capture_default_str();
  app->add_option("--master-key-pin-file", token->pin_file,
                  "The file (mode 0600) with the token's PIN, which is tried once at each start");
}

void AddSigningTokenOptions(CLI::App* app, SigningTokenOptions* token) {
  app->add_option(
      "--signing-key-module", token->module,
      "The PKCS#11 library of a token that keeps the signing keys, instead of files; the next four "
      "say how");
  app->add_option("--signing-key-token", token->label, "The token's label");
  app->add_option(
         "--signing-key-label", token->certificate_key,
         "The label of the Ed25519 key in it that signs certificates; made at first start unless it is "
         "there")
      ->capture_default_str();
  app->add_option("--checkpoint-key-label", token->checkpoint_key,
                  "The same of the key that signs checkpoints of the log")
      ->capture_default_str();
  app->add_option("--signing-key-pin-file", token->pin_file,
                  "The file (mode 0600) with the token's PIN, which is tried once at each start");
}

void AddLimitOptions(CLI::App* app, ServerOptions* server) {
  app->add_option("--worker-threads", server->worker_threads,
                  "Threads for readers, and as many for writers; 0: one a processor")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app->add_option("--max-message-bytes", server->max_message_bytes, "Largest request")
      ->check(CLI::Range(uint64_t{1024}, uint64_t{1} << 30))
      ->capture_default_str();
  app->add_option(
         "--max-queued", server->max_queued,
         "Requests that may wait for a thread, of readers and of writers; more are refused as OVERLOADED")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app->add_option("--max-streams", server->max_streams,
                  "Audit exports that may be open at once, as many watchers of certificates, and as many "
                  "streams of reads; more are refused as OVERLOADED")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app->add_option("--max-tokens-per-memory", server->max_tokens_per_memory, "Tokens that one memory may hold")
      ->check(CLI::Range(uint64_t{1}, core::kMostTokensPerMemory))
      ->capture_default_str();
  app->add_option(
         "--max-solver-bytes", server->max_live_solver_bytes,
         "What the solvers of all memories may keep between changes, beyond the tokens; a change of a "
         "memory whose solver was dropped makes it again")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 50))
      ->capture_default_str();
}

void AddReadoutOptions(CLI::App* app, attention::EngineOptions* readout, RawText* raw) {
  app->add_option("--readout", raw->readout,
                  "What computes fast readouts: a CUDA device, which must be there, the CPU, or the device "
                  "if there is "
                  "one")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  app->add_option("--readout-threads", readout->threads,
                  "Threads of the CPU that compute readouts, shared by all requests; 0: one a processor")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app->add_option("--readout-batch-delay", raw->readout_batch_delay,
                  "How long a read of at most 16 queries may wait for others to be computed with, such as "
                  "200us; alone it never waits; 0: none waits")
      ->capture_default_str();
  app->add_option("--readout-device-memory", readout->device_bytes,
                  "What copies of memories may take on the device, in bytes; the coldest leave")
      ->check(CLI::Range(uint64_t{1} << 20, uint64_t{1} << 50))
      ->capture_default_str();
}

void AddProcessOptions(CLI::App* app, ProgramOptions* options, RawText* raw) {
  app->add_option("--log-level", raw->log_level, "Least level that is logged")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app->add_option("--log-file", options->log.file, "Where JSON lines are appended [standard error]");
  app->add_option("--port-file", options->port_file,
                  "Written, all at once, with the port when the server answers");
  app->set_version_flag("--version", VersionText());
  app->set_config("--config", "", "A TOML file with the same options");
  app->allow_config_extras(CLI::config_extras_mode::error);
}

// Options that it does not know are looked for among the server's.
CLI::App* AddFsck(CLI::App* app, RawText* raw) {
  CLI::App* const fsck = app->add_subcommand("fsck", "Check everything that is stored, and change nothing");
  fsck->footer(kFsckHelp);
  fsck->fallthrough();
  fsck->add_option("--output", raw->fsck_output, "The form of the report")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  fsck->add_option(
          "--states", raw->fsck_states,
          "How every memory's state is checked: solve it again from nothing, or only hash what is stored")
      ->check(CLI::IsMember({"solve", "hash"}))
      ->capture_default_str();
  return fsck;
}

CLI::App* AddRestore(CLI::App* app, RestoreCommandOptions* options, RawText* raw) {
  CLI::App* const restore =
      app->add_subcommand("restore", "Put a backup in place, and carry out again what was deleted since");
  restore->footer(kRestoreHelp);
  restore->fallthrough();
  restore->add_option("--from-database", options->from_database, "The database's half of the backup");
  restore->add_option("--from-vault", options->from_vault, "The vault's half");
  restore->add_option("--replaced-data-dir", options->replaced_data_dir,
                      "The data directory that is replaced: what was deleted in it since is deleted again");
  restore->add_flag("--without-ledger", options->without_ledger,
                    "There is no record of deletions since: bring back what was deleted");
  restore->add_option("--output", raw->restore_output, "The form of the report")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return restore;
}

ParseOutcome Describe(const CLI::App& app, const CLI::ParseError& error) {
  ParseOutcome outcome;
  std::ostringstream out;
  std::ostringstream err;
  const bool mistake = app.exit(error, out, err) != 0;
  outcome.output = out.str();
  outcome.error = err.str();
  if (!mistake) return outcome;
  outcome.exit_code = kUsageError;
  absl::string_view problem = error.what();
  absl::string_view where;
  if (absl::ConsumePrefix(&problem, "INI was not able to parse ")) {
    where = "the configuration file has an unknown key: ";
  }
  outcome.error = absl::StrCat("expunged: ", where, problem, "\nRun `expunged --help` for all options.\n");
  return outcome;
}

// A time from `least` to `most`.
bool ParseTime(const std::string& text, absl::Duration least, absl::Duration most, absl::Duration* time) {
  return absl::ParseDuration(text, time) && *time >= least && *time <= most;
}

// Empty, or what is wrong.
std::string TakeTimes(const RawText& raw, ServerOptions* server) {
  absl::Duration time;
  if (!ParseTime(raw.erase_bytes_within, absl::Milliseconds(100), absl::Hours(24 * 30), &time)) {
    return "--erase-bytes-within must be a time of 100ms to 720h, such as 90s or 15m";
  }
  server->erase_bytes_within = absl::ToChronoMilliseconds(time);
  if (!ParseTime(raw.backups_kept_for, absl::ZeroDuration(), absl::Hours(24 * 366 * 100), &time)) {
    return "--backups-kept-for must be 0 or a time of at most 100 years, such as 720h";
  }
  server->backups_kept_for = absl::ToChronoSeconds(absl::Ceil(time, absl::Seconds(1)));
  if (!ParseTime(raw.readout_batch_delay, absl::ZeroDuration(), absl::Milliseconds(100), &time)) {
    return "--readout-batch-delay must be 0 or a time of at most 100ms, such as 200us";
  }
  server->readout_batch_delay = absl::ToChronoMicroseconds(absl::Ceil(time, absl::Microseconds(1)));
  return "";
}

}  // namespace

ParseOutcome ParseProgramOptions(int argc, const char* const* argv) {
  CLI::App app("Expunge: attention memories that can prove they forgot. The server.", "expunged");
  app.footer(kExamples);
  ProgramOptions options;
  RawText raw;
  CLI::App* fsck = nullptr;
  CLI::App* restore = nullptr;
  try {
    fsck = AddFsck(&app, &raw);
    restore = AddRestore(&app, &options.restore, &raw);
    AddServiceOptions(&app, &options.server, &raw);
    app.require_subcommand(0, 1);
    AddTokenOptions(&app, &options.server.master_key_token);
    AddSigningTokenOptions(&app, &options.server.signing_token);
    AddLimitOptions(&app, &options.server);
    AddReadoutOptions(&app, &options.server.readout, &raw);
    AddProcessOptions(&app, &options, &raw);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return Describe(app, error);
  } catch (const CLI::Error& error) {
    return {std::nullopt, kUsageError, "", absl::StrCat("expunged: ", error.what(), "\n")};
  }
  options.log.level = ParseLogLevel(raw.log_level).value_or(LogLevel::kInfo);
  if (const std::string mistake = TakeTimes(raw, &options.server); !mistake.empty()) {
    return {std::nullopt, kUsageError, "", absl::StrCat("expunged: ", mistake, "\n")};
  }
  options.server.readout.backend = raw.readout == "cpu"    ? attention::BackendChoice::kCpu
                                   : raw.readout == "cuda" ? attention::BackendChoice::kCuda
                                                           : attention::BackendChoice::kAuto;
  options.server.recover_by_solving = raw.recover == "solve";
  if (fsck->parsed()) options.command = Command::kFsck;
  if (restore->parsed()) options.command = Command::kRestore;
  options.restore.json = raw.restore_output == "json";
  options.fsck = {raw.fsck_output == "json", raw.fsck_states == "solve"};
  ParseOutcome outcome;
  outcome.options = std::move(options);
  return outcome;
}

}  // namespace expunge::rpc
