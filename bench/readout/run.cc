#include "bench/readout/run.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <variant>

#include "absl/types/span.h"
#include "attention/engine.h"
#include "base/progress.h"
#include "base/status_macros.h"
#include "bench/data.h"
#include "bench/readout/baselines.h"
#include "solver/memory_state.h"

namespace expunge::bench {
namespace {

using attention::Precision;

constexpr int64_t kAllTokens = 10'000;
// A measurement repeats what it measures until so much time has passed.
constexpr double kLeastUs = 3000;
constexpr Precision kPrecisions[] = {Precision::kCertified, Precision::kFloat64, Precision::kFloat32};

// Of the settings, those of two threads and many memories are of this one.
constexpr Setting kPairSetting = {100, 64, 1024};

// `m` margin tokens of equal weight: a readout does not depend on how a state came to be.
std::shared_ptr<const attention::SupportSet> MakeSupport(const Setting& setting) {
  const auto d = static_cast<uint32_t>(setting.dimension);
  solver::MemoryState state;
  state.config = MakeConfig(d, d, 2);
  state.tokens = MakeTokens(state.config, Shape::kGaussian, static_cast<int64_t>(setting.support));
  state.solution.classes.assign(setting.support, solver::TokenClass::kMargin);
  state.solution.weights.assign(setting.support, 1.0 / static_cast<double>(setting.support));
  state.solution.proof.eta = 0x1p-53;
  return std::make_shared<const attention::SupportSet>(state);
}

// Queries of one dimension, in both types.
struct Queries {
  std::vector<double> wide;
  std::vector<float> narrow;

  explicit Queries(const Setting& setting)
      : wide(MakeVectors(static_cast<int64_t>(setting.queries), static_cast<uint32_t>(setting.dimension))),
        narrow(wide.begin(), wide.end()) {
    // The same numbers in both, so that the answers can be compared.
    wide.assign(narrow.begin(), narrow.end());
  }

  [[nodiscard]] attention::QueryRows Of(Precision precision, size_t begin, size_t count) const {
    if (precision == Precision::kFloat32) return absl::MakeConstSpan(narrow).subspan(begin, count);
    return absl::MakeConstSpan(wide).subspan(begin, count);
  }
};

std::vector<double> Wide(const attention::OutputRows& rows) {
  return std::visit([](const auto& r) { return std::vector<double>(r.begin(), r.end()); }, rows);
}

// Microseconds of one call.
double Time(Clock clock, const std::function<void()>& call) {
  int64_t calls = 0;
  const Stopwatch watch(clock);
  do {
    call();
    ++calls;
  } while (watch.Microseconds() < kLeastUs);
  return watch.Microseconds() / static_cast<double>(calls);
}

// Something that is measured in turns with others.
struct Contender {
  std::function<void()> call;
  std::vector<double> us = {};
};

void TakeTurns(int rounds, Clock clock, std::vector<Contender>* contenders) {
  for (Contender& contender : *contenders) contender.call();  // warm
  for (int round = 0; round < rounds; ++round) {
    for (Contender& contender : *contenders) contender.us.push_back(Time(clock, contender.call));
  }
}

// Whether no answer is further from the certified one than both bounds allow; `*largest`: of the bounds.
bool WithinBounds(const attention::Readouts& answer, const attention::Readouts& certified, double* largest) {
  const std::vector<double> a = Wide(answer.outputs);
  const std::vector<double> b = Wide(certified.outputs);
  const size_t queries = certified.error_bounds.size();
  const size_t dv = b.size() / queries;
  bool holds = a.size() == b.size() && answer.error_bounds.size() == queries;
  *largest = 0;
  for (size_t q = 0; q < queries && holds; ++q) {
    double squares = 0;
    for (size_t k = q * dv; k < (q + 1) * dv; ++k) squares += (a[k] - b[k]) * (a[k] - b[k]);
    const double allowed = answer.error_bounds[q] + certified.error_bounds[q];
    holds = std::sqrt(squares) <= allowed;
    *largest = std::max(*largest, answer.error_bounds[q]);
  }
  return holds;
}

template <typename T>
std::unique_ptr<Baselines<T>> MakeFull(size_t dimension) {
  const auto d = static_cast<uint32_t>(dimension);
  const std::vector<double> keys = MakeVectors(kAllTokens, d);
  const std::vector<double> values = MakeVectors(kAllTokens, d);
  return MakeBaselines<T>({keys.begin(), keys.end()}, {values.begin(), values.end()}, dimension,
                          T{1} / static_cast<T>(dimension));
}

// All that is measured on one dimension.
class Bench {
 public:
  Bench(const RunOptions& options, const FlatIndexTimes& searches, attention::ReadoutEngine* engine)
      : options_(options), searches_(searches), engine_(engine) {}

  void UseDimension(size_t dimension) {
    if (dimension_ == dimension) return;
    dimension_ = dimension;
    narrow_ = MakeFull<float>(dimension);
    wide_ = MakeFull<double>(dimension);
  }

