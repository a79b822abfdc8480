// Deletion is exact: as bytes, through every call, across restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "storage/records.pb.h"
#include "tests/server/core/service_fixture.h"

namespace expunge::core {
namespace {

class ExactnessTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    Create("cells");
  }

  // The one stored state of the one memory, without what counts history: its epoch, and the digests that
  // depend on this memory's own audit key and salts.
  storage::v1::StateRecord StoredState(const std::string& except_key = "") {
    storage::v1::StateRecord record;
    int states = 0;
    for (const auto& [key, value] : DumpStore()) {
      if (key.first != static_cast<int>(storage::Table::kStates) || key.second == except_key) continue;
      EXPECT_TRUE(record.ParseFromString(value));
      ++states;
    }
    EXPECT_EQ(states, 1);
    return record;
  }
};

TEST_F(ExactnessTest, AddThenDeleteEqualsNeverAddedAsBytes) {
  Add(kMemory, MakePoints("a", 30));
  const v1::Memory before = Full(kMemory);
  const storage::v1::StateRecord state_before = StoredState();

  std::vector<Point> extra = MakePoints("x", 7);
  for (Point& point : extra) point.x = point.x / 3 + 0.25;
  Add(kMemory, extra);
  ASSERT_NE(Full(kMemory).fingerprint(), before.fingerprint());
  Delete(kMemory, {"x0", "x1", "x2", "x3", "x4", "x5", "x6"});

  const v1::Memory after = Full(kMemory);
  EXPECT_EQ(after.fingerprint(), before.fingerprint());
  EXPECT_EQ(after.state().digest(), before.state().digest());
  EXPECT_EQ(after.state().epoch(), 3U);
  EXPECT_EQ(state_before.epoch(), 1U);
  EXPECT_EQ(CanonicalPart(StoredState()).SerializeAsString(),
            CanonicalPart(state_before).SerializeAsString());
}

TEST_F(ExactnessTest, AMemoryThatNeverHeldTheTokensHasTheSameFingerprint) {
  std::vector<Point> all = MakePoints("a", 24);
  Add(kMemory, all);
  Delete(kMemory, {"a3", "a11", "a17"});
  Create("other");
  const std::string other = std::string(kTenant) + "/memories/other";
  std::vector<Point> kept;
  for (const Point& point : all) {
    if (point.id != "a3" && point.id != "a11" && point.id != "a17") kept.push_back(point);
  }
  std::reverse(kept.begin(), kept.end());
  // One by one, and in another order.
  for (const Point& point : kept) Add(other, {point});
  EXPECT_EQ(Full(other).fingerprint(), Full(kMemory).fingerprint());
  // The digest is under each memory's own key.
  EXPECT_NE(Full(other).state().digest(), Full(kMemory).state().digest());
}

TEST_F(ExactnessTest, DeletingTheLastTokenLeavesTheEmptyMemory) {
  const v1::Memory empty = Full(kMemory);
  Add(kMemory, MakePoints("a", 1));
  Delete(kMemory, {"a0"});
  EXPECT_EQ(Full(kMemory).fingerprint(), empty.fingerprint());
  EXPECT_EQ(Full(kMemory).state().digest(), empty.state().digest());
  EXPECT_EQ(Full(kMemory).token_count(), 0U);
}

TEST_F(ExactnessTest, ARestartGivesTheSameBits) {
  const v1::AddResponse added = Add(kMemory, MakePoints("a", 20));
  Delete(kMemory, {"a5", "a6"});
  v1::ReadRequest read;
  read.set_name(kMemory);
  *read.mutable_queries() = Pack({0.1, -0.3, 1.5, 0.5, 40, 40}, kKeyDimension);
  read.set_with_contributions(true);
  const std::string full = Full(kMemory).SerializeAsString();
  const auto answer = service_->Read(read);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const std::vector<v1::TokenInfo> tokens = Tokens(kMemory);
  const Dump dump = DumpStore();

  Open();
  EXPECT_EQ(Full(kMemory).SerializeAsString(), full);
  const auto again = service_->Read(read);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->SerializeAsString(), answer->SerializeAsString());
  const std::vector<v1::TokenInfo> tokens_again = Tokens(kMemory);
  ASSERT_EQ(tokens_again.size(), tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(tokens_again[i].SerializeAsString(), tokens[i].SerializeAsString());
  }
  EXPECT_EQ(DumpStore(), dump);
}

