#include "tests/support/dense_oracle.h"

#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace expunge::testing {
namespace {

using Matrix = std::vector<std::vector<mpq_class>>;

// Solves the square system `a x = b` exactly. REQUIRES: regular.
std::vector<mpq_class> Eliminate(Matrix a, std::vector<mpq_class> b) {
  const size_t n = b.size();
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    while (a[pivot][column] == 0) ++pivot;
    std::swap(a[pivot], a[column]);
    std::swap(b[pivot], b[column]);
    for (size_t row = 0; row < n; ++row) {
      if (row == column || a[row][column] == 0) continue;
      const mpq_class factor = a[row][column] / a[column][column];
      for (size_t k = column; k < n; ++k) a[row][k] -= factor * a[column][k];
      b[row] -= factor * b[column];
    }
  }
  for (size_t i = 0; i < n; ++i) b[i] /= a[i][i];
  return b;
}

mpq_class ExactBox(const solver::BoxBound& box, size_t n) {
  mpq_class c = box.min_support > 0 ? mpq_class(2, 2UL * box.min_support - 1) : mpq_class(box.value);
  c.canonicalize();
  return std::max(std::min(c, mpq_class(1)), mpq_class(1, static_cast<unsigned long>(n)));
}

// The exact weights that a partition implies, or nothing if it implies none.
bool WeightsOf(const ExactOptimum& problem, const std::vector<char>& classes, std::vector<mpq_class>* weights,
               mpq_class* level) {
  std::vector<size_t> margin;
  mpq_class mass = 1;
  weights->assign(classes.size(), 0);
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == 'S') margin.push_back(i);
    if (classes[i] != 'E') continue;
    (*weights)[i] = problem.box;
    mass -= problem.box;
  }
  if (margin.empty()) return mass == 0;
  const size_t m = margin.size();
  Matrix a(m + 1, std::vector<mpq_class>(m + 1, 0));
  std::vector<mpq_class> b(m + 1, 0);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < m; ++j) a[i][j] = problem.h[margin[i]][margin[j]];
    a[i][m] = -1;
    a[m][i] = 1;
    for (size_t j = 0; j < classes.size(); ++j) {
      if (classes[j] == 'E') b[i] -= problem.box * problem.h[margin[i]][j];
    }
  }
  b[m] = mass;
  const std::vector<mpq_class> x = Eliminate(a, b);
  for (size_t i = 0; i < m; ++i) (*weights)[margin[i]] = x[i];
  *level = x[m];
  return true;
}

// Checks the KKT conditions exactly; on success fills classes (from the exact weights), rho and gradient.
bool Accept(const std::vector<char>& classes, ExactOptimum* out) {
  std::vector<mpq_class> weights;
  mpq_class level;
  if (!WeightsOf(*out, classes, &weights, &level)) return false;
  const size_t n = classes.size();
  for (const mpq_class& a : weights) {
    if (a < 0 || a > out->box) return false;
  }
  std::vector<mpq_class> product(n, 0);
  std::vector<char> exact_classes(n);
  bool has_margin = false;
  mpq_class error_max;
  mpq_class reserve_min;
  bool has_error = false;
  bool has_reserve = false;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) product[i] += out->h[i][j] * weights[j];
    exact_classes[i] = weights[i] == 0 ? 'R' : weights[i] == out->box ? 'E' : 'S';
    has_margin = has_margin || exact_classes[i] == 'S';
    if (exact_classes[i] == 'E' && (!has_error || product[i] > error_max)) error_max = product[i];
    if (exact_classes[i] == 'R' && (!has_reserve || product[i] < reserve_min)) reserve_min = product[i];
    has_error = has_error || exact_classes[i] == 'E';
    has_reserve = has_reserve || exact_classes[i] == 'R';
  }
  if (has_margin) {
    for (size_t i = 0; i < n; ++i) {
      if (exact_classes[i] == 'S') level = product[i];
    }
  } else {
    level = has_reserve ? mpq_class((error_max + reserve_min) / 2) : error_max;
  }
  for (size_t i = 0; i < n; ++i) {
    if (exact_classes[i] == 'S' && product[i] != level) return false;
    if (exact_classes[i] == 'E' && product[i] > level) return false;
    if (exact_classes[i] == 'R' && product[i] < level) return false;
  }
  out->weights = weights;
  out->classes = exact_classes;
  out->rho = 1 - 2 * level;
  out->gradient.clear();
  for (size_t i = 0; i < n; ++i) out->gradient.push_back(2 * (product[i] - level));
  return true;
}

