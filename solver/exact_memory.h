// A memory under change: tokens come and go, and after every call the state is the canonical one, proven.
//
// Problem.  (P) of memory_state.h. Tokens with equal keys have equal weights, so the unknowns are *groups* of
// equal keys: a is the weight of one token of a group, c its count, mu = c a its mass.
// Invariants, after every call that returned OK.  (I1) classes, weights and rho are canonical: those that
// SolveFromNothing gives for the same tokens, bit for bit. (I2) L L' = K_SS + diag(ridge / c), rows in the
// order in which groups entered S. (I3) kernel rows of the groups in S are at hand, for every group.
//
// Method.  A change starts from the partition and the weights before it. A primal active-set method moves
// them to the optimum: solve on S with the factor, step to the first bound that is met, move that group
// there, let the worst violators in, one to four at a time. The result is only a proposal: its bordered
// system is refined in double-double over correctly rounded kernel values, and verified bounds prove each
// rounding, class and sign (ladder: a priori bound, eigenvalue bound, componentwise bound, balls, rationals).
// What fails its proof is moved, and the method goes on from there. docs/math/incremental.md has all of it.
#ifndef EXPUNGE_SOLVER_EXACT_MEMORY_H_
#define EXPUNGE_SOLVER_EXACT_MEMORY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "solver/memory_state.h"
#include "solver/selection.h"

namespace expunge::solver {

// How states were found since the memory was made; no part of them. A question is "to which double does this
// weight round?", "which sign has this g?" and the like.
struct SolverCounters {
  uint64_t operations = 0;           // calls that changed the tokens
  uint64_t iterations = 0;           // bordered systems solved
  uint64_t set_changes = 0;          // groups that changed their class
  uint64_t full_passes = 0;          // gradients of all groups
  uint64_t proof_pivots = 0;         // moves that a proof forced
  uint64_t eigenvalue_bound = 0;     // questions that the a priori bound left open, answered by the next
  uint64_t componentwise_bound = 0;  // ... by the verified inverse
  uint64_t higher_precision = 0;     // ... by balls or rationals
  uint64_t ties = 0;                 // answers that were exact equalities
  uint64_t cold_starts = 0;          // batches for which starting from nothing is cheaper
  uint64_t fallbacks = 0;            // the reference solver was needed
};

// Which reserve tokens to drop.
struct EvictionRequest {
  enum class Choice { kAll, kDownTo, kNamed };
  Choice choice = Choice::kAll;
  uint64_t max_tokens =
      0;  // kDownTo: deepest first (largest g, then the larger id) until no more tokens are left
  std::vector<std::string> ids;  // kNamed
};

// What an exactness claim about the memory compares with.
enum class Scope {
  kFullHistory,  // a memory to which deleted tokens had never been added
  kRetainedSet,  // one to which only the tokens that it holds had been added: some were dropped by selection
};

struct ExactMemoryOptions {
  // Changes of class in one call before the reference solver takes over; 0: 20 (|S| + |E| + tokens) + 1000.
  uint64_t max_set_changes = 0;
};

// Threads: one at a time; const functions, too, except that any number of threads may call them while no
// other call runs.
class ExactMemory {
 public:
  // An empty memory. Returns: as ValidateConfig.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ExactMemory>> Create(
      const Config& config, const ExactMemoryOptions& options = {});

