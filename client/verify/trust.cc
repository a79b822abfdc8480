#include "client/verify/trust.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "certificate/key_set.h"

namespace expunge::verify {
namespace {

using certificate::KeyChain;
using certificate::KeyChainReason;
using certificate::KeySet;
using certificate::KeyUse;
using certificate::KeyWindowReason;
using certificate::NoteKey;
using certificate::PublicKey;
using certificate::PublishedKey;

Verdict RefuseChain(const KeyChain& chain) {
  const absl::string_view name = KeyChainReasonName(chain.reason);
  if (chain.reason == KeyChainReason::kBadEnvelope) {
    return Failed(name, absl::StrCat("key set ", chain.at + 1, ": ", VerifyReasonName(chain.envelope), ": ",
                                     VerifyReasonText(chain.envelope)));
  }
  const bool of_one_set =
      chain.reason != KeyChainReason::kNotAKeysFile && chain.reason != KeyChainReason::kUnpinned;
  return Failed(name, of_one_set
                          ? absl::StrCat("key set ", chain.at + 1, ": ", KeyChainReasonText(chain.reason))
                          : std::string(KeyChainReasonText(chain.reason)));
}

Verdict FromWindow(KeyWindowReason reason, absl::string_view good) {
  return reason == KeyWindowReason::kOk ? Ok(good)
                                        : Failed(KeyWindowReasonName(reason), KeyWindowReasonText(reason));
}

}  // namespace

Trust::Trust(const Inputs& inputs) : keys_(inputs.keys), log_keys_(inputs.log_keys) {
  if (inputs.key_sets.has_value()) AddSets(*inputs.key_sets);
}

void Trust::AddSets(const NamedBytes& file) {
  KeyChain chain = certificate::VerifyKeysFile(file.bytes, keys_);
  if (chain.reason != KeyChainReason::kOk) {
    sets_ = RefuseChain(chain);
    return;
  }
  // A restored service goes on under another origin: proofs from before name the one before.
  std::set<std::string> origins;
  for (const KeySet& set : chain.sets) origins.insert(set.log_origin);
  newest_ = std::move(chain.sets.back());
  for (const PublishedKey& entry : newest_->keys) {
    const PublicKey key = KeyOf(entry);
    if (entry.use == KeyUse::kCertificate) {
      keys_.push_back(key);
      continue;
    }
    for (const std::string& origin : origins) {
      // What is an origin to a key set is a name to a note.
      if (auto log_key = NoteKey::Create(origin, key); log_key.ok()) log_keys_.push_back(*std::move(log_key));
    }
  }
  sets_ = Ok(absl::StrCat(chain.sets.size(), " key sets in a whole chain, with ", newest_->keys.size(),
                          " keys; a given key signed one of them"));
}

Verdict Trust::CheckKey(const std::string& key_id, absl::Time issued, std::optional<uint64_t> log_index,
                        bool in_another_log) const {
  if (!sets_.has_value()) return NotChecked("NO_KEY_SETS", "no file of key sets is given");
  if (!newest_.has_value()) return LeftOpen("NO_KEY_SETS", "the file of key sets is refused");
  const KeyWindowReason reason = CheckCertificateKey(*newest_, key_id, issued, log_index);
  if (reason == KeyWindowReason::kOk && in_another_log) {
    // What a thief of a retired key says of the time counts for nothing: only a place would.
    if (newest_->Find(key_id)->end.has_value()) {
      return LeftOpen("ANOTHER_LOG",
                      "its key is retired, and its place is in a log of another origin than the key "
                      "sets name: ask the service for its proof in the present log");
    }
    return NotChecked("ANOTHER_LOG", "its place is in a log of another origin than the key sets name");
  }
  return FromWindow(reason, log_index.has_value()
                                ? "its key was in use at that time, and at that place in the log"
                                : "its key was in use at that time");
}

std::optional<Verdict> Trust::CheckCheckpoint(const certificate::Checkpoint& checkpoint,
                                              const std::vector<size_t>& signed_by) const {
  if (!newest_.has_value() || !CountsPlacesIn(checkpoint.origin)) return std::nullopt;
  KeyWindowReason reason = KeyWindowReason::kUnlistedKey;
  for (const size_t i : signed_by) {
    const std::string key_id = log_keys_[i].key().KeyId();
    // A log key that was given on the command line is trusted whatever the sets say of other keys.
    if (newest_->Find(key_id) == nullptr) return std::nullopt;
    reason = CheckCheckpointKey(*newest_, key_id, checkpoint.tree.size);
    if (reason == KeyWindowReason::kOk) return std::nullopt;
  }
  return Failed(KeyWindowReasonName(reason), KeyWindowReasonText(reason));
}

}  // namespace expunge::verify
