// Keys of a real service: published, rotated, retired, lost, and held against a clock that steps back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "certificate/envelope.h"
#include "certificate/key_chain.h"
#include "certificate/key_keeper.h"
#include "certificate/log/leaf.h"
#include "certificate/log/log_proof.h"
#include "certificate/log/note.h"
#include "certificate/read_payload.h"
#include "tests/server/core/keys_fixture.h"

namespace expunge::core {
namespace {

namespace fs = std::filesystem;
using certificate::KeyChain;
using certificate::KeyChainReason;
using certificate::KeyUse;
using certificate::KeyWindowReason;
using certificate::PublicKey;
using certificate::SigningKey;
using test_support::ReadWholeFile;
using ::testing::HasSubstr;

using KeyRotationTest = KeysTest;

TEST_F(KeyRotationTest, TheFirstStartPublishesBothKeysInTheLog) {
  const v1::ListSigningKeysResponse listed = Listed();
  ASSERT_EQ(listed.keys_size(), 2);
  EXPECT_EQ(listed.keys(0).key_id(), IdIn(KeyFile()));
  EXPECT_EQ(listed.keys(0).use(), v1::KEY_USE_CERTIFICATE);
  EXPECT_EQ(listed.keys(0).custody(), "a file");
  EXPECT_EQ(listed.keys(1).key_id(), IdIn(KeyFile(v1::KEY_USE_CHECKPOINT)));
  EXPECT_EQ(listed.keys(1).use(), v1::KEY_USE_CHECKPOINT);
  ASSERT_EQ(listed.key_sets_size(), 1);
  const auto log_key = certificate::NoteKey::Create(
      listed.log_origin(), PublicKey::FromPem(listed.keys(1).public_key_pem()).value());
  const std::vector<PublicKey> keys = {PublicKey::FromPem(listed.keys(0).public_key_pem()).value()};
  const auto set = certificate::VerifyEnvelopeOf(listed.key_sets(0), keys, &certificate::CheckKeySetPayload);
  const auto logged =
      certificate::VerifyLogProof(listed.log_proofs(0), certificate::LogLeafOf(set), {*log_key});
  EXPECT_EQ(logged.reason, certificate::LogReason::kOk);
  EXPECT_EQ(logged.index, 0U);
  Open();
  EXPECT_EQ(Listed().key_sets(0), listed.key_sets(0)) << "a restart makes no other";
  EXPECT_EQ(Listed().key_sets_size(), 1);
}

TEST_F(KeyRotationTest, AfterThreeRotationsTheFirstCertificateVerifies) {
  const v1::Certificate first = Certify();
  for (int i = 0; i < 3; ++i) {
    now_ += absl::Hours(1);
    Rotate(v1::KEY_USE_CERTIFICATE);
    Certify();
    if (i == 1) Rotate(v1::KEY_USE_CHECKPOINT);
    now_ += absl::Hours(1);
    Certify();
    ExpectAllVerifies();
    Open();
    ExpectAllVerifies();
  }
  EXPECT_EQ(Listed().key_sets_size(), 1 + 3 * 2 + 1);
  EXPECT_EQ(Listed().keys_size(), 6);
  v1::GetCertificateRequest request;
  request.set_name(first.name());
  const auto again = service_->GetCertificate(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->certificate().envelope(), first.envelope());
}

TEST_F(KeyRotationTest, WhatAThiefOfARetiredKeySignsIsRefused) {
  fs::copy_file(KeyFile(), directory_ / "stolen.pem");
  const SigningKey stolen = SigningKey::LoadExisting(directory_ / "stolen.pem").value();
  const v1::Certificate last = Certify();
  now_ += absl::Hours(1);
  Rotate();
  now_ += absl::Hours(1);
  const PublicKey present = SigningKey::LoadExisting(KeyFile())->Public();
  const std::string later = certificate::VerifyEnvelope(Certify().envelope(), {present}).payload;
  const certificate::KeySet set = ChainFrom(stolen.Public().KeyId()).sets.back();
  const auto claim = [&](const std::string& payload, uint64_t index) {
    const auto verified = certificate::VerifyEnvelope(certificate::Seal(payload, stolen), {stolen.Public()});
    EXPECT_EQ(verified.reason, certificate::VerifyReason::kOk) << "the signature is a good one";
    return CheckCertificateKey(set, verified.key_id, certificate::ReadPayload(verified.payload)->issued,
                               index);
  };
  EXPECT_EQ(claim(later, 1), KeyWindowReason::kAfterKey) << "issued after the key's time";
  const std::string old = certificate::VerifyEnvelope(last.envelope(), {stolen.Public()}).payload;
  EXPECT_EQ(claim(old, set.Find(stolen.Public().KeyId())->end->end_log_size), KeyWindowReason::kBeyondEnd)
      << "dated back, but late in the log";
}

TEST_F(KeyRotationTest, TheOldPrivateKeyIsOverwrittenAndTheNewOneHasItsPlace) {
  for (const v1::KeyUse use : {v1::KEY_USE_CERTIFICATE, v1::KEY_USE_CHECKPOINT}) {
    const std::string second_name = directory_ / ("second name " + std::to_string(use));
    fs::create_hard_link(KeyFile(use), second_name);
    const size_t size = ReadWholeFile(second_name).size();
    const std::string made = Rotate(use);
    EXPECT_EQ(ReadWholeFile(second_name), std::string(size, '\0'));
    EXPECT_EQ(IdIn(KeyFile(use)), made);
    EXPECT_FALSE(fs::exists(KeyFile(use) + certificate::kNextKeySuffix));
    struct stat status {};
    ASSERT_EQ(::stat(KeyFile(use).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
  }
}

TEST_F(KeyRotationTest, ARepeatedCallReplacesNothing) {
  const std::string old = ActiveId(v1::KEY_USE_CERTIFICATE);
  ASSERT_TRUE(TryRotate(v1::KEY_USE_CERTIFICATE, old).ok());
  const std::string made = ActiveId(v1::KEY_USE_CERTIFICATE);
  EXPECT_TRUE(Fails(TryRotate(v1::KEY_USE_CERTIFICATE, old), Reason::kKeyNotActive, "key_id"));
  EXPECT_TRUE(Fails(TryRotate(v1::KEY_USE_CHECKPOINT, made), Reason::kKeyNotActive, "key_id"));
  EXPECT_TRUE(Fails(TryRotate(v1::KEY_USE_UNSPECIFIED, made), Reason::kFieldMissing, "use"));
  EXPECT_TRUE(Fails(TryRotate(static_cast<v1::KeyUse>(7), made), Reason::kFieldMissing, "use"));
  EXPECT_TRUE(Fails(TryRotate(v1::KEY_USE_CERTIFICATE, ""), Reason::kFieldMissing, "key_id"));
  EXPECT_EQ(ActiveId(v1::KEY_USE_CERTIFICATE), made);
  EXPECT_EQ(Listed().key_sets_size(), 3);
}

TEST_F(KeyRotationTest, AClockThatStepsBackAcrossARotationSpoilsNoCertificate) {
  now_ += absl::Hours(10);
  Certify();
  now_ -= absl::Hours(5);
  Rotate();
  Certify();
  now_ -= absl::Hours(2);
  Rotate();
  Certify();
  ExpectAllVerifies();
  // Also over a restart, after which only the certificates tell how late it has been.
  now_ += absl::Hours(20);
  Certify();
  Close();
  now_ -= absl::Hours(15);
  Open();
  Rotate();
  Certify();
  Rotate(v1::KEY_USE_CHECKPOINT);
  now_ -= absl::Hours(24 * 365);
  Certify();
  Rotate();
  ExpectAllVerifies();
}

TEST_F(KeyRotationTest, CertificatesThatAreMadeMeanwhileVerify) {
  Close();
  auto store = storage::SealedStore::Open({directory_ / "data", "", "", {}});
  ASSERT_TRUE(store.ok()) << store.status();
  std::atomic<int> looks = 0;
  auto service = Service::Open(*std::move(store), Keys(),
                               [&looks, begin = now_] { return begin + absl::Milliseconds(400) * looks++; });
  ASSERT_TRUE(service.ok()) << service.status();
  service_ = *std::move(service);
  std::atomic<bool> done = false;
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      v1::CertifyRequest request;
      request.set_name(kMemory);
      while (!done) {
        const auto certified = service_->Certify(request);
        EXPECT_TRUE(certified.ok()) << certified.status();
        ++made;
      }
    });
  }
  for (int i = 0; i < 6; ++i) {
    const int before = made;
    Rotate(i % 3 == 2 ? v1::KEY_USE_CHECKPOINT : v1::KEY_USE_CERTIFICATE);
    while (made < before + 4) std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(made, 20);
  ExpectAllVerifies();
  Close();  // its clock ends here
}

TEST_F(KeyRotationTest, AnotherKeysFileIsRefusedAndTheMessageSaysWhatToDo) {
  for (const v1::KeyUse use : {v1::KEY_USE_CERTIFICATE, v1::KEY_USE_CHECKPOINT}) {
    Close();
    const std::string aside = directory_ / "aside.pem";
    fs::rename(KeyFile(use), aside);
    absl::Status status = TryOpen();
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("put its file back"));
    EXPECT_FALSE(fs::exists(KeyFile(use))) << "none is made in its place";
    const std::string other = SigningKey::LoadOrCreate(KeyFile(use)).value().Public().KeyId();
    status = TryOpen();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(other));
    EXPECT_THAT(std::string(status.message()), HasSubstr(IdIn(aside)));
    EXPECT_THAT(std::string(status.message()), HasSubstr(KeyFile(use)));
    fs::rename(aside, KeyFile(use));
    ASSERT_TRUE(TryOpen().ok());
  }
}