  // The memory of `state`, whose classes are the proposal (a wrong one costs time, not correctness).
  // REQUIRES: ValidateConfig(state.config), keys and values normalised, ids distinct. Cost: O(n d |S+E|).
  // Returns: as SolveFromNothing.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ExactMemory>> Open(
      const MemoryState& state, const ExactMemoryOptions& options = {});

  ~ExactMemory();
  ExactMemory(const ExactMemory&) = delete;
  ExactMemory& operator=(const ExactMemory&) = delete;

  // Adds tokens: all or none. Keys and values are normalised as by NormalizeKey, NormalizeValue.
  // Cost: m tokens that stay in reserve: O(m |S+E| d); each that enters S: O(n d + |S|^2) and O(n |S|) for
  // the check of all others. A batch larger than a quarter of the memory costs about a cold solve of all.
  // Returns, the state being bit for bit what it was:
  //   InvalidArgument, OutOfRange  a bad key or value, field "tokens[i].key"; an id twice.
  //   AlreadyExists                the memory holds a token of this id, field "tokens[i].id".
  //   FailedPrecondition           ridge <= n 2^-54 afterwards.
  //   Internal                     a defect.
  [[nodiscard]] absl::Status Add(absl::Span<const std::shared_ptr<const Token>> tokens);

  // Removes tokens: all or none, exactly as if they had never been there.
  // Cost: a token in reserve: O(|S+E|); if the proof rests on its margin, O(n |S|). One in S or E: O(n |S|)
  // for the check of all others, and e (|S|^2 + n d) for e changes of class. Returns, the state being bit for
  // bit what it was:
  //   NotFound         no token has this id, field "ids[i]".
  //   InvalidArgument  an id twice.
  //   Internal         a defect.
  [[nodiscard]] absl::Status Remove(absl::Span<const std::string> ids);

  // Drops reserve tokens: all or none; no class, weight or rho changes by a bit. If any is dropped, the scope
  // is kRetainedSet from then on, and a Selection is kept, whose index in selections() is returned; if none
  // is (kAll or kDownTo with nothing to drop), nothing changes. kDownTo stops short of max_tokens where
  // S and E alone have more. Cost: O(n |S+E|). Returns, the state being what it was:
  //   NotFound            no token has this id, field "ids[i]".
  //   InvalidArgument     an id twice; field "ids[i]".
  //   FailedPrecondition  the token carries weight, field "ids[i]".
  //   Internal            a defect.
  struct Eviction {
    std::vector<std::string> dropped;  // ascending
    std::optional<size_t> selection;
  };
  [[nodiscard]] absl::StatusOr<Eviction> Evict(const EvictionRequest& request);

  [[nodiscard]] Scope scope() const;
  // Every selection made so far, the oldest first, without the keys of tokens that were removed since.
  [[nodiscard]] const std::vector<Selection>& selections() const;
  // Hands them over: selections() is empty then, and what is removed later is not forgotten in them.
  [[nodiscard]] std::vector<Selection> TakeSelections();
  // Whether the claim of selections()[index] is proven for the present state.
  [[nodiscard]] Horizon EvaluateHorizon(size_t index) const;

  [[nodiscard]] const Config& config() const;
  [[nodiscard]] uint64_t size() const;  // tokens
  [[nodiscard]] bool Contains(absl::string_view id) const;
  [[nodiscard]] double rho() const;
  [[nodiscard]] const Proof& proof() const;
  [[nodiscard]] const SolverCounters& counters() const;
  // Tokens of S and E, ascending by id; every other token is in R. Cost: O(|S+E| log |S+E|).
  [[nodiscard]] std::vector<SupportEntry> Support() const;
  // All of the state. Cost: O(n log n).
  [[nodiscard]] MemoryState State() const;
  // Bytes held beyond the tokens themselves. Cost: O(1).
  [[nodiscard]] uint64_t ByteSize() const;

  // Solves the bordered system of S with the maintained factor, for gradients:
  //     H_SS z - zeta 1 = rhs,      1'z = mass
  // `rhs` and `z` have one entry for each token of S, in the order of Support(). REQUIRES: S not empty.
  // Accuracy: refined until the residual, evaluated in double-double, no longer falls. Cost: O(|S|^2).
  void SolveBordered(absl::Span<const double> rhs, double mass, absl::Span<double> z, double* zeta) const;

 private:
  class Impl;
  explicit ExactMemory(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_EXACT_MEMORY_H_
