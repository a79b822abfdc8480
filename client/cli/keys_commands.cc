// expunge keys list|export|rotate
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/cli/admin_hint.h"
#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"
#include "client/cli/key_files.h"
#include "client/cli/trust.h"
#include "client/cli/views.h"

namespace expunge::cli {
namespace {

struct ExportOptions {
  std::string directory;
  std::vector<std::string> keys;
};

struct RotateOptions {
  std::string use;
  std::string key_id;
};

std::string UseName(v1::KeyUse use) {
  switch (use) {
    case v1::KEY_USE_CERTIFICATE:
      return "certificate";
    case v1::KEY_USE_CHECKPOINT:
      return "checkpoint";
    default:
      return "?";
  }
}

Json KeyJson(const v1::SigningKey& key) {
  Json json;
  json["key_id"] = key.key_id();
  json["use"] = UseName(key.use());
  json["algorithm"] = key.algorithm();
  json["custody"] = key.custody();
  json["not_before"] = TimeText(key.create_time());
  json["not_after"] = key.has_retire_time() ? Json(TimeText(key.retire_time())) : Json(nullptr);
  json["end_log_size"] = key.has_retire_time() ? Json(key.end_log_size()) : Json(nullptr);
  json["public_key_pem"] = key.public_key_pem();
  return json;
}

absl::Status List(Context* context) {
  EXPUNGE_ASSIGN_OR_RETURN(const v1::ListSigningKeysResponse listed, context->Client().ListSigningKeys());
  Json json;
  json["log_origin"] = listed.log_origin();
  json["key_set_count"] = listed.key_sets_size();
  json["keys"] = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const v1::SigningKey& key : listed.keys()) {
    json["keys"].push_back(KeyJson(key));
    rows.push_back({key.key_id(), UseName(key.use()), TimeText(key.create_time()),
                    key.has_retire_time() ? TimeText(key.retire_time()) : "in use"});
  }
  context->Print(
      json, absl::StrCat(FormatTable({"KEY", "USE", "FROM", "TO"}, rows), Count(rows.size(), "key"), " in ",
                         Count(static_cast<uint64_t>(listed.key_sets_size()), "key set"), " of the log ",
                         listed.log_origin(), "\n"));
  return absl::OkStatus();
}

absl::Status MakeDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return UsageFailure(absl::StrCat("cannot make the directory ", path, ": ", error.message()),
                      "name another one, or see to its rights");
}

