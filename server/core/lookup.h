// What several calls check in the same way.
#ifndef EXPUNGE_SERVER_CORE_LOOKUP_H_
#define EXPUNGE_SERVER_CORE_LOOKUP_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "expunge/v1/memory_service.pb.h"
#include "server/core/context.h"
#include "server/core/names.h"
#include "server/core/tenant.h"

namespace expunge::core {

// Tokens in one request, and queries in one read.
inline constexpr uint32_t kMaxBatch = 10'000;

// NotFound (kMemoryUnknown) with this field.
[[nodiscard]] absl::Status MemoryUnknown(absl::string_view field);

// The present snapshot of the memory. Never waits for a change.
// Returns: errors of the name; kMemoryUnknown. `field` is the path of the name.
[[nodiscard]] absl::StatusOr<Snapshot> FindMemory(const Context& context, absl::string_view name,
                                                  absl::string_view field);

// Its text: printable ASCII, at most 256 bytes; its time: in the years 0001 to 9999.
// Returns: kTooLong, kNameMalformed, field "basis.legal_basis"; kOutOfRange, field "basis.due".
[[nodiscard]] absl::Status CheckBasis(const v1::ErasureBasis& basis);

// 1 to kMaxBatch. Returns: kFieldMissing, kTooLong.
[[nodiscard]] absl::Status CheckBatchSize(uint64_t size, absl::string_view field);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_LOOKUP_H_
