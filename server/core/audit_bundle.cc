#include "server/core/audit_bundle.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/bytes.h"
#include "certificate/hex_double.h"
#include "certificate/statement.h"
#include "server/core/config.h"
#include "server/core/vectors.h"

namespace expunge::core {
namespace {

using certificate::HexDouble;

std::string HexOf(const Digest& digest) { return ToHex(AsView(digest)); }

}  // namespace

AuditBundleWriter::AuditBundleWriter(Snapshot memory) : memory_(std::move(memory)) {}

// Nothing here needs escaping: names are of [A-Za-z0-9._~@:+/-], all else is made of digits and fixed texts.
void AuditBundleWriter::AppendHeader(std::string* out) const {
  const MemoryIdentity& identity = memory_->identity();
  const solver::Config& config = identity.config;
  const certificate::StateSummary& state = memory_->summary();
  const std::string created =
      absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", identity.create_time, absl::UTCTimeZone());
  absl::StrAppend(out, R"({"auditKey":")", HexOf(identity.audit_key), R"(","boxBound":")",
                  BoxBoundText(config.box), R"(","created":")", created, R"(","entriesRoot":")",
                  HexOf(state.entries_root), R"(","epoch":")", state.epoch);
  absl::StrAppend(out, R"(","fingerprint":")", HexOf(memory_->Fingerprint()),
                  R"(","format":"expunge-audit-bundle-v1","gamma":")", HexDouble(config.gamma),
                  R"(","keyDimension":")", config.key_dimension, R"(","memory":")", identity.Name());
  absl::StrAppend(out, R"(","memoryPseudonym":")", HexOf(identity.pseudonym), R"(","rho":")",
                  HexDouble(memory_->content().rho), R"(","ridge":")", HexDouble(config.ridge),
                  R"(","scope":")", certificate::ScopeName(memory_->content().scope), R"(","stateDigest":")",
                  HexOf(state.state_digest));
  absl::StrAppend(out, R"(","tokenCount":")", state.token_count, R"(","tokenRoot":")",
                  HexOf(state.token_root), R"(","valueDimension":")", config.value_dimension, "\"}\n");
}

void AuditBundleWriter::AppendToken(size_t index, std::string* out) const {
  const HeldToken& held = *memory_->tokens()[index];
  const HeldEntry entry = memory_->EntryAt(index);
  std::vector<absl::string_view> subjects(held.subjects.begin(), held.subjects.end());
  std::sort(subjects.begin(), subjects.end());
  absl::StrAppend(out, R"({"class":")", std::string(1, static_cast<char>(entry.token_class)),
                  R"(","commitment":")", HexOf(held.commitment), R"(","id":")", held.token->id,
                  R"(","key":")");
  absl::StrAppend(out, ToBase64(PackDoubles(held.token->key)), R"(","subjects":[")",
                  absl::StrJoin(subjects, R"(",")"), R"("],"value":")",
                  ToBase64(PackDoubles(held.token->value)), R"(","weight":")", HexDouble(entry.weight),
                  "\"}\n");
}

// The hash is of all bytes before this line.
void AuditBundleWriter::AppendTrailer(std::string* out) {
  hash_.Update(*out);
  absl::StrAppend(out, R"({"sha256":")", HexOf(hash_.Finish()), R"(","tokens":")", next_, "\"}\n");
}

std::string AuditBundleWriter::Next(size_t bytes) {
  std::string lines;
  if (ended_) return lines;
  if (!begun_) AppendHeader(&lines);
  begun_ = true;
  const size_t count = memory_->tokens().size();
  while (next_ < count && lines.size() < bytes) AppendToken(next_++, &lines);
  ended_ = next_ == count;
  if (ended_) {
    AppendTrailer(&lines);
  } else {
    hash_.Update(lines);
  }
  return lines;
}

}  // namespace expunge::core
