// Prints digests of canonical states and readouts over many small memories, solved from nothing and kept
// under change, and of readouts of larger ones: three lines for each kind of data.
//
// Usage: exactness_bits [--plain | --units | --unit=NAME]
//   --plain      the solver without wide vectors
//   --units      prints the names of the vector units that readouts can use here, and nothing else
//   --unit=NAME  readouts by that one
#include <hwy/highway.h>

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "attention/cpu/cpu_engine.h"
#include "attention/support_set.h"
#include "base/hash.h"
#include "solver/cpu.h"
#include "solver/exact_memory.h"
#include "solver/reference_solver.h"
#include "tests/support/data.h"

namespace expunge::testing {
namespace {

void AppendReadout(const attention::SupportSet& support, const std::vector<double>& query,
                   std::string* bytes) {
  const attention::CertifiedReadout result = attention::ReadCertified(support, query, true);
  for (const double x : result.output) AppendDouble(x, bytes);
  AppendDouble(result.decision_value, bytes);
  AppendDouble(result.error_bound, bytes);
  for (const auto& contribution : result.contributions) AppendDouble(contribution.weight, bytes);
}

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
    AppendReadout(support, token->key, bytes);
  }
}

// Appends the fingerprints along a stream of changes of one memory.
void AppendStream(const solver::Config& config, const solver::TokenList& pool, uint64_t seed,
                  std::string* bytes) {
  auto memory = solver::ExactMemory::Create(config);
  if (!memory.ok()) {
    bytes->append("error\n");
    return;
  }
  std::mt19937_64 random(seed);
  for (int step = 0; step < 80; ++step) {
    const auto& token = pool[random() % pool.size()];
    const bool present = (*memory)->Contains(token->id);
    const absl::Status status = present ? (*memory)->Remove({token->id}) : (*memory)->Add({token});
    if (!status.ok()) bytes->append("error\n");
    bytes->append(AsView(solver::Fingerprint((*memory)->State())).data(), 32);
  }
}

std::string Solved(DataKind kind) {
  std::string bytes;
  for (const size_t n : {1, 2, 5, 9, 24, 80}) {
    for (const solver::BoxBound& box : kBoxes) {
      for (const double ridge : {1e-8, 1e-6, 1e-4}) {
        AppendState(MakeConfig(3, 2, box, 0.5, ridge), MakeTokens(kind, n, 3, 2, n), &bytes);
      }
    }
  }
  return bytes;
}

std::string Changed(DataKind kind) {
  std::string bytes;
  for (const solver::BoxBound& box : kBoxes) {
    for (const double ridge : {1e-8, 1e-6}) {
      AppendStream(MakeConfig(3, 2, box, 0.5, ridge), MakeTokens(kind, 40, 3, 2, 7), 8, &bytes);
    }
  }
  return bytes;
}

// Readouts do not depend on how weights came to be: here they are numbers without a meaning.
std::string Read(DataKind kind) {
  std::string bytes;
  for (const size_t m : {1, 15, 16, 33, 300}) {
    for (const size_t d : {1, 5, 64, 67}) {
      const size_t dv = 70 - d;
      const solver::TokenList tokens = MakeTokens(kind, m, d, dv, m);
      std::vector<attention::WeightedToken> support;
      for (const auto& token : tokens) {
        const auto i = static_cast<uint32_t>(support.size());
        support.push_back({token.get(), i, 1.0 / (3 + i * i % 101)});
      }
      const attention::SupportSet set(MakeConfig(d, dv, kBoxes[0]), support, 0.5, 0x1p-53);
      for (const auto& query : MakeTokens(kind, 5, d, 1, 98)) AppendReadout(set, query->key, &bytes);
    }
  }
  return bytes;
}

// Whether there is such a unit.
bool UseUnit(const std::string& name) {
  for (const int64_t unit : hwy::SupportedAndGeneratedTargets()) {
    if (hwy::TargetName(unit) != name) continue;
    hwy::SetSupportedTargetsForTest(unit);
    return true;
  }
  return false;
}

void PrintDigests() {
  for (const DataKind kind : kAllDataKinds) {
    std::printf("%-16s solved  %s\n", Name(kind).c_str(), ToHex(AsView(Sha256(Solved(kind)))).c_str());
    std::printf("%-16s changed %s\n", Name(kind).c_str(), ToHex(AsView(Sha256(Changed(kind)))).c_str());
    std::printf("%-16s read    %s\n", Name(kind).c_str(), ToHex(AsView(Sha256(Read(kind)))).c_str());
  }
}

}  // namespace
}  // namespace expunge::testing

int main(int argc, char** argv) {
  using namespace expunge::testing;
  const std::string option = argc > 1 ? argv[1] : "";
  if (option == "--units") {
    for (const int64_t unit : hwy::SupportedAndGeneratedTargets()) std::printf("%s\n", hwy::TargetName(unit));
    return 0;
  }
  if (option == "--plain") {
    expunge::solver::SetWideVectorsForTest(false);
  } else if (option.rfind("--unit=", 0) == 0) {
    if (!UseUnit(option.substr(7))) {
      std::fprintf(stderr, "no vector unit %s here; --units lists them\n", option.substr(7).c_str());
      return 2;
    }
  } else if (!option.empty()) {
    std::fprintf(stderr, "unknown option %s\n", option.c_str());
    return 2;
  }
  PrintDigests();
  return 0;
}
