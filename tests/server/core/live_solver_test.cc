// Changes go through a live solver: the answers are those of a memory solved from nothing, a change that
// fails leaves no trace in it, and what is kept has a bound.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/core/context.h"
#include "server/core/handles.h"
#include "server/core/live_solvers.h"
#include "server/core/operations.h"
#include "server/core/recovery.h"
#include "server/core/step.h"
#include "solver/reference_solver.h"
#include "tests/server/core/service_fixture.h"
#include "tests/storage/failing_env.h"

namespace expunge::core {
namespace {

constexpr uint32_t kSeed = 20261130;

// The fingerprint of a memory that was made of these points alone, by the reference solver.
std::string FreshFingerprint(const std::map<std::string, Point>& points) {
  solver::MemoryState state;
  state.config.key_dimension = kKeyDimension;
  state.config.value_dimension = kValueDimension;
  state.config.gamma = SmallConfig().gamma();
  state.config.box.min_support = SmallConfig().min_support();
  for (const auto& [id, point] : points) {
    state.tokens.push_back(
        std::make_shared<const solver::Token>(solver::Token{id, {point.x, point.y}, {point.value}}));
  }
  auto solution = solver::SolveFromNothing(state.config, state.tokens);
  EXPECT_TRUE(solution.ok()) << solution.status();
  if (!solution.ok()) return "";
  state.solution = *std::move(solution);
  return ToBytes(solver::Fingerprint(state));
}

class InterleavedTest : public ServiceTest {
 protected:
  void SetUp() override {
    std::cout << "seed " << kSeed << "\n";
    ServiceTest::SetUp();
    Create("cells");
  }

  // New points, some of them on a grid, or exactly where another is.
  std::vector<Point> NewPoints(size_t count) {
    std::uniform_real_distribution<double> coordinate(-2, 2);
    std::vector<Point> added;
    for (size_t i = 0; i < count; ++i) {
      const std::string id = "t" + std::to_string(next_id_++);
      Point point{id, {"s" + std::to_string(random_() % 60)}, coordinate(random_), coordinate(random_), 1};
      const uint32_t kind = random_() % 8;
      if (kind == 0 && !held_.empty()) {
        point.x = Any()->second.x;
        point.y = Any()->second.y;
      } else if (kind == 1) {
        point.x = static_cast<double>(random_() % 5) - 2;
        point.y = static_cast<double>(random_() % 5) - 2;
      }
      added.push_back(point);
    }
    return added;
  }

  void AddSome(size_t count) {
    const std::vector<Point> points = NewPoints(count);
    Add(kMemory, points);
    for (const Point& point : points) held_[point.id] = point;
  }

  void DeleteSome(size_t count) {
    std::vector<std::string> ids;
    for (size_t i = 0; i < count && !held_.empty(); ++i) {
      ids.push_back(Any()->first);
      held_.erase(ids.back());
    }
    if (!ids.empty()) Delete(kMemory, ids);
  }

  void PurgeSubject() {
    if (held_.empty()) return;
    const std::string subject = Any()->second.subjects[0];
    v1::PurgeRequest request;
    request.set_parent(kTenant);
    request.set_subject(subject);
    const auto purged = service_->Purge(request);
    ASSERT_TRUE(purged.ok()) << purged.status();
    const uint64_t removed =
        std::erase_if(held_, [&](const auto& entry) { return entry.second.subjects[0] == subject; });
    EXPECT_EQ(purged->deleted_count(), removed);
  }

