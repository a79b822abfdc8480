// What an operator meets: health, reflection, the log, refusals to start.
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/server/rpc/server_fixture.h"

namespace expunge::rpc {
namespace {

using testing::HasSubstr;

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const auto& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

// A message whose field 1 is the string `name`: a HealthCheckRequest.
std::string NameField(const std::string& name) {
  return name.empty() ? "" : absl::StrCat("\x0a", std::string(1, static_cast<char>(name.size())), name);
}

// Sends one message on a stream and keeps every answer.
class Exchange : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Exchange(grpc::GenericStub* stub, const std::string& method, const std::string& message)
      : request_(ToBuffer(message)) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    stub->PrepareBidiStreamingCall(&context_, method, {}, this);
    StartWriteLast(&request_, {});
    StartRead(&response_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    const std::lock_guard lock(mutex_);
    answers_.push_back(ToString(response_));
    changed_.notify_all();
    response_.Clear();
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override { done_.set_value(status); }

  // The first `count` answers, or what came of them within a minute.
  std::vector<std::string> WaitForAnswers(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [this, count] { return answers_.size() >= count; });
    return answers_;
  }
  grpc::Status Wait() { return done_.get_future().get(); }

 private:
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> answers_;
  std::promise<grpc::Status> done_;
};

class OperationsTest : public ServerTest {
 protected:
  // grpc.health.v1.Health/Check; the answer's bytes: field 1, enum (1 serving, 2 not serving).
  std::string Check(const std::string& service) {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const grpc::ByteBuffer request = ToBuffer(NameField(service));
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request, &response,
                   [&done](const grpc::Status& status) { done.set_value(status); });
    const grpc::Status status = done.get_future().get();
    return status.ok() ? ToString(response) : Describe(status);
  }

  absl::Status StartSecond(const ServerOptions& options) {
    const auto log = Log::Open({LogLevel::kError, directory_ / "log2"});
    return Server::Start(options, *log).status();
  }
};

TEST_F(OperationsTest, HealthAnswersForEveryService) {
  StartServer();
  for (const char* service : {"", "expunge.v1.MemoryService", "expunge.v1.UnlearningService"}) {
    EXPECT_EQ(Check(service), "\x08\x01") << service;
  }
  EXPECT_EQ(Check("expunge.v1.NoSuchService"), "NOT_FOUND");
}

TEST_F(OperationsTest, WatchersOfHealthLearnOfAStop) {
  options_.drain = absl::Milliseconds(200);
  StartServer();
  grpc::GenericStub stub(channel_);
  Exchange watch(&stub, "/grpc.health.v1.Health/Watch", NameField("expunge.v1.MemoryService"));
  EXPECT_THAT(watch.WaitForAnswers(1), testing::ElementsAre("\x08\x01"));
  server_->Stop();
  EXPECT_THAT(watch.WaitForAnswers(2), testing::ElementsAre("\x08\x01", "\x08\x02"));
  EXPECT_FALSE(watch.Wait().ok());
}

TEST_F(OperationsTest, ReflectionListsTheServices) {
  StartServer();
  grpc::GenericStub stub(channel_);
  Exchange exchange(&stub, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                    "\x3a\x01*");  // list_services = "*"
  const grpc::Status status = exchange.Wait();
  EXPECT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(exchange.WaitForAnswers(1).size(), 1U);
  const std::string answer = exchange.WaitForAnswers(1)[0];
  EXPECT_THAT(answer, HasSubstr("expunge.v1.MemoryService"));
  EXPECT_THAT(answer, HasSubstr("expunge.v1.UnlearningService"));
  EXPECT_THAT(answer, HasSubstr("grpc.health.v1.Health"));
}

TEST_F(OperationsTest, TheLogHasOneLineACallAndNothingPersonal) {
  StartServer();
  CreateMemory("secretmemory");
  Add("secretmemory", 777, 2);
  v1::GetMemoryRequest request;
  request.set_name(MemoryName("secretnowhere"));
  grpc::ClientContext context;
  context.AddMetadata("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  v1::GetMemoryResponse response;
  EXPECT_FALSE(memories_->GetMemory(&context, request, &response).ok());
  grpc::ClientContext forged;
  forged.AddMetadata("traceparent", "alice@example.org");
  EXPECT_FALSE(memories_->GetMemory(&forged, request, &response).ok());
  StopServer();
  const std::string log = test_support::ReadWholeFile(directory_ / "log");
  std::vector<nlohmann::json> lines;
  for (const absl::string_view line : absl::StrSplit(log, '\n', absl::SkipEmpty())) {
    lines.push_back(nlohmann::json::parse(std::string(line), nullptr, false));
    ASSERT_TRUE(lines.back().is_object()) << line;
  }
  ASSERT_EQ(lines.size(), 4U) << log;
  EXPECT_EQ(lines[0]["method"], "MemoryService.CreateMemory");
  EXPECT_EQ(lines[0]["code"], "OK");
  EXPECT_GT(lines[1]["latency_us"], 0);
  EXPECT_EQ(lines[2]["method"], "MemoryService.GetMemory");
  EXPECT_EQ(lines[2]["code"], "NOT_FOUND");
  EXPECT_EQ(lines[2]["reason"], "MEMORY_UNKNOWN");
  EXPECT_EQ(lines[2]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(lines[3]["trace_id"].get<std::string>().size(), 32U);
  for (const char* personal : {"secret", "acme", "t777", "s0", "alice", "127.0.0.1"}) {
    EXPECT_FALSE(absl::StrContains(log, personal)) << personal;
  }
}

TEST_F(OperationsTest, WhatIsOnDiskIsForTheOwnerAlone) {
  StartServer();
  struct stat info {};
  ASSERT_EQ(stat(options_.data_dir.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  ASSERT_EQ(stat((options_.data_dir + "/signing_key.pem").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(OperationsTest, ADirectoryInUseIsRefusedWithAdvice) {
  StartServer();
  const absl::Status status = StartSecond(options_);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("in use: stop the server that has it open"));
}

TEST_F(OperationsTest, ATakenPortIsRefusedWithAdvice) {
  StartServer();
  ServerOptions second = options_;
  second.data_dir = directory_ / "data2";
  second.address = absl::StrCat("127.0.0.1:", server_->port());
  const absl::Status status = StartSecond(second);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("is taken"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("another --address"));
  EXPECT_EQ(Check(""), "\x08\x01") << "the first serves on";
}

TEST_F(OperationsTest, AKeyThatOthersCanReadIsRefusedWithAdvice) {
  StartServer();
  StopServer();
  const std::string key = options_.data_dir + "/signing_key.pem";
  ASSERT_EQ(chmod(key.c_str(), 0640), 0);
  const absl::Status status = StartSecond(options_);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("chmod"));
  ASSERT_EQ(chmod(key.c_str(), 0600), 0);
  StartServer();
}

TEST_F(OperationsTest, AnAddressBeyondThisMachineNeedsTheOperatorsWord) {
  options_.address = "0.0.0.0:0";
  const absl::Status status = StartSecond(options_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--allow-remote-plaintext"));
  EXPECT_FALSE(std::filesystem::exists(options_.data_dir)) << "refused before anything was made";
  options_.allow_remote_plaintext = true;
  StartServer();
  CreateMemory("m");
}

TEST_F(OperationsTest, StopIsIdempotentAndFreesTheDirectory) {
  StartServer();
  server_->Stop();
  server_->Stop();
  EXPECT_TRUE(StartSecond(options_).ok());
}

}  // namespace
}  // namespace expunge::rpc
