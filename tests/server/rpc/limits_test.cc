// Deadlines, cancellation, overload, stopping: what happens to calls that cannot be served, and to those that
// can.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/server/rpc/server_fixture.h"

namespace expunge::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

// One thread a lane and one place in its queue, so that each call's fate is decided.
class LimitsTest : public ServerTest {
 protected:
  using PendingAdd = PendingCall<v1::AddResponse>;

  void SetUp() override {
    options_.worker_threads = 1;
    options_.max_queued = 1;
    StartServer();
    CreateMemory("m");
    CreateMemory("other");
  }

  std::unique_ptr<PendingAdd> StartAdd(int token, milliseconds deadline = seconds(60)) {
    auto call = std::make_unique<PendingAdd>();
    call->context.set_deadline(system_clock::now() + deadline);
    const v1::AddRequest request = AddRequestFor("m", token, 1);
    memories_->async()->Add(
        &call->context, &request, &call->response,
        [raw = call.get()](const grpc::Status& status) { raw->promise.set_value(status); });
    return call;
  }

  // Adds a token once the queue has room again: a place is free a moment after the answer before it.
  std::string AddWhenThereIsRoom(int token) {
    for (;;) {
      const std::string outcome = Describe(StartAdd(token)->status.get());
      if (outcome != "UNAVAILABLE OVERLOADED") return outcome;
      std::this_thread::sleep_for(milliseconds(5));
    }
  }

  static bool Ended(const PendingAdd& call, milliseconds within) {
    return call.status.wait_for(within) == std::future_status::ready;
  }

  // How many lines of the log hold `text`.
  int Logged(const std::string& text) {
    int count = 0;
    const std::string log = test_support::ReadWholeFile(directory_ / "log");
    for (const absl::string_view line : absl::StrSplit(log, '\n'))
      count += absl::StrContains(line, text) ? 1 : 0;
    return count;
  }
};

TEST_F(LimitsTest, AnExpiredDeadlineDoesNothing) {
  const std::string before = Snapshot();
  const auto call = StartAdd(0, milliseconds(-1));
  EXPECT_EQ(call->status.get().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(Snapshot(), before);
}

TEST_F(LimitsTest, ACallWhoseDeadlinePassesInTheQueueDoesNothing) {
  clock_.Close();
  const auto first = StartAdd(0);
  clock_.WaitForArrival();
  const auto second = StartAdd(1, milliseconds(100));
  EXPECT_EQ(second->status.get().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  clock_.Open();
  EXPECT_TRUE(first->status.get().ok());
  EXPECT_EQ(AddWhenThereIsRoom(2), "OK");  // after the second has been looked at
  EXPECT_EQ(Tokens("m").size(), 2U);
  EXPECT_EQ(Logged("\"reason\":\"DEADLINE_EXCEEDED\""), 1);
}

TEST_F(LimitsTest, ACallCancelledInTheQueueDoesNothing) {
  clock_.Close();
  const auto first = StartAdd(0);
  clock_.WaitForArrival();
  const auto second = StartAdd(1);
  EXPECT_FALSE(Ended(*second, milliseconds(100)));
  second->context.TryCancel();
  EXPECT_EQ(second->status.get().error_code(), grpc::StatusCode::CANCELLED);
  std::this_thread::sleep_for(milliseconds(100));  // for the cancellation to reach the server
  clock_.Open();
  EXPECT_TRUE(first->status.get().ok());
  EXPECT_EQ(AddWhenThereIsRoom(2), "OK");
  EXPECT_EQ(Tokens("m").size(), 2U);
  EXPECT_EQ(Logged("\"reason\":\"CANCELLED\""), 1);
}

TEST_F(LimitsTest, WhatTheQueueCannotHoldIsRefusedAndReadersDoNotCare) {
  Add("m", 10, 1);
  clock_.Close();
  const auto running = StartAdd(0);
  clock_.WaitForArrival();
  const auto queued = StartAdd(1);
  EXPECT_FALSE(Ended(*queued, milliseconds(100)));
  for (int i = 2; i < 6; ++i) EXPECT_EQ(Describe(StartAdd(i)->status.get()), "UNAVAILABLE OVERLOADED");
  EXPECT_EQ(Tokens("m").size(), 1U) << "a reader sees the state before the change, and at once";
  EXPECT_EQ(Read("m", {{0, 0}}).readouts_size(), 1);
  clock_.Open();
  EXPECT_TRUE(running->status.get().ok());
  EXPECT_TRUE(queued->status.get().ok());
  EXPECT_EQ(AddWhenThereIsRoom(2), "OK") << "and afterwards all is as before";
  EXPECT_EQ(Tokens("m").size(), 4U);
}

TEST_F(LimitsTest, StopLetsAChangeThatHasBegunEnd) {
  clock_.Close();
  const auto running = StartAdd(0);
  clock_.WaitForArrival();
  std::thread stopper([this] { server_->Stop(); });
  std::this_thread::sleep_for(milliseconds(100));
  const auto late = StartAdd(1, seconds(1));
  EXPECT_FALSE(late->status.get().ok());
  clock_.Open();
  EXPECT_TRUE(running->status.get().ok());
  stopper.join();
  StartServer();
  ASSERT_EQ(Tokens("m").size(), 1U);
  EXPECT_EQ(Tokens("m")[0].name(), MemoryName("m") + "/tokens/t0");
}

TEST_F(LimitsTest, StopEndsInTimeAlthoughCallsWait) {
  options_.drain = absl::Milliseconds(200);
  StartServer();
  clock_.Close();
  const auto running = StartAdd(0);
  clock_.WaitForArrival();
  const auto queued = StartAdd(1);
  EXPECT_FALSE(Ended(*queued, milliseconds(100)));
  std::thread stopper([this] { server_->Stop(); });
  EXPECT_TRUE(Ended(*queued, seconds(30))) << "cancelled after the drain time";
  EXPECT_FALSE(queued->status.get().ok());
  clock_.Open();
  stopper.join();
  StartServer();
  EXPECT_EQ(Tokens("m").size(), 1U) << "the change that had begun, whole; the queued one not at all";
}

TEST_F(LimitsTest, ParallelWritersAllLandOrAreRefused) {
  std::vector<std::unique_ptr<PendingAdd>> calls;
  for (int i = 0; i < 40; ++i) calls.push_back(StartAdd(i));
  size_t landed = 0;
  for (const auto& call : calls) {
    const std::string outcome = Describe(call->status.get());
    EXPECT_TRUE(outcome == "OK" || outcome == "UNAVAILABLE OVERLOADED") << outcome;
    landed += outcome == "OK" ? 1 : 0;
  }
  EXPECT_GE(landed, 1U);
  EXPECT_EQ(Tokens("m").size(), landed);
}

}  // namespace
}  // namespace expunge::rpc
