#include "client/cli/certificate_files.h"

#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"

namespace expunge::cli {
namespace {

constexpr mode_t kPublic = 0644;

bool IsPipeOrDevice(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

}  // namespace

std::string LastPart(absl::string_view name) { return std::string(name.substr(name.rfind('/') + 1)); }

std::string CertificatePath(absl::string_view directory, const v1::Certificate& certificate) {
  if (directory.empty()) return "";
  return absl::StrCat(directory, "/", LastPart(certificate.name()), ".json");
}

std::string ProofPath(absl::string_view path) {
  return absl::StrCat(absl::StripSuffix(path, ".json"), ".tlog-proof");
}

absl::Status MakeDirectory(const std::string& path, absl::string_view hint) {
  struct stat info {};
  if (path.empty() || mkdir(path.c_str(), S_IRWXU) == 0) return absl::OkStatus();
  if (errno == EEXIST && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return absl::OkStatus();
  return UsageFailure(absl::StrCat("cannot make the directory ", path), hint);
}

absl::Status SaveCertificate(const v1::Certificate& certificate, const std::string& path) {
  if (!certificate.log_proof().empty() && !IsPipeOrDevice(path)) {
    EXPUNGE_RETURN_IF_ERROR(WriteFile(ProofPath(path), certificate.log_proof(), kPublic));
  }
  return WriteFile(path, certificate.envelope(), kPublic);
}

absl::Status SaveNamedCertificate(const v1::Certificate& certificate, const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && !IsPipeOrDevice(path)) {
    // One byte more tells a longer file.
    EXPUNGE_ASSIGN_OR_RETURN(const std::string there, ReadStart(path, certificate.envelope().size() + 1));
    if (there != certificate.envelope()) {
      return Refusal("ANOTHER_CERTIFICATE",
                     absl::StrCat(path, " is another certificate of the same name than the service's"),
                     "keep it, as two histories are evidence, and save into another directory to compare");
    }
  }
  return SaveCertificate(certificate, path);
}

}  // namespace expunge::cli
