// Prints a digest of canonical states and readouts over many small memories: a line for each kind of data.
#include <cstdio>
#include <string>

#include "attention/readout.h"
#include "base/hash.h"
#include "solver/reference_solver.h"
#include "tests/support/data.h"

namespace expunge::testing {
namespace {

// Appends fingerprint and readouts of one memory.
void AppendState(const solver::Config& config, const solver::TokenList& tokens, std::string* bytes) {
  auto solution = solver::SolveFromNothing(config, tokens);
  if (!solution.ok()) {
    bytes->append("error\n");
    return;
  }
  const solver::MemoryState state{config, tokens, *std::move(solution)};
  bytes->append(AsView(solver::Fingerprint(state)).data(), 32);
  const attention::SupportSet support(state);
  for (const auto& token : MakeTokens(DataKind::kGaussian, 3, config.key_dimension, 1, 99)) {
    const attention::ReadoutResult result = support.Read(token->key, true);
    for (const double x : result.output) AppendDouble(x, bytes);
    AppendDouble(result.decision_value, bytes);
    AppendDouble(result.error_bound, bytes);
    for (const auto& contribution : result.contributions) AppendDouble(contribution.weight, bytes);
  }
}

}  // namespace
}  // namespace expunge::testing

int main() {
  using namespace expunge;
  using namespace expunge::testing;
  for (const DataKind kind : kAllDataKinds) {
    std::string bytes;
    for (const size_t n : {1, 2, 5, 9, 24, 80}) {
      for (const solver::BoxBound& box : kBoxes) {
        for (const double ridge : {1e-8, 1e-6, 1e-4}) {
          AppendState(MakeConfig(3, 2, box, 0.5, ridge), MakeTokens(kind, n, 3, 2, n), &bytes);
        }
      }
    }
    std::printf("%-16s %s\n", Name(kind).c_str(), ToHex(AsView(Sha256(bytes))).c_str());
  }
  return 0;
}
