// Readouts in every precision, alone, in batches and in groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/vectors.h"
#include "tests/server/core/service_fixture.h"

namespace expunge::core {
namespace {

constexpr char kWide[] = "tenants/acme/memories/wide";
constexpr uint32_t kColumns = 7;  // no multiple of any vector
constexpr uint32_t kValues = 5;
constexpr int kTokens = 60;
constexpr uint32_t kSeed = 20261130;

constexpr v1::ReadoutPrecision kFast[] = {v1::READOUT_PRECISION_FLOAT64, v1::READOUT_PRECISION_FLOAT32,
                                          v1::READOUT_PRECISION_BFLOAT16};

std::vector<double> Numbers(size_t count, uint32_t seed, double scale = 2) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> coordinate(-scale, scale);
  std::vector<double> numbers(count);
  for (double& x : numbers) x = coordinate(generator);
  return numbers;
}

v1::PackedVectors PackFloats(const std::vector<double>& elements, uint32_t columns) {
  v1::PackedVectors packed;
  const std::vector<float> floats(elements.begin(), elements.end());
  packed.set_data(floats.data(), floats.size() * sizeof(float));
  packed.set_dtype(v1::DTYPE_FLOAT32);
  packed.set_rows(static_cast<uint32_t>(elements.size() / columns));
  packed.set_columns(columns);
  return packed;
}

std::vector<double> Unpacked(const v1::PackedVectors& packed) {
  if (packed.dtype() == v1::DTYPE_FLOAT64) return UnpackDoubles(packed.data()).value();
  std::vector<float> floats(packed.data().size() / sizeof(float));
  std::memcpy(floats.data(), packed.data().data(), packed.data().size());
  return {floats.begin(), floats.end()};
}

// |a - b|_2 of row `row`.
double Distance(const v1::ReadResponse& a, const v1::ReadResponse& b, size_t row) {
  const std::vector<double> x = Unpacked(a.outputs());
  const std::vector<double> y = Unpacked(b.outputs());
  double squares = 0;
  for (size_t k = row * kValues; k < (row + 1) * kValues; ++k) squares += (x[k] - y[k]) * (x[k] - y[k]);
  return std::sqrt(squares);
}

class ReadTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    Create("cells");
    Add(kMemory, MakePoints("a", 12));
    CreateWide("wide");
    AddWide(kWide, 1);
  }

  void CreateWide(const std::string& id) {
    v1::MemoryConfig config;
    config.set_key_dimension(kColumns);
    config.set_value_dimension(kValues);
    config.set_gamma(0.3);
    config.set_min_support(9);
    Create(id, config);
  }

  void AddWide(const std::string& memory, double scale) {
    v1::AddRequest request;
    request.set_parent(memory);
    for (int i = 0; i < kTokens; ++i) {
      v1::NewToken* token = request.add_tokens();
      token->set_token_id(absl::StrCat("t", i));
      token->add_subjects("s");
    }
    *request.mutable_keys() = Pack(Numbers(kTokens * kColumns, kSeed), kColumns);
    *request.mutable_values() = Pack(Numbers(kTokens * kValues, kSeed + 1, scale), kValues);
    const auto added = service_->Add(request);
    ASSERT_TRUE(added.ok()) << added.status();
  }

  static v1::ReadRequest Request(const std::vector<double>& queries,
                                 v1::ReadoutPrecision precision = v1::READOUT_PRECISION_UNSPECIFIED,
                                 const std::string& memory = kWide) {
    v1::ReadRequest request;
    request.set_name(memory);
    *request.mutable_queries() = Pack(queries, memory == kWide ? kColumns : kKeyDimension);
    request.set_precision(precision);
    return request;
  }

  v1::ReadResponse Read(const v1::ReadRequest& request) {
    const auto answer = service_->Read(request);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer : v1::ReadResponse();
  }

  v1::ReadoutStatus Status() { return service_->GetServerStatus({})->readouts(); }
};

TEST_F(ReadTest, UnspecifiedPrecisionIsCertifiedOnTheCpuInDoubles) {
  const v1::ReadResponse answer = Read(Request(Numbers(3 * kColumns, 5)));
  EXPECT_EQ(answer.precision(), v1::READOUT_PRECISION_CERTIFIED);
  EXPECT_EQ(answer.backend(), v1::READOUT_BACKEND_CPU);
  EXPECT_EQ(answer.outputs().dtype(), v1::DTYPE_FLOAT64);
  EXPECT_EQ(answer.SerializeAsString(),
            Read(Request(Numbers(3 * kColumns, 5), v1::READOUT_PRECISION_CERTIFIED)).SerializeAsString());
}

