// The bytes of the key vault's file: docs/formats/vault.md. Knows no files.
#ifndef EXPUNGE_STORAGE_VAULT_FORMAT_H_
#define EXPUNGE_STORAGE_VAULT_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/secret.h"
#include "storage/key_vault.h"

namespace expunge::storage::vault {

// The header and each slot have a place of this size: a sector holds whole places.
inline constexpr size_t kPlaceBytes = 128;
inline constexpr uint64_t kVersion = 1;

using VaultId = std::array<char, 16>;

struct Header {
  VaultId id{};  // random: a slot of one vault is no slot of another
  uint64_t committed = 0;
};

// kPlaceBytes, with a check that only the holder of the master key can make or verify.
[[nodiscard]] std::string EncodeHeader(const Header& header, const SecretKey& master);

// Returns: DataLoss (kStorageCorrupt) if `place` is damaged; FailedPrecondition if its format is newer, or it
// was made under another master key.
[[nodiscard]] absl::StatusOr<Header> DecodeHeader(absl::string_view place, const SecretKey& master);

// The id in the header's place, unverified. REQUIRES: a whole place.
[[nodiscard]] absl::string_view IdOf(absl::string_view place);

// Appends the place of a slot that holds `key`.
void AppendSlot(const VaultId& id, Slot slot, Slot parent, const SecretKey& parent_key, const SecretKey& key,
                SecretBytes* out);

// nullopt unless `place` is, bit for bit, what AppendSlot made with these arguments.
[[nodiscard]] std::optional<SecretKey> DecodeSlot(const VaultId& id, Slot slot, Slot parent,
                                                  const SecretKey& parent_key, absl::string_view place);

// A place without a key.
[[nodiscard]] bool IsEmpty(absl::string_view place);

// What the slot says of its parent, unverified.
[[nodiscard]] Slot ParentOf(absl::string_view place);

}  // namespace expunge::storage::vault

#endif  // EXPUNGE_STORAGE_VAULT_FORMAT_H_
