#include "server/rpc/admin_address.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/durable_file.h"
#include "base/status_macros.h"
#include "server/rpc/address.h"

namespace expunge::rpc {
namespace {

constexpr absl::string_view kUnix = "unix:";

static_assert(sizeof(sockaddr_un::sun_path) == kMaxSocketPath + 1, "a path and the zero that ends it");

absl::StatusOr<AdminAddress> SocketAddress(absl::string_view path) {
  if (path.size() > kMaxSocketPath) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the path of the administration's socket has ", path.size(), " bytes, and a Unix socket's may have ",
        kMaxSocketPath, ": give a shorter one with --admin-address unix:PATH"));
  }
  // gRPC decodes what stands after a '%'.
  return AdminAddress{absl::StrCat(kUnix, absl::StrReplaceAll(path, {{"%", "%25"}})), std::string(path)};
}

// Whether somebody accepts connections at this socket. Returns: Unavailable if that cannot be told.
absl::StatusOr<bool> IsListenedOn(const std::string& path) {
  const Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.ok()) return SystemError(errno, "look at", path);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  // EAGAIN: somebody listens, and has many callers.
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  if (errno == EAGAIN) return true;
  if (errno == ECONNREFUSED || errno == ENOENT) return false;
  return SystemError(errno, "look at", path);
}

}  // namespace

absl::StatusOr<AdminAddress> ParseAdminAddress(absl::string_view text) {
  absl::string_view path = text;
  if (absl::ConsumePrefix(&path, kUnix)) {
    // "unix://" is followed by a path that begins with a slash.
    const bool has_slashes = absl::ConsumePrefix(&path, "//");
    if (path.empty() || (has_slashes && path.front() != '/') || path.back() == '/') {
      return absl::InvalidArgumentError(
          "--admin-address unix:PATH needs the path of a socket, such as unix:/run/expunge/admin.sock");
    }
    return SocketAddress(path);
  }
  const absl::StatusOr<Address> address = ParseAddress(text);
  if (!address.ok()) {
    return absl::InvalidArgumentError(
        "--admin-address must be unix:PATH, host:port of the loopback such as 127.0.0.1:7421, or none");
  }
  if (!IsLoopbackHost(address->host)) {
    return absl::InvalidArgumentError(
        "--admin-address can be reached from other machines, and administration speaks plain text: give "
        "unix:PATH, or a port of the loopback such as 127.0.0.1:7421 behind a tunnel");
  }
  return AdminAddress{std::string(text), ""};
}

absl::StatusOr<AdminAddress> DefaultAdminAddress(absl::string_view data_dir) {
  return SocketAddress(absl::StrCat(data_dir, "/admin.sock"));
}

absl::Status RemoveStaleSocket(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::OkStatus() : SystemError(errno, "look at", path);
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::UnavailableError(
        absl::StrCat("there is something else at ", path, ": remove it, or choose another --admin-address"));
  }
  EXPUNGE_ASSIGN_OR_RETURN(const bool taken, IsListenedOn(path));
  if (taken) {
    return absl::UnavailableError(absl::StrCat(path,
                                               " is taken: stop the server that listens there, or choose "
                                               "another --admin-address"));
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return SystemError(errno, "remove", path);
  return absl::OkStatus();
}

}  // namespace expunge::rpc
