// Reads in a row over a real connection: order, errors among them, limits, and every way to end.
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/server/rpc/server_fixture.h"

namespace expunge::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

constexpr char kMethod[] = "/expunge.v1.MemoryService/StreamRead";

// As Describe says of a status, of an error that is an answer.
std::string DescribeError(const google::rpc::Status& error) {
  return Describe({static_cast<grpc::StatusCode>(error.code()), error.message(), error.SerializeAsString()});
}

std::string DescribeAnswer(const v1::StreamReadResponse& answer) {
  return answer.has_error() ? DescribeError(answer.error()) : "OK";
}

grpc::ByteBuffer Bytes(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

class StreamReadTest : public ServerTest {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::ReadRequest, v1::StreamReadResponse>;

  void SetUp() override {
    StartServer();
    CreateMemory("m");
    CreateMemory("empty");
    Add("m", 0, 12);
  }

  struct Reading {
    grpc::ClientContext context;
    std::unique_ptr<Stream> stream;
    v1::StreamReadResponse answer;
  };

  std::unique_ptr<Reading> Start(milliseconds deadline = seconds(60)) {
    auto reading = std::make_unique<Reading>();
    reading->context.set_deadline(system_clock::now() + deadline);
    reading->stream = memories_->StreamRead(&reading->context);
    return reading;
  }

  // What is left, and how the stream ended.
  static std::string ReadToEnd(Reading* reading, std::vector<v1::StreamReadResponse>* answers = nullptr) {
    while (reading->stream->Read(&reading->answer)) {
      if (answers != nullptr) answers->push_back(reading->answer);
    }
    return Describe(reading->stream->Finish());
  }

  static v1::ReadRequest RequestOf(int index, int rows = 1, const std::string& memory = "m") {
    v1::ReadRequest request;
    request.set_name(MemoryName(memory));
    Rows queries;
    for (int i = 0; i < rows; ++i) queries.push_back({Sample(index + i)[0], Sample(index + i)[1]});
    *request.mutable_queries() = Pack(queries);
    return request;
  }

  // Sends them all from a thread, and takes the answers meanwhile.
  std::vector<v1::StreamReadResponse> SendAll(const std::vector<v1::ReadRequest>& requests) {
    const auto reading = Start();
    std::thread sender([&] {
      for (const v1::ReadRequest& request : requests) {
        if (!reading->stream->Write(request)) break;
      }
      reading->stream->WritesDone();
    });
    std::vector<v1::StreamReadResponse> answers;
    EXPECT_EQ(ReadToEnd(reading.get(), &answers), "OK");
    sender.join();
    return answers;
  }

  v1::ReadResponse ReadAlone(const v1::ReadRequest& request) {
    v1::ReadResponse response;
    const auto status = Call(&v1::MemoryService::Stub::Read, memories_.get(), request, &response);
    EXPECT_TRUE(status.ok()) << Describe(status);
    return response;
  }

  // Details are lost if the connection, on which the client may still send, is reset before they are read.
  void ExpectShutDown(const std::string& end) {
    EXPECT_TRUE(end == "UNAVAILABLE SHUTTING_DOWN" || end == "UNAVAILABLE") << end;
    EXPECT_NE(LogText().find("\"reason\":\"SHUTTING_DOWN\""), std::string::npos);
  }

  std::string LogText() { return test_support::ReadWholeFile(directory_ / "log"); }
};

TEST_F(StreamReadTest, AThousandRequestsAreAnsweredInOrderAsReadAnswersThem) {
  std::vector<v1::ReadRequest> requests;
  for (int i = 0; i < 1000; ++i) {
    requests.push_back(RequestOf(i, 1 + i % 5));
    requests.back().set_with_contributions(i % 7 == 0);
  }
  const auto answers = SendAll(requests);
  ASSERT_EQ(answers.size(), requests.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].index(), i);
    ASSERT_TRUE(answers[i].has_response()) << DescribeAnswer(answers[i]);
    if (i % 10 == 0) {
      EXPECT_EQ(answers[i].response().SerializeAsString(), ReadAlone(requests[i]).SerializeAsString());
    }
  }
}