  void Measure(const Setting& setting, Results* results) {
    UseDimension(setting.dimension);
    const auto support = MakeSupport(setting);
    const Queries queries(setting);
    std::vector<attention::Readouts> answers(std::size(kPrecisions));
    std::vector<Contender> contenders;
    for (size_t p = 0; p < std::size(kPrecisions); ++p) {
      const attention::ReadoutTask task = {support, queries.Of(kPrecisions[p], 0, queries.wide.size()),
                                           kPrecisions[p]};
      contenders.push_back({[this, task, &answer = answers[p]] {
        engine_->Read(absl::MakeConstSpan(&task, 1), absl::MakeSpan(&answer, 1));
      }});
    }
    std::vector<float> narrow(queries.narrow.size());
    std::vector<double> wide(queries.wide.size());
    const size_t baselines = contenders.size();
    if (narrow_ != nullptr) {
      contenders.push_back({[&] { narrow_->Product(); }});
      contenders.push_back({[&] { wide_->Product(); }});
      contenders.push_back(
          {[&] { narrow_->FullSoftmax(queries.narrow.data(), setting.queries, narrow.data()); }});
      contenders.push_back({[&] { wide_->FullSoftmax(queries.wide.data(), setting.queries, wide.data()); }});
    }
    TakeTurns(options_.rounds, options_.clock, &contenders);
    for (size_t p = 0; p < std::size(kPrecisions); ++p) {
      Row row{setting,
              kPrecisions[p],
              Median(contenders[p].us) / static_cast<double>(setting.queries),
              {},
              {},
              {},
              0,
              false};
      row.holds = answers[p].precision == kPrecisions[p] && WithinBounds(answers[p], answers[0], &row.bound);
      const bool is_float = kPrecisions[p] == Precision::kFloat32;
      if (narrow_ != nullptr) {
        const double product_us = Median(contenders[baselines + (is_float ? 0 : 1)].us);
        const double softmax_us = Median(contenders[baselines + (is_float ? 2 : 3)].us);
        (is_float ? product_f32_ : product_f64_).push_back(product_us);
        row.gemm_share = FlopOfQuery(setting) / row.us / (kProductFlop / product_us);
        row.softmax_ratio = softmax_us / static_cast<double>(setting.queries) / row.us;
      }
      if (const auto search_us = searches_.Of(setting); search_us.has_value())
        row.search_ratio = *search_us / row.us;
      results->rows.push_back(row);
    }
  }

  void Finish(Results* results) const {
    if (product_f32_.empty()) return;
    results->gemm_gflops_f32 = kProductFlop / Median(product_f32_) * 1e-3;
    results->gemm_gflops_f64 = kProductFlop / Median(product_f64_) * 1e-3;
  }

 private:
  const RunOptions& options_;
  const FlatIndexTimes& searches_;
  attention::ReadoutEngine* const engine_;
  size_t dimension_ = 0;
  std::unique_ptr<Baselines<float>> narrow_;
  std::unique_ptr<Baselines<double>> wide_;
  std::vector<double> product_f32_;
  std::vector<double> product_f64_;
};

// One call that answers `tasks` by `engine`.
Contender Reading(attention::ReadoutEngine* engine, std::vector<attention::ReadoutTask> tasks) {
  auto answers = std::make_shared<std::vector<attention::Readouts>>(tasks.size());
  return {[engine, answers, tasks = std::move(tasks)] { engine->Read(tasks, absl::MakeSpan(*answers)); }};
}

Pair MeasurePair(Precision precision, int rounds, Clock clock, std::vector<Contender> both) {
  TakeTurns(rounds, clock, &both);
  return {precision, Median(both[0].us), Median(both[1].us)};
}

// The queries of kPairSetting by one thread and by two, and as queries to memories of their own.
absl::Status MeasurePairs(const RunOptions& options, attention::ReadoutEngine* engine, Results* results) {
  attention::EngineOptions two_threads = {attention::BackendChoice::kCpu};
  two_threads.threads = 2;
  EXPUNGE_ASSIGN_OR_RETURN(const auto two, attention::MakeReadoutEngine(two_threads));
  results->pair_setting = kPairSetting;
  const auto support = MakeSupport(kPairSetting);
  std::vector<std::shared_ptr<const attention::SupportSet>> supports;
  for (size_t q = 0; q < kPairSetting.queries; ++q) supports.push_back(MakeSupport(kPairSetting));
  const Queries queries(kPairSetting);
  for (const Precision precision : kPrecisions) {
    const attention::ReadoutTask whole = {support, queries.Of(precision, 0, queries.wide.size()), precision};
    std::vector<attention::ReadoutTask> each;
    for (size_t q = 0; q < supports.size(); ++q) {
      each.push_back({supports[q], queries.Of(precision, q * kPairSetting.dimension, kPairSetting.dimension),
                      precision});
    }
    // Threads are measured on the clock: that is what they are for.
    if (std::thread::hardware_concurrency() > 1) {
      results->threads.push_back(MeasurePair(precision, 3 * options.rounds, Clock::kWall,
                                             {Reading(engine, {whole}), Reading(two.get(), {whole})}));
    }
    results->memories.push_back(MeasurePair(precision, options.rounds, options.clock,
                                            {Reading(engine, {whole}), Reading(engine, each)}));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Results> Run(const RunOptions& options, const FlatIndexTimes& searches) {
  attention::EngineOptions one_thread = {attention::BackendChoice::kCpu};
  one_thread.threads = 1;
  EXPUNGE_ASSIGN_OR_RETURN(const auto engine, attention::MakeReadoutEngine(one_thread));
  Results results;
  Bench bench(options, searches, engine.get());
  Progress progress(ProgressMode::kAuto, "configurations", options.settings.size() + 1, stderr);
  for (size_t i = 0; i < options.settings.size(); ++i) {
    progress.Show(i);
    bench.Measure(options.settings[i], &results);
  }
  progress.Show(options.settings.size());
  EXPUNGE_RETURN_IF_ERROR(MeasurePairs(options, engine.get(), &results));
  progress.Show(options.settings.size() + 1);
  bench.Finish(&results);
  return results;
}

}  // namespace expunge::bench
