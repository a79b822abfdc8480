#include "tests/support/gradient_oracle.h"

#include <algorithm>
#include <boost/multiprecision/mpfr.hpp>
#include <cstddef>
#include <functional>
#include <utility>

namespace expunge::testing {
namespace {

using Real = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<150>,
                                           boost::multiprecision::et_off>;
using Vector = std::vector<Real>;
using Rows = std::vector<Vector>;

Rows ToReal(const std::vector<std::vector<double>>& points) {
  Rows rows;
  for (const std::vector<double>& point : points) rows.emplace_back(point.begin(), point.end());
  return rows;
}

// Solves `a x = b` by elimination with row pivots.
Vector Eliminate(Rows a, Vector b) {
  const size_t n = b.size();
  for (size_t c = 0; c < n; ++c) {
    size_t pivot = c;
    for (size_t r = c; r < n; ++r) pivot = abs(a[r][c]) > abs(a[pivot][c]) ? r : pivot;
    std::swap(a[c], a[pivot]);
    std::swap(b[c], b[pivot]);
    for (size_t r = c + 1; r < n; ++r) {
      const Real factor = a[r][c] / a[c][c];
      for (size_t k = c; k < n; ++k) a[r][k] -= factor * a[c][k];
      b[r] -= factor * b[c];
    }
  }
  for (size_t c = n; c-- > 0;) {
    for (size_t k = c + 1; k < n; ++k) b[c] -= a[c][k] * b[k];
    b[c] /= a[c][c];
  }
  return b;
}

// L, with its variables as reals.
class Loss {
 public:
  explicit Loss(const ReadoutLoss& loss)
      : queries(ToReal(loss.queries)), gamma_(loss.config.gamma), ridge_(loss.config.ridge) {
    for (const solver::SupportEntry& entry : loss.support) {
      keys.emplace_back(entry.token->key.begin(), entry.token->key.end());
      values.emplace_back(entry.token->value.begin(), entry.token->value.end());
      margin_.push_back(entry.token_class == solver::TokenClass::kMargin);
    }
    upstream_ = ToReal(loss.upstream);
    const solver::BoxBound& box = loss.config.box;
    box_ = box.min_support > 0 ? Real(2) / (2 * Real(box.min_support) - 1) : Real(box.value);
    box_ = std::max(std::min(box_, Real(1)), 1 / Real(loss.tokens));
    kernel_.assign(keys.size(), Vector(keys.size()));
    for (size_t i = 0; i < keys.size(); ++i) UpdateKernel(i);
    UpdateWeights();
  }

  // To be called after a change of keys[i].
  void UpdateKey(size_t i) {
    UpdateKernel(i);
    UpdateWeights();
  }

  [[nodiscard]] const Vector& weights() const { return weights_; }

  [[nodiscard]] Real Value() const {
    Real sum = 0;
    for (size_t q = 0; q < queries.size(); ++q) sum += ValueOf(q);
    return sum;
  }

  Rows queries;
  Rows keys;
  Rows values;

 private:
  [[nodiscard]] static Real SquaredDistance(const Vector& x, const Vector& y) {
    Real sum = 0;
    for (size_t k = 0; k < x.size(); ++k) sum += (x[k] - y[k]) * (x[k] - y[k]);
    return sum;
  }

  void UpdateKernel(size_t i) {
    for (size_t j = 0; j < keys.size(); ++j) {
      kernel_[i][j] = exp(-gamma_ * SquaredDistance(keys[i], keys[j]));
      if (i == j) kernel_[i][i] += ridge_;
      kernel_[j][i] = kernel_[i][j];
    }
  }

  void UpdateWeights() {
    weights_.assign(keys.size(), box_);
    std::vector<size_t> s;
    Real mass = 1;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (margin_[i]) {
        s.push_back(i);
      } else {
        mass -= box_;
      }
    }
    if (s.empty()) return;
    const size_t m = s.size();
    Rows a(m + 1, Vector(m + 1, 0));
    Vector b(m + 1, 0);
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j < m; ++j) a[i][j] = kernel_[s[i]][s[j]];
      for (size_t j = 0; j < keys.size(); ++j) b[i] -= margin_[j] ? Real(0) : box_ * kernel_[s[i]][j];
      a[i][m] = -1;
      a[m][i] = 1;
    }
    b[m] = mass;
    const Vector x = Eliminate(std::move(a), std::move(b));
    for (size_t i = 0; i < m; ++i) weights_[s[i]] = x[i];
  }

  [[nodiscard]] Real ValueOf(size_t q) const {
    Vector distances;
    for (const Vector& key : keys) distances.push_back(SquaredDistance(queries[q], key));
    const Real nearest = *std::min_element(distances.begin(), distances.end());
    Real total = 0;
    Real sum = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      const Real share = weights_[i] * exp(-gamma_ * (distances[i] - nearest));
      total += share;
      for (size_t k = 0; k < values[i].size(); ++k) sum += share * values[i][k] * upstream_[q][k];
    }
    return sum / total;
  }

  Rows upstream_;
  Real gamma_;
  Real ridge_;
  Real box_;
  std::vector<bool> margin_;
  Rows kernel_;  // of the keys, the ridge included
  Vector weights_;
};

// The central difference in one coordinate; `update` makes the loss agree with its change.
double Difference(const Loss& loss, Real* coordinate, const std::function<void()>& update) {
  static const Real kStep("1e-40");
  const Real at = *coordinate;
  *coordinate = at + kStep;
  update();
  const Real above = loss.Value();
  *coordinate = at - kStep;
  update();
  const Real below = loss.Value();
  *coordinate = at;
  update();
  return static_cast<double>((above - below) / (2 * kStep));
}

}  // namespace

LossGradient DifferentiateCentrally(const ReadoutLoss& loss) {
  Loss evaluated(loss);
  LossGradient gradient;
  for (const Real& weight : evaluated.weights()) gradient.weights.push_back(static_cast<double>(weight));
  const auto differentiate = [&](Rows* rows, std::vector<double>* out,
                                 const std::function<void(size_t)>& update) {
    for (size_t i = 0; i < rows->size(); ++i) {
      for (Real& coordinate : (*rows)[i]) {
        out->push_back(Difference(evaluated, &coordinate, [&] { update(i); }));
      }
    }
  };
  differentiate(&evaluated.queries, &gradient.queries, [](size_t) {});
  differentiate(&evaluated.values, &gradient.values, [](size_t) {});
  differentiate(&evaluated.keys, &gradient.keys, [&](size_t i) { evaluated.UpdateKey(i); });
  return gradient;
}

}  // namespace expunge::testing
