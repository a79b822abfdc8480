// The promise itself, through the wire: the same tokens give the same bits, whatever happened in between.
#include <gtest/gtest.h>

#include <iostream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "tests/server/rpc/server_fixture.h"

namespace expunge::rpc {
namespace {

class ExactnessTest : public ServerTest {
 protected:
  void SetUp() override {
    std::cout << "seed " << kSeed << "\n";
    StartServer();
  }

  static Rows Queries(int count) {
    Rows rows;
    for (int i = 0; i < count; ++i) {
      const auto sample = Sample(1000 + i);
      rows.push_back({sample[0], sample[1]});
    }
    return rows;
  }

  // Everything of a memory that must not depend on its history: configuration, partition, ties, fingerprint;
  // id, subjects, class and weight of each token; readouts. Not the proven bounds: they are not unique.
  std::string Bits(const std::string& memory) {
    std::string bytes;
    const v1::Memory full = Full(memory);
    EXPECT_EQ(full.fingerprint().size(), 32U);
    AppendField(full.config().SerializeAsString(), &bytes);
    AppendU64(full.token_count(), &bytes);
    AppendField(full.partition().SerializeAsString(), &bytes);
    AppendU32(full.proof().strict() ? 1 : 0, &bytes);
    AppendU64(full.proof().ties(), &bytes);
    AppendField(full.fingerprint(), &bytes);
    for (const auto& token : Tokens(memory)) {
      AppendField(token.name().substr(MemoryName(memory).size()), &bytes);
      for (const auto& subject : token.subjects()) AppendField(subject, &bytes);
      AppendU32(token.token_class(), &bytes);
      AppendDouble(token.weight(), &bytes);
    }
    if (full.token_count() > 0) {
      v1::ReadResponse read = Read(memory, Queries(5), true);
      read.clear_state();
      AppendField(read.SerializeAsString(), &bytes);
    }
    return bytes;
  }

  void Delete(const std::string& memory, const std::vector<int>& ids) {
    v1::DeleteRequest request;
    request.set_parent(MemoryName(memory));
    for (const int id : ids) request.add_token_ids(absl::StrCat("t", id));
    v1::DeleteResponse response;
    const auto status = Call(&v1::UnlearningService::Stub::Delete, unlearning_.get(), request, &response);
    ASSERT_TRUE(status.ok()) << Describe(status) << status.error_message();
  }
};

TEST_F(ExactnessTest, AddThenDeleteEqualsNeverAdded) {
  CreateMemory("never");
  CreateMemory("forgot");
  Add("never", 0, 20);
  const std::string never = Bits("never");
  Add("forgot", 0, 20);
  EXPECT_EQ(Bits("forgot"), never);
  Add("forgot", 20, 7);
  EXPECT_NE(Bits("forgot"), never) << "the added tokens must be visible";
  Delete("forgot", {22, 25, 20});
  Delete("forgot", {21, 26});
  Delete("forgot", {23, 24});
  EXPECT_EQ(Bits("forgot"), never);
  EXPECT_EQ(Full("forgot").state().epoch(), 5U) << "the history itself is not denied";
}

TEST_F(ExactnessTest, TheOrderOfAddsLeavesNoTrace) {
  CreateMemory("batch");
  CreateMemory("singly");
  Add("batch", 0, 8);
  for (const int id : {5, 2, 7, 0, 1, 6, 3, 4}) Add("singly", id, 1);
  EXPECT_EQ(Bits("singly"), Bits("batch"));
}

TEST_F(ExactnessTest, PurgeEqualsNeverAddedAndEmptyEqualsNew) {
  CreateMemory("never");
  CreateMemory("forgot");
  CreateMemory("new");
  for (int id = 0; id < 15; ++id) {
    if (id % 3 != 1) Add("never", id, 1);
  }
  Add("forgot", 0, 15);
  v1::PurgeRequest purge;
  purge.set_parent(kTenant);
  purge.set_subject("s1");
  v1::PurgeResponse purged;
  ASSERT_TRUE(Call(&v1::UnlearningService::Stub::Purge, unlearning_.get(), purge, &purged).ok());
  EXPECT_EQ(Bits("forgot"), Bits("never"));
  for (const char* subject : {"s0", "s2"}) {
    purge.set_subject(subject);
    ASSERT_TRUE(Call(&v1::UnlearningService::Stub::Purge, unlearning_.get(), purge, &purged).ok());
  }
  EXPECT_EQ(Bits("forgot"), Bits("new"));
}

TEST_F(ExactnessTest, ADuplicateKeyIsForgottenToo) {
  CreateMemory("never");
  CreateMemory("forgot");
  Add("never", 0, 10);
  Add("forgot", 0, 10);
  v1::AddRequest twin = AddRequestFor("forgot", 4, 1);
  twin.mutable_tokens(0)->set_token_id("t99");
  v1::AddResponse response;
  ASSERT_TRUE(Call(&v1::MemoryService::Stub::Add, memories_.get(), twin, &response).ok());
  Delete("forgot", {99});
  EXPECT_EQ(Bits("forgot"), Bits("never"));
}

TEST_F(ExactnessTest, ARestartGivesTheSameBits) {
  CreateMemory("m");
  Add("m", 0, 15);
  Delete("m", {3, 9});
  const std::string before = Snapshot();
  const v1::ReadResponse read = Read("m", Queries(20), true);
  for (const bool solve : {true, false}) {
    options_.recover_by_solving = solve;
    StartServer();
    EXPECT_EQ(Snapshot(), before);
    EXPECT_EQ(Read("m", Queries(20), true).SerializeAsString(), read.SerializeAsString());
  }
  Add("m", 15, 2);
  EXPECT_NE(Snapshot(), before) << "still writable";
}

TEST_F(ExactnessTest, AReadoutHasTheSameBitsAloneInABatchAndFromManyThreads) {
  CreateMemory("m");
  Add("m", 0, 30);
  const Rows queries = Queries(16);
  const v1::ReadResponse batch = Read("m", queries);
  const size_t row_bytes = 2 * sizeof(double);
  const auto matches = [&](size_t row, const v1::ReadResponse& alone) {
    return alone.outputs().data() == batch.outputs().data().substr(row * row_bytes, row_bytes) &&
           alone.readouts(0).SerializeAsString() == batch.readouts(static_cast<int>(row)).SerializeAsString();
  };
  for (size_t row = 0; row < queries.size(); ++row)
    EXPECT_TRUE(matches(row, Read("m", {queries[row]}))) << row;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (size_t row = 0; row < queries.size(); ++row)
        EXPECT_TRUE(matches(row, Read("m", {queries[row]}))) << row;
      EXPECT_EQ(Read("m", queries).SerializeAsString(), batch.SerializeAsString());
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace expunge::rpc
