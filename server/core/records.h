// Memories, tokens and states as stored records, and back.
#ifndef EXPUNGE_SERVER_CORE_RECORDS_H_
#define EXPUNGE_SERVER_CORE_RECORDS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/core/memory.h"
#include "server/core/tenant.h"
#include "storage/records.pb.h"
#include "storage/sealed_store.h"

namespace expunge::core {

// False if the bytes are no message of this type.
[[nodiscard]] bool ParseRecord(const storage::OpenRecord& opened, google::protobuf::MessageLite* record);

[[nodiscard]] storage::v1::MemoryRecord EncodeMemory(const MemoryIdentity& identity, const Chain& chain);
[[nodiscard]] storage::v1::TokenRecord EncodeToken(const HeldToken& token);
[[nodiscard]] storage::v1::StateRecord EncodeState(const MemoryView& view);

// The decoders check form and sizes; recovery checks the meaning.
// Returns: InvalidArgument saying what is wrong with the record.
struct DecodedMemory {
  std::shared_ptr<const MemoryIdentity> identity;
  Chain chain;
};
[[nodiscard]] absl::StatusOr<DecodedMemory> DecodeMemory(const storage::v1::MemoryRecord& record);
[[nodiscard]] absl::StatusOr<std::shared_ptr<const HeldToken>> DecodeToken(
    const MemoryIdentity& identity, const storage::v1::TokenRecord& record, storage::Slot key_slot);
// Overwrites the fields of a record that say anything of the token.
void WipeRecord(storage::v1::TokenRecord* record);
// The state of `tokens` (ascending by id). Cost: O(n) hashes.
[[nodiscard]] absl::StatusOr<MemoryContent> DecodeState(const storage::v1::StateRecord& record,
                                                        const solver::Config& config,
                                                        const HeldTokens& tokens);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_RECORDS_H_
