// Selection: dropping reserve tokens, and for how long that claim holds.
//
// A reserve token has weight 0, so dropping it changes no bit of the state now. After later changes it might
// have had weight: the claim "no dropped token would carry weight" expires. It still holds at a state s if
// every dropped token would still have g >= 0; without the dropped keys that is proven while
//     2 |sum_i da_i phi(x_i)| + |rho(s) - rho(s0)|  <  smallest dropped margin,     da = a(s) - a(s0)
// phi being the feature map of the kernel, |phi(x)| = 1, since |g_j(s) - g_j(s0)| is at most the left side.
// It needs C_n = C at s: while the memory holds fewer than 1/C tokens, the dropped ones would count in
// C_n = 1/n, and carry weight. Where a token of s0's support has been erased, its key is gone; its part of
// the norm is bounded by its weight alone, and only the sum of such weights is kept. docs/math/selection.md.
#ifndef EXPUNGE_SOLVER_SELECTION_H_
#define EXPUNGE_SOLVER_SELECTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "solver/memory_state.h"

namespace expunge::solver {

// Whether the claim of a selection is still proven.
struct Horizon {
  bool holds = false;         // nothing was dropped; or movement_upper < margin_lower, and C_n = C
  double movement_upper = 0;  // >= the left side above
  double margin_lower = 0;    // <= the smallest dropped margin: min over the dropped of g_j(s0)
};

class Selection {
 public:
  // `reference` is the support (all of S and E) of the state s0 in which the tokens were dropped, `rho` its
  // multiplier.
  // `margin_lower` <= g_j(s0) for every dropped token j; infinity if none was dropped.
  // `erased_weight_upper` >= the weights in s0 of the tokens of its support that are not in `reference`, as
  // they were erased since.
  Selection(const Config& config, std::vector<SupportEntry> reference, double rho, double margin_lower,
            uint64_t dropped, double erased_weight_upper = 0);

  [[nodiscard]] uint64_t dropped() const { return dropped_; }
  [[nodiscard]] double margin_lower() const { return margin_lower_; }
  // With these and the two above it can be made again.
  [[nodiscard]] const std::vector<SupportEntry>& reference() const { return reference_; }
  [[nodiscard]] double rho() const { return rho_; }
  [[nodiscard]] double erased_weight_upper() const { return erased_weight_upper_; }

  // The token was erased: lets go of its key. Cost: O(|support|).
  void Forget(absl::string_view id);

  // Evaluates the claim at a later state, in ball arithmetic over correctly rounded kernel values. `support`
  // is all of S and E. Every stored weight is taken to be within 2^-53 of the exact one, relatively, and rho
  // within 2^-53 (1 + |rho|). Cost: O(m^2 d) for m keys whose weight differs. Threads: any number of calls at
  // once while no Forget runs.
  [[nodiscard]] Horizon Evaluate(const std::vector<SupportEntry>& support, double rho) const;

 private:
  Config config_;
  std::vector<SupportEntry> reference_;
  double rho_;
  double margin_lower_;
  uint64_t dropped_;
  double erased_weight_upper_;  // of reference tokens that were erased since
};

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_SELECTION_H_