TEST_F(ReadTest, EveryPrecisionIsWithinItsBoundOfTheCertifiedAnswer) {
  constexpr size_t kQueries = 40;
  for (const double scale : {0.1, 2.0, 30.0, 1e4}) {  // from amid the keys to far from all
    const std::vector<double> queries = Numbers(kQueries * kColumns, kSeed + 7, scale);
    const v1::ReadResponse certified = Read(Request(queries));
    for (const v1::ReadoutPrecision precision : kFast) {
      const v1::ReadResponse fast = Read(Request(queries, precision));
      EXPECT_NE(fast.precision(), v1::READOUT_PRECISION_UNSPECIFIED);
      EXPECT_NE(fast.backend(), v1::READOUT_BACKEND_UNSPECIFIED);
      EXPECT_EQ(fast.state().SerializeAsString(), certified.state().SerializeAsString());
      for (size_t row = 0; row < kQueries; ++row) {
        const double bounds = fast.readouts(static_cast<int>(row)).error_bound() +
                              certified.readouts(static_cast<int>(row)).error_bound();
        EXPECT_TRUE(std::isfinite(bounds));
        EXPECT_LE(Distance(fast, certified, row), bounds)
            << v1::ReadoutPrecision_Name(precision) << ", scale " << scale << ", row " << row;
      }
    }
  }
}

TEST_F(ReadTest, FastAnswersAreComputedAsFastAsWasAskedFor) {
  const std::vector<double> queries = Numbers(4 * kColumns, 9);
  EXPECT_EQ(Read(Request(queries, v1::READOUT_PRECISION_FLOAT64)).precision(), v1::READOUT_PRECISION_FLOAT64);
  EXPECT_EQ(Read(Request(queries, v1::READOUT_PRECISION_FLOAT32)).precision(), v1::READOUT_PRECISION_FLOAT32);
  const auto bfloat = Read(Request(queries, v1::READOUT_PRECISION_BFLOAT16)).precision();
  EXPECT_TRUE(bfloat == v1::READOUT_PRECISION_BFLOAT16 || bfloat == v1::READOUT_PRECISION_FLOAT32);
}

TEST_F(ReadTest, TheOutputsElementTypeFollowsThePrecisionUnlessItIsGiven) {
  const std::vector<double> queries = Numbers(4 * kColumns, 9);
  EXPECT_EQ(Read(Request(queries, v1::READOUT_PRECISION_FLOAT64)).outputs().dtype(), v1::DTYPE_FLOAT64);
  EXPECT_EQ(Read(Request(queries, v1::READOUT_PRECISION_FLOAT32)).outputs().dtype(), v1::DTYPE_FLOAT32);
  EXPECT_EQ(Read(Request(queries, v1::READOUT_PRECISION_BFLOAT16)).outputs().dtype(), v1::DTYPE_FLOAT32);
  v1::ReadRequest given = Request(queries, v1::READOUT_PRECISION_FLOAT32);
  const v1::ReadResponse narrow = Read(given);
  given.set_output_dtype(v1::DTYPE_FLOAT64);
  const v1::ReadResponse wide = Read(given);
  EXPECT_EQ(wide.outputs().dtype(), v1::DTYPE_FLOAT64);
  EXPECT_EQ(Unpacked(wide.outputs()), Unpacked(narrow.outputs()));
  EXPECT_EQ(wide.readouts(0).error_bound(), narrow.readouts(0).error_bound());
}

TEST_F(ReadTest, RoundingTheOutputsToFloatsIsInTheBound) {
  v1::ReadRequest request = Request(Numbers(20 * kColumns, 9));
  const v1::ReadResponse wide = Read(request);
  request.set_output_dtype(v1::DTYPE_FLOAT32);
  const v1::ReadResponse narrow = Read(request);
  EXPECT_EQ(narrow.precision(), v1::READOUT_PRECISION_CERTIFIED);
  EXPECT_EQ(narrow.outputs().dtype(), v1::DTYPE_FLOAT32);
  for (int row = 0; row < 20; ++row) {
    const double lost = Distance(wide, narrow, static_cast<size_t>(row));
    EXPECT_GT(lost, 0);
    EXPECT_GE(narrow.readouts(row).error_bound(), wide.readouts(row).error_bound() + lost * (1 - 1e-9));
  }
}

