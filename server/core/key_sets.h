// Key sets (certificate/key_set.h) as stored records (handles.h has their keys).
#ifndef EXPUNGE_SERVER_CORE_KEY_SETS_H_
#define EXPUNGE_SERVER_CORE_KEY_SETS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "certificate/key_set.h"
#include "certificate/signer.h"
#include "storage/records.pb.h"
#include "storage/sealed_store.h"

namespace expunge::core {

// A set, and the bytes that it was read from.
struct StoredKeySet {
  certificate::KeySet set;
  storage::v1::KeySetRecord record;
};

// Every set, in order, checked as an auditor does who trusts the first one. Empty: the store is new.
// Returns: kStorageCorrupt; errors of the store. Cost: two signature checks a set.
[[nodiscard]] absl::StatusOr<std::vector<StoredKeySet>> LoadKeySets(const storage::SealedStore& store);

// The record of `set`, signed; without its place in the log. Returns: errors of the signer; Internal if the
// set contradicts itself.
[[nodiscard]] absl::StatusOr<storage::v1::KeySetRecord> SignKeySet(const certificate::KeySet& set,
                                                                   const certificate::Signer& signer);

[[nodiscard]] std::string EnvelopeOf(const storage::v1::KeySetRecord& record);
// Its leaf in the log. Returns: InvalidArgument unless it is signed.
[[nodiscard]] absl::StatusOr<std::string> LeafOf(const storage::v1::KeySetRecord& record);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_KEY_SETS_H_
