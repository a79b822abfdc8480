// What the audit tries: kinds of data, box bounds and changes.
//
// The first three regimes are those of the paper (V. Ramesh, arXiv 2607.12204), with its parameters: gamma =
// 1/4 (its sigma = 2), C = 1/(0.4 n), 2 tokens deleted. Gaussian: n = 24, d = 6. Redundant: 4 clusters of 6,
// centres 2 N(0, 1), jitter 0.02. ICU: 40 hours of a stay. The others are where solvers break: keys at
// distance 0, 1e-8, 1e-6 and 1e-4 of each other, lattices, a large common offset, every order of insertion,
// long streams.
#ifndef EXPUNGE_BENCH_EXACTNESS_REGIMES_H_
#define EXPUNGE_BENCH_EXACTNESS_REGIMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/exactness/generator.h"
#include "bench/exactness/vitals.h"
#include "solver/memory_state.h"

namespace expunge::bench {

enum class Change {
  kDeletion,         // build a memory, delete 2 tokens
  kInsertionOrders,  // build a memory in every order, each time delete the token that came first
  kStream,           // 64 mixed operations
};

enum class Keys {
  kGaussian,   // N(0, 1) in d = 6
  kClustered,  // 4 centres 2 N(0, 1) in d = 6; see Regime::jitter
  kLattice,    // d = 3: integers 0 to 2 at random, or a whole grid
  kSymmetric,  // the origin, and pairs x, -x on the axes of d = 3
  kOffset,     // N(0, 1) + 1000 in d = 6
  kVitals,     // hours of a stay, d = 5
  kEveryKind,  // another of the synthetic kinds in each case
};

// What the paper reports for its own code.
struct PaperFigures {
  std::string completed;
  std::string partition_equal;
  std::string worst_deviation;
};

struct Regime {
  std::string name;
  Change change = Change::kDeletion;
  Keys keys = Keys::kGaussian;
  double jitter = 0;          // of kClustered
  bool paper_setting = true;  // C = 1/(0.4 n), ridge 1e-6; else another box bound and ridge in each case
  uint64_t cases = 300;       // at --trials 300
  std::optional<PaperFigures> paper;
};

// Every regime, in the order of the table.
[[nodiscard]] const std::vector<Regime>& AllRegimes();

// A configuration and tokens for it, in the order in which they come.
struct Instance {
  solver::Config config;
  solver::TokenList tokens;
};

// The data of one case: the same for the same generator, case and stays. REQUIRES: stays not empty for
// kVitals.
[[nodiscard]] Instance MakeInstance(const Regime& regime, uint64_t number, const std::vector<Stay>& stays,
                                    Generator* generator);

}  // namespace expunge::bench

#endif  // EXPUNGE_BENCH_EXACTNESS_REGIMES_H_
