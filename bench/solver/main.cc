// solver_bench: what does it cost to delete one token exactly, against solving anew?
//
// Exit status: 0 at the end of each configuration the bits were those of a solve from nothing; 1 some were
// not, or an operation failed; 2 wrong usage, or a file that cannot be written. Times do not change it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/progress.h"
#include "base/status_macros.h"
#include "bench/data.h"
#include "bench/results.h"
#include "bench/solver/baselines.h"
#include "bench/solver/history.h"
#include "bench/solver/libsvm.h"
#include "bench/solver/measurement.h"
#include "bench/solver/report.h"
#include "bench/solver/summary.h"
#include "solver/exact_memory.h"

namespace expunge::bench {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr uint32_t kDimension = 64;
// Beyond, a cold solve can take a minute, and each baseline is measured once a problem: where C bounds no
// weight (E is empty), any larger C has the same solution, to the last bit, and takes over the times.
constexpr int64_t kSharingLimit = 20'000;

constexpr char kFooter[] = R"(Examples:
  solver_bench                            n = 1000, 10000, 100000: about five minutes
  solver_bench --quick                    without 100000: half a minute at most
  solver_bench --n 1000 --only gaussian --only 1/10.5     one configuration

Exit status: 0 all bits equal to those of a solve from nothing; 1 otherwise; 2 wrong usage or an unusable file.)";

struct Arguments {
  std::vector<int64_t> sizes;
  std::vector<std::string> only;
  int repetitions = 0;
  bool quick = false;
  bool every_baseline = false;
  bool thread_time = false;
  uint64_t seed = 1;
  std::string out;

  [[nodiscard]] Clock clock() const { return thread_time ? Clock::kThread : Clock::kWall; }
};

// Ascending by C.
std::vector<solver::BoxBound> AllBoxes() { return {{201, 0}, {51, 0}, {11, 0}, {0, 0.1}, {3, 0}, {0, 0.5}}; }

void Declare(CLI::App* app, Arguments* a) {
  app->footer(kFooter);
  app->add_option("--n", a->sizes, "Tokens of a memory; can be repeated (default: 1000 10000 100000)")
      ->check(CLI::Range(int64_t{10}, int64_t{1'000'000}));
  std::vector<std::string> names = {"gaussian", "clustered"};
  for (const solver::BoxBound& box : AllBoxes()) names.push_back(BoxName({Shape::kGaussian, 0, box}));
  app->add_option("--only", a->only, "Only these data, only these box bounds; can be repeated")
      ->check(CLI::IsMember(names));
  app->add_option("--repetitions", a->repetitions, "Of each operation (default: by n)")
      ->check(CLI::Range(1, 1'000'000));
  app->add_flag("--quick", a->quick, "n = 1000 and 10000, fewer repetitions");
  app->add_flag(
      "--every-baseline", a->every_baseline,
      absl::StrCat("Beyond n = ", kSharingLimit, ", too, measure cold and libsvm for every C: slow"));
  app->add_flag("--thread-time", a->thread_time,
                "Processor time instead of time on the clock: for a machine that does other things");
  app->add_option("--seed", a->seed, "Another seed picks other tokens")->capture_default_str();
  app->add_option("--out", a->out, "Where the JSON goes (default: out/solver.json in the repository)")
      ->type_name("FILE");
}

// Whether `name` is among the names of its kind that were asked for; with none of its kind, all are.
bool Wanted(const std::vector<std::string>& only, bool is_box, const std::string& name) {
  bool any = false;
  for (const std::string& item : only) {
    if ((item.find('/') != std::string::npos) != is_box) continue;
    if (item == name) return true;
    any = true;
  }
  return !any;
}

std::vector<Setting> MakeGrid(const Arguments& arguments, Shape shape) {
  std::vector<Setting> grid;
  for (const int64_t n : arguments.sizes) {
    for (const solver::BoxBound& box : AllBoxes()) {
      const Setting setting = {shape, n, box};
      if (Wanted(arguments.only, false, ShapeName(setting)) && Wanted(arguments.only, true, BoxName(setting)))
        grid.push_back(setting);
    }
  }
  return grid;
}

int Repetitions(const Arguments& arguments, int64_t n) {
  if (arguments.repetitions > 0) return arguments.repetitions;
  const int usual = n <= 2'000 ? 300 : n <= 20'000 ? 100 : 40;
  return arguments.quick ? usual / 2 : usual;
}

absl::Status RunHistory(History* history, int repetitions, Row* row) {
  const int warm_up = std::max(2, repetitions / 10);
  for (int i = -warm_up; i < repetitions; ++i) {
    EXPUNGE_RETURN_IF_ERROR(history->Round(i < 0 ? nullptr : row));
    if (i % 2 == 0) EXPUNGE_RETURN_IF_ERROR(history->Move());
  }
  return history->Return();
}

// A solved problem with the times of solving it.
struct Baseline {
  Setting setting;
  solver::Solution solution;
  double cold_us = 0;
  std::optional<double> libsvm_us;
};

size_t Count(const solver::Solution& solution, solver::TokenClass wanted) {
  return static_cast<size_t>(std::count(solution.classes.begin(), solution.classes.end(), wanted));
}

// Whether the problem of `setting`, on the same data, is known to have the same solution.
bool SameProblem(const Baseline& baseline, const Setting& setting) {
  return baseline.setting.n == setting.n && BoxValue(baseline.setting) <= BoxValue(setting) &&
         Count(baseline.solution, solver::TokenClass::kError) == 0;
}

