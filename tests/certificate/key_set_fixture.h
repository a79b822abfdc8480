// Key sets that follow one another, for tests.
#ifndef EXPUNGE_TESTS_CERTIFICATE_KEY_SET_FIXTURE_H_
#define EXPUNGE_TESTS_CERTIFICATE_KEY_SET_FIXTURE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/hash.h"
#include "certificate/key_chain.h"
#include "certificate/key_set.h"
#include "certificate/signer.h"
#include "tests/certificate/fixtures.h"

namespace expunge::certificate::testing {

// Key number n, always the same.
[[nodiscard]] inline SigningKey NumberedKey(int n) {
  return SigningKey::FromPem(PrivatePemOfSeed(ToHex(AsView(FixedDigest("key " + std::to_string(n))))))
      .value();
}

[[nodiscard]] inline absl::Time At(int minute) {
  return absl::FromUnixSeconds(1'780'000'000) + absl::Minutes(minute);
}

// A chain that grows: keys 0 (certificates) and 1 (checkpoints), then one more a rotation.
class GrowingChain {
 public:
  GrowingChain() {
    next_ = {.software_version = "1.2.3",
             .software_commit = "0123456789ab",
             .issued = At(0),
             .sequence = 1,
             .previous_payload_sha256 = {},
             .log_origin = "expunge.invalid/log/test",
             .keys = {}};
    Add(KeyUse::kCertificate);
    Add(KeyUse::kCheckpoint);
    Seal(NumberedKey(0));
  }

  // A set in which the key of this use is followed by the next one. `log_size`: where the old one ends.
  void Rotate(KeyUse use, uint64_t log_size) {
    const SigningKey signer = ActiveCertificateKey();
    next_.issued = At(static_cast<int>(10 * sets_.size()));
    for (PublishedKey& key : next_.keys) {
      if (key.use == use && key.active()) key.end = PublishedKey::End{next_.issued, log_size};
    }
    Add(use);
    Seal(signer);
  }

  // Makes the next set, as it is, an envelope of the chain.
  void Seal(const SigningKey& signer) {
    payloads_.push_back(EncodeKeySet(next_));
    envelopes_.push_back(certificate::Seal(payloads_.back(), signer));
    sets_.push_back(next_);
    next_.sequence += 1;
    next_.previous_payload_sha256 = Sha256(payloads_.back());
  }

  [[nodiscard]] SigningKey ActiveCertificateKey() const {
    const std::string& id = sets_.back().Active(KeyUse::kCertificate).key_id;
    for (int n = 0;; ++n) {
      if (NumberedKey(n).Public().KeyId() == id) return NumberedKey(n);
    }
  }

  // The set that Seal would sign next: for sets that should not be.
  KeySet& next() { return next_; }
  [[nodiscard]] const std::vector<KeySet>& sets() const { return sets_; }
  [[nodiscard]] const std::vector<std::string>& payloads() const { return payloads_; }
  std::vector<std::string>& envelopes() { return envelopes_; }
  [[nodiscard]] KeyChain Verify(const std::vector<PublicKey>& pinned) const {
    return VerifyKeysFile(KeysFile(envelopes_), pinned);
  }

 private:
  void Add(KeyUse use) {
    next_.keys.push_back(Publish(use, NumberedKey(keys_++).Public(), kFileCustody, next_.issued));
  }

  int keys_ = 0;
  KeySet next_;
  std::vector<KeySet> sets_;
  std::vector<std::string> payloads_;
  std::vector<std::string> envelopes_;
};

}  // namespace expunge::certificate::testing

#endif  // EXPUNGE_TESTS_CERTIFICATE_KEY_SET_FIXTURE_H_
