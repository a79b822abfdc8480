#include "server/core/admin.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/core/build_info.h"
#include "server/core/change.h"
#include "server/core/configuration.h"
#include "server/core/handles.h"
#include "server/core/times.h"
#include "storage/backup.h"

namespace expunge::core {
namespace {

namespace fs = std::filesystem;

std::optional<uint64_t> FreeBytes(const std::string& directory) {
  std::error_code error;
  const auto space = fs::space(directory, error);
  if (error) return std::nullopt;
  return space.available;
}

void CountHeld(const Context& context, v1::GetServerStatusResponse* response) {
  uint64_t tenants = 0;
  uint64_t memories = 0;
  uint64_t tokens = 0;
  for (const Tenant* tenant : context.tenants.All()) {
    const std::vector<Snapshot> held = tenant->All();
    tenants += held.empty() ? 0 : 1;
    memories += held.size();
    for (const Snapshot& memory : held) tokens += memory->tokens().size();
  }
  response->set_tenant_count(tenants);
  response->set_memory_count(memories);
  response->set_token_count(tokens);
}

fs::path Canonical(const std::string& directory) {
  std::error_code error;
  const fs::path found = fs::canonical(directory, error);
  return error ? fs::path(directory) : found;
}

// Whether `path` is `directory` or lies in it. Both without links.
bool IsWithin(const fs::path& path, const fs::path& directory) {
  return std::mismatch(directory.begin(), directory.end(), path.begin(), path.end()).first == directory.end();
}

absl::Status InvalidPath(absl::string_view field, absl::string_view problem) {
  return MakeError(Reason::kPathInvalid, field, absl::StrCat(field, " ", problem));
}

// The place that `text` names, its folder free of links. There is nothing yet.
absl::StatusOr<fs::path> CheckPlace(const std::string& text, absl::string_view field) {
  if (text.empty()) return MakeError(Reason::kFieldMissing, field, absl::StrCat(field, " is empty"));
  if (text.front() != '/') return InvalidPath(field, "must be an absolute path on the server's machine");
  if (text.find('\0') != text.npos) return InvalidPath(field, "contains a zero byte");
  const fs::path given(text.substr(0, text.find_last_not_of('/') + 1));
  const std::string name = given.filename().string();
  if (name.empty() || name == "." || name == "..") {
    return InvalidPath(field, "must end with the name of the directory to make");
  }
  std::error_code error;
  const fs::path folder = fs::canonical(given.parent_path(), error);
  if (error || !fs::is_directory(folder, error)) {
    return InvalidPath(field, "must lie in a folder that exists, and that the server may enter");
  }
  fs::path place = folder / name;
  if (fs::exists(fs::symlink_status(place, error))) {
    return MakeError(Reason::kPathExists, field, absl::StrCat("there is something at ", field, " already"));
  }
  return place;
}

// Returns: kFieldMissing, kPathInvalid or kPathExists, with the field.
absl::StatusOr<storage::BackupPlaces> CheckPlaces(const v1::CreateBackupRequest& request,
                                                  const storage::SealedStoreOptions& store) {
  EXPUNGE_ASSIGN_OR_RETURN(const fs::path database, CheckPlace(request.database_path(), "database_path"));
  EXPUNGE_ASSIGN_OR_RETURN(const fs::path vault, CheckPlace(request.vault_path(), "vault_path"));
  for (const fs::path& kept : {Canonical(store.directory), Canonical(store.vault_directory)}) {
    const absl::string_view problem = "must not lie in the directory of the database or of the vault";
    if (IsWithin(database, kept)) return InvalidPath("database_path", problem);
    if (IsWithin(vault, kept)) return InvalidPath("vault_path", problem);
  }
  if (IsWithin(vault, database) || IsWithin(database, vault)) {
    return InvalidPath("vault_path", "and database_path must be apart");
  }
  return storage::BackupPlaces{database.string(), vault.string()};
}

// A backup that fails for what lies outside the store leaves the store as it was.
absl::Status Explain(const absl::Status& status, const storage::SealedStore& store) {
  if (status.code() == absl::StatusCode::kAlreadyExists) {
    return MakeError(Reason::kPathExists, "", status.message());
  }
  if (status.code() == absl::StatusCode::kInvalidArgument) {
    return MakeError(Reason::kPathInvalid, "", status.message());
  }
  if (GetReason(status) == Reason::kStorageFailed && store.writable()) {
    return MakeError(Reason::kBackupFailed, "", status.message());
  }
  return status;
}

}  // namespace

absl::StatusOr<v1::CreateBackupResponse> Admin::CreateBackup(const v1::CreateBackupRequest& request) {
  EXPUNGE_ASSIGN_OR_RETURN(const storage::BackupPlaces places,
                           CheckPlaces(request, context_.store->options()));
  if (backing_up_.exchange(true)) {
    return MakeError(Reason::kBackupRunning, "", "another backup is being made: wait until it is done");
  }
  const absl::Cleanup done = [this] { backing_up_ = false; };
  const auto backup = storage::BackUp(*context_.store, places, context_.clock());
  if (!backup.ok()) return Explain(backup.status(), *context_.store);
  v1::CreateBackupResponse response;
  response.set_backup_id(backup->id);
  *response.mutable_create_time() = TimestampProto(backup->created);
  response.set_sequence(backup->sequence);
  response.set_file_count(backup->files);
  response.set_total_bytes(backup->bytes);
  return response;
}

absl::StatusOr<v1::GetServerStatusResponse> Admin::Status(const std::string& last_erasure_error) const {
  v1::GetServerStatusResponse response;
  response.set_version(std::string(SoftwareVersion()));
  response.set_commit(std::string(SoftwareCommit()));
  response.set_writable(CheckWritable(context_).ok());
  CountHeld(context_, &response);
  response.set_pending_erasure_count(context_.erasures->All().size());
  const auto oldest = context_.erasures->Oldest();
  if (oldest.has_value()) {
    *response.mutable_oldest_erasure_age() = DurationProto(std::chrono::steady_clock::now() - *oldest);
  }
  response.set_last_erasure_error(last_erasure_error);
  const std::optional<uint64_t> database_free = FreeBytes(context_.store->options().directory);
  if (database_free.has_value()) response.set_database_free_bytes(*database_free);
  const std::optional<uint64_t> vault_free = FreeBytes(context_.store->options().vault_directory);
  if (vault_free.has_value()) response.set_vault_free_bytes(*vault_free);
  response.set_backup_running(backing_up_);
  *response.mutable_readouts() = context_.reads->Status();
  response.set_configuration(ConfigurationText(context_));
  response.set_configuration_sha256(ToBytes(ConfigurationSha256(context_)));
  return response;
}

}  // namespace expunge::core