// Alone, in a batch, as floats, in a group, with other options: the same bits.
TEST_F(ReadTest, CertifiedBitsDependOnTheQueryAlone) {
  constexpr size_t kQueries = 33;
  std::vector<double> queries = Numbers(kQueries * kColumns, 77);
  for (double& x : queries) x = static_cast<double>(static_cast<float>(x));
  const v1::ReadResponse batch = Read(Request(queries));
  const std::vector<double> expected = Unpacked(batch.outputs());
  std::vector<v1::ReadRequest> group;
  for (size_t row = 0; row < kQueries; ++row) {
    const std::vector<double> query(queries.begin() + static_cast<std::ptrdiff_t>(row * kColumns),
                                    queries.begin() + static_cast<std::ptrdiff_t>((row + 1) * kColumns));
    group.push_back(Request(query));
    if (row % 2 == 1) *group.back().mutable_queries() = PackFloats(query, kColumns);
    const v1::ReadResponse alone = Read(group.back());
    const std::vector<double> output = Unpacked(alone.outputs());
    for (size_t k = 0; k < kValues; ++k) EXPECT_EQ(output[k], expected[row * kValues + k]);
    EXPECT_EQ(alone.readouts(0).SerializeAsString(),
              batch.readouts(static_cast<int>(row)).SerializeAsString());
  }
  const auto together = service_->ReadGroup(group);
  ASSERT_EQ(together.size(), kQueries);
  for (size_t row = 0; row < kQueries; ++row) {
    EXPECT_EQ(together[row]->SerializeAsString(), Read(group[row]).SerializeAsString());
  }
  for (const size_t threads : {1, 3}) {
    options_.readout.threads = threads;
    options_.readout_batch_delay = std::chrono::microseconds(100);
    Open();
    EXPECT_EQ(Read(Request(queries)).SerializeAsString(), batch.SerializeAsString()) << threads;
  }
}

TEST_F(ReadTest, ContributionsAreCertifiedWhateverWasAskedFor) {
  v1::ReadRequest request = Request(Numbers(2 * kColumns, 3));
  request.set_with_contributions(true);
  const v1::ReadResponse certified = Read(request);
  ASSERT_GT(certified.readouts(0).contributions_size(), 8);
  for (const v1::ReadoutPrecision precision : kFast) {
    request.set_precision(precision);
    EXPECT_EQ(Read(request).SerializeAsString(), certified.SerializeAsString());
  }
}

TEST_F(ReadTest, ValuesBeyondFloatsAreReadMoreExactly) {
  CreateWide("huge");
  const std::string huge = "tenants/acme/memories/huge";
  AddWide(huge, 1e60);
  v1::ReadRequest request = Request(Numbers(2 * kColumns, 3), v1::READOUT_PRECISION_FLOAT32);
  request.set_name(huge);
  const v1::ReadResponse fast = Read(request);
  EXPECT_TRUE(fast.precision() == v1::READOUT_PRECISION_FLOAT64 ||
              fast.precision() == v1::READOUT_PRECISION_CERTIFIED);
  EXPECT_EQ(fast.outputs().dtype(), v1::DTYPE_FLOAT64);
  request.set_precision(v1::READOUT_PRECISION_CERTIFIED);
  const v1::ReadResponse certified = Read(request);
  for (int row = 0; row < 2; ++row) {
    EXPECT_LE(Distance(fast, certified, static_cast<size_t>(row)),
              fast.readouts(row).error_bound() + certified.readouts(row).error_bound());
  }
  for (const v1::ReadoutPrecision precision : kFast) {
    request.set_precision(precision);
    request.set_output_dtype(v1::DTYPE_FLOAT32);
    EXPECT_TRUE(Fails(service_->Read(request).status(), Reason::kOutOfRange, "output_dtype"));
  }
}

