// The manifest of one half of a backup: `backup.json`, docs/formats/backup.md. Knows no files but their
// names.
#ifndef EXPUNGE_STORAGE_BACKUP_MANIFEST_H_
#define EXPUNGE_STORAGE_BACKUP_MANIFEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "storage/file_copy.h"

namespace expunge::storage {

inline constexpr absl::string_view kManifestName = "backup.json";
inline constexpr absl::string_view kKeysName = "keys";
inline constexpr absl::string_view kRecordsPrefix = "records/";

enum class BackupHalf { kDatabase, kVault };
[[nodiscard]] absl::string_view HalfName(BackupHalf half);

struct BackedUpFile {
  std::string name;  // relative to the half
  FileSum sum;
  friend bool operator==(const BackedUpFile&, const BackedUpFile&) = default;
};

// What both halves say, alike.
struct BackupIdentity {
  std::string id;        // 16 bytes, in hexadecimal
  std::string vault_id;  // 16 bytes, in hexadecimal: the vault's header has it, too
  absl::Time created;
  uint64_t format_version = 0;
  uint64_t sequence = 0;
  friend bool operator==(const BackupIdentity&, const BackupIdentity&) = default;
};

struct BackupManifest {
  BackupHalf half = BackupHalf::kDatabase;
  BackupIdentity identity;
  std::vector<BackedUpFile> files;  // ascending by name
};

// The one text of a manifest. REQUIRES: files ascending by name.
[[nodiscard]] std::string EncodeManifest(const BackupManifest& manifest);

// nullopt unless `text` is, byte for byte, what EncodeManifest makes of some manifest whose files may stand
// in its half: `keys` alone in the vault's, files right under `records/` in the database's.
[[nodiscard]] std::optional<BackupManifest> DecodeManifest(absl::string_view text);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_BACKUP_MANIFEST_H_