absl::StatusOr<Baseline> MeasureBaseline(const Setting& setting, const solver::Config& config,
                                         const solver::TokenList& tokens, const Arguments& arguments) {
  const int runs = setting.n <= 2'000 ? 5 : setting.n <= kSharingLimit && !arguments.quick ? 3 : 1;
  EXPUNGE_ASSIGN_OR_RETURN(ColdSolve cold, TimeColdSolve(config, tokens, runs, arguments.clock()));
  return Baseline{setting, std::move(cold.solution), cold.us,
                  TimeLibsvm(config, BoxValue(setting), tokens, arguments.clock())};
}

// `tokens`: kSpares more than the memory has. `*baseline`: that of the setting before, if any, at first.
absl::StatusOr<Row> RunSetting(const Setting& setting, const solver::TokenList& tokens,
                               const Arguments& arguments, std::optional<Baseline>* baseline) {
  Row row;
  row.setting = setting;
  solver::Config config = MakeConfig(kDimension, kDimension, 0);
  config.box = setting.box;
  const solver::TokenList held(tokens.begin(), tokens.end() - kSpares);
  const bool may_share = setting.n > kSharingLimit && !arguments.every_baseline;
  if (!may_share || !baseline->has_value() || !SameProblem(**baseline, setting)) {
    EXPUNGE_ASSIGN_OR_RETURN(*baseline, MeasureBaseline(setting, config, held, arguments));
  }
  row.baseline_c = BoxValue((*baseline)->setting);
  row.cold_us = (*baseline)->cold_us;
  row.libsvm_us = (*baseline)->libsvm_us;
  const solver::MemoryState state = {config, held, (*baseline)->solution};
  row.margin = Count(state.solution, solver::TokenClass::kMargin);
  row.error = Count(state.solution, solver::TokenClass::kError);
  if (row.margin > 0) row.floor_us = TimeFloor(row.margin, held.size(), arguments.clock());

  EXPUNGE_ASSIGN_OR_RETURN(const auto memory, solver::ExactMemory::Open(state));
  History history(memory.get(), tokens, arguments.clock(), arguments.seed);
  EXPUNGE_RETURN_IF_ERROR(RunHistory(&history, Repetitions(arguments, setting.n), &row));
  row.bytes_per_token = static_cast<double>(memory->ByteSize()) / static_cast<double>(setting.n);
  row.fallbacks = memory->counters().fallbacks;
  row.bits_equal = solver::Fingerprint(memory->State()) == solver::Fingerprint(state);
  return row;
}

// Every configuration, or the error of the first that fails.
absl::StatusOr<std::vector<Row>> RunAll(const Arguments& arguments) {
  std::vector<std::vector<Setting>> grids = {MakeGrid(arguments, Shape::kGaussian),
                                             MakeGrid(arguments, Shape::kClustered)};
  Progress progress(ProgressMode::kAuto, "configurations", grids[0].size() + grids[1].size(), stderr);
  const solver::Config config = MakeConfig(kDimension, kDimension, 0);
  const int64_t most = *std::max_element(arguments.sizes.begin(), arguments.sizes.end());
  std::vector<Row> rows;
  for (const std::vector<Setting>& grid : grids) {
    if (grid.empty()) continue;
    const auto spares = static_cast<int64_t>(kSpares);
    const solver::TokenList tokens = MakeTokens(config, grid.front().shape, most + spares);
    std::optional<Baseline> baseline;
    for (const Setting& setting : grid) {
      progress.Show(rows.size());
      const solver::TokenList own(tokens.begin(), tokens.begin() + setting.n + spares);
      auto row = RunSetting(setting, own, arguments, &baseline);
      if (!row.ok())
        return absl::Status(row.status().code(),
                            absl::StrCat(Describe(setting), ": ", row.status().message()));
      rows.push_back(*std::move(row));
    }
  }
  progress.Show(rows.size());
  return rows;
}

int Run(Arguments arguments) {
  if (arguments.sizes.empty()) {
    arguments.sizes = {1'000, 10'000};
    if (!arguments.quick) arguments.sizes.push_back(100'000);
  }
  const auto start = std::chrono::steady_clock::now();
  const auto rows = RunAll(arguments);
  if (!rows.ok()) {
    std::cerr << "solver_bench: " << rows.status().message() << "\n";
    return kFailed;
  }
  std::cout << FormatTables(*rows, arguments.clock(), HasLibsvm()) << "\n" << FormatSummary(*rows);
  const auto written = WriteResults(arguments.out, "solver", FormatJson(*rows, arguments.clock()));
  if (!written.ok()) {
    std::cerr << "solver_bench: " << written.status().message() << "\n";
    return kUsage;
  }
  bool passed = true;
  for (const Row& row : *rows) {
    if (row.fallbacks > 0)
      absl::PrintF("NOTE: the reference solver was needed %d times: %s\n", row.fallbacks,
                   Describe(row.setting));
    if (!row.bits_equal)
      absl::PrintF("FAILED: the bits are not those of a solve from nothing: %s\n", Describe(row.setting));
    passed = passed && row.bits_equal;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  absl::PrintF("\nSeed %d, %.0f s. Results: %s\n", arguments.seed, seconds.count(), *written);
  return passed ? 0 : kFailed;
}

int Main(int argc, char** argv) {
  CLI::App app("Times deletions from exact memories beside solving anew, by our solver and by libsvm.",
               "solver_bench");
  Arguments arguments;
  Declare(&app, &arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return Run(std::move(arguments));
}

}  // namespace
}  // namespace expunge::bench

int main(int argc, char** argv) {
  try {
    return expunge::bench::Main(argc, argv);
  } catch (const std::exception& error) {  // out of memory, or a stream that throws
    std::cerr << "solver_bench: " << error.what() << "\n";
    return 1;
  }
}
