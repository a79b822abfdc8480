#include "server/rpc/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace expunge::rpc {
namespace {

std::string DescribeBindError(int error, absl::string_view place, absl::string_view option) {
  switch (error) {
    case EADDRINUSE:
      return absl::StrCat(place, " is taken: stop the program that listens there, or choose another ", option,
                          " (port 0 picks a free one)");
    case EACCES:
      return absl::StrCat(place, " is not allowed for this user: choose a port above 1023");
    case EADDRNOTAVAIL:
      return absl::StrCat(place, " is no address of this machine: choose one that is, such as 127.0.0.1");
    default:
      return absl::StrCat(place, " cannot be listened on: error ", error);
  }
}

}  // namespace

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  const auto malformed = [] {
    return absl::InvalidArgumentError("the address must be host:port or [ipv6]:port, such as 127.0.0.1:7420");
  };
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return malformed();
  absl::string_view host = text.substr(0, colon);
  const absl::string_view digits = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool host_ok =
      !host.empty() && absl::StrContains(host, ':') == bracketed && host.find_first_of("[]/ ") == host.npos;
  const bool digits_ok = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  uint32_t port = 0;
  if (!host_ok || !digits_ok || !absl::SimpleAtoi(digits, &port) || port > 65535) return malformed();
  return Address{std::string(host), static_cast<uint16_t>(port)};
}

bool IsLoopbackHost(absl::string_view host) {
  if (host == "localhost") return true;
  const std::string text(host);
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, text.c_str(), &v6) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == 127;
  return IN6_IS_ADDR_LOOPBACK(&v6);
}

bool IsLoopbackPeer(absl::string_view peer) {
  if (absl::StartsWith(peer, "unix:") || absl::StartsWith(peer, "unix-abstract:")) return true;
  if (!absl::StartsWith(peer, "ipv4:") && !absl::StartsWith(peer, "ipv6:")) return false;
  const std::string decoded = absl::StrReplaceAll(peer.substr(5), {{"%5B", "["}, {"%5D", "]"}});
  const auto address = ParseAddress(decoded);
  return address.ok() && address->host != "localhost" && IsLoopbackHost(address->host);
}

std::string ExplainBindFailure(const Address& address, absl::string_view option) {
  const std::string place = absl::StrCat(address.host, ":", address.port);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0 || found == nullptr) {
    return absl::StrCat("the host of ", place, " is not known here (", gai_strerror(error), "): check ",
                        option);
  }
  std::string explanation;
  for (const addrinfo* entry = found; entry != nullptr && explanation.empty(); entry = entry->ai_next) {
    const int fd = socket(entry->ai_family, entry->ai_socktype | SOCK_CLOEXEC, entry->ai_protocol);
    if (fd < 0) continue;
    const int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const bool bound = bind(fd, entry->ai_addr, entry->ai_addrlen) == 0 && listen(fd, 1) == 0;
    if (!bound) explanation = DescribeBindError(errno, place, option);
    close(fd);
  }
  freeaddrinfo(found);
  return explanation;
}

}  // namespace expunge::rpc
