// The audit bundle of a memory (docs/formats/audit_bundle.md): its state and its tokens as JSON Lines, enough
// to solve the memory again from nothing and to compute every digest that a certificate states of it.
//
// The bytes are a function of the snapshot alone: two bundles of one state are the same file.
#ifndef EXPUNGE_SERVER_CORE_AUDIT_BUNDLE_H_
#define EXPUNGE_SERVER_CORE_AUDIT_BUNDLE_H_

#include <cstddef>
#include <string>

#include "base/hash.h"
#include "server/core/tenant.h"

namespace expunge::core {

// Threads: one at a time. Holds the snapshot, and so its tokens, until it goes.
class AuditBundleWriter {
 public:
  explicit AuditBundleWriter(Snapshot memory);

  // The next whole lines, until they have at least `bytes`; the first time with the header, the last time
  // with the trailer; empty after that. Cost: O(bytes), and the first time that of MemoryView::Fingerprint.
  [[nodiscard]] std::string Next(size_t bytes);

  // Tokens whose lines Next has returned.
  [[nodiscard]] size_t tokens_written() const { return next_; }
  [[nodiscard]] const MemoryView& memory() const { return *memory_; }

 private:
  void AppendHeader(std::string* out) const;
  void AppendToken(size_t index, std::string* out) const;
  void AppendTrailer(std::string* out);

  const Snapshot memory_;
  Sha256Stream hash_;  // of what was returned
  size_t next_ = 0;
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_AUDIT_BUNDLE_H_