TEST_F(ReadTest, BadRequestsAreRefusedInEveryPrecision) {
  Create("empty");
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto refused = [this](const v1::ReadRequest& request, Reason reason, const std::string& field) {
    EXPECT_TRUE(Fails(service_->Read(request).status(), reason, field));
    const auto group =
        service_->ReadGroup({Request({0, 0}, v1::READOUT_PRECISION_FLOAT32, kMemory), request});
    ASSERT_EQ(group.size(), 2U);
    EXPECT_TRUE(group[0].ok()) << group[0].status();
    EXPECT_TRUE(Fails(group[1].status(), reason, field));
  };
  std::vector<v1::ReadoutPrecision> precisions(std::begin(kFast), std::end(kFast));
  precisions.push_back(v1::READOUT_PRECISION_CERTIFIED);
  for (const v1::ReadoutPrecision precision : precisions) {
    const auto request = [precision](const std::vector<double>& queries) {
      return Request(queries, precision, kMemory);
    };
    for (const double bad : {kNaN, kInfinity, -kInfinity}) {
      refused(request({0, 0, 1, bad}), Reason::kNotFinite, "queries.data[row 1]");
      v1::ReadRequest floats = request({0, 0});
      *floats.mutable_queries() = PackFloats({0, 0, 1, 1, bad, 0}, 2);
      refused(floats, Reason::kNotFinite, "queries.data[row 2]");
    }
    refused(request({0, 1e200}), Reason::kMagnitudeOverflow, "queries.data[row 0]");
    v1::ReadRequest spoilt = request({0, 0});
    spoilt.set_name("tenants/acme/memories/empty");
    refused(spoilt, Reason::kMemoryEmpty, "name");
    spoilt.set_name("tenants/acme/memories/none");
    refused(spoilt, Reason::kMemoryUnknown, "name");
    spoilt = request({0, 0});
    spoilt.clear_queries();
    refused(spoilt, Reason::kFieldMissing, "queries");
    spoilt = request({0, 0});
    *spoilt.mutable_queries() = PackFloats({0, 0, 0}, 3);
    refused(spoilt, Reason::kDimensionMismatch, "queries.columns");
    *spoilt.mutable_queries() = PackFloats({0, 0}, 2);
    spoilt.mutable_queries()->mutable_data()->pop_back();
    refused(spoilt, Reason::kDimensionMismatch, "queries.data");
  }
  v1::ReadRequest request = Request({0, 0}, v1::READOUT_PRECISION_UNSPECIFIED, kMemory);
  request.set_precision(static_cast<v1::ReadoutPrecision>(5));
  refused(request, Reason::kOutOfRange, "precision");
  request.set_precision(static_cast<v1::ReadoutPrecision>(-1));
  refused(request, Reason::kOutOfRange, "precision");
}

TEST_F(ReadTest, NegativeZeroIsZeroInFloatsToo) {
  v1::ReadRequest request = Request({0, 0}, v1::READOUT_PRECISION_UNSPECIFIED, kMemory);
  const std::string expected = Read(request).SerializeAsString();
  *request.mutable_queries() = PackFloats({-0.0, -0.0}, 2);
  EXPECT_EQ(Read(request).SerializeAsString(), expected);
}