  // One readout, with all contributions.
  v1::ReadResponse ReadOne() {
    v1::ReadRequest request;
    request.set_name(kMemory);
    *request.mutable_queries() = Pack({0.25, -0.5}, kKeyDimension);
    request.set_with_contributions(true);
    const auto response = service_->Read(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : v1::ReadResponse();
  }

  void ExpectContributionsOfThoseThatCarryWeight() {
    std::set<std::string> carry;
    for (const v1::TokenInfo& token : Tokens(kMemory)) {
      if (token.weight() > 0) carry.insert(token.name().substr(token.name().rfind('/') + 1));
    }
    std::set<std::string> contribute;
    const v1::ReadResponse read = ReadOne();
    for (const auto& share : read.readouts(0).contributions()) contribute.insert(share.token_id());
    EXPECT_EQ(contribute, carry);
  }

  std::map<std::string, Point>::iterator Any() {
    return std::next(held_.begin(), static_cast<std::ptrdiff_t>(random_() % held_.size()));
  }

  std::mt19937 random_{kSeed};
  std::map<std::string, Point> held_;
  int next_id_ = 0;
};

TEST_F(InterleavedTest, EveryStateIsThatOfAFreshMemory) {
  AddSome(300);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const uint32_t kind = random_() % 5;
    if (kind == 0) {
      AddSome(1);
    } else if (kind == 1) {
      AddSome(2 + random_() % 20);
    } else if (kind == 2) {
      DeleteSome(1);
    } else if (kind == 3) {
      DeleteSome(2 + random_() % 12);
    } else {
      PurgeSubject();
    }
    ASSERT_EQ(Full(kMemory).token_count(), held_.size());
    ASSERT_EQ(Full(kMemory).fingerprint(), FreshFingerprint(held_));
    ExpectContributionsOfThoseThatCarryWeight();
  }
  EXPECT_GT(held_.size(), 200U);
  // The digests of the changed tree and of the changed entries are those that start-up computes anew.
  const std::string full = Full(kMemory).SerializeAsString();
  const std::string read = ReadOne().SerializeAsString();
  Open();
  EXPECT_EQ(Full(kMemory).SerializeAsString(), full);
  EXPECT_EQ(ReadOne().SerializeAsString(), read);
  DeleteSome(3);
  EXPECT_EQ(Full(kMemory).fingerprint(), FreshFingerprint(held_));
}

TEST_F(InterleavedTest, EmptyingAndFillingAgainIsExact) {
  for (int round = 0; round < 3; ++round) {
    AddSome(1);
    AddSome(9);
    while (!held_.empty()) {
      DeleteSome(1 + random_() % 3);
      ASSERT_EQ(Full(kMemory).fingerprint(), FreshFingerprint(held_));
    }
  }
}

// The calls, with the solvers in sight.
class LiveSolverTest : public ServiceTest {
 protected:
  void SetUp() override { OpenContext(); }
  void TearDown() override { context_.reset(); }

  void OpenContext() {
    context_.reset();
    auto store = storage::SealedStore::Open({directory_ / "data", "", "", store_options_});
    ASSERT_TRUE(store.ok()) << store.status();
    context_ = std::make_unique<Context>(
        *std::move(store), Keys(), [this] { return now_; }, options_);
    const absl::Status recovered = Recover(context_.get());
    ASSERT_TRUE(recovered.ok()) << recovered;
  }

  void Make(const std::string& id, int count) {
    v1::CreateMemoryRequest request;
    request.set_parent(kTenant);
    request.set_memory_id(id);
    *request.mutable_config() = SmallConfig();
    ASSERT_TRUE(CreateMemory(*context_, request).ok());
    ASSERT_TRUE(AddPoints(id, MakePoints("a", count)).ok());
  }

  absl::Status AddPoints(const std::string& id, const std::vector<Point>& points) {
    return AddTokens(*context_, AddRequestFor(Name(id), points)).status();
  }

  absl::Status DeleteOne(const std::string& id, const std::string& token) {
    v1::DeleteRequest request;
    request.set_parent(Name(id));
    request.add_token_ids(token);
    return DeleteTokens(*context_, request).status();
  }

  static std::string Name(const std::string& id) { return std::string(kTenant) + "/memories/" + id; }

  Snapshot Present(const std::string& id) { return context_->tenants.Find("acme")->Find(id); }

  // Whether the solver that the next change would start from is in the state that readers see.
  void ExpectTheSolverAgrees(const std::string& id) {
    const Snapshot present = Present(id);
    auto solver = context_->solvers->Take(*present);
    ASSERT_TRUE(solver.ok()) << solver.status();
    EXPECT_EQ(solver::Fingerprint((*solver)->State()), present->Fingerprint());
    context_->solvers->Keep(*present, *std::move(solver));
  }

  [[nodiscard]] LiveSolvers::Usage Usage() const { return context_->solvers->usage(); }