// How far a partition is from optimal, in doubles: only an order of trial.
double Violation(const ExactOptimum& problem, const std::vector<std::vector<double>>& h,
                 const std::vector<char>& classes) {
  const size_t n = classes.size();
  const double box = problem.box.get_d();
  std::vector<size_t> margin;
  std::vector<double> a(n, 0.0);
  double mass = 1;
  for (size_t i = 0; i < n; ++i) {
    if (classes[i] == 'S') margin.push_back(i);
    if (classes[i] == 'E') mass -= a[i] = box;
  }
  const size_t m = margin.size();
  if (m == 0 && std::fabs(mass) > 1e-9) return std::numeric_limits<double>::infinity();
  double level = 0;
  if (m > 0) {
    std::vector<std::vector<double>> t(m + 1, std::vector<double>(m + 2, 0.0));
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j < m; ++j) t[i][j] = h[margin[i]][margin[j]];
      t[i][m] = -1;
      t[m][i] = 1;
      for (size_t j = 0; j < n; ++j) t[i][m + 1] -= classes[j] == 'E' ? box * h[margin[i]][j] : 0;
    }
    t[m][m + 1] = mass;
    for (size_t c = 0; c <= m; ++c) {
      size_t p = c;
      for (size_t r = c; r <= m; ++r) p = std::fabs(t[r][c]) > std::fabs(t[p][c]) ? r : p;
      std::swap(t[p], t[c]);
      for (size_t r = 0; r <= m; ++r) {
        if (r == c) continue;
        const double f = t[r][c] / t[c][c];
        for (size_t k = c; k < m + 2; ++k) t[r][k] -= f * t[c][k];
      }
    }
    for (size_t i = 0; i < m; ++i) a[margin[i]] = t[i][m + 1] / t[i][i];
    level = t[m][m + 1] / t[m][m];
  }
  double violation = 0;
  double high = -std::numeric_limits<double>::infinity();
  double low = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < n; ++i) {
    violation = std::max({violation, -a[i], a[i] - box});
    const double product = std::inner_product(a.begin(), a.end(), h[i].begin(), 0.0);
    if (classes[i] == 'E') high = std::max(high, product);
    if (classes[i] == 'R') low = std::min(low, product);
  }
  if (m == 0) return std::max(violation, high - low);
  return std::max({violation, high - level, level - low});
}

}  // namespace

double NearestDouble(const mpq_class& x) {
  if (x == 0) return 0;
  const mpq_class magnitude = abs(x);
  // Bisection over the bits of the positive doubles, which are ordered as their values.
  uint64_t low = 0;
  uint64_t high = std::bit_cast<uint64_t>(std::numeric_limits<double>::max());
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (mpq_class(std::bit_cast<double>(middle)) <= magnitude ? low : high) = middle;
  }
  const mpq_class below(std::bit_cast<double>(low));
  const mpq_class above(std::bit_cast<double>(high));
  const int order = cmp(magnitude - below, above - magnitude);
  const uint64_t nearest = order < 0 ? low : order > 0 ? high : (low & 1) == 0 ? low : high;
  const double result = std::bit_cast<double>(nearest);
  return x < 0 && result != 0 ? -result : result;
}

double OracleKernel(const std::vector<double>& x, const std::vector<double>& y, double gamma) {
  mpq_class t = 0;
  for (size_t k = 0; k < x.size(); ++k) {
    const mpq_class difference = mpq_class(x[k]) - mpq_class(y[k]);
    t += difference * difference;
  }
  t *= mpq_class(gamma);
  if (t == 0) return 1;
  if (t > 800) return 0;
  mpfr_t value;
  mpfr_init2(value, 3000);
  mpfr_set_q(value, t.get_mpq_t(), MPFR_RNDN);
  mpfr_neg(value, value, MPFR_RNDN);
  mpfr_exp(value, value, MPFR_RNDN);
  mpq_class exact;
  mpfr_get_q(exact.get_mpq_t(), value);
  mpfr_clear(value);
  return NearestDouble(exact);
}

ExactOptimum SolveByEnumeration(const solver::Config& config, const solver::TokenList& tokens) {
  const size_t n = tokens.size();
  ExactOptimum out;
  out.box = ExactBox(config.box, n);
  out.h.assign(n, std::vector<mpq_class>(n));
  std::vector<std::vector<double>> h(n, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      out.h[i][j] = OracleKernel(tokens[i]->key, tokens[j]->key, config.gamma);
      if (i == j) out.h[i][j] += mpq_class(config.ridge);
      h[i][j] = out.h[i][j].get_d();
    }
  }
  size_t count = 1;
  for (size_t i = 0; i < n; ++i) count *= 3;
  std::vector<std::pair<double, size_t>> order;
  const auto decode = [n](size_t code) {
    std::vector<char> classes(n);
    for (char& c : classes) {
      c = "SER"[code % 3];
      code /= 3;
    }
    return classes;
  };
  for (size_t code = 0; code < count; ++code) {
    const double violation = Violation(out, h, decode(code));
    if (!(violation > 1e-3)) order.emplace_back(violation, code);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [violation, code] : order) {
    if (Accept(decode(code), &out)) return out;
  }
  std::abort();  // a strictly convex problem has a solution
}

}  // namespace expunge::testing
