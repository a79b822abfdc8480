// An audit bundle, solved again from nothing, and what it says about certificates.
//
// Nothing that a bundle states of digests, classes, weights, rho or the fingerprint is believed: all follows
// from its configuration, ids, keys, values and commitments. The solution is the reference solver's, which
// has nothing of the service's own: no update, no warm start, no certificate of a partition.
#ifndef EXPUNGE_CLIENT_VERIFY_BUNDLE_VIEW_H_
#define EXPUNGE_CLIENT_VERIFY_BUNDLE_VIEW_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "certificate/bundle/audit_bundle.h"
#include "client/verify/bundle_proof.h"
#include "client/verify/verdict.h"
#include "solver/memory_state.h"

namespace expunge::verify {

class BundleView {
 public:
  // Reads the file. Refused: it is no bundle, or not whole.
  [[nodiscard]] Verdict Read(const std::string& file);
  // REQUIRES: Read was ok; before Solve, which takes the vectors.
  [[nodiscard]] const certificate::AuditBundle& bundle() const { return bundle_; }

  // Computes everything again. Two claims: "digests" and "solution". REQUIRES: Read was ok.
  // Cost: as solver::SolveFromNothing, and n |S+E| kernel values.
  [[nodiscard]] std::vector<Claim> Solve();

  // Whether the certificate says of the bundle's state what follows from the bundle. REQUIRES: `statement`
  // passed CheckPayload.
  [[nodiscard]] Verdict CheckCertificate(const nlohmann::json& statement);
  // Whether any did speak of it.
  [[nodiscard]] Verdict CheckTied() const;

 private:
  void MakeState();
  [[nodiscard]] Verdict CheckDigests();
  [[nodiscard]] Verdict CheckSolution();
  // An empty text: it agrees; else what does not. (Epochs may differ: a memory from which a token was removed
  // again is in the state that it was in before.)
  [[nodiscard]] std::string CompareState(const nlohmann::json& predicate, const nlohmann::json& state) const;
  [[nodiscard]] std::string CompareRemoved(const nlohmann::json& removed) const;
  [[nodiscard]] Verdict Judge(const nlohmann::json& predicate, const char* name) const;

  certificate::AuditBundle bundle_;
  solver::MemoryState state_;        // as stated, then as solved
  std::map<Digest, size_t> places_;  // of handles
  Margins margins_;
  bool solved_ = false;
  size_t tied_ = 0;
};

}  // namespace expunge::verify

#endif  // EXPUNGE_CLIENT_VERIFY_BUNDLE_VIEW_H_
