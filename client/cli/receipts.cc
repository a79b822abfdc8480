#include "client/cli/receipts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/bytes.h"
#include "client/cli/failure.h"
#include "nlohmann/json.hpp"

namespace expunge::cli {
namespace {

std::string Line(const v1::TokenReceipt& receipt) {
  nlohmann::ordered_json json;
  json["token"] = receipt.token();
  json["salt"] = ToHex(receipt.salt());
  json["commitment"] = ToHex(receipt.commitment());
  return json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

absl::Status CannotWrite(const std::string& path, int error) {
  return UsageFailure(absl::StrCat("cannot write ", path, ": ", std::generic_category().message(error)),
                      "choose another place for --receipts");
}

}  // namespace

ReceiptFile::ReceiptFile(int file, std::string path) : file_(file), path_(std::move(path)) {}

ReceiptFile::~ReceiptFile() { close(file_); }

absl::StatusOr<std::unique_ptr<ReceiptFile>> ReceiptFile::Open(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return CannotWrite(path, errno);
  auto receipts = absl::WrapUnique(new ReceiptFile(file, path));
  struct stat info {};
  if (fstat(file, &info) != 0) return CannotWrite(path, errno);
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return UsageFailure(absl::StrCat(path, " is open to others than its owner"),
                        "receipts are secrets: run 'chmod 600' on it, or name a new file");
  }
  return receipts;
}

absl::Status ReceiptFile::Append(const v1::AddResponse& response) {
  std::string lines;
  for (const auto& receipt : response.receipts()) lines += Line(receipt);
  absl::string_view rest = lines;
  while (!rest.empty()) {
    const ssize_t written = write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return CannotWrite(path_, errno);
    rest.remove_prefix(static_cast<size_t>(written));
  }
  // A pipe or a terminal cannot be synced, and need not be.
  if (fsync(file_) != 0 && errno != EINVAL) return CannotWrite(path_, errno);
  return absl::OkStatus();
}

}  // namespace expunge::cli
