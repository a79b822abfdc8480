// expunge backup create, expunge server status
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/cli/admin_hint.h"
#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/views.h"
#include "client/cli/waiting.h"
#include "client/cpp/status.h"

namespace expunge::cli {
namespace {

// A backup reads and writes the whole database.
constexpr absl::Duration kBackupPatience = absl::Hours(24);

struct BackupOptions {
  std::string database;
  std::string vault;
};

absl::Status WithBackupHint(const absl::Status& status) {
  if (client::GetOrigin(status) == client::Origin::kTransport &&
      status.code() == absl::StatusCode::kDeadlineExceeded) {
    return WithHint(
        status,
        "the service goes on with it: 'expunge server status' tells whether it still does, and both "
        "directories hold a backup.json once it is complete");
  }
  return WithAdminHint(status);
}

absl::StatusOr<v1::CreateBackupResponse> CallCreateBackup(const Context& context,
                                                          const BackupOptions& options) {
  v1::CreateBackupRequest request;
  request.set_database_path(options.database);
  request.set_vault_path(options.vault);
  const Waiting waiting("making the backup", stderr);
  return context.Admin(kBackupPatience).CreateBackup(request);
}

absl::Status CreateBackup(const Context& context, const BackupOptions& options) {
  const auto backup = CallCreateBackup(context, options);
  EXPUNGE_RETURN_IF_ERROR(WithBackupHint(backup.status()));
  Json json;
  json["backup_id"] = backup->backup_id();
  json["create_time"] = TimeText(backup->create_time());
  json["database"] = options.database;
  json["vault"] = options.vault;
  json["sequence"] = backup->sequence();
  json["file_count"] = backup->file_count();
  json["total_bytes"] = backup->total_bytes();
  const Fields fields = {
      {"created", TimeText(backup->create_time())},
      {"database", options.database},
      {"vault", options.vault},
      {"last change", absl::StrCat(backup->sequence())},
      {"holds", absl::StrCat(Count(backup->file_count(), "file"), ", ", BytesText(backup->total_bytes()))}};
  context.Print(json, absl::StrCat(FormatFields(absl::StrCat("Backup ", backup->backup_id()), fields),
                                   "Keep the two directories in different places. The master key and the "
                                   "signing key are in neither.\n"));
  return absl::OkStatus();
}

Json ReadoutsJson(const v1::ReadoutStatus& readouts) {
  Json json;
  json["backend"] = BackendName(readouts.backend());
  json["device"] = readouts.device();
  json["fallback_count"] = readouts.fallback_count();
  json["device_error_count"] = readouts.device_error_count();
  json["last_device_error"] =
      readouts.last_device_error().empty() ? Json(nullptr) : Json(readouts.last_device_error());
  json["resident_bytes"] = readouts.resident_bytes();
  json["eviction_count"] = readouts.eviction_count();
  json["counts"] = Json::array();
  for (const v1::ReadoutCount& count : readouts.counts()) {
    json["counts"].push_back({{"precision", PrecisionName(count.precision())},
                              {"request_count", count.request_count()},
                              {"query_count", count.query_count()}});
  }
  return json;
}

Fields ReadoutFields(const v1::ReadoutStatus& readouts) {
  Fields fields = {
      {"readouts", absl::StrCat("on the ", BackendName(readouts.backend()), ": ", readouts.device())}};
  for (const v1::ReadoutCount& count : readouts.counts()) {
    fields.emplace_back(absl::StrCat("  ", PrecisionName(count.precision())),
                        absl::StrCat(count.query_count(), count.query_count() == 1 ? " query" : " queries",
                                     " in ", Count(count.request_count(), "request")));
  }
  if (readouts.backend() != v1::READOUT_BACKEND_CUDA) return fields;
  fields.emplace_back("on the device", absl::StrCat(BytesText(readouts.resident_bytes()), ", after ",
                                                    Count(readouts.eviction_count(), "eviction")));
  fields.emplace_back("left to the CPU", Count(readouts.fallback_count(), "request"));
  fields.emplace_back("device errors",
                      absl::StrCat(readouts.device_error_count(),
                                   readouts.last_device_error().empty() ? "" : "; the latest: ",
                                   readouts.last_device_error()));
  return fields;
}

Json StatusJson(const v1::GetServerStatusResponse& status) {
  Json json;
  json["version"] = status.version();
  json["commit"] = status.commit();
  json["writable"] = status.writable();
  json["tenant_count"] = status.tenant_count();
  json["memory_count"] = status.memory_count();
  json["token_count"] = status.token_count();
  json["pending_erasure_count"] = status.pending_erasure_count();
  json["oldest_erasure_age"] =
      status.has_oldest_erasure_age() ? Json(DurationText(status.oldest_erasure_age())) : Json(nullptr);
  json["last_erasure_error"] =
      status.last_erasure_error().empty() ? Json(nullptr) : Json(status.last_erasure_error());
  json["database_free_bytes"] =
      status.has_database_free_bytes() ? Json(status.database_free_bytes()) : Json(nullptr);
  json["vault_free_bytes"] = status.has_vault_free_bytes() ? Json(status.vault_free_bytes()) : Json(nullptr);
  json["backup_running"] = status.backup_running();
  json["readouts"] = ReadoutsJson(status.readouts());
  return json;
}

Fields StatusFields(const v1::GetServerStatusResponse& status) {
  const auto free = [](bool known, uint64_t bytes) { return known ? BytesText(bytes) : "unknown"; };
  Fields fields = {
      {"changes", status.writable() ? "accepted"
                                    : "refused since a write to the disk failed: look at the disk and the "
                                      "log, then restart the server"},
      {"holds",
       absl::StrCat(Count(status.token_count(), "token"), " in ", Count(status.memory_count(), "memory"),
                    " of ", Count(status.tenant_count(), "tenant"))},
      {"erasures",
       absl::StrCat(status.pending_erasure_count(), " whose ciphertext is still to leave the files")},
      {"oldest has waited",
       status.has_oldest_erasure_age() ? DurationText(status.oldest_erasure_age()) : "-"}};
  if (!status.last_erasure_error().empty()) {
    fields.emplace_back("last attempt failed", status.last_erasure_error());
  }
  fields.emplace_back("free for database",
                      free(status.has_database_free_bytes(), status.database_free_bytes()));
  fields.emplace_back("free for vault", free(status.has_vault_free_bytes(), status.vault_free_bytes()));
  fields.emplace_back("backup", status.backup_running() ? "being made" : "none is being made");
  const Fields readouts = ReadoutFields(status.readouts());
  fields.insert(fields.end(), readouts.begin(), readouts.end());
  return fields;
}

absl::Status ServerStatus(const Context& context) {
  const auto status = context.Admin().GetServerStatus();
  EXPUNGE_RETURN_IF_ERROR(WithAdminHint(status.status()));
  context.Print(StatusJson(*status),
                FormatFields(absl::StrCat("expunged ", status->version(), " (", status->commit(), ")"),
                             StatusFields(*status)));
  return absl::OkStatus();
}

void AddBackupCreate(CLI::App* group, Context* context) {
  auto options = std::make_shared<BackupOptions>();
  CLI::App* command = group->add_subcommand("create", "Make a backup while the service is in use");
  command->add_option("--database", options->database, "Where the half with the sealed records goes")
      ->required();
  command->add_option("--vault", options->vault, "Where the half with the keys goes")->required();
  command->footer(
      "Both are absolute paths on the server's machine at which there is nothing yet, for two different\n"
      "places: with both halves and the master key, what is deleted from now on can still be read. The\n"
      "master key and the signing key are in neither: keep copies of them apart.\n\n"
      "Examples:\n"
      "  expunge backup create --database /mnt/records/2026-11-30 --vault /mnt/keys/2026-11-30\n"
      "  expunge --admin unix:/srv/expunge/admin.sock backup create --database /mnt/a/b1 --vault /mnt/b/b1");
  command->callback([=] { context->action = [=] { return CreateBackup(*context, *options); }; });
}

}  // namespace

void AddAdminCommands(CLI::App* app, Context* context) {
  CLI::App* backup = app->add_subcommand("backup", "Backups, made on the server's machine");
  backup->require_subcommand(1);
  AddBackupCreate(backup, context);
  backup->footer(
      "Examples:\n"
      "  expunge backup create --database /mnt/records/2026-11-30 --vault /mnt/keys/2026-11-30");

  CLI::App* server = app->add_subcommand("server", "How the server is doing");
  server->require_subcommand(1);
  CLI::App* status = server->add_subcommand(
      "status",
      "Software, what is held, what erasures wait, free space, readouts; for whoever runs the server");
  status->footer(
      "Asks the administration's socket (--admin), which the server's user and root alone reach.\n\n"
      "Examples:\n"
      "  expunge server status\n"
      "  expunge --admin unix:/srv/expunge/admin.sock server status --output json");
  status->callback([=] { context->action = [=] { return ServerStatus(*context); }; });
  server->footer(
      "Examples:\n"
      "  expunge server status");
}

}  // namespace expunge::cli
