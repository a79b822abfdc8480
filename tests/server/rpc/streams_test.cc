// Streams over a real connection, with sources that a test decides.
#include "server/rpc/streams.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "expunge/v1/unlearning_service.grpc.pb.h"
#include "server/rpc/codec.h"
#include "tests/server/rpc/server_fixture.h"

namespace expunge::rpc {
namespace {

using core::StreamStep;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

constexpr size_t kChunk = size_t{256} << 10;

// Counts what is alive and what was asked for.
struct Counters {
  std::atomic<int> alive = 0;
  std::atomic<int> asked = 0;
  std::atomic<int> awaited = 0;
};

// Steps through what a test wants, then through `last` for ever.
class ScriptedSource final : public MessageSource {
 public:
  using Script = std::function<absl::StatusOr<StreamStep>(int call)>;

  ScriptedSource(Counters* counters, Script script, std::string chunk)
      : counters_(*counters), script_(std::move(script)), chunk_(std::move(chunk)) {
    ++counters_.alive;
  }
  ~ScriptedSource() override { --counters_.alive; }

  absl::StatusOr<StreamStep> Next(grpc::ByteBuffer* message) override {
    EXPECT_FALSE(busy_.exchange(true)) << "two threads use one source";
    auto step = script_(counters_.asked++);
    if (step.ok() && *step == StreamStep::kAnswer) {
      v1::ExportAuditResponse answer;
      answer.set_chunk(chunk_);
      EXPECT_TRUE(Encode(answer, message).ok());
    }
    busy_ = false;
    return step;
  }

  // Wakes at once, from within: the hardest case.
  void Await(std::function<void()> wake) override {
    EXPECT_FALSE(busy_.exchange(true)) << "two threads use one source";
    ++counters_.awaited;
    if (wake_at_once_) wake();
    std::this_thread::yield();
    busy_ = false;
  }

  void set_wake_at_once() { wake_at_once_ = true; }

 private:
  Counters& counters_;
  const Script script_;
  const std::string chunk_;
  bool wake_at_once_ = false;
  std::atomic<bool> busy_ = false;
};

using RawService = v1::UnlearningService::WithRawCallbackMethod_ExportAudit<v1::UnlearningService::Service>;

class StreamsTest : public testing::Test, public RawService {
 protected:
  ~StreamsTest() override { Stop(seconds(5)); }

  void Start(size_t max_open = 4) {
    streams_ = std::make_unique<Streams>(2, max_open);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = v1::UnlearningService::NewStub(grpc::CreateCustomChannel(
        absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials(), arguments));
  }

  void Stop(milliseconds drain) {
    if (server_ == nullptr) return;
    streams_->EndAll();
    server_->Shutdown(system_clock::now() + drain);
    streams_->Join();
    server_.reset();
  }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* ExportAudit(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* /*message*/) override {
    return streams_->Open({StreamKind::kExport, context,
                           [this]() -> absl::StatusOr<std::unique_ptr<MessageSource>> {
                             if (!open_status_.ok()) return open_status_;
                             auto source = std::make_unique<ScriptedSource>(&counters_, script_, chunk_);
                             if (wake_at_once_) source->set_wake_at_once();
                             return source;
                           },
                           [this](const absl::Status& status) {
                             const std::lock_guard lock(mutex_);
                             ends_.push_back(status);
                             ended_.notify_all();
                           }});
  }

  struct Reading {
    grpc::ClientContext context;
    v1::ExportAuditResponse answer;
    std::unique_ptr<grpc::ClientReader<v1::ExportAuditResponse>> reader;
  };

  std::unique_ptr<Reading> Call(milliseconds deadline = seconds(60)) {
    auto reading = std::make_unique<Reading>();
    reading->context.set_deadline(system_clock::now() + deadline);
    reading->reader = stub_->ExportAudit(&reading->context, v1::ExportAuditRequest());
    return reading;
  }

  static std::string ReadToEnd(Reading* reading, int* answers = nullptr) {
    while (reading->reader->Read(&reading->answer)) {
      if (answers != nullptr) ++*answers;
    }
    return Describe(reading->reader->Finish());
  }

