// Read, of one request or of a group.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/error.h"
#include "base/secret.h"
#include "base/status_macros.h"
#include "server/core/lookup.h"
#include "server/core/operations.h"
#include "server/core/reads.h"
#include "server/core/vectors.h"

namespace expunge::core {
namespace {

// What one answer, or those of a group together, may have; more queries need more calls.
constexpr uint64_t kMaxOutputBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxContributions = 400'000;

using QueryElements = std::variant<SecretArray<float>, SecretArray<double>>;

// A request that can be answered.
struct Prepared {
  Snapshot memory;
  v1::Dtype output_dtype = v1::DTYPE_UNSPECIFIED;
  attention::Precision precision = attention::Precision::kCertified;
  bool with_contributions = false;
  uint32_t rows = 0;
  QueryElements queries;

  [[nodiscard]] const solver::Config& config() const { return memory->identity().config; }
  [[nodiscard]] uint64_t output_bytes() const {
    return uint64_t{rows} * config().value_dimension * sizeof(double);
  }
  [[nodiscard]] uint64_t contributions() const {
    return with_contributions ? uint64_t{rows} * memory->support().size() : 0;
  }
};

absl::Status CheckOutputDtype(v1::Dtype dtype) {
  if (dtype == v1::DTYPE_UNSPECIFIED || dtype == v1::DTYPE_FLOAT32 || dtype == v1::DTYPE_FLOAT64) {
    return absl::OkStatus();
  }
  return MakeError(Reason::kDimensionMismatch, "output_dtype", "output_dtype must be FLOAT32 or FLOAT64");
}

absl::Status CheckQueries(const v1::ReadRequest& request) {
  if (!request.has_queries()) return MakeError(Reason::kFieldMissing, "queries", "queries are required");
  return CheckBatchSize(request.queries().rows(), "queries.rows");
}

absl::Status CheckAnswerSize(const Prepared& read) {
  if (read.output_bytes() > kMaxOutputBytes) {
    return MakeError(
        Reason::kMessageTooLarge, "queries.rows",
        absl::StrCat("the outputs would exceed ", kMaxOutputBytes, " bytes; send fewer queries"));
  }
  if (read.contributions() > kMaxContributions) {
    return MakeError(Reason::kMessageTooLarge, "queries.rows",
                     absl::StrCat("the answer would have more than ", kMaxContributions,
                                  " contributions; send fewer queries"));
  }
  return absl::OkStatus();
}

// Floats stay floats.
absl::StatusOr<QueryElements> DecodeQueries(const v1::PackedVectors& packed, const VectorShape& shape) {
  if (packed.dtype() == v1::DTYPE_FLOAT32) return DecodeFloats(packed, shape);
  return DecodeVectors(packed, shape);
}

absl::StatusOr<Prepared> Prepare(const Context& context, const v1::ReadRequest& request) {
  Prepared read;
  EXPUNGE_RETURN_IF_ERROR(CheckQueries(request));
  EXPUNGE_RETURN_IF_ERROR(CheckOutputDtype(request.output_dtype()));
  read.output_dtype = request.output_dtype();
  EXPUNGE_ASSIGN_OR_RETURN(read.precision, PrecisionFromProto(request.precision()));
  EXPUNGE_ASSIGN_OR_RETURN(read.memory, FindMemory(context, request.name(), "name"));
  read.with_contributions = request.with_contributions();
  read.rows = request.queries().rows();
  EXPUNGE_ASSIGN_OR_RETURN(read.queries, DecodeQueries(request.queries(), {read.config(), VectorRole::kKey,
                                                                           read.rows, "queries"}));
  if (read.memory->support().empty()) {
    return MakeError(Reason::kMemoryEmpty, "name", "the memory has no tokens; add some first");
  }
  EXPUNGE_RETURN_IF_ERROR(CheckAnswerSize(read));
  return read;
}

attention::ReadoutTask TaskOf(const Prepared& read) {
  attention::ReadoutTask task;
  task.support = read.memory->shared_support();
  std::visit([&task](const auto& elements) { task.queries = absl::MakeConstSpan(elements); }, read.queries);
  task.precision = read.precision;
  task.with_contributions = read.with_contributions;
  return task;
}

// The sum of two bounds, rounded up.
double AddUp(double a, double b) {
  return b > 0 ? std::nextafter(a + b, std::numeric_limits<double>::infinity()) : a;
}

// An upper bound of |output - float32(output)|, Euclidean norm: the sum of the differences, each exact.
double NarrowingBound(absl::Span<const double> output) {
  double bound = 0;
  for (const double element : output) {
    bound = AddUp(bound, std::fabs(element - static_cast<double>(static_cast<float>(element))));
  }
  return bound;
}

void WidenBounds(absl::Span<const double> outputs, std::vector<double>* bounds) {
  const size_t columns = outputs.size() / bounds->size();
  for (size_t row = 0; row < bounds->size(); ++row) {
    (*bounds)[row] = AddUp((*bounds)[row], NarrowingBound(outputs.subspan(row * columns, columns)));
  }
}

// Encodes the outputs as `dtype`. What is lost by that goes into the bounds.
absl::StatusOr<v1::PackedVectors> EncodeOutputs(uint32_t columns, v1::Dtype dtype,
                                                attention::Readouts* from) {
  if (const auto* floats = std::get_if<SecretArray<float>>(&from->outputs); floats != nullptr) {
    return EncodeFloats(*floats, columns, dtype);
  }
  const auto& doubles = std::get<SecretArray<double>>(from->outputs);
  if (dtype == v1::DTYPE_FLOAT32) WidenBounds(doubles, &from->error_bounds);
  return EncodeVectors(doubles, columns, dtype);
}

v1::Dtype OutputDtype(const Prepared& read, attention::Precision computed) {
  if (read.output_dtype != v1::DTYPE_UNSPECIFIED) return read.output_dtype;
  const bool narrow =
      computed == attention::Precision::kFloat32 || computed == attention::Precision::kBfloat16;
  return narrow ? v1::DTYPE_FLOAT32 : v1::DTYPE_FLOAT64;
}

void AddContributions(const MemoryView& memory, absl::Span<const attention::Contribution> shares,
                      v1::Readout* readout) {
  for (const attention::Contribution& share : shares) {
    v1::Contribution* contribution = readout->add_contributions();
    contribution->set_token_id(memory.TokenOf(memory.content().entries[share.token]).id);
    contribution->set_weight(share.weight);
  }
}

absl::StatusOr<v1::ReadResponse> AnswerOf(const Prepared& read, attention::Readouts* readouts) {
  v1::ReadResponse response;
  *response.mutable_state() = read.memory->ReferenceProto();
  response.set_precision(PrecisionProto(readouts->precision));
  response.set_backend(BackendProto(readouts->backend));
  EXPUNGE_ASSIGN_OR_RETURN(
      *response.mutable_outputs(),
      EncodeOutputs(read.config().value_dimension, OutputDtype(read, readouts->precision), readouts));
  response.mutable_readouts()->Reserve(static_cast<int>(read.rows));
  for (uint32_t row = 0; row < read.rows; ++row) {
    v1::Readout* readout = response.add_readouts();
    readout->set_decision_value(readouts->decision_values[row]);
    readout->set_error_bound(readouts->error_bounds[row]);
    if (read.with_contributions) AddContributions(*read.memory, readouts->contributions[row], readout);
  }
  return response;
}

// The engine's answers, which REQUIRES: at least one read.
std::vector<attention::Readouts> Compute(const Context& context, absl::Span<const Prepared* const> reads) {
  std::vector<attention::ReadoutTask> tasks;
  tasks.reserve(reads.size());
  for (const Prepared* read : reads) tasks.push_back(TaskOf(*read));
  std::vector<attention::Readouts> readouts(tasks.size());
  context.reads->Read(tasks, absl::MakeSpan(readouts));
  return readouts;
}

// The answers of a group grow together.
class Room {
 public:
  // Whether there is room for it, too: for the first there always is.
  [[nodiscard]] bool Take(const Prepared& read) {
    output_bytes_ += read.output_bytes();
    contributions_ += read.contributions();
    const bool fits = output_bytes_ <= kMaxOutputBytes && contributions_ <= kMaxContributions;
    return std::exchange(first_, false) || fits;
  }

