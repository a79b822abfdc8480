#include "tests/client/verify/shown_service.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/hash.h"
#include "certificate/envelope.h"
#include "certificate/log/checkpoint.h"
#include "certificate/log/leaf.h"
#include "certificate/log/log_proof.h"
#include "certificate/log/tile_directory.h"
#include "certificate/physical_purge.h"
#include "tests/certificate/fixtures.h"

namespace expunge::verify::testing {
namespace {

using certificate::KeyUse;
using certificate::SigningKey;
using certificate::testing::At;
using certificate::testing::NumberedKey;
using certificate::testing::WriteBytes;

void Require(bool ok, absl::string_view what) {
  if (ok) return;
  std::fprintf(stderr, "fatal: %s\n", std::string(what).c_str());
  std::abort();
}

}  // namespace

ShownService::ShownService() { Log(keys_.payloads().back(), NumberedKey(0)); }

void ShownService::Log(const std::string& payload, const SigningKey& key) {
  const std::string signature = key.Sign(certificate::PreAuthEncoding(certificate::kPayloadType, payload));
  entries_.push_back(certificate::MakeLogLeaf(payload, signature, key.Public().KeyId()).value());
}

size_t ShownService::AddPayload(const std::string& payload, const SigningKey& key) {
  certificates_.push_back({payload, certificate::Seal(payload, key), log_size()});
  Log(payload, key);
  ++sequence_;
  ++minute_;
  return certificates_.size() - 1;
}

size_t ShownService::Add(certificate::Statement statement) {
  statement.sequence = sequence_ + 1;
  statement.previous_payload_sha256 = certificates_.empty() ? Digest{} : Sha256(certificates_.back().payload);
  statement.issued = now();
  return AddPayload(EncodePayload(statement), keys_.ActiveCertificateKey());
}

size_t ShownService::Complete(size_t first) {
  certificate::PhysicalPurge purge = certificate::testing::FixedPurge();
  purge.issued = purge.purged = now();
  purge.sequence = sequence_ + 1;
  purge.previous_payload_sha256 = Sha256(certificates_.back().payload);
  return AddPayload(EncodePhysicalPurge(certificates_[first].payload, purge).value(),
                    keys_.ActiveCertificateKey());
}

void ShownService::Rotate(KeyUse use) {
  const SigningKey signer = keys_.ActiveCertificateKey();
  keys_.Rotate(use, log_size());
  Log(keys_.payloads().back(), signer);
  // Sets are issued every ten minutes; what follows is signed after the newest one.
  minute_ = static_cast<int>(10 * (keys_.sets().size() - 1)) + 1;
}

SigningKey ShownService::ActiveCheckpointKey() const {
  const std::string& id = keys_.sets().back().Active(KeyUse::kCheckpoint).key_id;
  for (int n = 0;; ++n) {
    if (NumberedKey(n).Public().KeyId() == id) return NumberedKey(n);
  }
}

certificate::MerkleLog ShownService::Tree() const {
  certificate::MerkleLog tree;
  for (const std::string& entry : entries_) tree.Append(certificate::HashLogLeaf(entry));
  return tree;
}

std::string ShownService::Checkpoint(uint64_t size, const SigningKey& key) const {
  const certificate::NoteSigner signer{
      *certificate::NoteKey::Create(keys_.sets().back().log_origin, key.Public()),
      [key](absl::string_view message) -> absl::StatusOr<std::string> { return key.Sign(message); }};
  return SignCheckpoint({size, Tree().Root(size)}, signer).value();
}

std::string ShownService::Checkpoint(uint64_t size) const { return Checkpoint(size, ActiveCheckpointKey()); }

std::string ShownService::Proof(uint64_t index, uint64_t size) const {
  return certificate::EncodeLogProof({"", index, Tree().InclusionProof(index, size), Checkpoint(size)});
}

void ShownService::WriteLog(const std::string& folder, uint64_t size) const {
  std::filesystem::remove_all(folder);
  certificate::MerkleLog tree = Tree();
  tree.Truncate(size);
  const certificate::EntryReader reader = [this](uint64_t index) -> absl::StatusOr<std::string> {
    return entries_[index];
  };
  Require(certificate::TileDirectory(folder).Write(tree, 0, reader, Checkpoint(size)).ok(),
          "cannot write the log");
}

void ShownService::Write(const std::string& folder) const {
  std::filesystem::create_directories(absl::StrCat(folder, "/certificates"));
  WriteBytes(absl::StrCat(folder, "/pinned.pem"), NumberedKey(0).Public().ToPem());
  certificate::testing::GrowingChain keys = keys_;
  WriteBytes(absl::StrCat(folder, "/keys.json"), certificate::KeysFile(keys.envelopes()));
  WriteLog(absl::StrCat(folder, "/log"), log_size());
  for (size_t i = 0; i < certificates_.size(); ++i) {
    const std::string path = absl::StrCat(folder, "/certificates/", absl::StrFormat("%03d", i));
    WriteBytes(absl::StrCat(path, ".json"), certificates_[i].envelope);
    WriteBytes(absl::StrCat(path, ".tlog-proof"), Proof(certificates_[i].index, log_size()));
  }
}

Paths AllOf(const std::string& folder) {
  Paths paths;
  paths.keys = {absl::StrCat(folder, "/pinned.pem")};
  paths.key_sets = absl::StrCat(folder, "/keys.json");
  paths.log = absl::StrCat(folder, "/log");
  paths.certificates = {absl::StrCat(folder, "/certificates")};
  return paths;
}

Verdict ClaimOf(const Report& report, absl::string_view file, absl::string_view claim) {
  for (const CertificateReport& certificate : report.certificates) {
    if (!absl::EndsWith(certificate.file, file)) continue;
    for (const Claim& one : certificate.claims) {
      if (one.name == claim) return one.verdict;
    }
  }
  return {Outcome::kNotChecked, "NO_SUCH_CLAIM", "", true};
}

Verdict CheckOf(const Report& report, absl::string_view claim) {
  for (const CheckReport& check : report.checks) {
    if (check.claim.name == claim) return check.claim.verdict;
  }
  return {Outcome::kNotChecked, "NO_SUCH_CHECK", "", true};
}

}  // namespace expunge::verify::testing