TEST_F(ExactnessTest, NothingOfADeletedTokenIsLeftInAnyRecord) {
  Add(kMemory, MakePoints("keep", 6), "first-request");
  Point hidden{"hidden-token-id", {"hidden-subject", "shared"}, 0.123456789, -1.987654321, 7.25};
  const v1::AddResponse added = Add(kMemory, {hidden}, "second-request");
  const std::string salt = added.receipts(0).salt();
  Delete(kMemory, {"hidden-token-id"}, "third-request");
  std::string coordinate = Pack({hidden.x}, 1).data();
  for (const auto& [key, value] : DumpStore()) {
    for (const std::string& needle : {std::string("hidden"), salt, coordinate}) {
      EXPECT_EQ(key.second.find(needle), std::string::npos) << "table " << key.first;
      EXPECT_EQ(value.find(needle), std::string::npos) << "table " << key.first;
    }
  }
}

TEST_F(ExactnessTest, ReadsAreTheSameAloneAndInABatch) {
  Add(kMemory, MakePoints("a", 15));
  const std::vector<double> queries = {0.1, 0.2, -1, 1, 3, 3};
  v1::ReadRequest read;
  read.set_name(kMemory);
  read.set_with_contributions(true);
  *read.mutable_queries() = Pack(queries, kKeyDimension);
  const auto batch = service_->Read(read);
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_EQ(batch->readouts_size(), 3);
  for (size_t row = 0; row < 3; ++row) {
    *read.mutable_queries() = Pack({queries[2 * row], queries[2 * row + 1]}, kKeyDimension);
    const auto alone = service_->Read(read);
    ASSERT_TRUE(alone.ok()) << alone.status();
    EXPECT_EQ(alone->outputs().data(), batch->outputs().data().substr(row * sizeof(double), sizeof(double)));
    EXPECT_EQ(alone->readouts(0).SerializeAsString(),
              batch->readouts(static_cast<int>(row)).SerializeAsString());
    EXPECT_GT(alone->readouts(0).contributions_size(), 0);
  }
}

TEST_F(ExactnessTest, AnswersThatWouldBeTooLargeAreRefusedBeforeTheyAreComputed) {
  v1::MemoryConfig config = SmallConfig();
  config.set_min_support(60);  // 45 tokens: all carry weight
  Create("even", config);
  const std::string even = std::string(kTenant) + "/memories/even";
  Add(even, MakePoints("a", 45));
  v1::ReadRequest read;
  read.set_name(even);
  *read.mutable_queries() = Pack(std::vector<double>(size_t{2} * 10'000, 0.5), kKeyDimension);
  read.set_with_contributions(true);
  EXPECT_TRUE(Fails(service_->Read(read).status(), Reason::kMessageTooLarge, "queries.rows"));
  read.set_with_contributions(false);
  const auto answer = service_->Read(read);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->readouts_size(), 10'000);

  config.set_value_dimension(4096);
  Create("wide", config);
  v1::AddRequest add = AddRequestFor(std::string(kTenant) + "/memories/wide", MakePoints("a", 1));
  *add.mutable_values() = Pack(std::vector<double>(4096, 1.0), 4096);
  ASSERT_TRUE(service_->Add(add).ok());
  read.set_name(add.parent());
  EXPECT_TRUE(Fails(service_->Read(read).status(), Reason::kMessageTooLarge, "queries.rows"));
}

TEST_F(ExactnessTest, Float32InputsAreWidenedExactlyAndFloat32OutputsStateTheirError) {
  Add(kMemory, MakePoints("a", 9));
  v1::ReadRequest wide;
  wide.set_name(kMemory);
  *wide.mutable_queries() = Pack({0.5, -1.25}, kKeyDimension);
  v1::ReadRequest narrow = wide;
  const float coordinates[] = {0.5F, -1.25F};
  narrow.mutable_queries()->set_dtype(v1::DTYPE_FLOAT32);
  narrow.mutable_queries()->set_data(std::string(reinterpret_cast<const char*>(coordinates), 8));
  const auto from_wide = service_->Read(wide);
  const auto from_narrow = service_->Read(narrow);
  ASSERT_TRUE(from_wide.ok() && from_narrow.ok());
  EXPECT_EQ(from_narrow->SerializeAsString(), from_wide->SerializeAsString());

  wide.set_output_dtype(v1::DTYPE_FLOAT32);
  const auto output = service_->Read(wide);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->outputs().dtype(), v1::DTYPE_FLOAT32);
  EXPECT_EQ(output->outputs().data().size(), sizeof(float));
  EXPECT_GT(output->readouts(0).error_bound(), from_wide->readouts(0).error_bound());
}

}  // namespace
}  // namespace expunge::core
