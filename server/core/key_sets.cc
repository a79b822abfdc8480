#include "server/core/key_sets.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "certificate/envelope.h"
#include "certificate/key_chain.h"
#include "certificate/log/leaf.h"
#include "server/core/handles.h"
#include "server/core/records.h"

namespace expunge::core {
namespace {

using storage::Table;

absl::Status Corrupt(absl::string_view problem) {
  return MakeError(Reason::kStorageCorrupt, "",
                   absl::StrCat("the key sets are damaged: ", problem, "; restore a backup"));
}

}  // namespace

std::string EnvelopeOf(const storage::v1::KeySetRecord& record) {
  return certificate::MakeEnvelope(record.payload(), record.key_id(), record.signature());
}

absl::StatusOr<std::string> LeafOf(const storage::v1::KeySetRecord& record) {
  return certificate::MakeLogLeaf(record.payload(), record.signature(), record.key_id());
}

absl::StatusOr<std::vector<StoredKeySet>> LoadKeySets(const storage::SealedStore& store) {
  std::vector<StoredKeySet> sets;
  std::vector<std::string> envelopes;
  bool readable = true;
  const auto visit = [&](absl::string_view key, const storage::OpenRecord& opened) {
    storage::v1::KeySetRecord record;
    readable = ParseRecord(opened, &record) && key == KeySetKey(sets.size() + 1);
    if (!readable) return false;
    envelopes.push_back(EnvelopeOf(record));
    sets.push_back({{}, std::move(record)});
    return true;
  };
  EXPUNGE_RETURN_IF_ERROR(store.Scan(Table::kMeta, kKeySetPrefix, "", visit));
  if (!readable) return Corrupt("one is missing or unreadable");
  if (sets.empty()) return sets;
  const absl::StatusOr<certificate::KeySet> first = certificate::ReadKeySet(sets.front().record.payload());
  if (!first.ok()) return Corrupt("the first one is none");
  certificate::KeyChain chain = certificate::VerifyKeysFile(
      certificate::KeysFile(envelopes), {KeyOf(first->Active(certificate::KeyUse::kCertificate))});
  if (chain.reason != certificate::KeyChainReason::kOk) {
    return Corrupt(absl::StrCat("set ", chain.at + 1, ": ", certificate::KeyChainReasonName(chain.reason)));
  }
  for (size_t i = 0; i < sets.size(); ++i) sets[i].set = std::move(chain.sets[i]);
  return sets;
}

absl::StatusOr<storage::v1::KeySetRecord> SignKeySet(const certificate::KeySet& set,
                                                     const certificate::Signer& signer) {
  storage::v1::KeySetRecord record;
  record.set_payload(certificate::EncodeKeySet(set));
  if (certificate::CheckKeySetPayload(record.payload()) != certificate::VerifyReason::kOk) {
    return MakeError(Reason::kInternal, "", "a key set failed its own check; nothing was changed");
  }
  EXPUNGE_ASSIGN_OR_RETURN(*record.mutable_signature(), signer.Sign(certificate::PreAuthEncoding(
                                                            certificate::kPayloadType, record.payload())));
  record.set_key_id(signer.KeyId());
  return record;
}

}  // namespace expunge::core
