#include "attention/cpu/read_rows.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "attention/cpu/certified_rows.h"
#include "attention/cpu/fast_rows.h"

namespace expunge::attention::cpu {
namespace {

// What a thread keeps from one piece of work to the next; wiped with it.
struct ThreadScratch {
  FastScratch<float> fast_float;
  FastScratch<double> fast_double;
  CertifiedScratch certified;
};

ThreadScratch& Scratch() {
  thread_local ThreadScratch scratch;
  return scratch;
}
FastScratch<float>* ScratchFor(float) { return &Scratch().fast_float; }
FastScratch<double>* ScratchFor(double) { return &Scratch().fast_double; }

template <typename T>
std::vector<T>& OutputsOf(Readouts* answer) {
  return std::get<std::vector<T>>(answer->outputs);
}

template <typename T>
void PrepareOutputs(size_t size, Readouts* answer) {
  if (!std::holds_alternative<std::vector<T>>(answer->outputs)) answer->outputs.emplace<std::vector<T>>();
  OutputsOf<T>(answer).resize(size);
}

// T: what computes. Q: of the queries.
template <typename T, typename Q>
void ReadFast(const Work& work, absl::Span<const Q> queries, size_t first, size_t rows) {
  const FastForm<T>& form = *work.task->support->fast<T>();
  Readouts* answer = work.answer;
  double* bounds = &answer->error_bounds[first];
  const FastRows<T, Q> some = {rows, queries.data() + first * form.support.packed.key_dimension,
                               &OutputsOf<T>(answer)[first * form.support.packed.value_dimension],
                               &answer->decision_values[first], bounds};
  ReadFastRows(form.support, some, ScratchFor(T{}));
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

const double* AsDoubles(absl::Span<const double> queries) { return queries.data(); }
const double* AsDoubles(absl::Span<const float> queries) {
  SecretArray<double>& converted = Scratch().certified.queries;
  if (converted.size() < queries.size()) converted.resize(queries.size());
  std::copy(queries.begin(), queries.end(), converted.begin());
  return converted.data();
}

template <typename Q>
void ReadCertified(const Work& work, absl::Span<const Q> queries, size_t first, size_t rows) {
  const SupportSet& support = *work.task->support;
  Readouts* answer = work.answer;
  const size_t d = support.key_dimension();
  const size_t dv = support.value_dimension();
  double* bounds = &answer->error_bounds[first];
  SecretArray<double> weights(work.task->with_contributions ? rows * support.size() : 0);
  const CertifiedRows some = {rows,
                              AsDoubles(queries.subspan(first * d, rows * d)),
                              &OutputsOf<double>(answer)[first * dv],
                              &answer->decision_values[first],
                              bounds,
                              weights.empty() ? nullptr : weights.data()};
  ReadCertifiedRows({&support.certified(), support.gamma(), support.rho()}, some, &Scratch().certified);
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

void ReadRows(const Work& work, size_t first, size_t rows) {
  const auto read = [&](const auto& queries) {
    switch (work.precision) {
      case Precision::kFloat32:
        return ReadFast<float>(work, queries, first, rows);
      case Precision::kFloat64:
        return ReadFast<double>(work, queries, first, rows);
      default:
        return ReadCertified(work, queries, first, rows);
    }
  };
  std::visit(read, work.task->queries);
}

}  // namespace expunge::attention::cpu
