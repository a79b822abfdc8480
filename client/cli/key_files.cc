#include "client/cli/key_files.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "certificate/envelope.h"
#include "certificate/key_chain.h"
#include "certificate/key_export.h"
#include "certificate/log/note.h"
#include "client/cli/failure.h"

namespace expunge::cli {
namespace {

using certificate::KeyUse;
using certificate::PublicKey;
using certificate::PublishedKey;

constexpr size_t kIdDigits = 16;

absl::Status Untrusted(const certificate::KeyChain& chain) {
  using enum certificate::KeyChainReason;
  const bool envelope = chain.reason == kBadEnvelope;
  const absl::string_view name = envelope ? certificate::VerifyReasonName(chain.envelope)
                                          : certificate::KeyChainReasonName(chain.reason);
  return Refusal(
      name,
      absl::StrCat("the service's key sets do not verify, at set ", chain.at + 1, ": ",
                   certificate::KeyChainReasonText(chain.reason)),
      chain.reason == kUnpinned
          ? "the key given to --key is none of this service's: get the right one from whoever runs it"
          : "do not rely on these keys, and ask who runs the service");
}

// Those that the first listed key signs verify by themselves alone.
absl::StatusOr<std::vector<PublicKey>> OwnFirstKey(const v1::ListSigningKeysResponse& listed) {
  std::vector<PublicKey> keys;
  for (const v1::SigningKey& key : listed.keys()) {
    if (key.use() != v1::KEY_USE_CERTIFICATE) continue;
    EXPUNGE_ASSIGN_OR_RETURN(PublicKey first, PublicKey::FromPem(key.public_key_pem()));
    keys.push_back(std::move(first));
    break;
  }
  return keys;
}

std::string NameOf(const PublishedKey& key) {
  return absl::StrCat(certificate::KeyUseName(key.use), "-", key.key_id.substr(0, kIdDigits));
}

absl::StatusOr<std::string> VkeyLine(const std::string& origin, const PublishedKey& key) {
  EXPUNGE_ASSIGN_OR_RETURN(const auto note_key, certificate::NoteKey::Create(origin, KeyOf(key)));
  return note_key.ToText() + "\n";
}

}  // namespace

absl::StatusOr<KeyFiles> MakeKeyFiles(const v1::ListSigningKeysResponse& listed,
                                      absl::Span<const PublicKey> pinned) {
  const std::vector<std::string> envelopes(listed.key_sets().begin(), listed.key_sets().end());
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<PublicKey> own, OwnFirstKey(listed));
  std::string file = certificate::KeysFile(envelopes);
  certificate::KeyChain chain =
      certificate::VerifyKeysFile(file, pinned.empty() ? absl::MakeSpan(own) : pinned);
  if (chain.reason != certificate::KeyChainReason::kOk) return Untrusted(chain);
  KeyFiles made{std::move(chain.sets.back()), {}};
  made.files.push_back({"keys.json", std::move(file)});
  made.files.push_back({"jwks.json", certificate::JwksFile(made.newest)});
  for (const PublishedKey& key : made.newest.keys) {
    made.files.push_back({NameOf(key) + ".pem", KeyOf(key).ToPem()});
    if (key.use != KeyUse::kCheckpoint) continue;
    EXPUNGE_ASSIGN_OR_RETURN(std::string line, VkeyLine(made.newest.log_origin, key));
    made.files.push_back({key.active() ? "log.vkey" : NameOf(key) + ".vkey", std::move(line)});
  }
  return made;
}

}  // namespace expunge::cli
