// Readers see whole states and never wait for a writer; writers exclude each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/core/service_fixture.h"

namespace expunge::core {
namespace {

class ConcurrencyTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    Create("cells");
    Add(kMemory, MakePoints("a", 10));
  }
};

TEST_F(ConcurrencyTest, EveryReadIsOfOneWholeState) {
  constexpr int kReaders = 3;
  constexpr int kChanges = 20;
  std::atomic<bool> done = false;
  std::mutex mutex;
  // One digest an epoch, and one answer a digest, whoever read it.
  std::map<uint64_t, std::string> digest_of_epoch;
  std::map<std::string, std::string> answer_of_digest;
  std::atomic<int> reads = 0;
  v1::ReadRequest read;
  read.set_name(kMemory);
  *read.mutable_queries() = Pack({0.25, -0.5, 1, 1}, kKeyDimension);
  read.set_with_contributions(true);

  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        const auto answer = service_->Read(read);
        ASSERT_TRUE(answer.ok()) << answer.status();
        v1::ListTokensRequest list;
        list.set_parent(kMemory);
        const auto tokens = service_->ListTokens(list);
        ASSERT_TRUE(tokens.ok()) << tokens.status();
        double total = 0;
        for (const v1::TokenInfo& token : tokens->tokens()) total += token.weight();
        EXPECT_NEAR(total, 1.0, 1e-12);
        const std::lock_guard lock(mutex);
        const auto& state = answer->state();
        EXPECT_EQ(digest_of_epoch.try_emplace(state.epoch(), state.digest()).first->second, state.digest());
        answer_of_digest.try_emplace(state.digest(), answer->outputs().data());
        EXPECT_EQ(answer_of_digest[state.digest()], answer->outputs().data());
        ++reads;
      }
    });
  }
  for (int i = 0; i < kChanges; ++i) {
    if (i % 2 == 0) {
      Add(kMemory, {{"new", {"s"}, 0.1 * i, -0.3, 5}});
    } else {
      Delete(kMemory, {"new"});
    }
  }
  // On a busy machine the readers may only begin now.
  while (reads == 0 && !HasFailure()) std::this_thread::yield();
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(Full(kMemory).state().epoch(), static_cast<uint64_t>(1 + kChanges));
}

TEST_F(ConcurrencyTest, WritersOfOneMemoryLoseNothing) {
  constexpr int kWriters = 4;
  constexpr int kEach = 6;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([this, w] {
      for (const Point& point : MakePoints("w" + std::to_string(w) + "-", kEach)) {
        Point moved = point;
        moved.x += w;
        const auto added = service_->Add(AddRequestFor(kMemory, {moved}));
        EXPECT_TRUE(added.ok()) << added.status();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const v1::Memory memory = Full(kMemory);
  EXPECT_EQ(memory.token_count(), static_cast<uint64_t>(10 + kWriters * kEach));
  EXPECT_EQ(memory.state().epoch(), static_cast<uint64_t>(1 + kWriters * kEach));
  Open();
  EXPECT_EQ(Full(kMemory).SerializeAsString(), memory.SerializeAsString());
}

TEST_F(ConcurrencyTest, TheSameRequestSentTwiceAtOnceIsDoneOnce) {
  constexpr int kSenders = 4;
  const v1::AddRequest request = AddRequestFor(kMemory, {{"x", {"s"}, 1, 2, 3}}, "once");
  std::mutex mutex;
  std::vector<std::string> answers;
  std::vector<std::thread> senders;
  for (int i = 0; i < kSenders; ++i) {
    senders.emplace_back([&] {
      const auto answer = service_->Add(request);
      ASSERT_TRUE(answer.ok()) << answer.status();
      const std::lock_guard lock(mutex);
      answers.push_back(answer->SerializeAsString());
    });
  }
  for (std::thread& sender : senders) sender.join();
  ASSERT_EQ(answers.size(), static_cast<size_t>(kSenders));
  for (const std::string& answer : answers) EXPECT_EQ(answer, answers[0]);
  EXPECT_EQ(Full(kMemory).token_count(), 11U);
}

TEST_F(ConcurrencyTest, ANewTenantIsMadeOnceAndAMemoryHasOneMaker) {
  constexpr int kMakers = 4;
  std::atomic<int> made = 0;
  std::vector<std::thread> makers;
  for (int i = 0; i < kMakers; ++i) {
    makers.emplace_back([&] {
      v1::CreateMemoryRequest request;
      request.set_parent("tenants/fresh");
      request.set_memory_id("m");
      *request.mutable_config() = SmallConfig();
      const absl::Status status = service_->CreateMemory(request).status();
      if (status.ok()) ++made;
      EXPECT_TRUE(status.ok() || Fails(status, Reason::kMemoryExists, "memory_id"));
    });
  }
  for (std::thread& maker : makers) maker.join();
  EXPECT_EQ(made, 1);
}

TEST_F(ConcurrencyTest, MemoriesComeAndGoWhileTheirTokensAreAddedAndPurged) {
  constexpr int kChanges = 40;
  const std::string other = std::string(kTenant) + "/memories/other";
  std::atomic<int> changes = 0;
  // Refusals are fine, but only those that another caller can bring about.
  const auto expect = [&changes](const absl::Status& status) {
    const std::set<Reason> possible = {Reason::kMemoryUnknown, Reason::kMemoryExists, Reason::kSubjectUnknown,
                                       Reason::kTokenExists};
    if (status.ok()) ++changes;
    EXPECT_TRUE(status.ok() || possible.count(GetReason(status).value_or(Reason::kInternal)) > 0) << status;
  };
  v1::CreateMemoryRequest create;
  create.set_parent(kTenant);
  create.set_memory_id("other");
  *create.mutable_config() = SmallConfig();
  v1::DeleteMemoryRequest remove;
  remove.set_name(other);
  v1::PurgeRequest purge;
  purge.set_parent(kTenant);
  purge.set_subject("s");
  const std::vector<std::function<absl::Status()>> calls = {
      [&] { return service_->CreateMemory(create).status(); },
      [&] { return service_->DeleteMemory(remove).status(); },
      [&] { return service_->Purge(purge).status(); },
      [&] {
        return service_->Add(AddRequestFor(other, {{"x", {"s"}, 1, 2, 3}, {"y", {"t"}, 0, 1, 2}})).status();
      },
      [&] {
        return service_->Add(AddRequestFor(kMemory, {{"x", {"s"}, 1, 2, 3}})).status();
      },
  };
  std::vector<std::thread> callers;
  for (const auto& call : calls) {
    callers.emplace_back([&] {
      while (changes < kChanges) expect(call());
    });
  }
  for (std::thread& caller : callers) caller.join();
  const auto purged = service_->Purge(purge);  // what the last Add may have left
  EXPECT_TRUE(purged.ok() || Fails(purged.status(), Reason::kSubjectUnknown, "subject"));
  const v1::Memory memory = Full(kMemory);
  EXPECT_EQ(memory.token_count(), 10U);
  Open();  // start-up solves every memory again, and follows the certificates
  EXPECT_EQ(Full(kMemory).SerializeAsString(), memory.SerializeAsString());
}

}  // namespace
}  // namespace expunge::core
