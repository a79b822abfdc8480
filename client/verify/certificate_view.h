// One certificate that verified, with what the checks of several need of it.
#ifndef EXPUNGE_CLIENT_VERIFY_CERTIFICATE_VIEW_H_
#define EXPUNGE_CLIENT_VERIFY_CERTIFICATE_VIEW_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/bytes.h"
#include "client/verify/verdict.h"

namespace expunge::verify {

struct CertificateView {
  std::string kind;
  std::string issued;  // as it is written
  absl::Time issued_at;
  Digest memory{};
  uint64_t sequence = 0;
  uint64_t epoch_after = 0;
  Digest payload_sha256{};
  Digest previous_payload_sha256{};
  std::vector<Digest> removed;  // commitments
  // Of the second stage: what it completes.
  struct First {
    uint64_t sequence = 0;
    Digest payload_sha256{};
  };
  std::optional<First> completes;
  // SHA-256 of all that both stages of one removal must say alike.
  Digest removal_sha256{};

  [[nodiscard]] bool removes() const { return kind != "STATE"; }
};

// `statement`: the payload's. REQUIRES: CheckPayload accepts the payload.
[[nodiscard]] CertificateView ViewOf(absl::string_view payload, const nlohmann::json& statement);

// Whether the removed tokens were in the token tree before, and are all that the one after lacks: computed
// from the statement's own `transition`.
[[nodiscard]] Verdict CheckTransition(const nlohmann::json& statement);

// The 32 bytes of a field in hexadecimal. REQUIRES: it is one.
[[nodiscard]] Digest DigestOf(const nlohmann::json& field);

}  // namespace expunge::verify

#endif  // EXPUNGE_CLIENT_VERIFY_CERTIFICATE_VIEW_H_
