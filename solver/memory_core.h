// The tokens of a memory and their canonical state: how a change is carried out, settled and proven.
//
// Takes valid input only; ExactMemory checks it.
#ifndef EXPUNGE_SOLVER_MEMORY_CORE_H_
#define EXPUNGE_SOLVER_MEMORY_CORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "solver/active_set.h"
#include "solver/exact_memory.h"
#include "solver/group_table.h"
#include "solver/state_proof.h"

namespace expunge::solver {

// Threads: one at a time. Functions that return Internal leave the state as it was.
class MemoryCore {
 public:
  MemoryCore(const Config& config, const ExactMemoryOptions& options);
  MemoryCore(const MemoryCore&) = delete;
  MemoryCore& operator=(const MemoryCore&) = delete;

  // REQUIRES: the memory is empty; ids distinct; classes as in MemoryState.
  [[nodiscard]] absl::Status Load(const TokenList& tokens, const std::vector<TokenClass>& classes);
  // REQUIRES: normalised, ids new and distinct, ridge large enough.
  [[nodiscard]] absl::Status Add(const TokenList& tokens);
  // REQUIRES: ids there and distinct.
  [[nodiscard]] absl::Status Remove(absl::Span<const std::string> ids);

  // Whether a token can go without a trace in the state: it is in R, and rho does not rest on it.
  [[nodiscard]] bool MayDrop(absl::string_view id) const;
  // Up to `count` such tokens, the deepest first: by the sum over S and E, ascending by id, of a_i K_ij in
  // doubles, then by id, descending: a function of the canonical state. Cost: O(n), and O(|S+E| d) for tokens
  // near the last.
  [[nodiscard]] std::vector<std::string> DeepestReserve(uint64_t count) const;
  // <= g_j for all of these tokens of R.
  [[nodiscard]] double MarginLower(absl::Span<const std::string> ids) const;
  // REQUIRES: MayDrop for each.
  [[nodiscard]] absl::Status Drop(absl::Span<const std::string> ids);

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const GroupTable& table() const { return table_; }
  [[nodiscard]] const ActiveSet& active() const { return active_; }
  [[nodiscard]] double rho() const { return rho_; }
  [[nodiscard]] const Proof& proof() const { return proof_; }
  [[nodiscard]] const SolverCounters& counters() const { return counters_; }
  [[nodiscard]] std::vector<SupportEntry> Support() const;
  [[nodiscard]] uint64_t ByteSize() const { return table_.ByteSize() + active_.ByteSize(); }

 private:
  // What brings the state back after a failure.
  struct Entry {
    std::shared_ptr<const Token> token;  // any of its group
    TokenClass token_class;
    double weight;
  };

  // Puts a token in or takes it out. True: a group was touched that carries weight, or on which the proof
  // rests.
  bool Insert(const std::shared_ptr<const Token>& token);
  bool Erase(absl::string_view id);
  // Saves the state and takes these tokens out; what Erase says of any. ForgetErased ends it: after an error
  // the state is what it was, and no token that went lives on here.
  bool EraseAll(absl::Span<const std::string> ids);
  void ForgetErased(const absl::Status& status);
  void SetEmpty();
  // Whether all new groups provably stay in reserve; then nothing else changes, and the proof covers them.
  bool FreshStayInReserve();
  void StartFromNothing();  // takes over what the floating-point solver finds for all tokens
  [[nodiscard]] absl::Status Settle();
  [[nodiscard]] bool SettleFast();
  [[nodiscard]] absl::Status SettleByReference();
  // <= g of a group of R, by the last pass.
  [[nodiscard]] double PassMargin(uint32_t group) const;
  // Whether the margin or the ties that the proof reports may be those of this group of R: without it, they
  // would be others.
  [[nodiscard]] bool ProofRestsOn(uint32_t group) const;
  [[nodiscard]] TokenList AllTokens() const;
  [[nodiscard]] std::vector<TokenClass> ByGroup(const TokenList& tokens,
                                                const std::vector<TokenClass>& classes) const;
  void Save();
  void Restore(const TokenList& added, const TokenList& removed);
  void RefreshStateBounds();

  const Config config_;
  const ExactMemoryOptions options_;
  SolverCounters counters_;
  GroupTable table_;
  ActiveSet active_;
  StateProof state_proof_;
  double rho_ = 0;
  Proof proof_;
  bool solved_ = false;          // the margin system holds the proven solution of the present state
  std::vector<uint32_t> fresh_;  // new groups of the present Add
  std::vector<Entry> saved_;
  double saved_rho_ = 0;
  Proof saved_proof_;
  TokenList removed_;
};

}  // namespace expunge::solver

#endif  // EXPUNGE_SOLVER_MEMORY_CORE_H_
