#include "certificate/bundle/audit_bundle.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "certificate/bundle/bundle_lines.h"

namespace expunge::certificate {
namespace {

absl::Status NoBundle(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("not an audit bundle: ", why));
}

}  // namespace

absl::Status AuditBundleReader::Add(absl::string_view bytes) {
  while (status_.ok() && !bytes.empty()) {
    const size_t end = bytes.find('\n');
    const absl::string_view part = bytes.substr(0, end);
    if (rest_.size() + part.size() > kMaxBundleLineBytes) {
      return status_ = NoBundle(absl::StrCat("line ", lines_ + 1, " is too long"));
    }
    if (end == absl::string_view::npos) {
      absl::StrAppend(&rest_, part);
      break;
    }
    ++lines_;
    if (rest_.empty()) {
      status_ = TakeLine(part);
    } else {
      absl::StrAppend(&rest_, part);
      status_ = TakeLine(rest_);
      rest_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
  return status_;
}

absl::Status AuditBundleReader::TakeLine(absl::string_view line) {
  if (ended_) return NoBundle("something follows its last line");
  const std::optional<nlohmann::json> value = ParseBundleLine(line);
  if (!value.has_value()) return NoBundle(absl::StrCat("line ", lines_, " is not JSON in its one form"));
  if (lines_ == 1) {
    if (!ReadHeader(*value, &bundle_)) return NoBundle("its first line has another form");
  } else if (BundleEnd end; ReadEnd(*value, &end)) {
    if (end.sha256 != hash_.Finish()) return NoBundle("its last line has the digest of other lines");
    if (end.tokens != bundle_.tokens.size() || end.tokens != bundle_.token_count) {
      return NoBundle("it has another number of tokens than it says");
    }
    ended_ = true;
    return absl::OkStatus();
  } else {
    BundleToken token;
    if (!ReadToken(*value, bundle_.parameters, &token)) {
      return NoBundle(absl::StrCat("line ", lines_, " is not a token in its one form"));
    }
    if (!bundle_.tokens.empty() && bundle_.tokens.back().id >= token.id) {
      return NoBundle(absl::StrCat("line ", lines_, " is not in the order of the ids"));
    }
    bundle_.tokens.push_back(std::move(token));
  }
  hash_.Update(line);
  hash_.Update("\n");
  return absl::OkStatus();
}

absl::StatusOr<AuditBundle> AuditBundleReader::Finish() {
  if (!status_.ok()) return status_;
  if (!ended_ || !rest_.empty()) return NoBundle("it is cut short");
  return std::move(bundle_);
}

}  // namespace expunge::certificate
