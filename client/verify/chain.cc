#include "client/verify/chain.h"

#include "absl/strings/str_cat.h"

namespace expunge::verify {

void Chain::Add(const CertificateView& certificate) {
  const auto [known, added] = by_sequence_.emplace(certificate.sequence, &certificate);
  if (!added && known->second->payload_sha256 != certificate.payload_sha256)
    forked_.insert(certificate.sequence);
  if (certificate.completes.has_value()) {
    by_first_.emplace(certificate.completes->payload_sha256, &certificate);
  }
}

uint64_t Chain::EpochBefore(uint64_t sequence) const {
  auto before = by_sequence_.find(sequence - 1);
  // A second stage speaks of the removal's own states, however many others came between.
  while (before != by_sequence_.end() && before->second->completes.has_value()) {
    before = by_sequence_.find(before->first - 1);
  }
  return before == by_sequence_.end() ? 0 : before->second->epoch_after;
}

Verdict Chain::CheckPlace(const CertificateView& certificate, bool whole) const {
  const uint64_t sequence = certificate.sequence;
  if (forked_.count(sequence) != 0) {
    return Failed("CHAIN_FORKED",
                  absl::StrCat("two different certificates of this memory have sequence ", sequence));
  }
  if (sequence == 1) return Ok("the first of its memory's chain");
  const auto before = by_sequence_.find(sequence - 1);
  if (before == by_sequence_.end()) {
    const std::string missing =
        absl::StrCat("the certificate of sequence ", sequence - 1, " of this memory is not given");
    return whole ? Failed("CHAIN_GAP", missing) : NotChecked("CHAIN_GAP", missing);
  }
  if (before->second->payload_sha256 != certificate.previous_payload_sha256) {
    return Failed("CHAIN_BROKEN",
                  absl::StrCat("it does not follow the given certificate of sequence ", sequence - 1));
  }
  if (EpochBefore(sequence) > certificate.epoch_after && !certificate.completes.has_value()) {
    return Failed("CHAIN_BROKEN", "the memory's epoch goes back");
  }
  return Ok(absl::StrCat("number ", sequence, " of its memory's chain, after number ", sequence - 1));
}

Verdict Chain::CheckCompletion(const CertificateView& certificate) const {
  if (!certificate.removes()) return NotChecked("NOTHING_REMOVED", "nothing was removed");
  if (!certificate.completes.has_value()) {
    const auto second = by_first_.find(certificate.payload_sha256);
    if (second == by_first_.end()) {
      return NotChecked("NOT_COMPLETED", "no certificate of the second stage is given");
    }
    return CheckCompletion(*second->second);
  }
  const auto first = by_sequence_.find(certificate.completes->sequence);
  if (first == by_sequence_.end()) {
    return NotChecked("NO_FIRST_STAGE", "the certificate that it completes is not given");
  }
  if (first->second->payload_sha256 != certificate.completes->payload_sha256) {
    return Failed("BAD_COMPLETION", "the certificate of the sequence that it completes is another one");
  }
  if (first->second->removal_sha256 != certificate.removal_sha256) {
    return Failed("BAD_COMPLETION", "it does not say of the removal what the first stage says");
  }
  return Ok(absl::StrCat("certificate ", certificate.sequence, " completes certificate ",
                         certificate.completes->sequence, ": the files are purged"));
}

}  // namespace expunge::verify