absl::Status Export(Context* context, const ExportOptions& options) {
  EXPUNGE_ASSIGN_OR_RETURN(const auto pinned, LoadPublicKeys(options.keys));
  EXPUNGE_ASSIGN_OR_RETURN(const v1::ListSigningKeysResponse listed, context->Client().ListSigningKeys());
  EXPUNGE_ASSIGN_OR_RETURN(const KeyFiles made, MakeKeyFiles(listed, pinned));
  EXPUNGE_RETURN_IF_ERROR(MakeDirectory(options.directory));
  Json json;
  json["verified_from"] = pinned.empty() ? Json(nullptr) : Json(options.keys);
  json["files"] = Json::array();
  std::string text;
  for (const KeyFile& file : made.files) {
    const std::string path = absl::StrCat(options.directory, "/", file.name);
    EXPUNGE_RETURN_IF_ERROR(WriteFile(path, file.bytes, 0644));
    json["files"].push_back(path);
    absl::StrAppend(&text, path, "\n");
  }
  absl::StrAppend(&text,
                  pinned.empty()
                      ? "The key sets agree with themselves. That they are this service's is shown by a key "
                        "from elsewhere: --key FILE.\n"
                      : "The key sets lead to the given key.\n");
  context->Print(json, text);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ActiveKey(Context* context, v1::KeyUse use) {
  EXPUNGE_ASSIGN_OR_RETURN(const v1::ListSigningKeysResponse listed, context->Client().ListSigningKeys());
  for (const v1::SigningKey& key : listed.keys()) {
    if (key.use() == use && !key.has_retire_time()) return key.key_id();
  }
  return UsageFailure("the service lists no active key of this use", "see them with 'expunge keys list'");
}

absl::Status Rotate(Context* context, const RotateOptions& options) {
  v1::RotateSigningKeyRequest request;
  request.set_use(options.use == "certificate" ? v1::KEY_USE_CERTIFICATE : v1::KEY_USE_CHECKPOINT);
  request.set_key_id(options.key_id);
  if (options.key_id.empty()) {
    EXPUNGE_ASSIGN_OR_RETURN(*request.mutable_key_id(), ActiveKey(context, request.use()));
  }
  const auto rotated = context->Admin().RotateSigningKey(request);
  EXPUNGE_RETURN_IF_ERROR(WithAdminHint(rotated.status()));
  Json json;
  json["retired_key_id"] = request.key_id();
  json["key"] = KeyJson(rotated->key());
  const Fields fields = {{"signs from now on", rotated->key().key_id()},
                         {"retired", request.key_id()},
                         {"private key", rotated->key().custody()}};
  context->Print(
      json,
      absl::StrCat(FormatFields(absl::StrCat("New key for ", options.use, "s"), fields),
                   "Give auditors the new key sets: 'expunge keys export'. Copies of the old private key "
                   "that you made are still keys: destroy them, and keep a copy of the new one.\n"));
  return absl::OkStatus();
}

void AddExport(CLI::App* group, Context* context) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = group->add_subcommand("export", "Save all public keys, for auditors");
  command
      ->add_option("DIRECTORY", options->directory,
                   "Made if it does not exist; its files of these names are replaced")
      ->required();
  command->add_option("--key", options->keys,
                      "A certificate key that you have from elsewhere (PEM): the key sets must lead to it");
  command->footer(
      "Writes keys.json (every key set, signed), jwks.json, a PEM of every key, and log.vkey, the key of\n"
      "the log's checkpoints.\n\n"
      "Examples:\n"
      "  expunge keys export audit\n"
      "  expunge keys export audit --key issuer.pem");
  command->callback([=] { context->action = [=] { return Export(context, *options); }; });
}

void AddRotate(CLI::App* group, Context* context) {
  auto options = std::make_shared<RotateOptions>();
  CLI::App* command = group->add_subcommand("rotate", "Replace a signing key by a new one, for good");
  command->add_option("--use", options->use, "What the key signs")
      ->required()
      ->check(CLI::IsMember({"certificate", "checkpoint"}));
  command->add_option(
      "--key-id", options->key_id,
      "The key to replace, so that a repeated call does not replace the new one (default: the one in "
      "use, which the service is asked for)");
  command->footer(
      "For whoever runs the server: asks the administration's socket (--admin). The old private key is\n"
      "destroyed. Certificates that it signed verify for ever; it signs no new ones.\n\n"
      "Examples:\n"
      "  expunge keys rotate --use certificate\n"
      "  expunge --admin unix:/srv/expunge/admin.sock keys rotate --use checkpoint");
  command->callback([=] { context->action = [=] { return Rotate(context, *options); }; });
}

}  // namespace

void AddKeysCommands(CLI::App* app, Context* context) {
  CLI::App* keys = app->add_subcommand("keys", "Signing keys: list and export them, rotate them");
  keys->require_subcommand(1);
  CLI::App* list = keys->add_subcommand("list", "Every key that the service ever signed with, and when");
  list->footer(
      "Examples:\n"
      "  expunge keys list\n"
      "  expunge keys list --output json");
  list->callback([=] { context->action = [=] { return List(context); }; });
  AddExport(keys, context);
  AddRotate(keys, context);
  keys->footer(
      "Examples:\n"
      "  expunge keys export audit");
}

}  // namespace expunge::cli
