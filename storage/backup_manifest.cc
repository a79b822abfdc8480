#include "storage/backup_manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/strip.h"
#include "base/bytes.h"

namespace expunge::storage {
namespace {

using nlohmann::json;

constexpr absl::string_view kFormat = "expunge-backup-v1";
constexpr size_t kIdDigits = 32;
// Always UTC, and with as many digits of the second as are needed.
constexpr absl::string_view kTimeFormat = "%Y-%m-%dT%H:%M:%E*SZ";

std::string TimeText(absl::Time time) { return absl::FormatTime(kTimeFormat, time, absl::UTCTimeZone()); }

const std::string* TextIn(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

std::optional<uint64_t> NumberIn(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<uint64_t>();
}

bool IsId(const std::string* text) {
  return text != nullptr && text->size() == kIdDigits && FromHex(*text).has_value();
}

// Nothing that could lead out of the half.
bool MayStandIn(BackupHalf half, absl::string_view name) {
  if (half == BackupHalf::kVault) return name == kKeysName;
  if (!absl::ConsumePrefix(&name, kRecordsPrefix) || name.empty() || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

std::optional<BackedUpFile> DecodeFile(const json& value) {
  if (!value.is_object()) return std::nullopt;
  const std::string* const name = TextIn(value, "name");
  const std::string* const sha256 = TextIn(value, "sha256");
  const std::optional<uint64_t> size = NumberIn(value, "size");
  if (name == nullptr || sha256 == nullptr || !size.has_value()) return std::nullopt;
  const std::optional<std::string> bytes = FromHex(*sha256);
  const std::optional<Digest> digest = bytes.has_value() ? DigestFromBytes(*bytes) : std::nullopt;
  if (!digest.has_value()) return std::nullopt;
  return BackedUpFile{*name, {*size, *digest}};
}

std::optional<BackupHalf> DecodeHalf(const std::string* text) {
  for (const BackupHalf half : {BackupHalf::kDatabase, BackupHalf::kVault}) {
    if (text != nullptr && *text == HalfName(half)) return half;
  }
  return std::nullopt;
}

// Reads what is there; whether anything else is, comparing texts will tell.
std::optional<BackupManifest> Read(const json& value) {
  if (!value.is_object()) return std::nullopt;
  const std::string* const format = TextIn(value, "format");
  const std::optional<BackupHalf> half = DecodeHalf(TextIn(value, "half"));
  const std::string* const created = TextIn(value, "create_time");
  const std::optional<uint64_t> version = NumberIn(value, "format_version");
  const std::optional<uint64_t> sequence = NumberIn(value, "sequence");
  const auto files = value.find("files");
  if (format == nullptr || *format != kFormat || !half.has_value() || created == nullptr ||
      !version.has_value() || !sequence.has_value() || files == value.end() || !files->is_array()) {
    return std::nullopt;
  }
  if (!IsId(TextIn(value, "backup_id")) || !IsId(TextIn(value, "vault_id"))) return std::nullopt;
  BackupManifest manifest;
  manifest.half = *half;
  manifest.identity = {*TextIn(value, "backup_id"), *TextIn(value, "vault_id"), absl::Time(), *version,
                       *sequence};
  if (!absl::ParseTime(kTimeFormat, *created, &manifest.identity.created, nullptr)) return std::nullopt;
  for (const json& one : *files) {
    std::optional<BackedUpFile> file = DecodeFile(one);
    if (!file.has_value() || !MayStandIn(*half, file->name)) return std::nullopt;
    if (!manifest.files.empty() && manifest.files.back().name >= file->name) return std::nullopt;
    manifest.files.push_back(*std::move(file));
  }
  return manifest;
}

}  // namespace

absl::string_view HalfName(BackupHalf half) { return half == BackupHalf::kDatabase ? "database" : "vault"; }

std::string EncodeManifest(const BackupManifest& manifest) {
  json files = json::array();
  for (const BackedUpFile& file : manifest.files) {
    files.push_back(
        {{"name", file.name}, {"sha256", ToHex(AsView(file.sum.sha256))}, {"size", file.sum.size}});
  }
  const json value = {{"backup_id", manifest.identity.id},
                      {"create_time", TimeText(manifest.identity.created)},
                      {"files", std::move(files)},
                      {"format", std::string(kFormat)},
                      {"format_version", manifest.identity.format_version},
                      {"half", std::string(HalfName(manifest.half))},
                      {"sequence", manifest.identity.sequence},
                      {"vault_id", manifest.identity.vault_id}};
  return value.dump(2) + "\n";
}

std::optional<BackupManifest> DecodeManifest(absl::string_view text) {
  const json value = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  std::optional<BackupManifest> manifest = Read(value);
  if (!manifest.has_value() || EncodeManifest(*manifest) != text) return std::nullopt;
  return manifest;
}

}  // namespace expunge::storage
