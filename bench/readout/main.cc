// readout_bench: how near to the machine's limit are readouts, and how much faster than attention over all
// tokens?
//
// Exit status: 0 every answer was within its bound; 1 one was not; 2 wrong usage, or a file that cannot be
// read or written. Times do not change it.
#include <CLI/CLI.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/readout/flat_index.h"
#include "bench/readout/report.h"
#include "bench/readout/run.h"
#include "bench/results.h"

namespace expunge::bench {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

constexpr char kFooter[] = R"(Examples:
  readout_bench                                   M = 14, 100, 1000; d = 64, 128; Q = 1, 64, 1024: a minute or two
  readout_bench --support 100 --queries 1024      a part of it
  readout_bench --thread-time                     on a machine that does other things

Exit status: 0 every answer was within its bound; 1 otherwise; 2 wrong usage or an unusable file.)";

struct Arguments {
  std::vector<size_t> supports = {14, 100, 1000};
  std::vector<size_t> dimensions = {64, 128};
  std::vector<size_t> queries = {1, 64, 1024};
  int rounds = 9;
  bool quick = false;
  bool thread_time = false;
  std::string flat_index;
  std::string out;
};

void Declare(CLI::App* app, Arguments* a) {
  app->footer(kFooter);
  const CLI::Range sizes(size_t{1}, size_t{100'000});
  app->add_option("--support", a->supports, "Tokens of a support; can be repeated")->check(sizes);
  app->add_option("--dimension", a->dimensions, "Of keys and values; can be repeated")
      ->check(CLI::Range(size_t{1}, size_t{4096}));
  app->add_option("--queries", a->queries, "Queries of a call; can be repeated")->check(sizes);
  app->add_option("--rounds", a->rounds, "Of which medians are taken")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app->add_flag("--quick", a->quick, "d = 64 and Q = 64 alone");
  app->add_flag("--thread-time", a->thread_time,
                "Processor time instead of time on the clock, but for two threads: for a machine that does "
                "other things");
  app->add_option("--flat-index", a->flat_index,
                  "What bench/readout/flat_index.py wrote (default: no searches)")
      ->type_name("FILE");
  app->add_option("--out", a->out, "Where the JSON goes (default: out/readout.json in the repository)")
      ->type_name("FILE");
}

std::vector<Setting> Settings(const Arguments& arguments) {
  std::vector<Setting> settings;
  for (const size_t dimension : arguments.dimensions) {
    for (const size_t support : arguments.supports) {
      for (const size_t queries : arguments.queries) settings.push_back({support, dimension, queries});
    }
  }
  return settings;
}

int RunBenchmark(Arguments arguments) {
  if (arguments.quick) {
    arguments.dimensions = {64};
    arguments.queries = {64};
  }
  FlatIndexTimes searches;
  if (!arguments.flat_index.empty()) {
    auto loaded = FlatIndexTimes::Load(arguments.flat_index);
    if (!loaded.ok()) {
      std::cerr << "readout_bench: --flat-index: " << loaded.status().message() << "\n";
      return kUsage;
    }
    searches = *std::move(loaded);
  }
  const auto start = std::chrono::steady_clock::now();
  const auto results =
      Run({Settings(arguments), arguments.rounds, arguments.thread_time ? Clock::kThread : Clock::kWall},
          searches);
  if (!results.ok()) {
    std::cerr << "readout_bench: " << results.status().message() << "\n";
    return kFailed;
  }
  std::cout << FormatTables(*results) << "\n" << FormatSummary(*results);
  const auto written = WriteResults(arguments.out, "readout", FormatJson(*results));
  if (!written.ok()) {
    std::cerr << "readout_bench: " << written.status().message() << "\n";
    return kUsage;
  }
  bool passed = true;
  for (const Row& row : results->rows) passed = passed && row.holds;
  if (!passed)
    absl::PrintF("FAILED: answers marked WRONG are further from the certified ones than their bounds\n");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  absl::PrintF("\n%.0f s. Results: %s\n", seconds.count(), *written);
  return passed ? 0 : kFailed;
}

int Main(int argc, char** argv) {
  CLI::App app("Times readouts beside a matrix product and attention over all tokens.", "readout_bench");
  Arguments arguments;
  Declare(&app, &arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return RunBenchmark(std::move(arguments));
}

}  // namespace
}  // namespace expunge::bench

int main(int argc, char** argv) {
  try {
    return expunge::bench::Main(argc, argv);
  } catch (const std::exception& error) {  // out of memory, or a stream that throws
    std::cerr << "readout_bench: " << error.what() << "\n";
    return 1;
  }
}
