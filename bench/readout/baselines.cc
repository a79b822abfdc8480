#include "bench/readout/baselines.h"

#ifdef EXPUNGE_HAS_OPENBLAS
#include <cblas.h>

#include <algorithm>
#include <utility>

#include "bench/readout/softmax_rows.h"
#endif

namespace expunge::bench {

#ifdef EXPUNGE_HAS_OPENBLAS
namespace {

constexpr int kProduct = 1024;
// Queries whose logits are in the cache together.
constexpr size_t kTile = 64;

// c (m x n) = alpha a (m x k) op(b) + beta c, row-major; op(b) is k x n.
struct Shape {
  int m, n, k;
  CBLAS_TRANSPOSE b;
};

void Multiply(const Shape& s, float alpha, const float* a, const float* b, float beta, float* c) {
  const int ldb = s.b == CblasTrans ? s.k : s.n;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, s.b, s.m, s.n, s.k, alpha, a, s.k, b, ldb, beta, c, s.n);
}

void Multiply(const Shape& s, double alpha, const double* a, const double* b, double beta, double* c) {
  const int ldb = s.b == CblasTrans ? s.k : s.n;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, s.b, s.m, s.n, s.k, alpha, a, s.k, b, ldb, beta, c, s.n);
}

template <typename T>
class OpenBlas final : public Baselines<T> {
 public:
  OpenBlas(std::vector<T> keys, std::vector<T> values, size_t dimension, T gamma)
      : a_(size_t{kProduct} * kProduct, T{0.5}),
        b_(size_t{kProduct} * kProduct, T{0.25}),
        c_(size_t{kProduct} * kProduct),
        keys_(std::move(keys)),
        values_(std::move(values)),
        bias_(keys_.size() / dimension),
        weights_(kTile * bias_.size()),
        dimension_(dimension),
        gamma_(gamma) {
    openblas_set_num_threads(1);
    for (size_t i = 0; i < keys_.size(); ++i) bias_[i / dimension] -= gamma * keys_[i] * keys_[i];
  }

  void Product() override {
    Multiply({kProduct, kProduct, kProduct, CblasNoTrans}, 1, a_.data(), b_.data(), 0, c_.data());
  }

  void FullSoftmax(const T* queries, size_t count, T* outputs) override {
    const size_t n = bias_.size();
    const auto columns = static_cast<int>(n);
    const auto d = static_cast<int>(dimension_);
    for (size_t begin = 0; begin < count; begin += kTile) {
      const size_t tile = std::min(kTile, count - begin);
      const auto rows = static_cast<int>(tile);
      for (size_t r = 0; r < tile; ++r) std::copy(bias_.begin(), bias_.end(), &weights_[r * n]);
      Multiply({rows, columns, d, CblasTrans}, 2 * gamma_, queries + begin * dimension_, keys_.data(), 1,
               weights_.data());
      SoftmaxRows(tile, n, weights_.data());
      Multiply({rows, d, columns, CblasNoTrans}, 1, weights_.data(), values_.data(), 0,
               outputs + begin * dimension_);
    }
  }

 private:
  std::vector<T> a_, b_, c_;
  std::vector<T> keys_, values_, bias_, weights_;
  size_t dimension_;
  T gamma_;
};

}  // namespace

template <typename T>
std::unique_ptr<Baselines<T>> MakeBaselines(std::vector<T> keys, std::vector<T> values, size_t dimension,
                                            T gamma) {
  return std::make_unique<OpenBlas<T>>(std::move(keys), std::move(values), dimension, gamma);
}
#else
template <typename T>
std::unique_ptr<Baselines<T>> MakeBaselines(std::vector<T> /*keys*/, std::vector<T> /*values*/,
                                            size_t /*dimension*/, T /*gamma*/) {
  return nullptr;
}
#endif

template std::unique_ptr<Baselines<float>> MakeBaselines(std::vector<float>, std::vector<float>, size_t,
                                                         float);
template std::unique_ptr<Baselines<double>> MakeBaselines(std::vector<double>, std::vector<double>, size_t,
                                                          double);

}  // namespace expunge::bench
