// The program `expunged` as scripts and service managers use it.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "expunge/v1/memory_service.grpc.pb.h"
#include "tests/server/rpc/child_process.h"
#include "tests/support/files.h"

namespace expunge::rpc {
namespace {

using testing::HasSubstr;

class ProgramTest : public testing::Test {
 protected:
  std::vector<std::string> Command(std::vector<std::string> more = {}) {
    std::vector<std::string> command = {EXPUNGED_PROGRAM, "--data-dir",  directory_ / "data", "--address",
                                        "127.0.0.1:0",    "--port-file", directory_ / "port"};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }

  // 0 if it is not written within a minute.
  int WaitForPort() {
    int port = 0;
    for (int i = 0; i < 6000; ++i) {
      if (absl::SimpleAtoi(test_support::ReadWholeFile(directory_ / "port"), &port)) return port;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return 0;
  }

  std::string Output() { return test_support::ReadWholeFile(directory_ / "output"); }

  static grpc::Status ListMemories(int port, const std::string& parent = "tenants/acme") {
    const auto stub = v1::MemoryService::NewStub(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::ListMemoriesRequest request;
    request.set_parent(parent);
    v1::ListMemoriesResponse response;
    return stub->ListMemories(&context, request, &response);
  }

  test_support::TemporaryDirectory directory_;
};

TEST_F(ProgramTest, ServesAndStopsCleanlyOnSigtermAndSigint) {
  for (const int signal : {SIGTERM, SIGINT}) {
    ChildProcess program(Command(), directory_ / "output");
    const int port = WaitForPort();
    ASSERT_GT(port, 0) << Output();
    EXPECT_TRUE(ListMemories(port).ok());
    program.Signal(signal);
    EXPECT_EQ(program.Wait(), 0) << Output();
    EXPECT_FALSE(std::filesystem::exists(directory_ / "port")) << "a stale port would mislead";
  }
  EXPECT_THAT(Output(), HasSubstr("\"message\":\"readouts on the "));
  EXPECT_THAT(Output(), HasSubstr("\"message\":\"stopped\""));
}

TEST_F(ProgramTest, EveryLineIsJsonAlsoWhenAMessageCannotBeDecoded) {
  ChildProcess program(Command(), directory_ / "output");
  const int port = WaitForPort();
  ASSERT_GT(port, 0) << Output();
  EXPECT_EQ(ListMemories(port, "tenants/\xff").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
  const std::string output = Output();
  EXPECT_THAT(output, HasSubstr("\"reason\":\"MESSAGE_MALFORMED\""));
  for (const absl::string_view line : absl::StrSplit(output, '\n', absl::SkipEmpty())) {
    EXPECT_TRUE(absl::StartsWith(line, "{\"time\":") && absl::EndsWith(line, "}")) << line;
  }
}

TEST_F(ProgramTest, ASecondOneOnTheSameDirectoryExitsWithAdvice) {
  ChildProcess program(Command(), directory_ / "output");
  ASSERT_GT(WaitForPort(), 0) << Output();
  ChildProcess second({EXPUNGED_PROGRAM, "--data-dir", directory_ / "data", "--address", "127.0.0.1:0"},
                      directory_ / "output2");
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_THAT(test_support::ReadWholeFile(directory_ / "output2"), HasSubstr("in use"));
  program.Signal(SIGTERM);
  EXPECT_EQ(program.Wait(), 0);
}

TEST_F(ProgramTest, IsStartedAgainAfterSigkill) {
  for (int run = 0; run < 2; ++run) {
    std::filesystem::remove(directory_ / "port");
    ChildProcess program(Command(), directory_ / "output");
    const int port = WaitForPort();
    ASSERT_GT(port, 0) << Output();
    EXPECT_TRUE(ListMemories(port).ok());
    program.Signal(SIGKILL);
    EXPECT_EQ(program.Wait(), -1);
  }
}

TEST_F(ProgramTest, LeavesNoCoreDump) {
  ChildProcess program(Command(), directory_ / "output");
  ASSERT_GT(WaitForPort(), 0) << Output();
  const std::string limits = test_support::ReadWholeFile(absl::StrCat("/proc/", program.pid(), "/limits"));
  EXPECT_THAT(limits, testing::ContainsRegex("Max core file size +0 +0 "));
  program.Signal(SIGABRT);
  EXPECT_EQ(program.Wait(), -1);
}

TEST_F(ProgramTest, AMistakeInTheConfigurationExitsWith2AndNamesTheKey) {
  std::ofstream(directory_ / "expunged.toml") << "data-dri = \"/d\"\n";
  ChildProcess program({EXPUNGED_PROGRAM, "--config", directory_ / "expunged.toml"}, directory_ / "output");
  EXPECT_EQ(program.Wait(), 2);
  EXPECT_THAT(Output(), HasSubstr("data-dri"));
}

TEST_F(ProgramTest, RefusesARemoteAddress) {
  ChildProcess program({EXPUNGED_PROGRAM, "--data-dir", directory_ / "data", "--address", "0.0.0.0:0"},
                       directory_ / "output");
  EXPECT_EQ(program.Wait(), 2);
  EXPECT_THAT(Output(), HasSubstr("--allow-remote-plaintext"));
}

}  // namespace
}  // namespace expunge::rpc
