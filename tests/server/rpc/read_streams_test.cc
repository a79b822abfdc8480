// Reads in a row over a real connection, with answers that a test decides.
#include "server/rpc/read_streams.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "expunge/v1/memory_service.grpc.pb.h"
#include "server/rpc/codec.h"
#include "server/rpc/status.h"
#include "tests/server/rpc/server_fixture.h"

namespace expunge::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

using RawService = v1::MemoryService::WithRawCallbackMethod_StreamRead<v1::MemoryService::Service>;

// Answers each request with its name, in the field that a digest would have.
class ReadStreamsTest : public testing::Test, public RawService {
 protected:
  ~ReadStreamsTest() override {
    OpenDoor();
    Stop(seconds(5));
  }

  void Start(size_t max_queued = 16) {
    pool_ = std::make_unique<WorkerPool>(WorkerPoolOptions{1, max_queued, UINT64_MAX});
    streams_ = std::make_unique<ReadStreams>(pool_.get(), 4);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = v1::MemoryService::NewStub(grpc::CreateCustomChannel(
        absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials(), arguments));
  }

  void Stop(milliseconds drain) {
    if (server_ == nullptr) return;
    streams_->EndAll();
    server_->Shutdown(system_clock::now() + drain);
    streams_->Join();
    pool_->Join();
    server_.reset();
  }

  ReadStreams::Reactor* StreamRead(grpc::CallbackServerContext* context) override {
    return streams_->Open({context,
                           [this](uint64_t first, absl::Span<const grpc::ByteBuffer> requests) {
                             return Answer(first, requests);
                           },
                           [](uint64_t index, const absl::Status& status) {
                             v1::StreamReadResponse answer;
                             answer.set_index(index);
                             *answer.mutable_error() = ToRichStatus(status);
                             return Encoded(answer);
                           },
                           [this](const absl::Status& status) {
                             const std::lock_guard lock(mutex_);
                             ends_.push_back(status);
                             changed_.notify_all();
                           }});
  }

  std::vector<grpc::ByteBuffer> Answer(uint64_t first, absl::Span<const grpc::ByteBuffer> requests) {
    {
      std::unique_lock lock(mutex_);
      groups_.push_back(requests.size());
      changed_.notify_all();
      changed_.wait(lock, [this] { return door_open_; });
    }
    std::vector<grpc::ByteBuffer> answers;
    for (const grpc::ByteBuffer& bytes : requests.first(std::min(requests.size(), most_answers_))) {
      v1::ReadRequest request;
      EXPECT_TRUE(Decode(bytes, &request).ok());
      v1::StreamReadResponse answer;
      answer.set_index(first + answers.size());
      answer.mutable_response()->mutable_state()->set_digest(request.name());
      answer.mutable_response()->mutable_outputs()->set_data(std::string(answer_bytes_, 'x'));
      answers.push_back(Encoded(answer));
    }
    return answers;
  }

  static grpc::ByteBuffer Encoded(const v1::StreamReadResponse& answer) {
    grpc::ByteBuffer bytes;
    EXPECT_TRUE(Encode(answer, &bytes).ok());
    return bytes;
  }

  void CloseDoor() {
    const std::lock_guard lock(mutex_);
    door_open_ = false;
  }
  void OpenDoor() {
    const std::lock_guard lock(mutex_);
    door_open_ = true;
    changed_.notify_all();
  }
  // The sizes of the groups, once there are so many.
  std::vector<size_t> Groups(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, seconds(20), [&] { return groups_.size() >= count; }));
    return groups_;
  }
  size_t Asked() {
    const std::lock_guard lock(mutex_);
    size_t asked = 0;
    for (const size_t group : groups_) asked += group;
    return asked;
  }
  std::vector<absl::Status> Ends(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, seconds(20), [&] { return ends_.size() >= count; }));
    return ends_;
  }
  // Returns when nothing was asked for a while.
  size_t AskedAtRest() {
    size_t before = SIZE_MAX;
    for (int i = 0; i < 100 && before != Asked(); ++i) {
      before = Asked();
      std::this_thread::sleep_for(milliseconds(200));
    }
    return before;
  }

  struct Reading {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::ReadRequest, v1::StreamReadResponse>> stream;
    v1::StreamReadResponse answer;
  };

  std::unique_ptr<Reading> Call() {
    auto reading = std::make_unique<Reading>();
    reading->context.set_deadline(system_clock::now() + seconds(60));
    reading->stream = stub_->StreamRead(&reading->context);
    return reading;
  }

  static void Send(Reading* reading, int first, int count, size_t bytes = 0) {
    for (int i = first; i < first + count; ++i) {
      v1::ReadRequest request;
      request.set_name(absl::StrCat(i));
      request.mutable_queries()->set_data(std::string(bytes, 'q'));
      ASSERT_TRUE(reading->stream->Write(request));
    }
  }

  // Takes `count` answers and checks that they are to the requests `first`, `first` + 1, ...
  static void Take(Reading* reading, int first, int count) {
    for (int i = first; i < first + count; ++i) {
      ASSERT_TRUE(reading->stream->Read(&reading->answer)) << i;
      EXPECT_EQ(reading->answer.index(), static_cast<uint64_t>(i));
      EXPECT_EQ(reading->answer.response().state().digest(), absl::StrCat(i));
    }
  }

  static std::string End(Reading* reading) {
    reading->stream->WritesDone();
    EXPECT_FALSE(reading->stream->Read(&reading->answer));
    return Describe(reading->stream->Finish());
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool door_open_ = true;
  size_t most_answers_ = SIZE_MAX;
  size_t answer_bytes_ = 0;
  std::vector<size_t> groups_;
  std::vector<absl::Status> ends_;
  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<ReadStreams> streams_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::MemoryService::Stub> stub_;
};

