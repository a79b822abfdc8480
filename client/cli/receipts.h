// A file of token receipts: one JSON object a line,
// {"token":"tenants/...","salt":"<hex>","commitment":"<hex>"}.
//
// Receipts open the commitments in certificates, and the service gives each only once. So the file is only
// ever appended to, belongs to its owner alone (mode 0600), and every append is synced before the next batch
// is sent.
#ifndef EXPUNGE_CLIENT_CLI_RECEIPTS_H_
#define EXPUNGE_CLIENT_CLI_RECEIPTS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "expunge/v1/memory_service.pb.h"

namespace expunge::cli {

class ReceiptFile {
 public:
  // Creates `path`, or opens it to append.
  // Returns: a UsageFailure if it cannot be written, or if others than the owner may read an existing one.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ReceiptFile>> Open(const std::string& path);
  ~ReceiptFile();
  ReceiptFile(const ReceiptFile&) = delete;
  ReceiptFile& operator=(const ReceiptFile&) = delete;

  // Returns: a UsageFailure naming the path; then some of the receipts may be missing.
  [[nodiscard]] absl::Status Append(const v1::AddResponse& response);

 private:
  ReceiptFile(int file, std::string path);
  int file_;
  std::string path_;
};

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_RECEIPTS_H_
