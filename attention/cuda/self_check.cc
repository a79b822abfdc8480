// CudaEngine::Check.
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/cuda/cuda_engine.h"

namespace expunge::attention::cuda {
namespace {

struct Problem {
  uint32_t tokens;
  uint32_t key_dimension;
  uint32_t value_dimension;
  size_t queries;
  std::shared_ptr<const SupportSet> support;
  std::vector<double> rows;
};

// Below, at and beyond the tiles of all kernels.
std::vector<Problem> Problems() {
  std::vector<Problem> problems = {
      {1, 1, 1, 1, {}, {}}, {17, 33, 70, 65, {}, {}}, {140, 70, 130, 66, {}, {}}};
  std::mt19937_64 random(1);
  const auto numbers = [&random](size_t count) {
    std::vector<double> made(count);
    // In [-1, 1), and floats, so that every precision is asked the same.
    for (double& x : made) x = static_cast<double>(static_cast<int64_t>(random() >> 44) - 0x80000) * 0x1p-19;
    return made;
  };
  for (Problem& problem : problems) {
    std::vector<solver::Token> tokens(problem.tokens);
    std::vector<WeightedToken> weighted;
    for (uint32_t i = 0; i < problem.tokens; ++i) {
      tokens[i].key = numbers(problem.key_dimension);
      tokens[i].value = numbers(problem.value_dimension);
      weighted.push_back({&tokens[i], i, (1.0 + i % 3) / (2.0 * problem.tokens)});
    }
    solver::Config config;
    config.key_dimension = problem.key_dimension;
    config.value_dimension = problem.value_dimension;
    config.gamma = 1.0 / problem.key_dimension;
    problem.support = std::make_shared<const SupportSet>(config, weighted, 0.25, 0x1p-53);
    problem.rows = numbers(problem.queries * problem.key_dimension);
  }
  return problems;
}

// How far decision values, which have no bound, may be from certified ones, which are at most 2.
double DecisionTolerance(Precision precision) {
  if (precision == Precision::kFloat64) return 1e-9;
  return precision == Precision::kFloat32 ? 1e-3 : 0.2;
}

bool Agree(const Readouts& answer, const Readouts& certified, double decision_tolerance) {
  const auto& expected = std::get<SecretArray<double>>(certified.outputs);
  const size_t queries = certified.error_bounds.size();
  const size_t columns = expected.size() / queries;
  for (size_t q = 0; q < queries; ++q) {
    double squares = 0;
    for (size_t k = q * columns; k < (q + 1) * columns; ++k) {
      const double difference =
          std::visit([k](const auto& rows) { return static_cast<double>(rows[k]); }, answer.outputs) -
          expected[k];
      squares += difference * difference;
    }
    const double decision = std::fabs(answer.decision_values[q] - certified.decision_values[q]);
    // Written so that NaN does not agree.
    if (!(std::sqrt(squares) <= answer.error_bounds[q] + certified.error_bounds[q])) return false;
    if (!(decision <= decision_tolerance)) return false;
  }
  return true;
}

}  // namespace

std::string CudaEngine::Check() {
  const std::vector<Problem> problems = Problems();
  std::vector<ReadoutTask> tasks;
  for (const Problem& problem : problems) {
    tasks.push_back({problem.support, absl::MakeConstSpan(problem.rows)});
  }
  std::vector<Readouts> certified(tasks.size());
  cpu_->Read(tasks, absl::MakeSpan(certified));
  std::vector<Kernel> kernels = {Kernel::kFloat64, Kernel::kFloat32, Kernel::kBfloat16};
  if (device_->BestBfloat16() != Kernel::kBfloat16) kernels.push_back(device_->BestBfloat16());
  std::string wrong;
  for (size_t k = 0; k < kernels.size() && wrong.empty(); ++k) {
    wrong = CheckKernel(kernels[k], tasks, certified);
  }
  for (const Problem& problem : problems) resident_sets_.Supersede(problem.support);
  return wrong.empty() ? "" : absl::StrCat(device_->facts().name, " ", wrong);
}

std::string CudaEngine::CheckKernel(Kernel kernel, absl::Span<const ReadoutTask> tasks,
                                    absl::Span<const Readouts> certified) {
  const char* name = NameOf(PrecisionOf(kernel));
  // Together and alone: how many queries there are decides on the shape of tiles.
  std::vector<std::vector<size_t>> calls(1);
  for (size_t i = 0; i < tasks.size(); ++i) {
    calls[0].push_back(i);
    calls.push_back({i});
  }
  for (const std::vector<size_t>& call : calls) {
    std::vector<Readouts> answers(tasks.size());
    if (!ReadOnDevice(tasks, kernel, call, absl::MakeSpan(answers)).empty()) {
      const std::string error = health_.last_error();
      return absl::StrCat("cannot read as ", name, ": ",
                          error.empty() ? "the device memory allowed is too little for the check" : error);
    }
    for (const size_t i : call) {
      if (!Agree(answers[i], certified[i], DecisionTolerance(PrecisionOf(kernel))))
        return absl::StrCat("reads wrongly as ", name, "; scripts/gpu_check.sh tells more");
    }
  }
  return "";
}

}  // namespace expunge::attention::cuda