TEST_F(StreamReadTest, AClientThatWaitsForEachAnswerGetsIt) {
  const auto reading = Start();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(reading->stream->Write(RequestOf(i)));
    ASSERT_TRUE(reading->stream->Read(&reading->answer));
    EXPECT_EQ(reading->answer.index(), static_cast<uint64_t>(i));
    EXPECT_EQ(DescribeAnswer(reading->answer), "OK");
  }
  reading->stream->WritesDone();
  EXPECT_EQ(ReadToEnd(reading.get()), "OK");
}

TEST_F(StreamReadTest, AStreamOfNothingEndsWell) { EXPECT_TRUE(SendAll({}).empty()); }

TEST_F(StreamReadTest, BadRequestsGetTheirErrorsAndTheStreamGoesOn) {
  std::vector<v1::ReadRequest> requests;
  for (int i = 0; i < 60; ++i) requests.push_back(RequestOf(i));
  requests[0].clear_queries();
  requests[7].set_name(MemoryName("none"));
  requests[8].set_name(MemoryName("empty"));
  requests[20].set_name("nonsense");
  requests[21].mutable_queries()->set_columns(3);
  requests[22].set_precision(static_cast<v1::ReadoutPrecision>(9));
  requests[23].set_output_dtype(static_cast<v1::Dtype>(9));
  requests[40] = v1::ReadRequest();
  requests[59].mutable_queries()->set_dtype(v1::DTYPE_UNSPECIFIED);
  const auto answers = SendAll(requests);
  ASSERT_EQ(answers.size(), requests.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].index(), i);
    v1::ReadResponse response;
    const auto alone = Call(&v1::MemoryService::Stub::Read, memories_.get(), requests[i], &response);
    EXPECT_EQ(DescribeAnswer(answers[i]), Describe(alone)) << i;
    if (answers[i].has_error()) {
      EXPECT_EQ(answers[i].error().SerializeAsString(), alone.error_details()) << i;
    }
  }
  EXPECT_EQ(DescribeAnswer(answers[7]), "NOT_FOUND MEMORY_UNKNOWN name");
  EXPECT_NE(LogText().find("\"reason\":\"MEMORY_UNKNOWN\""), std::string::npos);
}

TEST_F(StreamReadTest, BytesThatAreNoMessageAreAnsweredAsSuch) {
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  context.set_deadline(system_clock::now() + seconds(60));
  grpc::CompletionQueue queue;
  const auto step = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return ok;
  };
  const auto call = stub.PrepareCall(&context, kMethod, &queue);
  call->StartCall(nullptr);
  ASSERT_TRUE(step());
  const std::string good = RequestOf(1).SerializeAsString();
  std::string not_utf8 = good;
  not_utf8[3] = '\xff';
  std::vector<std::string> seen;
  for (const std::string& bytes : {good, std::string("\xff\xff\xff\xff"), good.substr(0, good.size() - 1),
                                   not_utf8, std::string(), good}) {
    call->Write(Bytes(bytes), nullptr);
    ASSERT_TRUE(step());
    grpc::ByteBuffer raw;
    call->Read(&raw, nullptr);
    ASSERT_TRUE(step());
    v1::StreamReadResponse answer;
    ASSERT_TRUE(grpc::SerializationTraits<v1::StreamReadResponse>::Deserialize(&raw, &answer).ok());
    EXPECT_EQ(answer.index(), seen.size());
    seen.push_back(DescribeAnswer(answer));
  }
  const std::string malformed = "INVALID_ARGUMENT MESSAGE_MALFORMED";
  EXPECT_EQ(seen, (std::vector<std::string>{"OK", malformed, malformed, malformed,
                                            "INVALID_ARGUMENT FIELD_MISSING queries", "OK"}));
  call->WritesDone(nullptr);
  step();
  grpc::Status status;
  call->Finish(&status, nullptr);
  step();
  EXPECT_TRUE(status.ok()) << Describe(status);
}

