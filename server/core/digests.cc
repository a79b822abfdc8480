#include "server/core/digests.h"

namespace expunge::core {

Digest StateDigest(const Digest& audit_key, const solver::Config& config, const Digest& token_root,
                   absl::Span<const certificate::StateEntry> entries, double rho) {
  certificate::MemoryParameters parameters;
  parameters.key_dimension = config.key_dimension;
  parameters.value_dimension = config.value_dimension;
  parameters.gamma = config.gamma;
  parameters.min_support = config.box.min_support;
  parameters.box_value = config.box.value;
  parameters.ridge = config.ridge;
  return certificate::StateDigest(audit_key, parameters, token_root, entries, rho);
}

}  // namespace expunge::core
