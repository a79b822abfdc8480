// What expunge-verify is asked to check, read from files.
#ifndef EXPUNGE_CLIENT_VERIFY_INPUTS_H_
#define EXPUNGE_CLIENT_VERIFY_INPUTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "certificate/log/note.h"
#include "certificate/signing_key.h"

namespace expunge::verify {

// As on the command line; empty: not given.
struct Paths {
  std::vector<std::string> keys;
  std::vector<std::string> log_keys;  // vkeys, or files with one
  std::string key_sets;
  std::string log;
  std::string old_checkpoint;
  std::string receipts;
  std::string bundle;
  // Files, and folders: of those, every *.json but keys.json, jwks.json and `key_sets`.
  std::vector<std::string> certificates;
};

struct NamedBytes {
  std::string file;
  std::string bytes;
};

struct CertificateFile {
  std::string file;
  absl::StatusOr<std::string> envelope;  // an error: it could not be read
  std::optional<std::string> proof;      // of the file beside it, if there is one
};

struct Inputs {
  std::vector<certificate::PublicKey> keys;
  std::vector<certificate::NoteKey> log_keys;
  std::optional<NamedBytes> key_sets;
  std::optional<NamedBytes> old_checkpoint;
  std::optional<NamedBytes> receipts;
  std::string log;     // a folder
  std::string bundle;  // a file
  std::vector<CertificateFile> certificates;
  // Some came from a folder, which claims to have whole chains.
  bool whole_chains = false;
};

// Returns: InvalidArgument, Unavailable with the path if something other than a certificate cannot be read or
// is not what it must be; if a folder has no certificate.
[[nodiscard]] absl::StatusOr<Inputs> ReadInputs(const Paths& paths);

// Where the proof of a certificate lies: NAME.json has NAME.tlog-proof.
[[nodiscard]] std::string ProofPath(const std::string& certificate);

}  // namespace expunge::verify

#endif  // EXPUNGE_CLIENT_VERIFY_INPUTS_H_