 private:
  bool first_ = true;
  uint64_t output_bytes_ = 0;
  uint64_t contributions_ = 0;
};

}  // namespace

std::vector<absl::StatusOr<v1::ReadResponse>> ReadMemories(const Context& context,
                                                           absl::Span<const v1::ReadRequest> requests) {
  std::vector<absl::StatusOr<Prepared>> prepared;
  prepared.reserve(requests.size());  // tasks point into them
  std::vector<const Prepared*> reads;
  Room room;
  for (const v1::ReadRequest& request : requests) {
    absl::StatusOr<Prepared> read = Prepare(context, request);
    if (read.ok() && !room.Take(*read)) break;
    prepared.push_back(std::move(read));
    if (prepared.back().ok()) reads.push_back(&*prepared.back());
  }
  std::vector<attention::Readouts> readouts;
  if (!reads.empty()) readouts = Compute(context, reads);
  std::vector<absl::StatusOr<v1::ReadResponse>> answers;
  answers.reserve(prepared.size());
  auto readout = readouts.begin();
  for (auto& read : prepared) {
    if (!read.ok()) {
      answers.emplace_back(read.status());
      continue;
    }
    answers.push_back(AnswerOf(*read, &*readout++));
  }
  return answers;
}

absl::StatusOr<v1::ReadResponse> ReadMemory(const Context& context, const v1::ReadRequest& request) {
  return std::move(ReadMemories(context, absl::MakeConstSpan(&request, 1)).front());
}

}  // namespace expunge::core
