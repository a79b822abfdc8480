// Read and ListTokens.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/cpu/cpu_engine.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/core/handles.h"
#include "server/core/lookup.h"
#include "server/core/names.h"
#include "server/core/operations.h"
#include "server/core/paging.h"
#include "server/core/vectors.h"

namespace expunge::core {
namespace {

// One answer's outputs and contributions; more queries need more calls.
constexpr uint64_t kMaxOutputBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxContributions = 400'000;

absl::StatusOr<v1::Dtype> OutputDtype(const v1::ReadRequest& request) {
  switch (request.output_dtype()) {
    case v1::DTYPE_UNSPECIFIED:
    case v1::DTYPE_FLOAT64:
      return v1::DTYPE_FLOAT64;
    case v1::DTYPE_FLOAT32:
      return v1::DTYPE_FLOAT32;
    default:
      return MakeError(Reason::kDimensionMismatch, "output_dtype", "output_dtype must be FLOAT32 or FLOAT64");
  }
}

absl::Status CheckQueries(const v1::ReadRequest& request) {
  if (!request.has_queries()) return MakeError(Reason::kFieldMissing, "queries", "queries are required");
  return CheckBatchSize(request.queries().rows(), "queries.rows");
}

absl::Status CheckAnswerSize(const MemoryView& memory, const v1::ReadRequest& request) {
  const uint64_t rows = request.queries().rows();
  if (rows * memory.identity().config.value_dimension * sizeof(double) > kMaxOutputBytes) {
    return MakeError(
        Reason::kMessageTooLarge, "queries.rows",
        absl::StrCat("the outputs would exceed ", kMaxOutputBytes, " bytes; send fewer queries"));
  }
  if (request.with_contributions() && rows * memory.support().size() > kMaxContributions) {
    return MakeError(Reason::kMessageTooLarge, "queries.rows",
                     absl::StrCat("the answer would have more than ", kMaxContributions,
                                  " contributions; send fewer queries"));
  }
  return absl::OkStatus();
}

// An upper bound of |output - float32(output)|, Euclidean norm: the sum of the differences, each exact,
// rounded up.
double NarrowingBound(absl::Span<const double> output) {
  double bound = 0;
  for (const double element : output) {
    const double difference = std::fabs(element - static_cast<double>(static_cast<float>(element)));
    if (difference > 0) bound = std::nextafter(bound + difference, std::numeric_limits<double>::infinity());
  }
  return bound;
}

v1::Readout ReadoutProto(const MemoryView& memory, const attention::CertifiedReadout& result,
                         v1::Dtype dtype) {
  v1::Readout readout;
  readout.set_decision_value(result.decision_value);
  double bound = result.error_bound;
  const double narrowing = dtype == v1::DTYPE_FLOAT32 ? NarrowingBound(result.output) : 0.0;
  if (narrowing > 0) bound = std::nextafter(bound + narrowing, std::numeric_limits<double>::infinity());
  readout.set_error_bound(bound);
  for (const attention::Contribution& share : result.contributions) {
    v1::Contribution* contribution = readout.add_contributions();
    contribution->set_token_id(memory.TokenOf(memory.content().entries[share.token]).id);
    contribution->set_weight(share.weight);
  }
  return readout;
}

v1::TokenClass ClassProto(solver::TokenClass token_class) {
  switch (token_class) {
    case solver::TokenClass::kMargin:
      return v1::TOKEN_CLASS_MARGIN;
    case solver::TokenClass::kError:
      return v1::TOKEN_CLASS_ERROR;
    case solver::TokenClass::kReserve:
      return v1::TOKEN_CLASS_RESERVE;
  }
  return v1::TOKEN_CLASS_UNSPECIFIED;
}

v1::TokenInfo TokenInfoProto(const MemoryView& memory, size_t index) {
  const HeldToken& held = *memory.tokens()[index];
  v1::TokenInfo info;
  info.set_name(FormatTokenName(memory.identity().tenant, memory.identity().memory, held.token->id));
  for (const std::string& subject : held.subjects) info.add_subjects(subject);
  const HeldEntry entry = memory.EntryAt(index);
  info.set_token_class(ClassProto(entry.token_class));
  info.set_weight(entry.weight);
  info.set_commitment(ToBytes(held.commitment));
  return info;
}

}  // namespace

absl::StatusOr<v1::ReadResponse> ReadMemory(const Context& context, const v1::ReadRequest& request) {
  EXPUNGE_RETURN_IF_ERROR(CheckQueries(request));
  EXPUNGE_ASSIGN_OR_RETURN(const v1::Dtype dtype, OutputDtype(request));
  EXPUNGE_ASSIGN_OR_RETURN(const Snapshot memory, FindMemory(context, request.name(), "name"));
  const solver::Config& config = memory->identity().config;
  const uint32_t rows = request.queries().rows();
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<double> queries,
                           DecodeVectors(request.queries(), {config, VectorRole::kKey, rows, "queries"}));
  if (memory->support().empty()) {
    return MakeError(Reason::kMemoryEmpty, "name", "the memory has no tokens; add some first");
  }
  EXPUNGE_RETURN_IF_ERROR(CheckAnswerSize(*memory, request));

  v1::ReadResponse response;
  *response.mutable_state() = memory->ReferenceProto();
  std::vector<double> outputs;
  outputs.reserve(size_t{rows} * config.value_dimension);
  for (uint32_t row = 0; row < rows; ++row) {
    const auto query =
        absl::MakeConstSpan(queries).subspan(size_t{row} * config.key_dimension, config.key_dimension);
    const attention::CertifiedReadout result =
        ReadCertified(memory->support(), query, request.with_contributions());
    outputs.insert(outputs.end(), result.output.begin(), result.output.end());
    *response.add_readouts() = ReadoutProto(*memory, result, dtype);
  }
  EXPUNGE_ASSIGN_OR_RETURN(*response.mutable_outputs(),
                           EncodeVectors(outputs, config.value_dimension, dtype));
  return response;
}

absl::StatusOr<v1::ListTokensResponse> ListTokens(const Context& context,
                                                  const v1::ListTokensRequest& request) {
  if (!request.subject().empty()) EXPUNGE_RETURN_IF_ERROR(CheckSubject(request.subject(), "subject"));
  EXPUNGE_ASSIGN_OR_RETURN(const uint32_t page_size, CheckPageSize(request.page_size()));
  EXPUNGE_ASSIGN_OR_RETURN(const Snapshot memory, FindMemory(context, request.parent(), "parent"));
  const Pages pages(context.secret, {"ListTokens", AsView(memory->identity().pseudonym), request.subject()});
  EXPUNGE_ASSIGN_OR_RETURN(const std::string last, pages.Start(request.page_token()));

  v1::ListTokensResponse response;
  *response.mutable_state() = memory->ReferenceProto();
  std::string final_id;
  for (size_t i = memory->tokens().Place(last); i < memory->tokens().size(); ++i) {
    const HeldToken& held = *memory->tokens()[i];
    if (held.token->id <= last || (!request.subject().empty() && !held.Names(request.subject()))) continue;
    if (static_cast<uint32_t>(response.tokens_size()) == page_size) {
      response.set_next_page_token(pages.Next(final_id));
      break;
    }
    *response.add_tokens() = TokenInfoProto(*memory, i);
    final_id = held.token->id;
  }
  return response;
}

}  // namespace expunge::core
