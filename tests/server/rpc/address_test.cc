#include "server/rpc/address.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "server/rpc/authorize.h"

namespace expunge::rpc {
namespace {

TEST(ParseAddressTest, SplitsHostAndPort) {
  EXPECT_EQ(ParseAddress("127.0.0.1:7420")->host, "127.0.0.1");
  EXPECT_EQ(ParseAddress("127.0.0.1:7420")->port, 7420);
  EXPECT_EQ(ParseAddress("[::1]:0")->host, "::1");
  EXPECT_EQ(ParseAddress("localhost:65535")->port, 65535);
}

TEST(ParseAddressTest, RefusesWhatIsNoAddress) {
  for (const char* text :
       {"", ":", "7420", "127.0.0.1", "127.0.0.1:", ":7420", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1:+1", "127.0.0.1: 1", "::1:7420", "[127.0.0.1]:1", "[]:1", "http://x:1", "a b:1"}) {
    EXPECT_EQ(ParseAddress(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(IsLoopbackHostTest, KnowsThisMachineAndNothingElse) {
  for (const char* host : {"127.0.0.1", "127.255.3.4", "::1", "::ffff:127.0.0.1", "localhost"}) {
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "::ffff:10.0.0.1", "::2",
                           "localhost.example.org", "127.0.0.1.example.org", "", "*"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
}

TEST(AuthorizeTest, PlainTextIsForThisMachineOnly) {
  const AccessPolicy strict;
  const AccessPolicy open{true};
  for (const char* peer : {"ipv4:127.0.0.1:5000", "ipv6:[::1]:5000", "ipv6:%5B::1%5D:5000",
                           "ipv6:%5B::ffff:127.0.0.1%5D:5000", "unix:/run/expunge.sock"}) {
    EXPECT_TRUE(Authorize({peer, false}, "acme", strict).ok()) << peer;
  }
  for (const char* peer : {"ipv4:10.1.2.3:5000", "ipv6:[2001:db8::1]:5000", "ipv6:%5B::ffff:10.0.0.1%5D:5000",
                           "", "unknown", "ipv4:", "ipv4:localhost:80", "ipv4:127.0.0.1"}) {
    const absl::Status refused = Authorize({peer, false}, "acme", strict);
    EXPECT_EQ(GetReason(refused), Reason::kPlaintextRefused) << peer;
    EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << peer;
    EXPECT_TRUE(Authorize({peer, true}, "acme", strict).ok()) << peer;
    EXPECT_TRUE(Authorize({peer, false}, "acme", open).ok()) << peer;
  }
}

TEST(ExplainBindFailureTest, NamesTheReasonAndTheRemedy) {
  EXPECT_EQ(ExplainBindFailure({"127.0.0.1", 0}), "");
  const std::string foreign = ExplainBindFailure({"192.0.2.1", 7420});  // TEST-NET-1: nobody's
  EXPECT_NE(foreign.find("no address of this machine"), std::string::npos) << foreign;
  const std::string unknown = ExplainBindFailure({"no-such-host.invalid", 7420});
  EXPECT_NE(unknown.find("check --address"), std::string::npos) << unknown;
}

}  // namespace
}  // namespace expunge::rpc
