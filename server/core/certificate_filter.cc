#include "server/core/certificate_filter.h"

#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/core/names.h"

namespace expunge::core {
namespace {

// The years 1 to 9999, as google.protobuf.Timestamp has them.
constexpr int64_t kFirstSecond = -62'135'596'800;
constexpr int64_t kLastSecond = 253'402'300'799;
constexpr int32_t kMaxNanos = 999'999'999;
constexpr size_t kHexDigits = 64;

absl::StatusOr<absl::Time> ParseTime(const google::protobuf::Timestamp& timestamp, absl::string_view field) {
  if (timestamp.seconds() < kFirstSecond || timestamp.seconds() > kLastSecond || timestamp.nanos() < 0 ||
      timestamp.nanos() > kMaxNanos) {
    return MakeError(Reason::kOutOfRange, field, absl::StrCat(field, " is no time of the years 1 to 9999"));
  }
  return absl::FromUnixSeconds(timestamp.seconds()) + absl::Nanoseconds(timestamp.nanos());
}

// Whether one of the removed tokens has one of the commitments. Only removed[] has the key; in a text, such
// as the legal basis, its quotes are escaped.
bool Mentions(absl::string_view payload, const std::set<std::string, std::less<>>& commitments) {
  constexpr absl::string_view kKey = R"("commitment":")";
  for (size_t at = payload.find(kKey); at != absl::string_view::npos; at = payload.find(kKey, at)) {
    at += kKey.size();
    const absl::string_view value = payload.substr(at, kHexDigits);
    if (commitments.find(value) != commitments.end()) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<CertificateFilter> CertificateFilter::Parse(const v1::ListCertificatesRequest& request,
                                                           const std::string& tenant) {
  CertificateFilter filter;
  filter.kind_ = request.kind();
  filter.stage_ = request.stage();
  if (!v1::CertificateKind_IsValid(request.kind())) {
    return MakeError(Reason::kOutOfRange, "kind", "kind is none of the kinds of certificates");
  }
  if (!v1::ErasureStage_IsValid(request.stage())) {
    return MakeError(Reason::kOutOfRange, "stage", "stage is none of the stages of an erasure");
  }
  if (!request.memory().empty()) {
    EXPUNGE_ASSIGN_OR_RETURN(MemoryName name, ParseMemoryName(request.memory(), "memory"));
    if (name.tenant != tenant) {
      return MakeError(Reason::kNameMalformed, "memory", "memory must be one of the tenant in parent");
    }
    filter.memory_ = std::move(name.memory);
  }
  if (request.has_create_time_start()) {
    EXPUNGE_ASSIGN_OR_RETURN(filter.start_, ParseTime(request.create_time_start(), "create_time_start"));
  }
  if (request.has_create_time_end()) {
    EXPUNGE_ASSIGN_OR_RETURN(filter.end_, ParseTime(request.create_time_end(), "create_time_end"));
  }
  if (filter.end_ < filter.start_) {
    return MakeError(Reason::kOutOfRange, "create_time_end", "create_time_end is before create_time_start");
  }
  if (request.commitments_size() > kMaxCommitments) {
    return MakeError(Reason::kTooLong, "commitments",
                     absl::StrCat("commitments has ", request.commitments_size(), " entries; at most ",
                                  kMaxCommitments, " are allowed"));
  }
  for (int i = 0; i < request.commitments_size(); ++i) {
    const std::string& commitment = request.commitments(i);
    if (commitment.size() != sizeof(Digest)) {
      const std::string field = absl::StrCat("commitments[", i, "]");
      return MakeError(Reason::kDimensionMismatch, field,
                       absl::StrCat(field, " has ", commitment.size(), " bytes; a commitment has 32"));
    }
    filter.commitments_.insert(ToHex(commitment));
  }
  return filter;
}

bool CertificateFilter::Matches(const storage::v1::CertificateRecord& record) const {
  if (!memory_.empty() && record.memory() != memory_) return false;
  if (kind_ != v1::CERTIFICATE_KIND_UNSPECIFIED && record.kind() != static_cast<uint32_t>(kind_)) {
    return false;
  }
  if (stage_ != v1::ERASURE_STAGE_UNSPECIFIED && record.stage() != static_cast<uint32_t>(stage_)) {
    return false;
  }
  const absl::Time created = absl::FromUnixNanos(record.create_time_unix_nanos());
  if (created < start_ || created >= end_) return false;
  return commitments_.empty() || Mentions(record.payload(), commitments_);
}

v1::ListCertificatesRequest FiltersOf(const v1::WatchCertificatesRequest& request) {
  v1::ListCertificatesRequest filters;
  filters.set_parent(request.parent());
  filters.set_memory(request.memory());
  filters.set_kind(request.kind());
  filters.set_stage(request.stage());
  if (request.has_create_time_start()) *filters.mutable_create_time_start() = request.create_time_start();
  if (request.has_create_time_end()) *filters.mutable_create_time_end() = request.create_time_end();
  *filters.mutable_commitments() = request.commitments();
  return filters;
}

}  // namespace expunge::core