TEST_F(ReadStreamsTest, WhatWaitsIsTheNextGroupAndNoMoreThanMayBeInFlight) {
  CloseDoor();
  Start();
  const auto reading = Call();
  Send(reading.get(), 0, 1);
  EXPECT_EQ(Groups(1), std::vector<size_t>{1});
  Send(reading.get(), 1, 199);
  std::this_thread::sleep_for(milliseconds(300));
  OpenDoor();
  Take(reading.get(), 0, 200);
  EXPECT_EQ(End(reading.get()), "OK");
  const std::vector<size_t> groups = Groups(4);
  EXPECT_EQ(groups[1], ReadStreams::kInFlight - 1);
  EXPECT_LE(*std::max_element(groups.begin(), groups.end()), ReadStreams::kInFlight);
  EXPECT_TRUE(Ends(1).front().ok());
}

TEST_F(ReadStreamsTest, AGroupThatIsAnsweredInPartComesAgainInOrder) {
  most_answers_ = 3;
  CloseDoor();
  Start();
  const auto reading = Call();
  Send(reading.get(), 0, 1);
  Groups(1);
  Send(reading.get(), 1, 20);
  std::this_thread::sleep_for(milliseconds(300));
  OpenDoor();
  Take(reading.get(), 0, 21);
  EXPECT_EQ(End(reading.get()), "OK");
  EXPECT_EQ(Groups(8), (std::vector<size_t>{1, 20, 17, 14, 11, 8, 5, 2}));
}

TEST_F(ReadStreamsTest, LargeRequestsWaitInTheConnection) {
  constexpr size_t kLarge = 700 << 10;
  CloseDoor();
  Start();
  const auto reading = Call();
  std::thread sender([&] {
    Send(reading.get(), 0, 12, kLarge);
    reading->stream->WritesDone();
  });
  Groups(1);
  std::this_thread::sleep_for(milliseconds(300));
  OpenDoor();
  Take(reading.get(), 0, 12);
  EXPECT_FALSE(reading->stream->Read(&reading->answer));
  EXPECT_TRUE(reading->stream->Finish().ok());
  sender.join();
  for (const size_t group : Groups(1)) EXPECT_LE(group, 2U);  // less than kHeldBytes and one
}

TEST_F(ReadStreamsTest, UnreadAnswersHoldTheNextGroupBack) {
  answer_bytes_ = 512 << 10;
  Start();
  const auto reading = Call();
  Send(reading.get(), 0, 500);  // small: they fit into the windows of the connection
  const size_t asked = AskedAtRest();
  EXPECT_LT(asked, 200U);
  EXPECT_EQ(AskedAtRest(), asked);
  Take(reading.get(), 0, 500);
  EXPECT_EQ(End(reading.get()), "OK");
}

TEST_F(ReadStreamsTest, AFullQueueRefusesRequestByRequestAndTheStreamGoesOn) {
  Start(1);
  // Both places are taken: one task runs, one waits.
  std::mutex gate;
  gate.lock();
  ASSERT_TRUE(pool_->Submit(0, [&gate] { const std::lock_guard lock(gate); }));
  ASSERT_TRUE(pool_->Submit(0, [] {}));
  const auto reading = Call();
  Send(reading.get(), 0, 5);
  for (uint64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(reading->stream->Read(&reading->answer));
    EXPECT_EQ(reading->answer.index(), i);
    const auto& error = reading->answer.error();
    EXPECT_EQ(
        Describe({static_cast<grpc::StatusCode>(error.code()), error.message(), error.SerializeAsString()}),
        "UNAVAILABLE OVERLOADED");
  }
  EXPECT_EQ(Asked(), 0U);
  gate.unlock();
  bool answered = false;
  int next = 5;
  while (!answered) {  // a place is free a moment later
    Send(reading.get(), next, 1);
    ASSERT_TRUE(reading->stream->Read(&reading->answer));
    EXPECT_EQ(reading->answer.index(), static_cast<uint64_t>(next++));
    answered = reading->answer.has_response();
  }
  EXPECT_EQ(End(reading.get()), "OK");
}

TEST_F(ReadStreamsTest, WhoCancelsIsForgottenWhateverIsAtWork) {
  CloseDoor();
  Start();
  const auto reading = Call();
  Send(reading.get(), 0, 30);
  Groups(1);
  reading->context.TryCancel();
  EXPECT_FALSE(reading->stream->Read(&reading->answer));
  EXPECT_EQ(Describe(reading->stream->Finish()), "CANCELLED");
  OpenDoor();
  EXPECT_EQ(GetReason(Ends(1).front()), Reason::kCancelled);
}

TEST_F(ReadStreamsTest, TheEndOfTheServerLetsWhatIsAtWorkBeAnswered) {
  CloseDoor();
  Start();
  const auto reading = Call();
  Send(reading.get(), 0, 1);
  Groups(1);
  Send(reading.get(), 1, 10);
  std::this_thread::sleep_for(milliseconds(200));
  std::thread stopper([this] { Stop(seconds(20)); });
  std::this_thread::sleep_for(milliseconds(200));
  OpenDoor();
  Take(reading.get(), 0, 1);
  EXPECT_FALSE(reading->stream->Read(&reading->answer));
  // The details are lost if the connection, on which the client may still send, is reset before they are
  // read.
  EXPECT_EQ(reading->stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  stopper.join();
  EXPECT_EQ(Asked(), 1U);
  EXPECT_EQ(GetReason(Ends(1).front()), Reason::kShuttingDown);
}

}  // namespace
}  // namespace expunge::rpc
