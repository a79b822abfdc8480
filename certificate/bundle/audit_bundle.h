// Audit bundles (docs/formats/audit_bundle.md): a memory's whole state as JSON Lines, for those who solve it
// again.
//
// Read here, not believed: a bundle that reads well is in its one form, whole and in order. Whether its
// digests, classes and weights follow from its tokens is for the verifier to compute.
#ifndef EXPUNGE_CERTIFICATE_BUNDLE_AUDIT_BUNDLE_H_
#define EXPUNGE_CERTIFICATE_BUNDLE_AUDIT_BUNDLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "certificate/bundle/state_digest.h"
#include "certificate/statement.h"

namespace expunge::certificate {

inline constexpr absl::string_view kBundleFormat = "expunge-audit-bundle-v1";
// Beyond any line of ours: two vectors of the largest dimension, and the most and longest subjects.
inline constexpr size_t kMaxBundleLineBytes = size_t{1} << 18;
inline constexpr uint32_t kMaxBundleDimension = 4096;

struct BundleToken {
  std::string id;
  std::vector<std::string> subjects;  // ascending, at least one
  Digest commitment{};
  std::vector<double> key;
  std::vector<double> value;
  char token_class = 'R';  // 'S', 'E' or 'R'
  double weight = 0;       // 0 for 'R'
};

struct AuditBundle {
  Digest audit_key{};
  MemoryParameters parameters;
  std::string box_bound;  // as in certificates
  absl::Time created;
  uint64_t epoch = 0;
  std::string memory;  // the resource name
  std::string scope;   // as in certificates
  double rho = 0;
  // What the service says follows from the rest.
  Digest memory_pseudonym{};
  Digest token_root{};
  Digest entries_root{};
  Digest state_digest{};
  Digest fingerprint{};
  uint64_t token_count = 0;
  std::vector<BundleToken> tokens;  // ascending by the bytes of the id
};

// Reads a bundle from its bytes, however they come. Threads: one at a time. Space: that of the tokens, and
// one line.
class AuditBundleReader {
 public:
  // The next bytes. Returns: InvalidArgument, naming the line, if what came so far begins no bundle; then
  // from every later call, too. Cost: O(bytes).
  [[nodiscard]] absl::Status Add(absl::string_view bytes);

  // After the last bytes, once. Returns: as Add, and if the bundle is not whole.
  [[nodiscard]] absl::StatusOr<AuditBundle> Finish();

 private:
  [[nodiscard]] absl::Status TakeLine(absl::string_view line);

  absl::Status status_;
  std::string rest_;  // of a line whose end has not come
  uint64_t lines_ = 0;
  bool ended_ = false;
  Sha256Stream hash_;
  AuditBundle bundle_;
};

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_BUNDLE_AUDIT_BUNDLE_H_
