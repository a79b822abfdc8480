// Checks the kernels on the device present. scripts/gpu_check.sh builds and runs it.
//
// Usage: cuda_check [--part=compare|sanitize|bench] [--quick]
//   compare    every kernel against long double, at odd sizes and in ragged groups
//   sanitize   a short form of it, for compute-sanitizer
//   bench      times, beside the limits of the device
// Exit status: 0 all checks passed, 1 one failed, 2 wrong usage, 77 nothing was checked: there is no usable
// device.
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "attention/cuda/check/bench.h"
#include "attention/cuda/check/comparison.h"
#include "attention/cuda/device.h"

namespace expunge::attention::cuda::check {
namespace {

constexpr int kNothingChecked = 77;

struct Options {
  std::string part = "compare";
  bool quick = false;
};

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quick") {
      options->quick = true;
    } else if (argument.rfind("--part=", 0) == 0) {
      options->part = argument.substr(7);
    } else {
      return false;
    }
  }
  return options->part == "compare" || options->part == "sanitize" || options->part == "bench";
}

std::vector<Kernel> KernelsOf(const Device& device) {
  std::vector<Kernel> kernels = {Kernel::kFloat64, Kernel::kFloat32, Kernel::kBfloat16};
  if (device.BestBfloat16() == Kernel::kBfloat16Hopper) kernels.push_back(Kernel::kBfloat16Hopper);
  return kernels;
}

// Memories of all sizes in one launch.
std::vector<GroupCase> Ragged(size_t memories) {
  std::vector<GroupCase> cases;
  for (size_t i = 0; i < memories; ++i) {
    cases.push_back({1 + i * 37 % 129, 1 + i * 13 % 70, 1 + i * 29 % 70, 1 + i * 31 % 67});
  }
  return cases;
}

class Checker {
 public:
  explicit Checker(Device* device) : device_(device) {}

  void Check(Kernel kernel, const char* what, const std::vector<GroupCase>& cases, size_t rows_compared) {
    const Comparison c = Compare(device_, kernel, cases, rows_compared);
    Report(c.failure);
    std::printf("%-4s %-10s %-44s error %.1e  plain %.1e  of bound %.2f  rows %zu%s%s\n",
                c.failure.empty() ? "ok" : "FAIL", NameOf(kernel), what, c.error, c.plain_error, c.bound_use,
                c.compared, c.failure.empty() ? "" : "  ", c.failure.c_str());
    std::fflush(stdout);
  }

  void CheckSizes(Kernel kernel, const std::vector<size_t>& tokens, const std::vector<size_t>& dimensions,
                  const std::vector<size_t>& rows, size_t rows_compared) {
    for (const size_t m : tokens) {
      for (const size_t d : dimensions) {
        // Key and value dimensions differ, but for the largest.
        const size_t dv = d == 128 ? 128 : dimensions[(m + d) % dimensions.size()];
        std::vector<GroupCase> cases;
        for (const size_t q : rows) cases.push_back({m, d, dv, q});
        char what[80];
        std::snprintf(what, sizeof(what), "m %zu, d %zu, dv %zu, Q of %zu sizes", m, d, dv, rows.size());
        Check(kernel, what, cases, rows_compared);
      }
    }
  }

  void CheckTogether(Kernel kernel, int rounds, int launches) {
    const std::string failure = CompareTogether(device_, kernel, rounds, launches);
    Report(failure);
    std::printf("%-4s %-10s two threads, shapes in turn%s%s\n", failure.empty() ? "ok" : "FAIL",
                NameOf(kernel), failure.empty() ? "" : "  ", failure.c_str());
  }

  void CheckArithmetic(Kernel kernel) {
    const ArithmeticMeasurement m = MeasureArithmetic(device_, kernel);
    Report(m.failure);
    std::printf("%-4s %-10s additions lose at most %.2e each (%.2e in all), %.2e assumed%s%s\n",
                m.failure.empty() ? "ok" : "FAIL", NameOf(kernel), m.largest, m.total, m.assumed,
                m.failure.empty() ? "" : "  ", m.failure.c_str());
  }

  [[nodiscard]] size_t failures() const { return failures_; }
  [[nodiscard]] size_t checks() const { return checks_; }

 private:
  void Report(const std::string& failure) {
    ++checks_;
    if (!failure.empty()) ++failures_;
  }

  Device* const device_;
  size_t checks_ = 0;
  size_t failures_ = 0;
};

void RunComparisons(const Device& device, const Options& options, Checker* checker) {
  for (const Kernel kernel : KernelsOf(device)) {
    if (options.part == "sanitize") {
      checker->CheckSizes(kernel, {17, 141}, {33, 128}, {1, 65}, 3);
      checker->Check(kernel, "7 memories in one launch", Ragged(7), 2);
      checker->CheckTogether(kernel, 1, 2);
      continue;
    }
    checker->CheckArithmetic(kernel);
    if (options.quick) {
      checker->CheckSizes(kernel, {14, 1003}, {33, 128}, {1, 65, 1024}, 17);
    } else {
      checker->CheckSizes(kernel, {1, 14, 17, 100, 1000, 1003}, {1, 33, 64, 100, 128}, {1, 63, 64, 65, 1024},
                          17);
    }
    const size_t d = kernel == Kernel::kBfloat16Hopper ? 70 : 200;
    checker->Check(kernel, "m 40, dv 300", {{40, d, 300, 70}}, 17);
    checker->Check(kernel, "queries in double", {{100, 64, 33, 70, QueryKind::kDoubles}}, 17);
    checker->Check(kernel, "far queries", {{100, 64, 33, 70, QueryKind::kFar}}, 17);
    checker->CheckTogether(kernel, options.quick ? 5 : 20, 200);
    for (const size_t memories : {1, 7, 1000}) {
      char what[40];
      std::snprintf(what, sizeof(what), "%zu memories in one launch", memories);
      checker->Check(kernel, what, Ragged(memories), 3);
    }
  }
}

int Main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(stderr, "usage: %s [--part=compare|sanitize|bench] [--quick]\n", argv[0]);
    return 2;
  }
  std::string why;
  const std::unique_ptr<Device> device = OpenCudaDevice(&why);
  if (device == nullptr) {
    std::printf("NOTHING WAS CHECKED: %s\n", why.c_str());
    return kNothingChecked;
  }
  const DeviceFacts& facts = device->facts();
  std::printf("%s, compute capability %d.%d, %d multiprocessors, %.0f GiB\n", facts.name.c_str(),
              facts.compute_major, facts.compute_minor, facts.multiprocessors,
              static_cast<double>(facts.memory_bytes) / 0x1p30);
  size_t checks = 1;
  size_t failures = 0;
  if (options.part == "bench") {
    if (!RunBenchmarks(device.get(), options.quick)) failures = 1;
  } else {
    Checker checker(device.get());
    RunComparisons(*device, options, &checker);
    checks = checker.checks();
    failures = checker.failures();
  }
  // The script looks for this line: without it nothing counts as checked.
  if (failures == 0)
    std::printf("CHECKED ON %s: %s, %zu checks, none failed\n", facts.name.c_str(), options.part.c_str(),
                checks);
  if (failures > 0)
    std::printf("FAILED ON %s: %s, %zu of %zu checks\n", facts.name.c_str(), options.part.c_str(), failures,
                checks);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace expunge::attention::cuda::check

int main(int argc, char** argv) { return expunge::attention::cuda::check::Main(argc, argv); }
