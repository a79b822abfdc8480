// Receipts of Add, held against certificates and audit bundles.
//
// One JSON object a line: "token" (the resource name), "salt" and "commitment" (hexadecimal), as
// `expunge import --receipts` writes it. With "subjects" (texts), "key" and "value" (base64 of little-endian
// doubles) besides, the commitment is opened: it is computed from them.
#ifndef EXPUNGE_CLIENT_VERIFY_RECEIPTS_H_
#define EXPUNGE_CLIENT_VERIFY_RECEIPTS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/bytes.h"
#include "certificate/bundle/audit_bundle.h"
#include "client/verify/verdict.h"

namespace expunge::verify {

class Receipts {
 public:
  // Reads a file of receipts. Refused: a line is none, or its token does not open its commitment. Once.
  [[nodiscard]] Verdict Read(absl::string_view text);

  [[nodiscard]] size_t size() const { return commitments_.size(); }
  // How many of the commitments are of receipts that were opened, by their line or a bundle, and of ones that
  // nobody opened: these say nothing, as whoever has the certificate can write such a line.
  struct Named {
    size_t opened = 0;
    size_t unopened = 0;
  };
  [[nodiscard]] Named NamedIn(absl::Span<const Digest> commitments) const;
  // Whether the receipts of a bundle's tokens open these tokens' commitments. These are opened from then on.
  [[nodiscard]] Verdict Open(const certificate::AuditBundle& bundle);

 private:
  struct Receipt {
    Digest salt{};
    Digest commitment{};
  };

  std::set<Digest> commitments_;
  std::set<Digest> opened_;
  std::map<std::string, Receipt> by_token_;
};

}  // namespace expunge::verify

#endif  // EXPUNGE_CLIENT_VERIFY_RECEIPTS_H_