TEST_F(ReadTest, AGroupIsAnsweredInOrderAndAsFarAsOneAnswerCouldHold) {
  // 4,096 values of 10,000 queries are beyond the limit; of 1,500, twice are.
  v1::MemoryConfig config;
  config.set_key_dimension(1);
  config.set_value_dimension(4096);
  config.set_gamma(1);
  config.set_min_support(1);
  Create("broad", config);
  v1::AddRequest add;
  add.set_parent("tenants/acme/memories/broad");
  add.add_tokens()->set_token_id("t");
  add.mutable_tokens(0)->add_subjects("s");
  *add.mutable_keys() = Pack({0}, 1);
  *add.mutable_values() = Pack(Numbers(4096, 1), 4096);
  ASSERT_TRUE(service_->Add(add).ok());
  v1::ReadRequest broad;
  broad.set_name("tenants/acme/memories/broad");
  *broad.mutable_queries() = Pack(Numbers(1500, 2), 1);
  v1::ReadRequest small = Request({0, 0}, v1::READOUT_PRECISION_UNSPECIFIED, kMemory);
  v1::ReadRequest bad = small;
  bad.set_name("tenants/acme/memories/none");
  const auto answers = service_->ReadGroup({bad, small, broad, bad, small, broad, small});
  ASSERT_EQ(answers.size(), 5U);
  EXPECT_TRUE(Fails(answers[0].status(), Reason::kMemoryUnknown, "name"));
  EXPECT_EQ(answers[1]->readouts_size(), 1);
  EXPECT_EQ(answers[2]->readouts_size(), 1500);
  EXPECT_TRUE(Fails(answers[3].status(), Reason::kMemoryUnknown, "name"));
  EXPECT_EQ(answers[4]->readouts_size(), 1);
  EXPECT_EQ(service_->ReadGroup({broad, broad}).size(), 1U);
  *broad.mutable_queries() = Pack(Numbers(10'000, 2), 1);
  EXPECT_TRUE(
      Fails(service_->ReadGroup({broad, small})[0].status(), Reason::kMessageTooLarge, "queries.rows"));
}

TEST_F(ReadTest, TheStatusCountsByThePrecisionThatWasUsed) {
  const v1::ReadoutStatus before = Status();
  EXPECT_FALSE(before.device().empty());
  ASSERT_EQ(before.counts_size(), 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(before.counts(i).precision(), i + 1);
    EXPECT_EQ(before.counts(i).request_count(), 0U);
  }
  Read(Request(Numbers(3 * kColumns, 5)));
  v1::ReadRequest request = Request(Numbers(2 * kColumns, 5), v1::READOUT_PRECISION_FLOAT32);
  Read(request);
  request.set_with_contributions(true);
  Read(request);
  EXPECT_FALSE(service_->Read(Request({}, v1::READOUT_PRECISION_FLOAT64)).ok());
  const v1::ReadoutStatus after = Status();
  EXPECT_EQ(after.counts(0).request_count(), 2U);
  EXPECT_EQ(after.counts(0).query_count(), 5U);
  EXPECT_EQ(after.counts(1).request_count(), 0U);
  EXPECT_EQ(after.counts(2).request_count(), 1U);
  EXPECT_EQ(after.counts(2).query_count(), 2U);
}

TEST_F(ReadTest, ADeviceThatIsAskedForAndNotThereStopsTheStart) {
  options_.readout.backend = attention::BackendChoice::kCuda;
  const absl::Status expected = attention::MakeReadoutEngine(options_.readout).status();
  const absl::Status status = TryOpen();
  EXPECT_EQ(status.code(), expected.code());
  if (expected.ok()) GTEST_SKIP() << "this machine has a device";
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(status.message().empty());
  options_.readout.backend = attention::BackendChoice::kAuto;
  Open();
  EXPECT_EQ(Status().backend(), v1::READOUT_BACKEND_CPU);
}

// The real engine, and what it is told and asked.
class WatchedEngine final : public attention::ReadoutEngine {
 public:
  using Support = std::shared_ptr<const attention::SupportSet>;
  struct Seen {
    std::mutex mutex;
    std::vector<std::pair<Support, Support>> published;
    std::set<Support> read;  // held, so that no two have the same address
  };

  WatchedEngine(std::unique_ptr<attention::ReadoutEngine> engine, Seen* seen)
      : engine_(std::move(engine)), seen_(*seen) {}

  void Read(absl::Span<const attention::ReadoutTask> tasks,
            absl::Span<attention::Readouts> answers) override {
    {
      const std::lock_guard lock(seen_.mutex);
      for (const attention::ReadoutTask& task : tasks) seen_.read.insert(task.support);
    }
    engine_->Read(tasks, answers);
  }
  void Publish(const Support& previous, const Support& next) noexcept override {
    const std::lock_guard lock(seen_.mutex);
    seen_.published.emplace_back(previous, next);
  }
  [[nodiscard]] attention::EngineStatus Status() const override { return engine_->Status(); }

 private:
  const std::unique_ptr<attention::ReadoutEngine> engine_;
  Seen& seen_;
};

class PublicationTest : public ReadTest {
 protected:
  void SetUp() override {
    options_.make_engine = [this](const attention::EngineOptions& options)
        -> absl::StatusOr<std::unique_ptr<attention::ReadoutEngine>> {
      auto engine = attention::MakeReadoutEngine(options);
      if (!engine.ok()) return engine.status();
      return std::make_unique<WatchedEngine>(*std::move(engine), &seen_);
    };
    ReadTest::SetUp();
  }

  WatchedEngine::Seen seen_;
};

TEST_F(PublicationTest, WhateverIsReplacedOrDeletedIsTakenBackOnce) {
  ASSERT_EQ(seen_.published.size(), 2U) << "one for each memory's first tokens";
  for (const auto& [previous, next] : seen_.published) {
    EXPECT_EQ(previous, nullptr);
    EXPECT_NE(next, nullptr);
  }
  const WatchedEngine::Support first = seen_.published[1].second;
  // A token of the reserve changes no support; one with weight does.
  std::string reserve;
  std::string heavy;
  for (const v1::TokenInfo& token : Tokens(kWide)) {
    const std::string id = token.name().substr(token.name().rfind('/') + 1);
    (token.token_class() == v1::TOKEN_CLASS_RESERVE ? reserve : heavy) = id;
  }
  ASSERT_FALSE(reserve.empty());
  Delete(kWide, {reserve});
  EXPECT_EQ(seen_.published.size(), 2U);
  Delete(kWide, {heavy});
  ASSERT_EQ(seen_.published.size(), 3U);
  EXPECT_EQ(seen_.published[2].first, first);
  EXPECT_NE(seen_.published[2].second, nullptr);
  v1::DeleteMemoryRequest request;
  request.set_name(kWide);
  ASSERT_TRUE(service_->DeleteMemory(request).ok());
  ASSERT_EQ(seen_.published.size(), 4U);
  EXPECT_EQ(seen_.published[3].first, seen_.published[2].second);
  EXPECT_EQ(seen_.published[3].second, nullptr);
}

TEST_F(PublicationTest, NothingThatWasReadIsForgottenWhileTokensComeAndGo) {
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!done) ASSERT_TRUE(service_->Read(Request(Numbers(kColumns, 3))).ok());
    });
  }
  for (int i = 0; i < 12; ++i) Delete(kWide, {absl::StrCat("t", i)});
  done = true;
  for (std::thread& reader : readers) reader.join();
  v1::DeleteMemoryRequest request;
  request.set_name(kWide);
  ASSERT_TRUE(service_->DeleteMemory(request).ok());
  std::set<WatchedEngine::Support> taken_back;
  for (const auto& [previous, next] : seen_.published) taken_back.insert(previous);
  EXPECT_FALSE(seen_.read.empty());
  for (const WatchedEngine::Support& support : seen_.read) EXPECT_EQ(taken_back.count(support), 1U);
}