  // The statuses of the streams that have ended, once there are `count`.
  std::vector<absl::Status> Ends(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(ended_.wait_for(lock, seconds(20), [&] { return ends_.size() >= count; }));
    return ends_;
  }

  static void WaitUntil(const std::function<bool()>& true_at_last) {
    for (int i = 0; i < 4000 && !true_at_last(); ++i) std::this_thread::sleep_for(milliseconds(5));
    EXPECT_TRUE(true_at_last());
  }

  Counters counters_;
  ScriptedSource::Script script_;
  std::string chunk_ = "chunk";
  bool wake_at_once_ = false;
  absl::Status open_status_;
  std::unique_ptr<Streams> streams_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::UnlearningService::Stub> stub_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<absl::Status> ends_;
};

TEST_F(StreamsTest, SendsEveryAnswerInOrderAndThenTheEnd) {
  script_ = [](int call) {
    if (call == 30) return StreamStep::kEnd;
    return call % 3 == 2 ? StreamStep::kAgain : StreamStep::kAnswer;
  };
  Start();
  auto reading = Call();
  int answers = 0;
  EXPECT_EQ(ReadToEnd(reading.get(), &answers), "OK");
  EXPECT_EQ(answers, 20);
  EXPECT_EQ(reading->answer.chunk(), "chunk");
  EXPECT_TRUE(Ends(1).front().ok());
}

TEST_F(StreamsTest, AnErrorOfTheSourceEndsTheStreamWithItsReason) {
  script_ = [](int call) -> absl::StatusOr<StreamStep> {
    if (call == 2) return MakeError(Reason::kStorageCorrupt, "", "made by the test");
    return StreamStep::kAnswer;
  };
  Start();
  auto reading = Call();
  int answers = 0;
  EXPECT_EQ(ReadToEnd(reading.get(), &answers), "DATA_LOSS STORAGE_CORRUPT");
  EXPECT_EQ(answers, 2);
}

TEST_F(StreamsTest, AnErrorAtTheBeginningIsTheOnlyAnswer) {
  open_status_ = MakeError(Reason::kMemoryUnknown, "name", "made by the test");
  Start();
  EXPECT_EQ(ReadToEnd(Call().get()), "NOT_FOUND MEMORY_UNKNOWN name");
}

TEST_F(StreamsTest, AnExceptionBecomesAnInternalErrorAndLeavesTheRest) {
  script_ = [](int) -> absl::StatusOr<StreamStep> { throw std::runtime_error("made by the test"); };
  Start();
  EXPECT_EQ(ReadToEnd(Call().get()), "INTERNAL INTERNAL");
  EXPECT_TRUE(absl::IsInternal(Ends(1).front()));
  WaitUntil([&] { return counters_.alive == 0; });
}

TEST_F(StreamsTest, AReaderThatDoesNotReadHoldsTheSourceBack) {
  chunk_ = std::string(kChunk, 'x');
  script_ = [](int) { return StreamStep::kAnswer; };
  Start();
  auto reading = Call();
  ASSERT_TRUE(reading->reader->Read(&reading->answer));
  // What is on its way is bounded by the windows of HTTP/2 and of the socket, not by how long it waits.
  std::this_thread::sleep_for(milliseconds(300));
  const int asked = counters_.asked;
  EXPECT_LE(asked, 40);
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_EQ(counters_.asked, asked);
  reading->context.TryCancel();
  while (reading->reader->Read(&reading->answer)) {
  }
  EXPECT_EQ(Describe(reading->reader->Finish()), "CANCELLED");
  EXPECT_TRUE(absl::IsCancelled(Ends(1).front()));
}

TEST_F(StreamsTest, ACancelledStreamLetsGoOfItsSource) {
  script_ = [](int call) { return call == 0 ? StreamStep::kAnswer : StreamStep::kLater; };
  Start();
  auto reading = Call();
  ASSERT_TRUE(reading->reader->Read(&reading->answer));
  WaitUntil([&] { return counters_.awaited == 1; });
  reading->context.TryCancel();
  EXPECT_EQ(ReadToEnd(reading.get()), "CANCELLED");
  EXPECT_EQ(GetReason(Ends(1).front()), Reason::kCancelled);
  WaitUntil([&] { return counters_.alive == 0; });
}

TEST_F(StreamsTest, ADeadlineEndsAStreamThatWaits) {
  script_ = [](int) { return StreamStep::kLater; };
  Start();
  EXPECT_EQ(ReadToEnd(Call(milliseconds(200)).get()), "DEADLINE_EXCEEDED");
  EXPECT_EQ(GetReason(Ends(1).front()), Reason::kDeadlineExceeded);
  WaitUntil([&] { return counters_.alive == 0; });
}

TEST_F(StreamsTest, AWakeFromWithinAwaitIsNotLostAndNotDoubled) {
  wake_at_once_ = true;
  script_ = [](int call) {
    if (call == 200) return StreamStep::kEnd;
    return call % 2 == 0 ? StreamStep::kLater : StreamStep::kAnswer;
  };
  Start();
  int answers = 0;
  EXPECT_EQ(ReadToEnd(Call().get(), &answers), "OK");
  EXPECT_EQ(answers, 100);
  EXPECT_EQ(counters_.awaited, 100);
}

TEST_F(StreamsTest, WaitingStreamsHoldNoThread) {
  script_ = [](int call) { return call < 8 ? StreamStep::kLater : StreamStep::kEnd; };
  Start(16);
  std::vector<std::unique_ptr<Reading>> waiting;
  for (int i = 0; i < 8; ++i) waiting.push_back(Call());  // and there are two threads
  WaitUntil([&] { return counters_.awaited == 8; });
  EXPECT_EQ(ReadToEnd(Call().get()), "OK");
}

TEST_F(StreamsTest, OneStreamTooManyIsRefusedUntilAnotherHasGone) {
  script_ = [](int) { return StreamStep::kLater; };
  Start(2);
  auto first = Call();
  auto second = Call();
  WaitUntil([&] { return counters_.awaited == 2; });
  EXPECT_EQ(ReadToEnd(Call().get()), "UNAVAILABLE OVERLOADED");
  first->context.TryCancel();
  EXPECT_EQ(ReadToEnd(first.get()), "CANCELLED");
  WaitUntil([&] { return counters_.alive == 1; });
  auto third = Call();
  WaitUntil([&] { return counters_.awaited == 3; });
}

TEST_F(StreamsTest, TheEndOfTheServerEndsStreamsThatWait) {
  script_ = [](int call) { return call == 0 ? StreamStep::kAnswer : StreamStep::kLater; };
  Start();
  auto reading = Call();
  ASSERT_TRUE(reading->reader->Read(&reading->answer));
  WaitUntil([&] { return counters_.awaited == 1; });
  Stop(seconds(20));
  EXPECT_EQ(ReadToEnd(reading.get()), "UNAVAILABLE SHUTTING_DOWN");
  EXPECT_EQ(counters_.alive, 0);
}

TEST_F(StreamsTest, TheEndOfTheServerEndsStreamsInTheirMidst) {
  chunk_ = std::string(kChunk, 'x');
  script_ = [](int) { return StreamStep::kAnswer; };
  Start();
  auto reading = Call();
  ASSERT_TRUE(reading->reader->Read(&reading->answer));
  std::thread stopping([this] { Stop(seconds(20)); });
  EXPECT_EQ(ReadToEnd(reading.get()), "UNAVAILABLE SHUTTING_DOWN");
  stopping.join();
  EXPECT_EQ(counters_.alive, 0);
}

TEST_F(StreamsTest, AReaderThatDoesNotReadDelaysTheEndByNoMoreThanTheDrain) {
  chunk_ = std::string(kChunk, 'x');
  script_ = [](int) { return StreamStep::kAnswer; };
  Start();
  auto reading = Call();
  ASSERT_TRUE(reading->reader->Read(&reading->answer));
  std::this_thread::sleep_for(milliseconds(200));
  const auto start = system_clock::now();
  Stop(milliseconds(200));
  EXPECT_LT(system_clock::now() - start, seconds(10));
  EXPECT_EQ(counters_.alive, 0);
}

}  // namespace
}  // namespace expunge::rpc
