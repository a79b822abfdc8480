#include "server/core/lookup.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/core/times.h"

namespace expunge::core {
namespace {

constexpr size_t kMaxBasisBytes = 256;

}  // namespace

absl::Status MemoryUnknown(absl::string_view field) {
  return MakeError(Reason::kMemoryUnknown, field, "there is no memory of this name");
}

absl::StatusOr<Snapshot> FindMemory(const Context& context, absl::string_view name, absl::string_view field) {
  EXPUNGE_ASSIGN_OR_RETURN(const MemoryName parsed, ParseMemoryName(name, field));
  const Tenant* tenant = context.tenants.Find(parsed.tenant);
  Snapshot snapshot = tenant == nullptr ? nullptr : tenant->Find(parsed.memory);
  if (snapshot == nullptr) return MemoryUnknown(field);
  return snapshot;
}

absl::Status CheckBasis(const v1::ErasureBasis& basis) {
  constexpr absl::string_view kField = "basis.legal_basis";
  const std::string& text = basis.legal_basis();
  if (text.size() > kMaxBasisBytes) {
    return MakeError(
        Reason::kTooLong, kField,
        absl::StrCat(kField, " has ", text.size(), " bytes; at most ", kMaxBasisBytes, " are allowed"));
  }
  const bool printable = std::all_of(
      text.begin(), text.end(), [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); });
  if (!printable) {
    return MakeError(Reason::kNameMalformed, kField, absl::StrCat(kField, " must be printable ASCII"));
  }
  if (!basis.has_due() || IsTimeOfProto(basis.due())) return absl::OkStatus();
  return MakeError(Reason::kOutOfRange, "basis.due", "basis.due must be a time in the years 0001 to 9999");
}

absl::Status CheckBatchSize(uint64_t size, absl::string_view field) {
  if (size == 0) return MakeError(Reason::kFieldMissing, field, absl::StrCat(field, " is empty"));
  if (size <= kMaxBatch) return absl::OkStatus();
  return MakeError(Reason::kTooLong, field,
                   absl::StrCat(field, " has ", size, " entries; at most ", kMaxBatch, " are allowed"));
}

}  // namespace expunge::core