TEST_F(KeyRotationTest, AFormerKeysFileIsRefused) {
  fs::copy_file(KeyFile(), directory_ / "copy.pem");
  Rotate();
  Close();
  fs::copy_file(directory_ / "copy.pem", KeyFile(), fs::copy_options::overwrite_existing);
  EXPECT_TRUE(absl::IsFailedPrecondition(TryOpen()));
}

TEST_F(KeyRotationTest, OneKeyForBothUsesIsRefused) {
  Close();
  for (const char* const part : {"data", "vault", "master.key"}) fs::remove_all(directory_ / part);
  fs::copy_file(KeyFile(), KeyFile(v1::KEY_USE_CHECKPOINT), fs::copy_options::overwrite_existing);
  const absl::Status status = TryOpen();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("one each"));
}

// What a rotation leaves that was cut off before its batch, or after it.
TEST_F(KeyRotationTest, ARotationThatWasCutOffIsDroppedOrFinished) {
  for (const v1::KeyUse use : {v1::KEY_USE_CERTIFICATE, v1::KEY_USE_CHECKPOINT}) {
    const std::string next = KeyFile(use) + certificate::kNextKeySuffix;
    const std::string before = ActiveId(use);
    Close();
    ASSERT_TRUE(SigningKey::LoadOrCreate(next).ok());
    Open();
    EXPECT_FALSE(fs::exists(next)) << "no set names it: dropped";
    EXPECT_EQ(ActiveId(use), before);
    fs::copy_file(KeyFile(use), directory_ / "old.pem", fs::copy_options::overwrite_existing);
    const std::string made = Rotate(use);
    for (const bool overwritten : {false, true}) {
      Close();
      fs::rename(KeyFile(use), next);
      if (overwritten) {
        std::ofstream(KeyFile(use), std::ios::binary) << std::string(119, '\0');
        ASSERT_EQ(::chmod(KeyFile(use).c_str(), 0600), 0);
      } else {
        fs::copy_file(directory_ / "old.pem", KeyFile(use));
      }
      Open();
      EXPECT_FALSE(fs::exists(next));
      EXPECT_EQ(IdIn(KeyFile(use)), made);
      Certify();
    }
  }
  ExpectAllVerifies();
}

TEST_F(KeyRotationTest, AKeyThatCannotBeReplacedStaysInUse) {
  // A directory in the way of the next key.
  fs::create_directory(KeyFile() + certificate::kNextKeySuffix);
  const std::string before = ActiveId(v1::KEY_USE_CERTIFICATE);
  EXPECT_FALSE(TryRotate(v1::KEY_USE_CERTIFICATE, before).ok());
  EXPECT_EQ(ActiveId(v1::KEY_USE_CERTIFICATE), before);
  EXPECT_EQ(Listed().key_sets_size(), 1);
  fs::remove(KeyFile() + certificate::kNextKeySuffix);
  Rotate();
  ExpectAllVerifies();
}

}  // namespace
}  // namespace expunge::core
