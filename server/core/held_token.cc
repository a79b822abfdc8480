#include "server/core/held_token.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/secret.h"
#include "certificate/commitment.h"
#include "server/core/digests.h"
#include "server/core/names.h"

namespace expunge::core {

std::string MemoryIdentity::Name() const { return FormatMemoryName(tenant, memory); }

std::shared_ptr<const MemoryIdentity> MakeIdentity(const std::string& tenant, const std::string& memory,
                                                   const solver::Config& config, absl::Time create_time) {
  const Digest audit_key = RandomDigest();
  const Digest pseudonym = MemoryPseudonym(audit_key, FormatMemoryName(tenant, memory));
  return std::make_shared<const MemoryIdentity>(
      MemoryIdentity{tenant, memory, config, create_time, audit_key, pseudonym});
}

HeldToken::~HeldToken() {
  for (std::string& subject : subjects) Wipe(&subject);
  Wipe(salt.data(), salt.size());
}

std::shared_ptr<const solver::Token> ShareToken(solver::Token token) {
  return {new solver::Token(std::move(token)), [](solver::Token* shared) {
            Wipe(&shared->id);
            Wipe(&shared->key);
            Wipe(&shared->value);
            delete shared;
          }};
}

bool HeldToken::Names(absl::string_view subject) const {
  return std::any_of(subjects.begin(), subjects.end(),
                     [subject](const std::string& name) { return name == subject; });
}

HeldToken MakeHeldToken(const MemoryIdentity& identity, solver::Token token,
                        std::vector<std::string> subjects) {
  HeldToken held;
  held.handle = TokenHandle(identity.audit_key, token.id);
  held.token = ShareToken(std::move(token));
  held.subjects = std::move(subjects);
  held.salt = RandomDigest();
  held.commitment = ExpectedCommitment(identity, held);
  return held;
}

Digest ExpectedCommitment(const MemoryIdentity& identity, const HeldToken& token) {
  return certificate::TokenCommitment(token.salt,
                                      FormatTokenName(identity.tenant, identity.memory, token.token->id),
                                      token.subjects, token.token->key, token.token->value);
}

}  // namespace expunge::core
