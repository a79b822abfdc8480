#include "server/rpc/admin_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/durable_file.h"
#include "tests/support/files.h"

namespace expunge::rpc {
namespace {

using testing::HasSubstr;

TEST(AdminAddressTest, IsASocketOrAPortOfTheLoopback) {
  for (const auto& [text, listen, socket] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"unix:/run/a.sock", "unix:/run/a.sock", "/run/a.sock"},
           {"unix:///run/a.sock", "unix:/run/a.sock", "/run/a.sock"},
           {"unix:a.sock", "unix:a.sock", "a.sock"},
           {"unix:/run/with: colon", "unix:/run/with: colon", "/run/with: colon"},
           {"unix:/run/50%41", "unix:/run/50%2541", "/run/50%41"},
           {"127.0.0.1:0", "127.0.0.1:0", ""},
           {"127.8.0.1:7421", "127.8.0.1:7421", ""},
           {"[::1]:7421", "[::1]:7421", ""},
           {"localhost:7421", "localhost:7421", ""}}) {
    const auto address = ParseAdminAddress(text);
    ASSERT_TRUE(address.ok()) << text << ": " << address.status();
    EXPECT_EQ(address->listen, listen);
    EXPECT_EQ(address->socket, socket);
  }
}

TEST(AdminAddressTest, RefusesWhateverOtherMachinesReach) {
  for (const char* text :
       {"0.0.0.0:7421", "[::]:7421", "192.0.2.1:7421", "example.org:7421", "[2001:db8::1]:1"}) {
    const auto address = ParseAdminAddress(text);
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(address.status().message(), HasSubstr("other machines")) << text;
  }
}

TEST(AdminAddressTest, RefusesWhatIsNoAddress) {
  for (const char* text : {"", "/run/a.sock", "unix:", "unix://", "unix://host/a.sock", "unix:/run/",
                           "unix-abstract:a", "vsock:1:2", "7421", "none:", "127.0.0.1", "127.0.0.1:99999"}) {
    const auto address = ParseAdminAddress(text);
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(address.status().message(), HasSubstr("--admin-address")) << text;
  }
}

TEST(AdminAddressTest, TheLongestPathFitsAndOneMoreByteDoesNot) {
  const std::string longest = "/" + std::string(kMaxSocketPath - 1, 'p');
  EXPECT_TRUE(ParseAdminAddress("unix:" + longest).ok());
  const auto longer = ParseAdminAddress("unix:" + longest + "p");
  EXPECT_EQ(longer.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(longer.status().message(), testing::AllOf(HasSubstr("108"), HasSubstr("--admin-address")));
  const std::string data_dir = longest.substr(0, kMaxSocketPath - strlen("/admin.sock"));
  EXPECT_EQ(DefaultAdminAddress(data_dir)->socket, data_dir + "/admin.sock");
  EXPECT_FALSE(DefaultAdminAddress(data_dir + "p").ok());
}

class StaleSocketTest : public testing::Test {
 protected:
  // Binds a socket, and listens on it if asked to. It stays when the descriptor goes, as after a crash.
  [[nodiscard]] Descriptor Bind(bool listening) const {
    Descriptor bound(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(bound.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    if (listening) {
      EXPECT_EQ(listen(bound.get(), 1), 0);
    }
    return bound;
  }
  [[nodiscard]] bool Exists() const {
    return std::filesystem::exists(std::filesystem::symlink_status(path_));
  }

  test_support::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a.sock";
};

TEST_F(StaleSocketTest, IsRemovedWhereNobodyListens) {
  EXPECT_TRUE(RemoveStaleSocket(path_).ok()) << "nothing is there";
  { const Descriptor dead = Bind(true); }
  ASSERT_TRUE(Exists());
  const absl::Status removed = RemoveStaleSocket(path_);
  EXPECT_TRUE(removed.ok()) << removed;
  EXPECT_FALSE(Exists());
}

TEST_F(StaleSocketTest, StaysWhereSomebodyListens) {
  const Descriptor alive = Bind(true);
  const absl::Status taken = RemoveStaleSocket(path_);
  EXPECT_EQ(taken.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(taken.message(), testing::AllOf(HasSubstr("taken"), HasSubstr("--admin-address")));
  EXPECT_TRUE(Exists());
}

TEST_F(StaleSocketTest, NothingElseIsRemoved) {
  std::ofstream(path_) << "a file";
  EXPECT_THAT(RemoveStaleSocket(path_).message(), HasSubstr("something else"));
  EXPECT_EQ(test_support::ReadWholeFile(path_), "a file");
  std::filesystem::remove(path_);
  std::filesystem::create_symlink(directory_ / "target", path_);
  EXPECT_THAT(RemoveStaleSocket(path_).message(), HasSubstr("something else"));
  EXPECT_TRUE(Exists());
}

}  // namespace
}  // namespace expunge::rpc
