#include "client/verify/files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace expunge::verify {
namespace {

using Stream = std::unique_ptr<std::FILE, decltype(&std::fclose)>;

absl::Status SystemError(absl::string_view action, const std::string& path) {
  const std::string reason = std::generic_category().message(errno);
  return absl::UnavailableError(absl::StrCat("cannot ", action, " ", path, ": ", reason));
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  const Stream stream(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (stream == nullptr) return SystemError("open", path);
  std::string contents;
  std::array<char, size_t{1} << 16> buffer;
  while (contents.size() < max_bytes) {
    const size_t wanted = std::min(buffer.size(), max_bytes - contents.size());
    const size_t got = std::fread(buffer.data(), 1, wanted, stream.get());
    contents.append(buffer.data(), got);
    if (std::ferror(stream.get()) != 0) return SystemError("read", path);
    if (got < wanted) break;
  }
  return contents;
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
  Stream stream(std::fopen(path.c_str(), "wb"), &std::fclose);
  if (stream == nullptr) return SystemError("create", path);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), stream.get()) == bytes.size();
  // Closing can fail, too: it writes what is still buffered.
  if (!written || std::fclose(stream.release()) != 0) return SystemError("write", path);
  return absl::OkStatus();
}

}  // namespace expunge::verify
