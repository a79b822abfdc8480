#include "bench/solver/libsvm.h"

#ifdef EXPUNGE_HAS_LIBSVM

#include <libsvm/svm.h>

#include <algorithm>
#include <vector>

namespace expunge::bench {
namespace {

constexpr double kTolerance = 1e-6;
constexpr double kCacheMegabytes = 500;

svm_parameter MakeParameter(const solver::Config& config, double nu) {
  svm_parameter parameter = {};
  parameter.svm_type = ONE_CLASS;
  parameter.kernel_type = RBF;
  parameter.gamma = config.gamma;
  parameter.nu = nu;
  parameter.eps = kTolerance;
  parameter.cache_size = kCacheMegabytes;
  parameter.shrinking = 1;
  return parameter;
}

}  // namespace

bool HasLibsvm() { return true; }

std::optional<double> TimeLibsvm(const solver::Config& config, double c, const solver::TokenList& tokens,
                                 Clock clock) {
  svm_set_print_string_function([](const char*) {});
  const size_t width = config.key_dimension + 1;
  std::vector<svm_node> nodes(tokens.size() * width);
  std::vector<svm_node*> rows(tokens.size());
  std::vector<double> labels(tokens.size(), 1.0);
  for (size_t i = 0; i < tokens.size(); ++i) {
    rows[i] = &nodes[i * width];
    for (size_t k = 0; k + 1 < width; ++k) rows[i][k] = {static_cast<int>(k + 1), tokens[i]->key[k]};
    rows[i][width - 1].index = -1;
  }
  svm_problem problem = {static_cast<int>(tokens.size()), labels.data(), rows.data()};
  const double nu = std::min(1.0, 1 / (c * static_cast<double>(tokens.size())));
  const svm_parameter parameter = MakeParameter(config, nu);
  const Stopwatch stopwatch(clock);
  svm_model* model = svm_train(&problem, &parameter);
  const double us = stopwatch.Microseconds();
  svm_free_and_destroy_model(&model);
  return us;
}

}  // namespace expunge::bench

#else

namespace expunge::bench {

bool HasLibsvm() { return false; }

std::optional<double> TimeLibsvm(const solver::Config&, double, const solver::TokenList&, Clock) {
  return std::nullopt;
}

}  // namespace expunge::bench

#endif  // EXPUNGE_HAS_LIBSVM
