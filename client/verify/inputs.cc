#include "client/verify/inputs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "certificate/envelope.h"
#include "certificate/key_chain.h"
#include "client/verify/files.h"

namespace expunge::verify {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxKeyBytes = 4096;
constexpr size_t kMaxReceiptsBytes = size_t{1} << 30;

absl::StatusOr<certificate::PublicKey> ReadKey(const std::string& path) {
  EXPUNGE_ASSIGN_OR_RETURN(const std::string pem, ReadFile(path, kMaxKeyBytes + 1));
  auto key = certificate::PublicKey::FromPem(pem);
  if (!key.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", key.status().message()));
  return key;
}

absl::StatusOr<certificate::NoteKey> ReadLogKey(const std::string& text) {
  if (auto key = certificate::NoteKey::Parse(text); key.ok()) return key;
  EXPUNGE_ASSIGN_OR_RETURN(const std::string file, ReadFile(text, kMaxKeyBytes + 1));
  auto key = certificate::NoteKey::Parse(absl::StripAsciiWhitespace(file));
  if (!key.ok()) return absl::InvalidArgumentError(absl::StrCat(text, ": ", key.status().message()));
  return key;
}

absl::Status ReadOptional(const std::string& path, size_t max_bytes, std::optional<NamedBytes>* out) {
  if (path.empty()) return absl::OkStatus();
  EXPUNGE_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path, max_bytes + 1));
  if (bytes.size() > max_bytes) return absl::InvalidArgumentError(absl::StrCat(path, " is too large"));
  *out = NamedBytes{path, std::move(bytes)};
  return absl::OkStatus();
}

CertificateFile ReadCertificate(const std::string& path) {
  CertificateFile file{path, ReadFile(path, certificate::kMaxEnvelopeBytes + 1), std::nullopt};
  std::error_code ignored;
  const std::string proof = ProofPath(path);
  if (proof == path || !fs::is_regular_file(proof, ignored)) return file;
  auto bytes = ReadFile(proof, certificate::kMaxNoteBytes + 1);
  if (bytes.ok()) file.proof = *std::move(bytes);
  return file;
}

// The certificates of a folder, in the order of their names.
absl::StatusOr<std::vector<std::string>> CertificatesIn(const std::string& folder,
                                                        const std::string& key_sets) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator item(folder, error), end; !error && item != end; item.increment(error)) {
    std::error_code ignored;
    const fs::path& path = item->path();
    // `expunge keys export` writes these two beside certificates.
    const bool is_keys = path.filename() == "keys.json" || path.filename() == "jwks.json" ||
                         (!key_sets.empty() && fs::equivalent(path, key_sets, ignored));
    if (path.extension() == ".json" && !is_keys) paths.push_back(path.string());
  }
  if (error) return absl::UnavailableError(absl::StrCat("cannot read ", folder, ": ", error.message()));
  if (paths.empty()) return absl::InvalidArgumentError(absl::StrCat(folder, " has no certificate (*.json)"));
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::Status ReadCertificates(const Paths& paths, Inputs* inputs) {
  for (const std::string& path : paths.certificates) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      inputs->certificates.push_back(ReadCertificate(path));
      continue;
    }
    inputs->whole_chains = true;
    EXPUNGE_ASSIGN_OR_RETURN(const std::vector<std::string> inside, CertificatesIn(path, paths.key_sets));
    for (const std::string& file : inside) inputs->certificates.push_back(ReadCertificate(file));
  }
  return absl::OkStatus();
}

}  // namespace

std::string ProofPath(const std::string& certificate) {
  return fs::path(certificate).replace_extension(".tlog-proof").string();
}

absl::StatusOr<Inputs> ReadInputs(const Paths& paths) {
  Inputs inputs;
  for (const std::string& path : paths.keys) {
    EXPUNGE_ASSIGN_OR_RETURN(certificate::PublicKey key, ReadKey(path));
    inputs.keys.push_back(std::move(key));
  }
  for (const std::string& text : paths.log_keys) {
    EXPUNGE_ASSIGN_OR_RETURN(certificate::NoteKey key, ReadLogKey(text));
    inputs.log_keys.push_back(std::move(key));
  }
  EXPUNGE_RETURN_IF_ERROR(ReadOptional(paths.key_sets, certificate::kMaxKeysFileBytes, &inputs.key_sets));
  EXPUNGE_RETURN_IF_ERROR(
      ReadOptional(paths.old_checkpoint, certificate::kMaxNoteBytes, &inputs.old_checkpoint));
  EXPUNGE_RETURN_IF_ERROR(ReadOptional(paths.receipts, kMaxReceiptsBytes, &inputs.receipts));
  std::error_code ignored;
  if (!paths.log.empty() && !fs::is_directory(paths.log, ignored)) {
    return absl::InvalidArgumentError(absl::StrCat(paths.log, " is not a directory"));
  }
  inputs.log = paths.log;
  if (!paths.bundle.empty()) {
    EXPUNGE_RETURN_IF_ERROR(ReadFile(paths.bundle, 1).status());
  }
  inputs.bundle = paths.bundle;
  EXPUNGE_RETURN_IF_ERROR(ReadCertificates(paths, &inputs));
  return inputs;
}

}  // namespace expunge::verify
