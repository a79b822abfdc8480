// ExportAudit.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/core/audit_bundle.h"
#include "server/core/lookup.h"
#include "server/core/operations.h"

namespace expunge::core {
namespace {

// An answer has at least as much of the bundle, but for the last one, and at most one token's line more.
constexpr size_t kChunkBytes = size_t{256} << 10;

class Export final : public AnswerStream<v1::ExportAuditResponse> {
 public:
  explicit Export(Snapshot memory) : writer_(std::move(memory)) {}

  absl::StatusOr<StreamStep> Next(v1::ExportAuditResponse* answer) override {
    const bool first = std::exchange(first_, false);
    answer->set_chunk(writer_.Next(kChunkBytes));
    if (answer->chunk().empty()) return StreamStep::kEnd;
    answer->set_tokens_sent(writer_.tokens_written());
    if (first) {
      *answer->mutable_state() = writer_.memory().ReferenceProto();
      answer->set_token_count(writer_.memory().tokens().size());
    }
    return StreamStep::kAnswer;
  }

 private:
  AuditBundleWriter writer_;
  bool first_ = true;
};

absl::Status CheckExpectedState(const v1::ExportAuditRequest& request, const MemoryView& memory) {
  const certificate::StateSummary& state = memory.summary();
  if (request.has_expected_epoch() && request.expected_epoch() != state.epoch) {
    return MakeError(
        Reason::kStateChanged, "expected_epoch",
        absl::StrCat("the memory is in epoch ", state.epoch, ", not in epoch ", request.expected_epoch()));
  }
  if (!request.expected_state_digest().empty() &&
      request.expected_state_digest() != AsView(state.state_digest)) {
    return MakeError(Reason::kStateChanged, "expected_state_digest",
                     absl::StrCat("the memory is in another state, of epoch ", state.epoch));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<AnswerStream<v1::ExportAuditResponse>>> ExportAudit(
    const Context& context, const v1::ExportAuditRequest& request) {
  const size_t digest_bytes = request.expected_state_digest().size();
  if (digest_bytes != 0 && digest_bytes != sizeof(Digest)) {
    return MakeError(Reason::kDimensionMismatch, "expected_state_digest",
                     absl::StrCat("expected_state_digest has ", digest_bytes, " bytes; a digest has 32"));
  }
  EXPUNGE_ASSIGN_OR_RETURN(Snapshot memory, FindMemory(context, request.name(), "name"));
  EXPUNGE_RETURN_IF_ERROR(CheckExpectedState(request, *memory));
  return std::make_unique<Export>(std::move(memory));
}

}  // namespace expunge::core
