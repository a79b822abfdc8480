// Our own client's reads in a row, against a real server.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "client/cpp/client.h"
#include "client/cpp/status.h"
#include "tests/server/rpc/server_fixture.h"

namespace expunge::rpc {
namespace {

class StreamClientTest : public ServerTest {
 protected:
  void SetUp() override {
    StartServer();
    CreateMemory("m");
    Add("m", 0, 12);
    client_ =
        std::make_unique<client::Client>(client::ClientOptions{absl::StrCat("127.0.0.1:", server_->port())});
  }

  static v1::ReadRequest RequestOf(int index, const std::string& memory = "m") {
    v1::ReadRequest request;
    request.set_name(MemoryName(memory));
    *request.mutable_queries() = Pack({{Sample(index)[0], Sample(index)[1]}});
    return request;
  }

  // Gives request 0, 1, ... of `memories` in turn, `count` in all.
  static std::function<std::optional<v1::ReadRequest>()> Requests(int count,
                                                                  std::vector<std::string> memories) {
    return [count, memories = std::move(memories), next = 0]() mutable -> std::optional<v1::ReadRequest> {
      if (next == count) return std::nullopt;
      const std::string& memory = memories[static_cast<size_t>(next) % memories.size()];
      return RequestOf(next++, memory);
    };
  }

  std::unique_ptr<client::Client> client_;
};

TEST_F(StreamClientTest, TakesEveryAnswerAndEveryErrorInOrder) {
  std::vector<absl::StatusOr<v1::ReadResponse>> answers;
  const absl::Status end = client_->StreamRead(absl::Seconds(60), Requests(300, {"m", "m", "none"}),
                                               [&](absl::StatusOr<v1::ReadResponse> answer) {
                                                 answers.push_back(std::move(answer));
                                                 return true;
                                               });
  EXPECT_TRUE(end.ok()) << end;
  ASSERT_EQ(answers.size(), 300U);
  for (int i = 0; i < 300; ++i) {
    const auto& answer = answers[static_cast<size_t>(i)];
    if (i % 3 == 2) {
      EXPECT_EQ(GetReason(answer.status()), Reason::kMemoryUnknown);
      EXPECT_EQ(GetField(answer.status()), "name");
      EXPECT_EQ(client::GetOrigin(answer.status()), client::Origin::kService);
    } else {
      ASSERT_TRUE(answer.ok()) << answer.status();
      if (i % 30 == 0) {
        EXPECT_EQ(answer->SerializeAsString(), client_->Read(RequestOf(i))->SerializeAsString());
      }
    }
  }
}

TEST_F(StreamClientTest, EndsWhenItsTakerHasEnoughOrFails) {
  for (const bool fails : {false, true}) {
    int taken = 0;
    // There would be no end of requests.
    const absl::Status end = client_->StreamRead(
        absl::Seconds(60), [next = 0]() mutable { return std::optional(RequestOf(next++ % 50)); },
        [&](const absl::StatusOr<v1::ReadResponse>& answer) -> absl::StatusOr<bool> {
          EXPECT_TRUE(answer.ok()) << answer.status();
          if (++taken < 100) return true;
          if (fails) return absl::DataLossError("made by the test");
          return false;
        });
    EXPECT_EQ(taken, 100);
    EXPECT_EQ(end.code(), fails ? absl::StatusCode::kDataLoss : absl::StatusCode::kOk) << end;
  }
}

TEST_F(StreamClientTest, ATextThatIsNotUtf8IsNotSentAndWhatWasSentIsAnswered) {
  int taken = 0;
  const absl::Status end = client_->StreamRead(absl::Seconds(60), Requests(10, {"m", "m", "m\xff"}),
                                               [&](const absl::StatusOr<v1::ReadResponse>& answer) {
                                                 EXPECT_TRUE(answer.ok()) << answer.status();
                                                 ++taken;
                                                 return true;
                                               });
  EXPECT_EQ(taken, 2);
  EXPECT_EQ(GetReason(end), Reason::kNameMalformed);
  EXPECT_EQ(client::GetOrigin(end), client::Origin::kLocal);
}

TEST_F(StreamClientTest, SaysHowAStreamEndedThatItsServerEnded) {
  int taken = 0;
  std::thread stopper;
  const absl::Status end = client_->StreamRead(
      absl::Seconds(60), [next = 0]() mutable { return std::optional(RequestOf(next++ % 50)); },
      [&](const absl::StatusOr<v1::ReadResponse>& answer) {
        EXPECT_TRUE(answer.ok()) << answer.status();
        if (++taken == 20) stopper = std::thread([this] { server_->Stop(); });
        return true;
      });
  stopper.join();
  EXPECT_TRUE(absl::IsUnavailable(end)) << end;
  StopServer();
  const absl::Status nobody = client_->StreamRead(
      absl::Seconds(10), Requests(5, {"m"}), [](const absl::StatusOr<v1::ReadResponse>&) { return true; });
  EXPECT_EQ(client::GetOrigin(nobody), client::Origin::kTransport);
}

}  // namespace
}  // namespace expunge::rpc
