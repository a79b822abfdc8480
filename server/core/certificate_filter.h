// Which certificates of a tenant a caller wants: what ListCertificates and WatchCertificates have in common.
#ifndef EXPUNGE_SERVER_CORE_CERTIFICATE_FILTER_H_
#define EXPUNGE_SERVER_CORE_CERTIFICATE_FILTER_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "expunge/v1/unlearning_service.pb.h"
#include "storage/records.pb.h"

namespace expunge::core {

// Commitments that one filter may name.
inline constexpr int kMaxCommitments = 1000;

class CertificateFilter {
 public:
  // From the filters of a request, whose parent is `tenant`. Returns: kOutOfRange, field "kind", "stage",
  // "create_time_start" or "create_time_end"; errors of the name in "memory"; kTooLong, "commitments";
  // kDimensionMismatch, "commitments[3]".
  [[nodiscard]] static absl::StatusOr<CertificateFilter> Parse(const v1::ListCertificatesRequest& request,
                                                               const std::string& tenant);

  // Cost: O(1); with commitments, O(size of the payload).
  [[nodiscard]] bool Matches(const storage::v1::CertificateRecord& record) const;

 private:
  std::string memory_;
  v1::CertificateKind kind_ = v1::CERTIFICATE_KIND_UNSPECIFIED;
  v1::ErasureStage stage_ = v1::ERASURE_STAGE_UNSPECIFIED;
  absl::Time start_ = absl::InfinitePast();
  absl::Time end_ = absl::InfiniteFuture();
  std::set<std::string, std::less<>> commitments_;  // hexadecimal
};

// The same filters as those of a list.
[[nodiscard]] v1::ListCertificatesRequest FiltersOf(const v1::WatchCertificatesRequest& request);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_CERTIFICATE_FILTER_H_
