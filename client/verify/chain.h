// Certificates of one memory, together: whether one is missing, and which removals are complete.
#ifndef EXPUNGE_CLIENT_VERIFY_CHAIN_H_
#define EXPUNGE_CLIENT_VERIFY_CHAIN_H_

#include <cstdint>
#include <map>
#include <set>

#include "client/verify/certificate_view.h"
#include "client/verify/verdict.h"

namespace expunge::verify {

// Threads: one at a time.
class Chain {
 public:
  // `certificate` outlives the chain. REQUIRES: all are of one memory.
  void Add(const CertificateView& certificate);

  // Whether it follows the one before. `whole`: what was given claims to be everything up to the newest.
  [[nodiscard]] Verdict CheckPlace(const CertificateView& certificate, bool whole) const;
  // Of a second stage: whether it completes the first; of a first: whether its second is there.
  [[nodiscard]] Verdict CheckCompletion(const CertificateView& certificate) const;

 private:
  // Of the last given certificate before this one, without a gap between, that is no second stage; 0: none.
  [[nodiscard]] uint64_t EpochBefore(uint64_t sequence) const;

  std::map<uint64_t, const CertificateView*> by_sequence_;
  std::set<uint64_t> forked_;                          // sequences of two different certificates
  std::map<Digest, const CertificateView*> by_first_;  // second stages, by what they complete
};

}  // namespace expunge::verify

#endif  // EXPUNGE_CLIENT_VERIFY_CHAIN_H_
