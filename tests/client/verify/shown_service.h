// What a service shows to an auditor: certificates, their proofs, key sets and the log, in files.
//
// By itself it is honest. Tests change what it shows, as a malicious one would.
#ifndef EXPUNGE_TESTS_CLIENT_VERIFY_SHOWN_SERVICE_H_
#define EXPUNGE_TESTS_CLIENT_VERIFY_SHOWN_SERVICE_H_

#include <optional>
#include <string>
#include <vector>

#include "certificate/log/merkle.h"
#include "certificate/log/note.h"
#include "client/verify/audit.h"
#include "tests/certificate/key_set_fixture.h"
#include "tests/client/verify/shown_memory.h"

namespace expunge::verify::testing {

class ShownService {
 public:
  ShownService();

  // A certificate of the memory's chain as it is, signed now and logged. Returns its place in certificates().
  size_t Add(certificate::Statement statement);
  // The second stage of one of them.
  size_t Complete(size_t first);
  // Any payload, signed by this key and logged.
  size_t AddPayload(const std::string& payload, const certificate::SigningKey& key);
  // A new key; its key set is logged.
  void Rotate(certificate::KeyUse use);

  struct Certificate {
    std::string payload;
    std::string envelope;
    uint64_t index = 0;  // in the log
  };
  [[nodiscard]] std::vector<Certificate>& certificates() { return certificates_; }
  [[nodiscard]] certificate::testing::GrowingChain& keys() { return keys_; }
  [[nodiscard]] std::vector<std::string>& entries() { return entries_; }
  [[nodiscard]] uint64_t log_size() const { return entries_.size(); }
  [[nodiscard]] absl::Time now() const { return certificate::testing::At(minute_); }

  // Of the first `size` entries; by the key that is active now, unless another is given.
  [[nodiscard]] std::string Checkpoint(uint64_t size) const;
  [[nodiscard]] std::string Checkpoint(uint64_t size, const certificate::SigningKey& key) const;
  [[nodiscard]] std::string Proof(uint64_t index, uint64_t size) const;

  // Files of an auditor's folder: pinned.pem, keys.json, log/, certificates/NNN.json with proofs.
  void Write(const std::string& folder) const;
  void WriteLog(const std::string& folder, uint64_t size) const;

 private:
  void Log(const std::string& payload, const certificate::SigningKey& key);
  [[nodiscard]] certificate::MerkleLog Tree() const;
  [[nodiscard]] certificate::SigningKey ActiveCheckpointKey() const;

  certificate::testing::GrowingChain keys_;
  std::vector<Certificate> certificates_;
  std::vector<std::string> entries_;
  uint64_t sequence_ = 0;
  int minute_ = 1;
};

// Everything in such a folder, given to the verifier.
[[nodiscard]] Paths AllOf(const std::string& folder);

// The verdict on one certificate, by the name of its file; and on something else.
[[nodiscard]] Verdict ClaimOf(const Report& report, absl::string_view file, absl::string_view claim);
[[nodiscard]] Verdict CheckOf(const Report& report, absl::string_view claim);

}  // namespace expunge::verify::testing

#endif  // EXPUNGE_TESTS_CLIENT_VERIFY_SHOWN_SERVICE_H_
