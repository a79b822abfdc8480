// The bounds that a certificate states of a state, held against the state itself.
//
// Duality gap, eigenvalue and eta follow from rounding alone (solver/memory_state.h): a certificate may state
// them weaker, not stronger. The margins are computed anew from the weights and correctly rounded kernel
// values, in extended precision with a bound of its error: a stated lower bound may not lie above them.
#ifndef EXPUNGE_CLIENT_VERIFY_BUNDLE_PROOF_H_
#define EXPUNGE_CLIENT_VERIFY_BUNDLE_PROOF_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "solver/memory_state.h"

namespace expunge::verify {

// At least the true values of solver::Proof::margin_lower and weight_distance_lower.
struct Margins {
  double margin_upper = 0;
  double weight_distance_upper = 0;
};

// REQUIRES: `state.solution` is the canonical one. Cost: n |S+E| kernel values.
[[nodiscard]] Margins MarginsOf(const solver::MemoryState& state);

// The name of a field of `proof`, a certificate's, that is stronger than what holds; nullopt: none is.
[[nodiscard]] std::optional<std::string> FalseBound(const nlohmann::json& proof,
                                                    const solver::Solution& solution, const Margins& margins);

}  // namespace expunge::verify

#endif  // EXPUNGE_CLIENT_VERIFY_BUNDLE_PROOF_H_