TEST_F(StreamReadTest, AMessageOverTheLimitIsAnsweredAndOneFarOverEndsTheStream) {
  options_.max_message_bytes = 64 << 10;
  StartServer();
  v1::ReadRequest large = RequestOf(0);
  large.mutable_queries()->set_data(std::string((64 << 10) + 1, '\0'));
  const auto answers = SendAll({RequestOf(1), large, RequestOf(2)});
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(DescribeAnswer(answers[0]), "OK");
  EXPECT_EQ(DescribeAnswer(answers[1]), "RESOURCE_EXHAUSTED MESSAGE_TOO_LARGE");
  EXPECT_EQ(DescribeAnswer(answers[2]), "OK");
  large.mutable_queries()->set_data(std::string(128 << 10, '\0'));
  const auto reading = Start();
  reading->stream->Write(large);
  EXPECT_EQ(ReadToEnd(reading.get()).substr(0, 18), "RESOURCE_EXHAUSTED");
}

TEST_F(StreamReadTest, ACancelledStreamEndsAndTheServerGoesOn) {
  const auto reading = Start();
  ASSERT_TRUE(reading->stream->Write(RequestOf(0)));
  ASSERT_TRUE(reading->stream->Read(&reading->answer));
  reading->context.TryCancel();
  EXPECT_EQ(ReadToEnd(reading.get()), "CANCELLED");
  EXPECT_EQ(SendAll({RequestOf(0)}).size(), 1U);
  for (int i = 0; i < 1000 && LogText().find("\"reason\":\"CANCELLED\"") == std::string::npos; ++i) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_NE(LogText().find("\"reason\":\"CANCELLED\""), std::string::npos);
}

TEST_F(StreamReadTest, TheDeadlineEndsAStreamThatWaits) {
  const auto reading = Start(milliseconds(300));
  ASSERT_TRUE(reading->stream->Write(RequestOf(0)));
  ASSERT_TRUE(reading->stream->Read(&reading->answer));
  EXPECT_EQ(ReadToEnd(reading.get()), "DEADLINE_EXCEEDED");
  EXPECT_EQ(ReadToEnd(Start(milliseconds(-1)).get()).substr(0, 17), "DEADLINE_EXCEEDED");
}

TEST_F(StreamReadTest, TheEndOfTheServerEndsStreamsThatWait) {
  const auto reading = Start();
  ASSERT_TRUE(reading->stream->Write(RequestOf(0)));
  ASSERT_TRUE(reading->stream->Read(&reading->answer));
  const auto start = system_clock::now();
  StopServer();
  EXPECT_LT(system_clock::now() - start, seconds(8)) << "before the time to drain was over";
  ExpectShutDown(ReadToEnd(reading.get()));
}

TEST_F(StreamReadTest, TheEndOfTheServerEndsStreamsInTheirMidst) {
  const auto reading = Start();
  std::atomic<bool> written = true;
  std::thread sender([&] {
    for (int i = 0; written; ++i) written = reading->stream->Write(RequestOf(i % 100, 50));
  });
  std::vector<v1::StreamReadResponse> answers;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(reading->stream->Read(&reading->answer));
    answers.push_back(reading->answer);
  }
  std::thread stopper([this] { StopServer(); });
  const std::string end = ReadToEnd(reading.get(), &answers);
  sender.join();
  stopper.join();
  ExpectShutDown(end);
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].index(), i);
    EXPECT_EQ(DescribeAnswer(answers[i]), "OK");
  }
}

