#include "attention/cpu/read_rows.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "base/secret.h"

namespace expunge::attention::cpu {
namespace {

FastScratch<float>* ScratchFor(float, ThreadScratch* scratch) { return &scratch->fast_float; }
FastScratch<double>* ScratchFor(double, ThreadScratch* scratch) { return &scratch->fast_double; }

template <typename T>
SecretArray<T>& OutputsOf(Readouts* answer) {
  return std::get<SecretArray<T>>(answer->outputs);
}

template <typename T>
void PrepareOutputs(size_t size, Readouts* answer) {
  if (!std::holds_alternative<SecretArray<T>>(answer->outputs)) answer->outputs.emplace<SecretArray<T>>();
  OutputsOf<T>(answer).resize(size);
}

// T: what computes. Q: of the queries.
template <typename T, typename Q>
void ReadFast(const Work& work, absl::Span<const Q> queries, size_t first, size_t rows,
              ThreadScratch* scratch) {
  const FastForm<T>& form = *work.task->support->fast<T>();
  Readouts* answer = work.answer;
  double* bounds = &answer->error_bounds[first];
  const FastRows<T, Q> some = {rows, queries.data() + first * form.support.packed.key_dimension,
                               &OutputsOf<T>(answer)[first * form.support.packed.value_dimension],
                               &answer->decision_values[first], bounds};
  ReadFastRows(form.support, some, ScratchFor(T{}, scratch));
  for (size_t r = 0; r < rows; ++r) bounds[r] = form.error_bound.At(bounds[r]);
}

// In descending order of weight, then ascending tokens.
std::vector<Contribution> Contributions(absl::Span<const uint32_t> indices, const double* weights) {
  std::vector<Contribution> contributions;
  contributions.reserve(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) contributions.push_back({indices[i], weights[i]});
  std::stable_sort(contributions.begin(), contributions.end(),
                   [](const Contribution& a, const Contribution& b) { return a.weight > b.weight; });
  return contributions;
}

// Queries as doubles, converted where they are not, and wiped after use.
template <typename Q>
class WideQueries;

template <>
class WideQueries<double> {
 public:
  WideQueries(absl::Span<const double> queries, SecretArray<double>* /*scratch*/) : queries_(queries) {}
  [[nodiscard]] const double* data() const { return queries_.data(); }

 private:
  const absl::Span<const double> queries_;
};

template <>
class WideQueries<float> {
 public:
  WideQueries(absl::Span<const float> queries, SecretArray<double>* scratch)
      : scratch_(*scratch), size_(queries.size()) {
    if (scratch_.size() < size_) scratch_.resize(size_);
    std::copy(queries.begin(), queries.end(), scratch_.begin());
  }
  ~WideQueries() { Wipe(scratch_.data(), size_ * sizeof(double)); }
  WideQueries(const WideQueries&) = delete;
  WideQueries& operator=(const WideQueries&) = delete;
  [[nodiscard]] const double* data() const { return scratch_.data(); }

 private:
  SecretArray<double>& scratch_;
  const size_t size_;
};

template <typename Q>
void ReadCertified(const Work& work, absl::Span<const Q> queries, size_t first, size_t rows,
                   ThreadScratch* scratch) {
  const SupportSet& support = *work.task->support;
  Readouts* answer = work.answer;
  const size_t d = support.key_dimension();
  const size_t dv = support.value_dimension();
  double* bounds = &answer->error_bounds[first];
  SecretArray<double> weights(work.task->with_contributions ? rows * support.size() : 0);
  const WideQueries<Q> wide(queries.subspan(first * d, rows * d), &scratch->certified.queries);
  const CertifiedRows some = {rows,
                              wide.data(),
                              &OutputsOf<double>(answer)[first * dv],
                              &answer->decision_values[first],
                              bounds,
                              weights.empty() ? nullptr : weights.data()};
  ReadCertifiedRows({&support.certified(), support.gamma(), support.rho()}, some, &scratch->certified);
  const ReadoutShape shape{support.size(), d, dv};
  for (size_t r = 0; r < rows; ++r) {
    bounds[r] = CertifiedErrorBound(support.value_bounds(), shape, support.gamma(), bounds[r]);
  }
  if (weights.empty()) return;
  for (size_t r = 0; r < rows; ++r) {
    answer->contributions[first + r] = Contributions(support.indices(), &weights[r * support.size()]);
  }
}

}  // namespace

size_t QueriesOf(const ReadoutTask& task) {
  return std::visit([](const auto& rows) { return rows.size(); }, task.queries) /
         task.support->key_dimension();
}

Precision PrecisionFor(const ReadoutTask& task, Precision wanted) {
  if (task.with_contributions || wanted == Precision::kCertified) return Precision::kCertified;
  const bool in_float = wanted == Precision::kFloat32 || wanted == Precision::kBfloat16;
  if (in_float && task.support->fast<float>() != nullptr) return Precision::kFloat32;
  return task.support->fast<double>() != nullptr ? Precision::kFloat64 : Precision::kCertified;
}

void PrepareAnswer(const Work& work) {
  const size_t queries = QueriesOf(*work.task);
  const size_t outputs = queries * work.task->support->value_dimension();
  Readouts* answer = work.answer;
  answer->backend = Backend::kCpu;
  answer->precision = work.precision;
  if (work.precision == Precision::kFloat32) {
    PrepareOutputs<float>(outputs, answer);
  } else {
    PrepareOutputs<double>(outputs, answer);
  }
  answer->decision_values.resize(queries);
  answer->error_bounds.resize(queries);
  answer->contributions.resize(work.task->with_contributions ? queries : 0);
}

size_t RowsAtOnce(const Work& work) {
  return work.precision == Precision::kCertified ? CertifiedRowsAtOnce(work.task->support->size())
                                                 : kFastRows;
}

ThreadScratch* ScratchOfThread() {
  thread_local ThreadScratch scratch;
  return &scratch;
}

void ReadRows(const Work& work, size_t first, size_t rows, ThreadScratch* scratch) {
  const auto read = [&](const auto& queries) {
    switch (work.precision) {
      case Precision::kFloat32:
        return ReadFast<float>(work, queries, first, rows, scratch);
      case Precision::kFloat64:
        return ReadFast<double>(work, queries, first, rows, scratch);
      default:
        return ReadCertified(work, queries, first, rows, scratch);
    }
  };
  std::visit(read, work.task->queries);
}

}  // namespace expunge::attention::cpu
