// A server whose master key is another, absent, damaged, or on a token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "tests/server/rpc/server_fixture.h"
#include "tests/support/directory_state.h"
#include "tests/support/soft_token.h"

namespace expunge::rpc {
namespace {

namespace fs = std::filesystem;
using test_support::SoftToken;
using test_support::StateOf;
using testing::HasSubstr;

class MasterKeyTest : public ServerTest {
 protected:
  // Memory "m" with tokens, of which one is deleted.
  std::string Fill() {
    StartServer();
    CreateMemory("m");
    Add("m", 0, 6);
    v1::DeleteRequest request;
    request.set_parent(MemoryName("m"));
    request.add_token_ids("t1");
    v1::DeleteResponse response;
    EXPECT_TRUE(Call(&v1::UnlearningService::Stub::Delete, unlearning_.get(), request, &response).ok());
    std::string snapshot = Snapshot();
    StopServer();
    return snapshot;
  }

  absl::Status TryStart() {
    auto log = Log::Open({LogLevel::kError, directory_ / "log"});
    EXPECT_TRUE(log.ok());
    return Server::Start(options_, *log).status();
  }

  // Twice: the first must not leave anything that lets the second pass.
  void ExpectRefusalThatTouchesNothing(absl::StatusCode code, const std::string& text) {
    const auto before = StateOf(options_.data_dir);
    for (int start = 0; start < 2; ++start) {
      const absl::Status status = TryStart();
      EXPECT_EQ(status.code(), code) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(text));
      EXPECT_EQ(StateOf(options_.data_dir), before);
    }
  }

  [[nodiscard]] std::string KeyFile() const { return options_.data_dir + "/master.key"; }
  void WriteKey(const std::string& text) const {
    std::ofstream(KeyFile(), std::ios::binary) << text;
    ASSERT_EQ(::chmod(KeyFile().c_str(), 0600), 0);
  }
};

TEST_F(MasterKeyTest, AnotherOneIsRefusedAndNoByteOfAnyFileChanges) {
  const std::string snapshot = Fill();
  const std::string right = test_support::ReadWholeFile(KeyFile());
  WriteKey(std::string(64, 'a') + "\n");
  ExpectRefusalThatTouchesNothing(absl::StatusCode::kFailedPrecondition, "another master key");
  std::string near = right;
  near[0] = near[0] == '0' ? '1' : '0';
  WriteKey(near);
  ExpectRefusalThatTouchesNothing(absl::StatusCode::kFailedPrecondition, "another master key");
  WriteKey(right);
  StartServer();
  EXPECT_EQ(Snapshot(), snapshot);
}

TEST_F(MasterKeyTest, WithoutOneOrWithADamagedOneNoByteOfAnyFileChanges) {
  const std::string snapshot = Fill();
  const std::string right = test_support::ReadWholeFile(KeyFile());
  WriteKey(right.substr(0, 40));
  ExpectRefusalThatTouchesNothing(absl::StatusCode::kInvalidArgument, KeyFile());
  ASSERT_EQ(::chmod(KeyFile().c_str(), 0644), 0);
  ExpectRefusalThatTouchesNothing(absl::StatusCode::kPermissionDenied, "chmod 600");
  fs::remove(KeyFile());
  ExpectRefusalThatTouchesNothing(absl::StatusCode::kNotFound, KeyFile());
  WriteKey(right);
  StartServer();
  EXPECT_EQ(Snapshot(), snapshot);
}

TEST_F(MasterKeyTest, ATokensOptionsMustBeComplete) {
  options_.master_key_token.label = "token";
  EXPECT_THAT(std::string(TryStart().message()), HasSubstr("--master-key-module"));
  options_.master_key_token.module = "/no/module.so";
  const absl::Status status = TryStart();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--master-key-pin-file"));
  EXPECT_FALSE(fs::exists(options_.data_dir + "/db"));
}

TEST_F(MasterKeyTest, OnATokenTheDataAreThereAfterARestartAndNotWithoutIt) {
  if (!SoftToken::Available()) GTEST_SKIP() << "SoftHSM is not installed (package softhsm2)";
  const SoftToken hsm("token");
  const std::string pin = directory_ / "pin";
  std::ofstream(pin) << test_support::kPin << '\n';
  ASSERT_EQ(::chmod(pin.c_str(), 0600), 0);
  options_.master_key_token = {SoftToken::Module(), "token", "expunge-master", pin};
  const std::string snapshot = Fill();
  EXPECT_FALSE(fs::exists(KeyFile()));
  StartServer();
  EXPECT_EQ(Snapshot(), snapshot);
  StopServer();

  options_.master_key_token.module = "/no/module.so";
  ExpectRefusalThatTouchesNothing(absl::StatusCode::kNotFound, "/no/module.so");
  options_.master_key_token = {};
  ExpectRefusalThatTouchesNothing(absl::StatusCode::kNotFound, "--master-key-module");
  options_.master_key_token = {SoftToken::Module(), "token", "expunge-master", pin};
  std::ofstream(pin) << "wrong\n";
  ExpectRefusalThatTouchesNothing(absl::StatusCode::kPermissionDenied, "PIN");
  std::ofstream(pin) << test_support::kPin;
  StartServer();
  EXPECT_EQ(Snapshot(), snapshot);
}

}  // namespace
}  // namespace expunge::rpc
