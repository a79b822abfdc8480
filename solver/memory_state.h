// A support-vector attention memory and its canonical state.
//
// Problem.  Tokens i = 1..n with keys x_i in R^d; K_ij = exp(-gamma |x_i - x_j|^2), each entry the double
// nearest to the real number; H = K + ridge*I (H_ii = 1 + ridge, unrounded); box bound C_n = max(C, 1/n):
//     min_a  a'Ha - diag(K)'a     subject to   1'a = 1,   0 <= a_i <= C_n (P)
// H is positive definite, so (P) has exactly one solution a*. With g = 2Ha* - diag(K) + rho*1 every token is
// in one of
//     margin S: 0 < a*_i < C_n, g_i = 0      error E: a*_i = C_n, g_i <= 0      reserve R: a*_i = 0, g_i >= 0
// (a token with a*_i = 0 is in R, and one with a*_i = C_n in E, also where g_i = 0).
//
// Canonical state.  Class of every token, a_i = the double nearest to a*_i, rho = the double nearest to rho*
// (the common value of diag(K)_i - 2(Ha*)_i on S; where S is empty, the midpoint of [max over R, min over E];
// R empty, too: min over E). It depends on configuration and tokens alone: not on code, order or history.
// docs/math/canonical.md has the proofs.
#ifndef EXPUNGE_SOLVER_MEMORY_STATE_H_
#define EXPUNGE_SOLVER_MEMORY_STATE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/bytes.h"

namespace expunge::solver {

inline constexpr uint32_t kMaxDimension = 4096;
inline constexpr double kDefaultRidge = 1e-6;
inline constexpr double kMinRidge = 1e-8;
inline constexpr double kMaxValue = 0x1p+500;  // so that sums and squares of values stay finite

// The box bound C as an exact rational.
struct BoxBound {
  // s >= 1: C = min(1, 2 / (2s - 1)). 0: C is `value`.
  uint32_t min_support = 0;
  // Exactly this double; above 1 it means 1. Ignored if min_support > 0.
  double value = 0;
};

// What a memory computes. Fixed when it is created.
struct Config {
  uint32_t key_dimension = 0;
  uint32_t value_dimension = 0;
  double gamma = 0;
  BoxBound box;
  double ridge = kDefaultRidge;
};

// Returns: OutOfRange, InvalidArgument with the field ("key_dimension", "gamma", ...) at fault. Cost: O(1).
[[nodiscard]] absl::Status ValidateConfig(const Config& config);

// FailedPrecondition, field "ridge", unless ridge > n 2^-54: with it, rounding K cannot make H singular.
[[nodiscard]] absl::Status ValidateRidge(const Config& config, uint64_t n);

struct Token {
  std::string id;             // ordered by its bytes
  std::vector<double> key;    // key_dimension
  std::vector<double> value;  // value_dimension
};

// Checks one vector of a token or of a query, and turns -0 into +0.
// Returns: InvalidArgument for a wrong size, NaN or infinity; OutOfRange for a magnitude with which |x - y|^2
// could overflow (keys) or beyond kMaxValue (values). The error has no field; the caller knows which one it
// checked.
[[nodiscard]] absl::Status NormalizeKey(const Config& config, absl::Span<double> key);
[[nodiscard]] absl::Status NormalizeValue(const Config& config, absl::Span<double> value);

// Tokens are shared between the states that hold them, and never change.
using TokenList = std::vector<std::shared_ptr<const Token>>;

enum class TokenClass : char { kMargin = 'S', kError = 'E', kReserve = 'R' };

// Bounds of exact quantities of one canonical state, all rounded outward.
struct Proof {
  bool strict = true;             // no class rests on an exact equality
  uint64_t higher_precision = 0;  // decisions beyond double-double
  uint64_t ties = 0;              // g_i = 0 outside S, and weights or rho exactly midway between two doubles
  double margin_lower = 0;        // <= min |g_i| over R and E; infinity if both are empty
  double weight_distance_lower = 0;  // <= min over S of min(a*_i, C_n - a*_i); infinity if S is empty
  double duality_gap_upper = 0;      // >= g'a - min { g'b : b feasible }, g at the stored a
  double eigenvalue_lower = 0;       // <= smallest eigenvalue of H
  double eta = 0;  // |a_i - a*_i| <= eta a_i for all i in S and E; infinity if some a_i underflowed
};

// The proof of a memory without tokens.
[[nodiscard]] Proof EmptyProof(double ridge);

// Sets the bounds that follow from rounding alone: duality gap, eigenvalue and eta (docs/math/canonical.md,
// "Bounds of the rounded state"). `smallest_weight`: of S and E.
void SetStateBounds(double ridge, uint64_t tokens, double smallest_weight, Proof* proof);

// The canonical solution for a list of tokens, index by index.
struct Solution {
  std::vector<TokenClass> classes;
  std::vector<double> weights;
  double rho = 0;  // +0 for an empty memory
  Proof proof;
};

// An immutable snapshot. Readers share it; a writer makes the next one beside it.
struct MemoryState {
  Config config;
  TokenList tokens;  // ascending by the bytes of the id, no id twice
  Solution solution;
};

// A token that carries weight.
struct SupportEntry {
  std::shared_ptr<const Token> token;
  TokenClass token_class = TokenClass::kMargin;  // kMargin or kError
  double weight = 0;
};

// SHA-256 of configuration, tokens, classes, weights and rho (byte layout in docs/math/canonical.md). Two
// memories with equal fingerprints are equal bit for bit. Cost: O(n (d + dv)).
[[nodiscard]] Digest Fingerprint(const MemoryState& state);

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_MEMORY_STATE_H_