  std::unique_ptr<Context> context_;
};

TEST_F(LiveSolverTest, IsMadeOnceAndThenServesEveryChange) {
  Make("cells", 40);
  ASSERT_TRUE(DeleteOne("cells", "a3").ok());
  ASSERT_TRUE(AddPoints("cells", MakePoints("b", 2)).ok());
  EXPECT_EQ(Usage().opened, 1U);
  EXPECT_EQ(Usage().kept, 1U);
  EXPECT_GT(Usage().bytes, 0U);
  ExpectTheSolverAgrees("cells");

  OpenContext();
  EXPECT_EQ(Usage().opened, 0U) << "start-up makes none";
  ASSERT_TRUE(DeleteOne("cells", "a4").ok());
  ASSERT_TRUE(DeleteOne("cells", "a5").ok());
  EXPECT_EQ(Usage().opened, 1U);
}

TEST_F(LiveSolverTest, AStepThatIsNotCommittedLeavesNoTrace) {
  Make("cells", 40);
  const Digest before = Present("cells")->Fingerprint();
  {
    const auto abandoned = StepByRemoving(*context_, Present("cells"), {0, 7, 20});
    ASSERT_TRUE(abandoned.ok()) << abandoned.status();
    EXPECT_NE(abandoned->after->Fingerprint(), before);
    EXPECT_EQ(abandoned->after->tokens().size(), 37U);
    EXPECT_EQ(Usage().kept, 0U);
  }
  EXPECT_EQ(Present("cells")->Fingerprint(), before);
  ExpectTheSolverAgrees("cells");
  ASSERT_TRUE(AddPoints("cells", MakePoints("b", 1)).ok());
  ASSERT_TRUE(DeleteOne("cells", "b0").ok());
  EXPECT_EQ(Present("cells")->Fingerprint(), before);
}

TEST_F(LiveSolverTest, AFailedWriteLeavesNoTraceInAnyMemory) {
  testing::Faults faults;
  const std::unique_ptr<rocksdb::Env> env = testing::MakeFailingEnv(&faults);
  store_options_.env = env.get();
  OpenContext();
  for (const char* id : {"cells", "other"}) Make(id, 25);
  const std::map<std::string, Digest> before = {{"cells", Present("cells")->Fingerprint()},
                                                {"other", Present("other")->Fingerprint()}};
  v1::PurgeRequest purge;
  purge.set_parent(kTenant);
  purge.set_subject("subject-a3");
  faults.sync = true;
  EXPECT_TRUE(Fails(PurgeSubject(*context_, purge).status(), Reason::kStorageFailed, ""));
  faults.sync = false;
  EXPECT_EQ(Usage().kept, 0U);
  for (const auto& [id, fingerprint] : before) {
    EXPECT_EQ(Present(id)->Fingerprint(), fingerprint);
    EXPECT_EQ(Present(id)->tokens().size(), 25U);
    ExpectTheSolverAgrees(id);
  }
  EXPECT_TRUE(Fails(DeleteOne("cells", "a1"), Reason::kStorageFailed, ""));
  for (const auto& [id, fingerprint] : before) ExpectTheSolverAgrees(id);

  OpenContext();
  // The batch that failed to sync is there as a whole or not at all.
  (void)PurgeSubject(*context_, purge).status();
  for (const auto& [id, fingerprint] : before) {
    EXPECT_EQ(Present(id)->tokens().size(), 24U);
    ASSERT_TRUE(AddPoints(id, {MakePoints("a", 4)[3]}).ok());
    EXPECT_EQ(Present(id)->Fingerprint(), fingerprint);
  }
  context_.reset();  // before the environment goes
}

TEST_F(LiveSolverTest, TheBoundDropsTheColdestAndTheyAreMadeAgain) {
  Make("m0", 30);
  const uint64_t one = Usage().bytes;
  options_.max_live_solver_bytes = 5 * one / 2;
  OpenContext();
  for (const char* id : {"m1", "m2"}) Make(id, 30);
  ASSERT_TRUE(DeleteOne("m0", "a0").ok());
  EXPECT_EQ(Usage().kept, 2U);  // m2, m0
  EXPECT_EQ(Usage().evicted, 1U);
  EXPECT_LE(Usage().bytes, options_.max_live_solver_bytes);

  uint64_t opened = Usage().opened;
  ASSERT_TRUE(DeleteOne("m2", "a0").ok());
  EXPECT_EQ(Usage().opened, opened) << "m2 was warm";
  ASSERT_TRUE(DeleteOne("m1", "a0").ok());
  EXPECT_EQ(Usage().opened, opened + 1) << "m1 had been dropped";
  ASSERT_TRUE(DeleteOne("m2", "a1").ok());
  EXPECT_EQ(Usage().opened, opened + 1) << "m0 was the coldest";
  for (const char* id : {"m0", "m1"}) ASSERT_TRUE(DeleteOne(id, "a1").ok());
  EXPECT_LE(Usage().bytes, options_.max_live_solver_bytes);
  for (const char* id : {"m1", "m2"}) {
    EXPECT_EQ(Present(id)->Fingerprint(), Present("m0")->Fingerprint());
  }
}

TEST_F(LiveSolverTest, OneBeyondTheBoundDropsNoOther) {
  Make("small", 20);
  const uint64_t small = Usage().bytes;
  Make("large", 2000);
  const uint64_t large = Usage().bytes - small;
  options_.max_live_solver_bytes = large - large / 8;
  ASSERT_LT(2 * small, options_.max_live_solver_bytes);
  OpenContext();
  ASSERT_TRUE(DeleteOne("small", "a0").ok());
  const uint64_t opened = Usage().opened;
  for (const char* token : {"a0", "a1"}) ASSERT_TRUE(DeleteOne("large", token).ok());
  EXPECT_EQ(Usage().opened, opened + 2) << "it is beyond the bound";
  EXPECT_EQ(Usage().kept, 1U);
  ASSERT_TRUE(DeleteOne("small", "a1").ok());
  EXPECT_EQ(Usage().opened, opened + 2) << "the small one is still warm";
  EXPECT_LE(Usage().bytes, options_.max_live_solver_bytes);
}

TEST_F(LiveSolverTest, APurgeOfManyMemoriesHoldsNoMoreThanMayBeKept) {
  Make("m0", 30);
  options_.max_live_solver_bytes = 3 * Usage().bytes / 2;
  for (const char* id : {"m1", "m2"}) Make(id, 30);
  OpenContext();
  v1::PurgeRequest purge;
  purge.set_parent(kTenant);
  purge.set_subject("subject-a3");
  const auto purged = PurgeSubject(*context_, purge);
  ASSERT_TRUE(purged.ok()) << purged.status();
  EXPECT_EQ(purged->deleted_count(), 3U);
  EXPECT_EQ(Usage().opened, 3U);
  EXPECT_EQ(Usage().kept, 1U);
  EXPECT_EQ(Usage().evicted, 0U) << "the others were not held until the end";
  for (const char* id : {"m0", "m1", "m2"}) {
    EXPECT_EQ(Present(id)->tokens().size(), 29U);
    ExpectTheSolverAgrees(id);
  }
}

TEST_F(LiveSolverTest, WithoutRoomEveryChangeMakesItsOwn) {
  options_.max_live_solver_bytes = 0;
  OpenContext();
  Make("cells", 30);
  const Digest before = Present("cells")->Fingerprint();
  ASSERT_TRUE(AddPoints("cells", MakePoints("b", 3)).ok());
  for (const char* id : {"b0", "b1", "b2"}) ASSERT_TRUE(DeleteOne("cells", id).ok());
  EXPECT_EQ(Present("cells")->Fingerprint(), before);
  EXPECT_EQ(Usage().opened, 5U);
  EXPECT_EQ(Usage().kept, 0U);
  EXPECT_EQ(Usage().bytes, 0U);
}

// Neither solvers nor the parts that snapshots share.
TEST_F(LiveSolverTest, NothingHoldsATokenThatIsGone) {
  Make("cells", 700);
  using Watch = std::pair<std::weak_ptr<const HeldToken>, std::weak_ptr<const solver::Token>>;
  std::map<std::string, Watch> watched;
  for (const auto& held : Present("cells")->tokens()) watched[held->token->id] = {held, held->token};
  const auto held = [&](const std::string& id) {
    return !watched.at(id).first.expired() || !watched.at(id).second.expired();
  };
  std::map<solver::TokenClass, int> classes;
  for (int i = 0; i < 40; ++i) {
    // In turn one that carries weight and any other.
    const Snapshot before = Present("cells");
    const std::vector<HeldEntry>& entries = before->content().entries;
    const size_t place =
        i % 2 == 0 ? entries[static_cast<size_t>(i) % entries.size()].index : static_cast<size_t>(i) * 13;
    const std::string id = before->tokens()[place]->token->id;
    ++classes[before->EntryAt(place).token_class];
    ASSERT_TRUE(DeleteOne("cells", id).ok());
    EXPECT_TRUE(held(id)) << "a reader may still have the snapshot";
  }
  EXPECT_GT(classes[solver::TokenClass::kMargin], 10);
  EXPECT_GT(classes[solver::TokenClass::kReserve], 10);
  for (const auto& [id, watch] : watched) EXPECT_EQ(held(id), Present("cells")->Find(id) < 660) << id;

  v1::DeleteMemoryRequest request;
  request.set_name(kMemory);
  ASSERT_TRUE(DeleteMemory(*context_, request).ok());
  for (const auto& [id, watch] : watched) EXPECT_FALSE(held(id)) << id;
}

TEST_F(LiveSolverTest, GoesWithItsMemory) {
  Make("cells", 20);
  Make("other", 20);
  v1::DeleteMemoryRequest request;
  request.set_name(kMemory);
  ASSERT_TRUE(DeleteMemory(*context_, request).ok());
  EXPECT_EQ(Usage().kept, 1U);
  ExpectTheSolverAgrees("other");
  Make("cells", 10);
  EXPECT_EQ(Usage().kept, 2U);
  ExpectTheSolverAgrees("cells");
}

}  // namespace
}  // namespace expunge::core
