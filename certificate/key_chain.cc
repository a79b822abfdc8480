#include "certificate/key_chain.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "certificate/json_text.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;

// An envelope and its comma have nine; this leaves room for surplus.
constexpr JsonLimits kFileLimits = {.max_depth = 16, .max_separators = 16 * kMaxKeySets};

struct Text {
  absl::string_view name;
  absl::string_view sentence;
};

constexpr Text kChainTexts[] = {
    {"OK", "The key sets are whole, and signed by keys that lead to the given one."},
    {"NOT_A_KEYS_FILE", "The file is not a list of key sets in its one form."},
    {"BAD_ENVELOPE", "A key set's envelope is refused."},
    {"BROKEN_SEQUENCE", "A key set is missing, or does not follow the one before."},
    {"WRONG_SIGNER", "A key set is not signed by the key that was active before it."},
    {"CONTRADICTION", "A key set takes back what the one before says."},
    {"UNPINNED", "No key set is signed by a given key."},
};
static_assert(std::size(kChainTexts) == static_cast<size_t>(KeyChainReason::kUnpinned) + 1);

constexpr Text kWindowTexts[] = {
    {"OK", "The key was in its time."},
    {"UNLISTED_KEY", "The key sets do not list the signing key."},
    {"WRONG_KEY_USE", "The key sets list the signing key for another use."},
    {"BEFORE_KEY", "It says that it was signed before its key was in use."},
    {"AFTER_KEY", "It says that it was signed after its key was retired."},
    {"BEYOND_KEY", "Its place in the log is beyond the place where its key was retired."},
};
static_assert(std::size(kWindowTexts) == static_cast<size_t>(KeyWindowReason::kBeyondEnd) + 1);

// The envelopes of the file; nullopt if it is no such file, or not in its one form.
std::optional<std::vector<std::string>> Split(absl::string_view text) {
  if (text.size() > kMaxKeysFileBytes) return std::nullopt;
  const std::optional<json> file = ParseJson(text, kFileLimits);
  if (!file.has_value() || !file->is_object() || file->size() != 1) return std::nullopt;
  const auto sets = file->find("keySets");
  if (sets == file->end() || !sets->is_array() || sets->empty() || sets->size() > kMaxKeySets) {
    return std::nullopt;
  }
  std::vector<std::string> envelopes;
  for (const json& set : *sets) envelopes.push_back(set.dump(-1, ' ', /*ensure_ascii=*/true));
  if (KeysFile(envelopes) != text) return std::nullopt;
  return envelopes;
}

KeyChain Refusal(KeyChainReason reason, size_t at, VerifyReason envelope = VerifyReason::kOk) {
  return {reason, at, envelope, {}};
}

// The set inside an envelope that nobody has checked; nullopt: there is none.
std::optional<KeySet> Unverified(absl::string_view envelope) {
  const std::optional<json> value = ParseJson(envelope, JsonLimits{});
  if (!value.has_value() || !value->is_object()) return std::nullopt;
  const auto field = value->find("payload");
  const auto* text = field == value->end() ? nullptr : field->get_ptr<const std::string*>();
  const std::optional<std::string> payload = text == nullptr ? std::nullopt : FromBase64(*text);
  if (!payload.has_value()) return std::nullopt;
  absl::StatusOr<KeySet> set = ReadKeySet(*payload);
  if (!set.ok()) return std::nullopt;
  return *std::move(set);
}

// Takes the sets of a chain one after the other.
class ChainReader {
 public:
  // `first`: the first set, which names the keys that it may be signed by before anything is believed.
  ChainReader(const std::optional<KeySet>& first, absl::Span<const PublicKey> pinned) : pinned_(pinned) {
    if (first.has_value()) SignedNextBy(*first);
  }

  // kOk, and the set is taken; else the chain ends here.
  [[nodiscard]] KeyChain Take(absl::string_view envelope) {
    const size_t at = sets_.size();
    const VerifyResult verified = VerifyEnvelopeOf(envelope, listed_, &CheckKeySetPayload);
    if (verified.reason == VerifyReason::kUnknownKey) return Refusal(KeyChainReason::kWrongSigner, at);
    if (verified.reason != VerifyReason::kOk) {
      return Refusal(KeyChainReason::kBadEnvelope, at, verified.reason);
    }
    if (verified.key_id != active_) return Refusal(KeyChainReason::kWrongSigner, at);
    KeySet set = ReadKeySet(verified.payload).value();
    if (sets_.empty() && set.sequence != 1) return Refusal(KeyChainReason::kBrokenSequence, at);
    if (!sets_.empty()) {
      const KeyChainReason follows = CheckSuccessor(sets_.back(), payload_sha256_, set);
      if (follows != KeyChainReason::kOk) return Refusal(follows, at);
    }
    trusted_ = trusted_ || std::any_of(pinned_.begin(), pinned_.end(), [&verified](const PublicKey& key) {
                 return key.KeyId() == verified.key_id;
               });
    payload_sha256_ = Sha256(verified.payload);
    SignedNextBy(set);
    sets_.push_back(std::move(set));
    return {KeyChainReason::kOk, at, VerifyReason::kOk, {}};
  }

