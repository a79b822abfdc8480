#include "storage/vault_format.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "storage/seal.h"

namespace expunge::storage::vault {
namespace {

constexpr absl::string_view kMagic = "EXPVAULT";
constexpr absl::string_view kHeaderContext = "expunge vault header v1";
constexpr absl::string_view kSlotContext = "expunge vault slot v1";

// Header: magic 8 | version 8 | id 16 | committed 8 | check 40 | zeros 16 | SHA-256 of the above 32.
constexpr size_t kVersionAt = 8;
constexpr size_t kIdAt = 16;
constexpr size_t kCommittedAt = 32;
constexpr size_t kCheckAt = 40;
constexpr size_t kSumAt = 96;

// Slot: parent 8 | sealed key 72 | zeros 48.
constexpr size_t kSealedAt = 8;
constexpr size_t kSealedBytes = kSealOverhead + SecretKey::kBytes;
constexpr size_t kSlotZerosAt = kSealedAt + kSealedBytes;

std::string HeaderAssociated(absl::string_view place) {
  return absl::StrCat(kHeaderContext, place.substr(0, kCheckAt));
}

std::string SlotAssociated(const VaultId& id, Slot slot, Slot parent) {
  std::string associated = absl::StrCat(kSlotContext, absl::string_view(id.data(), id.size()));
  AppendU64(slot, &associated);
  AppendU64(parent, &associated);
  return associated;
}

absl::Status Damaged() {
  return MakeError(Reason::kStorageCorrupt, "",
                   "the header of the key vault is damaged; restore the vault from its backup");
}

}  // namespace

std::string EncodeHeader(const Header& header, const SecretKey& master) {
  std::string place(kMagic);
  AppendU64(kVersion, &place);
  place.append(header.id.data(), header.id.size());
  AppendU64(header.committed, &place);
  place += Seal(master, HeaderAssociated(place), "");
  place.resize(kSumAt);
  absl::StrAppend(&place, AsView(Sha256(place)));
  return place;
}

absl::StatusOr<Header> DecodeHeader(absl::string_view place, const SecretKey& master) {
  if (place.size() != kPlaceBytes || place.substr(0, kMagic.size()) != kMagic) return Damaged();
  if (AsView(Sha256(place.substr(0, kSumAt))) != place.substr(kSumAt)) return Damaged();
  const uint64_t version = ReadU64(place.substr(kVersionAt));
  if (version > kVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the key vault has format ", version,
                                                      ", and this program knows format ", kVersion,
                                                      ": use a newer program"));
  }
  if (version != kVersion ||
      !IsEmpty(place.substr(kCheckAt + kSealOverhead, kSumAt - kCheckAt - kSealOverhead)))
    return Damaged();
  if (!Unseal(master, HeaderAssociated(place), place.substr(kCheckAt, kSealOverhead)).has_value()) {
    return absl::FailedPreconditionError(
        "the key vault was made under another master key: start with that one; nothing was changed");
  }
  Header header;
  std::copy_n(place.begin() + kIdAt, header.id.size(), header.id.begin());
  header.committed = ReadU64(place.substr(kCommittedAt));
  return header;
}

absl::string_view IdOf(absl::string_view place) { return place.substr(kIdAt, sizeof(VaultId)); }

void AppendSlot(const VaultId& id, Slot slot, Slot parent, const SecretKey& parent_key, const SecretKey& key,
                SecretBytes* out) {
  std::string parent_field;
  AppendU64(parent, &parent_field);
  std::string sealed = Seal(parent_key, SlotAssociated(id, slot, parent), key.view());
  out->insert(out->end(), parent_field.begin(), parent_field.end());
  out->insert(out->end(), sealed.begin(), sealed.end());
  out->insert(out->end(), kPlaceBytes - kSlotZerosAt, '\0');
  Wipe(&sealed);
}

std::optional<SecretKey> DecodeSlot(const VaultId& id, Slot slot, Slot parent, const SecretKey& parent_key,
                                    absl::string_view place) {
  if (place.size() != kPlaceBytes || ParentOf(place) != parent || !IsEmpty(place.substr(kSlotZerosAt)))
    return std::nullopt;
  const std::optional<SecretBytes> bytes =
      Unseal(parent_key, SlotAssociated(id, slot, parent), place.substr(kSealedAt, kSealedBytes));
  if (!bytes.has_value()) return std::nullopt;
  SecretKey key;
  std::copy(bytes->begin(), bytes->end(), key.data());
  return key;
}

bool IsEmpty(absl::string_view place) {
  return std::all_of(place.begin(), place.end(), [](char byte) { return byte == '\0'; });
}

Slot ParentOf(absl::string_view place) { return ReadU64(place); }

}  // namespace expunge::storage::vault