// Readers of all precisions while tokens come and go: each answer is of the state that it names.
TEST_F(ReadTest, EveryAnswerIsOfOneStateWhileTokensComeAndGo) {
  constexpr int kReaders = 3;
  constexpr int kChanges = 16;
  std::atomic<bool> done = false;
  std::atomic<int> reads = 0;
  std::mutex mutex;
  std::map<std::string, std::string> certified_of_digest;
  std::vector<v1::ReadResponse> fast;
  const std::vector<double> query = Numbers(kColumns, 11);
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        const auto answers = service_->ReadGroup(
            {Request(query), Request(query, kFast[0]), Request(query, kFast[1]), Request(query, kFast[2])});
        ASSERT_EQ(answers.size(), 4U);
        const std::lock_guard lock(mutex);
        for (const auto& answer : answers) {
          ASSERT_TRUE(answer.ok()) << answer.status();
          if (answer->precision() != v1::READOUT_PRECISION_CERTIFIED) {
            fast.push_back(*answer);
            continue;
          }
          const std::string& digest = answer->state().digest();
          const std::string bytes = answer->SerializeAsString();
          EXPECT_EQ(certified_of_digest.try_emplace(digest, bytes).first->second, bytes);
        }
        ++reads;
      }
    });
  }
  for (int i = 0; i < kChanges; ++i) {
    Delete(kWide, {absl::StrCat("t", i)});
    const v1::ReadResponse present = Read(Request(query));
    const std::lock_guard lock(mutex);
    certified_of_digest.try_emplace(present.state().digest(), present.SerializeAsString());
  }
  while (reads == 0 && !HasFailure()) std::this_thread::yield();
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GE(certified_of_digest.size(), static_cast<size_t>(kChanges));
  for (const v1::ReadResponse& answer : fast) {
    const auto found = certified_of_digest.find(answer.state().digest());
    if (found == certified_of_digest.end()) continue;  // of the first state, and nobody read that certified
    v1::ReadResponse certified;
    ASSERT_TRUE(certified.ParseFromString(found->second));
    EXPECT_LE(Distance(answer, certified, 0),
              answer.readouts(0).error_bound() + certified.readouts(0).error_bound());
  }
}

}  // namespace
}  // namespace expunge::core