  [[nodiscard]] KeyChain Finish() && {
    if (!trusted_) return Refusal(KeyChainReason::kUnpinned, 0);
    return {KeyChainReason::kOk, 0, VerifyReason::kOk, std::move(sets_)};
  }

 private:
  void SignedNextBy(const KeySet& set) {
    listed_.clear();
    for (const PublishedKey& key : set.keys) listed_.push_back(KeyOf(key));
    active_ = set.Active(KeyUse::kCertificate).key_id;
  }

  const absl::Span<const PublicKey> pinned_;
  bool trusted_ = false;
  std::vector<PublicKey> listed_;  // by the set before
  std::string active_;
  Digest payload_sha256_{};
  std::vector<KeySet> sets_;
};

KeyChain Verify(absl::string_view text, absl::Span<const PublicKey> pinned) {
  const auto envelopes = Split(text);
  if (!envelopes.has_value()) return Refusal(KeyChainReason::kNotAKeysFile, 0);
  ChainReader reader(Unverified(envelopes->front()), pinned);
  for (const std::string& envelope : *envelopes) {
    KeyChain taken = reader.Take(envelope);
    if (taken.reason != KeyChainReason::kOk) return taken;
  }
  return std::move(reader).Finish();
}

// A key stays as it is, or what was active ends.
bool KeyContinues(const PublishedKey& before, const PublishedKey& after, absl::Time last) {
  if (!before.active() || after.active()) return before == after;
  PublishedKey still_active = after;
  still_active.end.reset();
  return before == still_active && after.end->not_after >= last;
}

}  // namespace

absl::string_view KeyChainReasonName(KeyChainReason reason) {
  return kChainTexts[static_cast<size_t>(reason)].name;
}

absl::string_view KeyChainReasonText(KeyChainReason reason) {
  return kChainTexts[static_cast<size_t>(reason)].sentence;
}

absl::string_view KeyWindowReasonName(KeyWindowReason reason) {
  return kWindowTexts[static_cast<size_t>(reason)].name;
}

absl::string_view KeyWindowReasonText(KeyWindowReason reason) {
  return kWindowTexts[static_cast<size_t>(reason)].sentence;
}

std::string KeysFile(absl::Span<const std::string> envelopes) {
  return absl::StrCat(R"({"keySets":[)", absl::StrJoin(envelopes, ","), "]}");
}

KeyChain VerifyKeysFile(absl::string_view text, absl::Span<const PublicKey> pinned) {
  try {
    return Verify(text, pinned);
  } catch (const std::exception&) {
    // Only memory can run out: everything that the JSON library throws for was checked before.
    return Refusal(KeyChainReason::kNotAKeysFile, 0);
  }
}

KeyChainReason CheckSuccessor(const KeySet& set, const Digest& payload_sha256, const KeySet& next) {
  if (next.sequence != set.sequence + 1 || next.previous_payload_sha256 != payload_sha256) {
    return KeyChainReason::kBrokenSequence;
  }
  if (next.issued < set.issued || next.keys.size() < set.keys.size()) return KeyChainReason::kContradiction;
  for (size_t i = 0; i < set.keys.size(); ++i) {
    if (!KeyContinues(set.keys[i], next.keys[i], set.issued)) return KeyChainReason::kContradiction;
  }
  const auto added = next.keys.begin() + static_cast<std::ptrdiff_t>(set.keys.size());
  const bool in_time = std::all_of(added, next.keys.end(), [&set](const PublishedKey& key) {
    return key.not_before >= set.Active(key.use).not_before;
  });
  return in_time ? KeyChainReason::kOk : KeyChainReason::kContradiction;
}

KeyWindowReason CheckCertificateKey(const KeySet& set, absl::string_view key_id, absl::Time issued,
                                    std::optional<uint64_t> log_index) {
  const PublishedKey* const key = set.Find(key_id);
  if (key == nullptr) return KeyWindowReason::kUnlistedKey;
  if (key->use != KeyUse::kCertificate) return KeyWindowReason::kWrongUse;
  if (issued < key->not_before) return KeyWindowReason::kBeforeKey;
  if (key->active()) return KeyWindowReason::kOk;
  if (issued > key->end->not_after) return KeyWindowReason::kAfterKey;
  const bool beyond = log_index.has_value() && *log_index >= key->end->end_log_size;
  return beyond ? KeyWindowReason::kBeyondEnd : KeyWindowReason::kOk;
}

KeyWindowReason CheckCheckpointKey(const KeySet& set, absl::string_view key_id, uint64_t log_size) {
  const PublishedKey* const key = set.Find(key_id);
  if (key == nullptr) return KeyWindowReason::kUnlistedKey;
  if (key->use != KeyUse::kCheckpoint) return KeyWindowReason::kWrongUse;
  const bool beyond = !key->active() && log_size > key->end->end_log_size;
  return beyond ? KeyWindowReason::kBeyondEnd : KeyWindowReason::kOk;
}

}  // namespace expunge::certificate
