// exactness_bench: is a memory after deletions, to the last bit, one that never held what was deleted?
//
// Exit status: 0 every trial completed with equal bits and without a fallback; 1 some did not; 2 wrong usage,
// or a file that cannot be used.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/exactness/regimes.h"
#include "bench/exactness/report.h"
#include "bench/exactness/runner.h"
#include "bench/exactness/vitals.h"
#include "bench/results.h"

namespace expunge::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr uint64_t kUsualTrials = 300;

constexpr char kFooter[] = R"(Examples:
  exactness_bench                          300 trials a regime, 80 streams: seconds
  exactness_bench --trials 1000000         the long form: an hour on two cores
  exactness_bench --only streams --first 17 --cases 1     that stream alone

Exit status: 0 all bits equal, every trial completed, no fallback; 1 otherwise; 2 wrong usage or an unusable file.)";

struct Arguments {
  uint64_t trials = kUsualTrials;
  uint64_t seed = 1;
  size_t threads = 0;
  std::string data;
  std::string out;
  std::string only;
  uint64_t first = 0;
  uint64_t cases = 0;
};

void Declare(CLI::App* app, Arguments* a) {
  app->footer(kFooter);
  app->add_option("--trials", a->trials, "Trials a regime; insertion orders and streams are scaled likewise")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}))
      ->capture_default_str();
  app->add_option("--data", a->data,
                  "CSV of intensive-care stays (default: $EXPUNGE_DATA/icu_vitals.csv, or "
                  "../shared/data/icu_vitals.csv beside the repository); without it, that regime is left out")
      ->type_name("FILE");
  app->add_option("--out", a->out, "Where the JSON goes (default: out/exactness.json in the repository)")
      ->type_name("FILE");
  app->add_option("--seed", a->seed, "Another seed gives other data")->capture_default_str();
  app->add_option("--threads", a->threads, "Default: one a core; the results are the same for any number");
  std::vector<std::string> names;
  for (const Regime& regime : AllRegimes()) names.push_back(regime.name);
  app->add_option("--only", a->only, "Only this regime")->check(CLI::IsMember(names));
  app->add_option("--first", a->first, "The first case of each regime")->capture_default_str();
  app->add_option("--cases", a->cases, "So many cases a regime, whatever --trials says");
}

std::string DefaultData() {
  // Before any thread starts.
  const char* const folder = std::getenv("EXPUNGE_DATA");  // NOLINT(concurrency-mt-unsafe)
  const fs::path data =
      folder != nullptr ? fs::path(folder) : FindRepository().parent_path() / "shared" / "data";
  return (data / "icu_vitals.csv").string();
}

// Nothing, with a note, where the file is absent and was not asked for.
absl::StatusOr<std::vector<Stay>> LoadStays(const Arguments& arguments, std::string* note) {
  const std::string path = arguments.data.empty() ? DefaultData() : arguments.data;
  auto stays = ReadStays(path);
  if (stays.ok()) return stays;
  if (!absl::IsNotFound(stays.status()) || !arguments.data.empty()) {
    return absl::Status(stays.status().code(), absl::StrCat(path, ": ", stays.status().message()));
  }
  *note = absl::StrCat("SKIPPED: icu, since there is no ", path, "; name the file with --data\n");
  return std::vector<Stay>();
}

std::vector<Row> RunRegimes(const Arguments& arguments, const std::vector<Stay>& stays) {
  RunOptions options;
  options.seed = arguments.seed;
  options.first = arguments.first;
  options.threads = arguments.threads > 0 ? arguments.threads : std::thread::hardware_concurrency();
  options.threads = std::max<size_t>(1, options.threads);
  std::vector<Row> rows;
  for (const Regime& regime : AllRegimes()) {
    if (!arguments.only.empty() && arguments.only != regime.name) continue;
    if (regime.keys == Keys::kVitals && stays.empty()) continue;
    const uint64_t scaled = (regime.cases * arguments.trials + kUsualTrials - 1) / kUsualTrials;
    options.cases = arguments.cases > 0 ? arguments.cases : scaled;
    rows.push_back({&regime, RunCases(regime, stays, options)});
  }
  return rows;
}

void PrintProblems(const Arguments& arguments, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    if (Passed(row) || !row.findings.problem.has_value()) continue;
    const Problem& problem = *row.findings.problem;
    absl::PrintF("FAILED: %s, case %d: %s (--only %s --first %d --cases 1 --seed %d)\n", row.regime->name,
                 problem.number, problem.text, row.regime->name, problem.number, arguments.seed);
  }
}

int Run(const Arguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  std::string note;
  const auto stays = LoadStays(arguments, &note);
  if (!stays.ok()) {
    std::cerr << "exactness_bench: " << stays.status().message() << "\n";
    return kUsage;
  }
  if (!note.empty()) std::cerr << note;
  const std::vector<Row> rows = RunRegimes(arguments, *stays);
  std::cout << FormatTable(rows) << note << std::flush;
  PrintProblems(arguments, rows);
  const auto written = WriteResults(arguments.out, "exactness", FormatJson(rows, arguments.seed));
  if (!written.ok()) {
    std::cerr << "exactness_bench: " << written.status().message() << "\n";
    return kUsage;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  absl::PrintF("Seed %d, %.0f s. Results: %s\n", arguments.seed, seconds.count(), *written);
  const bool passed = !rows.empty() && std::all_of(rows.begin(), rows.end(), Passed);
  return passed ? 0 : kFailed;
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Deletes from memories and compares, bit for bit, with memories that never held what was deleted.",
      "exactness_bench");
  Arguments arguments;
  Declare(&app, &arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return Run(arguments);
}

}  // namespace
}  // namespace expunge::bench

int main(int argc, char** argv) {
  try {
    return expunge::bench::Main(argc, argv);
  } catch (const std::exception& error) {  // out of memory, or a stream that throws
    std::cerr << "exactness_bench: " << error.what() << "\n";
    return expunge::bench::kUsage;
  }
}
