#include "server/rpc/port_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"

namespace expunge::rpc {

absl::Status WritePortFile(const std::string& path, int port) {
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  const std::string text = absl::StrCat(port, "\n");
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool written = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) written = close(fd) == 0 && written;
  if (written && rename(temporary.c_str(), path.c_str()) == 0) return absl::OkStatus();
  unlink(temporary.c_str());
  return absl::UnavailableError(absl::StrCat(
      "the port file ", path, " cannot be written: check that its folder exists and is writable"));
}

}  // namespace expunge::rpc
