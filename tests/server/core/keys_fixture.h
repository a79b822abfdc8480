// A service whose keys are looked at as an auditor does.
#ifndef EXPUNGE_TESTS_SERVER_CORE_KEYS_FIXTURE_H_
#define EXPUNGE_TESTS_SERVER_CORE_KEYS_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "certificate/envelope.h"
#include "certificate/key_chain.h"
#include "certificate/log/leaf.h"
#include "certificate/log/log_proof.h"
#include "certificate/log/note.h"
#include "certificate/read_payload.h"
#include "tests/server/core/restore_fixture.h"

namespace expunge::core {

class KeysTest : public RestoringTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    Create("cells");
    Add(kMemory, MakePoints("p", 12));
  }

  [[nodiscard]] v1::ListSigningKeysResponse Listed() const {
    const auto listed = service_->ListSigningKeys({});
    EXPECT_TRUE(listed.ok()) << listed.status();
    return listed.ok() ? *listed : v1::ListSigningKeysResponse();
  }
  [[nodiscard]] std::string ActiveId(v1::KeyUse use) const {
    const v1::ListSigningKeysResponse listed = Listed();
    for (const auto& key : listed.keys()) {
      if (key.use() == use && !key.has_retire_time()) return key.key_id();
    }
    ADD_FAILURE() << "no key is active";
    return "";
  }
  absl::Status TryRotate(v1::KeyUse use, const std::string& key_id) {
    v1::RotateSigningKeyRequest request;
    request.set_use(use);
    request.set_key_id(key_id);
    return service_->RotateSigningKey(request).status();
  }
  // Returns the new key's id.
  std::string Rotate(v1::KeyUse use = v1::KEY_USE_CERTIFICATE) {
    const std::string old = ActiveId(use);
    const absl::Status status = TryRotate(use, old);
    EXPECT_TRUE(status.ok()) << status;
    const std::string made = ActiveId(use);
    EXPECT_NE(made, old);
    return made;
  }
  v1::Certificate Certify() const {
    v1::CertifyRequest request;
    request.set_name(kMemory);
    const auto certified = service_->Certify(request);
    EXPECT_TRUE(certified.ok()) << certified.status();
    return certified.ok() ? certified->certificate() : v1::Certificate();
  }

  // What an auditor gets who trusts the key with this id.
  [[nodiscard]] certificate::KeyChain ChainFrom(const std::string& key_id) const {
    const v1::ListSigningKeysResponse listed = Listed();
    std::vector<certificate::PublicKey> pinned;
    for (const auto& key : listed.keys()) {
      if (key.key_id() == key_id)
        pinned.push_back(certificate::PublicKey::FromPem(key.public_key_pem()).value());
    }
    const std::vector<std::string> envelopes(listed.key_sets().begin(), listed.key_sets().end());
    return certificate::VerifyKeysFile(certificate::KeysFile(envelopes), pinned);
  }
  // Everything about one certificate: signature, log, and the time of its key.
  [[nodiscard]] certificate::KeyWindowReason Verdict(const v1::Certificate& certificate,
                                                     const certificate::KeySet& set) const {
    std::vector<certificate::PublicKey> keys;
    std::vector<certificate::NoteKey> log_keys;
    for (const auto& key : set.keys) {
      if (key.use == certificate::KeyUse::kCertificate) keys.push_back(KeyOf(key));
      if (key.use == certificate::KeyUse::kCheckpoint) {
        log_keys.push_back(certificate::NoteKey::Create(set.log_origin, KeyOf(key)).value());
      }
    }
    const auto verified = certificate::VerifyEnvelope(certificate.envelope(), keys);
    EXPECT_EQ(verified.reason, certificate::VerifyReason::kOk) << VerifyReasonName(verified.reason);
    const auto logged =
        certificate::VerifyLogProof(certificate.log_proof(), certificate::LogLeafOf(verified), log_keys);
    EXPECT_EQ(logged.reason, certificate::LogReason::kOk);
    const auto facts = certificate::ReadPayload(verified.payload);
    if (!facts.ok()) return certificate::KeyWindowReason::kUnlistedKey;
    return CheckCertificateKey(set, verified.key_id, facts->issued, logged.index);
  }
  // Every certificate and every set verifies from each certificate key that there ever was.
  void ExpectAllVerifies() const {
    const std::vector<v1::Certificate> certificates =
        const_cast<KeysTest*>(this)->Certificates();  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    const v1::ListSigningKeysResponse listed = Listed();
    for (const auto& key : listed.keys()) {
      if (key.use() != v1::KEY_USE_CERTIFICATE) continue;
      const certificate::KeyChain chain = ChainFrom(key.key_id());
      ASSERT_EQ(chain.reason, certificate::KeyChainReason::kOk) << KeyChainReasonName(chain.reason);
      for (const v1::Certificate& certificate : certificates) {
        const certificate::KeyWindowReason reason = Verdict(certificate, chain.sets.back());
        EXPECT_EQ(reason, certificate::KeyWindowReason::kOk)
            << certificate.name() << ": " << KeyWindowReasonName(reason);
      }
    }
  }
  [[nodiscard]] std::string KeyFile(v1::KeyUse use = v1::KEY_USE_CERTIFICATE) const {
    return use == v1::KEY_USE_CERTIFICATE ? key_file_ : checkpoint_key_file_;
  }
  static std::string IdIn(const std::string& path) {
    const auto key = certificate::SigningKey::LoadExisting(path);
    return key.ok() ? key->Public().KeyId() : std::string(key.status().message());
  }
};

}  // namespace expunge::core

#endif  // EXPUNGE_TESTS_SERVER_CORE_KEYS_FIXTURE_H_
