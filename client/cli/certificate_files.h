// Certificates as files: the envelope, byte for byte as signed, and beside it the proof that the log has it.
#ifndef EXPUNGE_CLIENT_CLI_CERTIFICATE_FILES_H_
#define EXPUNGE_CLIENT_CLI_CERTIFICATE_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "expunge/v1/types.pb.h"

namespace expunge::cli {

// The last part of a resource name.
[[nodiscard]] std::string LastPart(absl::string_view name);

// DIR/<id of the certificate>.json; "" without a directory.
[[nodiscard]] std::string CertificatePath(absl::string_view directory, const v1::Certificate& certificate);

// Where the proof of the certificate at `path` lies: X.tlog-proof beside X.json, else `path` and that ending.
[[nodiscard]] std::string ProofPath(absl::string_view path);

// Makes a directory (mode 0700) unless it is there. Returns: a UsageFailure with this hint.
[[nodiscard]] absl::Status MakeDirectory(const std::string& path, absl::string_view hint);

// Saves both, the proof first: where there is the envelope, there is the proof. Into a pipe or a device, the
// envelope alone. Returns: a UsageFailure that names the path.
[[nodiscard]] absl::Status SaveCertificate(const v1::Certificate& certificate, const std::string& path);

// The same at a place that the certificate's name gives, as of a directory of certificates: another
// certificate that lies there already is left as it is, as both are evidence of a second history; its proof
// may be replaced. Returns: besides, a Refusal (ANOTHER_CERTIFICATE) that names the path.
[[nodiscard]] absl::Status SaveNamedCertificate(const v1::Certificate& certificate, const std::string& path);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_CERTIFICATE_FILES_H_
