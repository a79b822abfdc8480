#include "base/bytes.h"
#include "base/hash.h"
#include "solver/memory_state.h"

namespace expunge::solver {

Digest Fingerprint(const MemoryState& state) {
  const Config& config = state.config;
  std::string bytes = "expunge fingerprint v1\n";
  AppendU32(config.key_dimension, &bytes);
  AppendU32(config.value_dimension, &bytes);
  AppendDouble(config.gamma, &bytes);
  AppendDouble(config.ridge, &bytes);
  AppendU32(config.box.min_support, &bytes);
  AppendDouble(config.box.min_support > 0 ? 0.0 : config.box.value, &bytes);
  AppendU64(state.tokens.size(), &bytes);
  Sha256Stream stream;
  stream.Update(bytes);
  for (size_t i = 0; i < state.tokens.size(); ++i) {
    const Token& token = *state.tokens[i];
    bytes.clear();
    AppendField(token.id, &bytes);
    for (const double x : token.key) AppendDouble(x, &bytes);
    for (const double v : token.value) AppendDouble(v, &bytes);
    bytes.push_back(static_cast<char>(state.solution.classes[i]));
    AppendDouble(state.solution.weights[i], &bytes);
    stream.Update(bytes);
  }
  bytes.clear();
  AppendDouble(state.solution.rho, &bytes);
  stream.Update(bytes);
  return stream.Finish();
}

}  // namespace expunge::solver