// Clients that send and do not read, more of them than there are threads: the server soon takes no more of
// theirs, and others do not notice.
TEST_F(StreamReadTest, WhoReadsNoAnswersIsNotListenedTo) {
  constexpr int kMany = 10'000;  // of 16 KB each, and answers of more: far beyond all windows
  std::vector<std::unique_ptr<Reading>> readings;
  std::vector<std::thread> senders;
  std::atomic<int> sent = 0;
  for (uint32_t i = 0; i <= options_.worker_threads; ++i) {
    readings.push_back(Start());
    senders.emplace_back([&sent, stream = readings.back()->stream.get()] {
      const v1::ReadRequest request = RequestOf(0, 1000);
      for (int own = 0; own < kMany && stream->Write(request); ++own) ++sent;
    });
  }
  int before = -1;
  for (int i = 0; i < 100 && before != sent; ++i) {
    before = sent;
    std::this_thread::sleep_for(milliseconds(300));
  }
  EXPECT_EQ(sent, before);
  EXPECT_GT(sent, 0);
  EXPECT_LT(sent, kMany * static_cast<int>(readings.size()));
  EXPECT_EQ(SendAll({RequestOf(1), RequestOf(2)}).size(), 2U);
  EXPECT_EQ(ReadAlone(RequestOf(1)).readouts_size(), 1);
  for (const auto& reading : readings) {  // it takes up again where it stopped
    for (uint64_t i = 0; i < 100; ++i) {
      ASSERT_TRUE(reading->stream->Read(&reading->answer));
      EXPECT_EQ(reading->answer.index(), i);
    }
    reading->context.TryCancel();
    EXPECT_EQ(ReadToEnd(reading.get()), "CANCELLED");
  }
  for (std::thread& sender : senders) sender.join();
}

TEST_F(StreamReadTest, AReaderThatDoesNotReadDelaysTheEndByNoMoreThanTheDrain) {
  options_.drain = absl::Milliseconds(300);
  StartServer();
  const auto reading = Start();
  std::thread sender([&] {
    const v1::ReadRequest request = RequestOf(0, 1000);
    while (reading->stream->Write(request)) {
    }
  });
  ASSERT_TRUE(reading->stream->Read(&reading->answer));
  std::this_thread::sleep_for(milliseconds(500));
  const auto start = system_clock::now();
  StopServer();
  EXPECT_LT(system_clock::now() - start, seconds(10));
  EXPECT_NE(ReadToEnd(reading.get()), "OK");
  sender.join();
}

TEST_F(StreamReadTest, OneStreamTooManyIsRefusedUntilAnotherHasGone) {
  options_.max_streams = 2;
  StartServer();
  const auto first = Start();
  const auto second = Start();
  for (const auto* reading : {&first, &second}) {
    ASSERT_TRUE((*reading)->stream->Write(RequestOf(0)));
    ASSERT_TRUE((*reading)->stream->Read(&(*reading)->answer));
  }
  EXPECT_EQ(ReadToEnd(Start().get()), "UNAVAILABLE OVERLOADED");
  first->stream->WritesDone();
  EXPECT_EQ(ReadToEnd(first.get()), "OK");
  std::string outcome;
  for (int i = 0; i < 1000 && outcome != "OK"; ++i) {
    const auto third = Start();
    third->stream->WritesDone();
    outcome = ReadToEnd(third.get());
  }
  EXPECT_EQ(outcome, "OK");
}

TEST_F(StreamReadTest, ManyStreamsAtOnceWhileTheMemoryChangesAreAllServed) {
  constexpr int kStreams = 6;
  options_.worker_threads = 2;
  options_.readout_batch_delay = std::chrono::microseconds(100);
  StartServer();
  std::vector<std::thread> clients;
  std::atomic<int> answered = 0;
  for (int c = 0; c < kStreams; ++c) {
    clients.emplace_back([&, c] {
      std::vector<v1::ReadRequest> requests;
      for (int i = 0; i < 150; ++i) {
        requests.push_back(RequestOf(100 * c + i));
        requests.back().set_precision(static_cast<v1::ReadoutPrecision>(i % 5));
      }
      for (const auto& answer : SendAll(requests)) {
        EXPECT_EQ(DescribeAnswer(answer), "OK");
        ++answered;
      }
    });
  }
  for (int i = 0; i < 5; ++i) {
    Add("m", 100 + i, 1);
    v1::DeleteRequest request;
    request.set_parent(MemoryName("m"));
    request.add_token_ids(absl::StrCat("t", 100 + i));
    v1::DeleteResponse response;
    EXPECT_TRUE(Call(&v1::UnlearningService::Stub::Delete, unlearning_.get(), request, &response).ok());
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, kStreams * 150);
}

}  // namespace
}  // namespace expunge::rpc
