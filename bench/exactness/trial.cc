#include "bench/exactness/trial.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/exactness/comparison.h"
#include "solver/exact_memory.h"

namespace expunge::bench {
namespace {

constexpr size_t kRemoved = 2;
constexpr int kOperations = 64;

using solver::ExactMemory;
using solver::MemoryState;
using solver::TokenList;

std::vector<std::string> IdsOf(const TokenList& tokens) {
  std::vector<std::string> ids;
  for (const auto& token : tokens) ids.push_back(token->id);
  return ids;
}

// Where readouts are compared: at up to two removed keys and two retained ones.
Queries QueriesOf(const TokenList& removed, const TokenList& retained) {
  Queries queries;
  for (const TokenList* tokens : {&removed, &retained}) {
    for (size_t i = 0; i < std::min<size_t>(2, tokens->size()); ++i) queries.push_back((*tokens)[i]->key);
  }
  return queries;
}

// One history of one memory, and what it showed so far.
class Trial {
 public:
  static absl::StatusOr<Trial> Start(const solver::Config& config) {
    EXPUNGE_ASSIGN_OR_RETURN(std::unique_ptr<ExactMemory> memory, ExactMemory::Create(config));
    return Trial(std::move(memory));
  }

  ExactMemory& memory() { return *memory_; }

  void CompareWith(const MemoryState& reference, const Queries& queries) {
    const Comparison comparison = Compare(memory_->State(), reference, queries);
    ++comparisons_;
    partition_equal_ = partition_equal_ && comparison.partition_equal;
    bits_equal_ = bits_equal_ && comparison.bits_equal;
    worst_deviation_ = std::max(worst_deviation_, comparison.deviation);
  }

  // Adds this trial to `findings`; it is completed if `status` is OK.
  void Finish(const absl::Status& status, Findings* findings) const {
    ++findings->trials;
    findings->comparisons += comparisons_;
    findings->completed += status.ok() ? 1 : 0;
    findings->partition_equal += status.ok() && partition_equal_ ? 1 : 0;
    findings->bits_equal += status.ok() && bits_equal_ ? 1 : 0;
    const solver::SolverCounters& counters = memory_->counters();
    findings->higher_precision += counters.higher_precision > 0 ? 1 : 0;
    findings->ties += counters.ties > 0 ? 1 : 0;
    findings->fallbacks += counters.fallbacks;
    findings->worst_deviation = std::max(findings->worst_deviation, worst_deviation_);
    if (findings->problem.has_value()) return;
    if (!status.ok()) {
      findings->problem = Problem{0, std::string(status.message())};
    } else if (!partition_equal_ || !bits_equal_) {
      findings->problem = Problem{0, partition_equal_ ? "other bits" : "another partition"};
    } else if (counters.fallbacks > 0) {
      findings->problem = Problem{0, "the memory fell back on the reference solver"};
    }
  }

 private:
  explicit Trial(std::unique_ptr<ExactMemory> memory) : memory_(std::move(memory)) {}

  std::unique_ptr<ExactMemory> memory_;
  uint64_t comparisons_ = 0;
  bool partition_equal_ = true;
  bool bits_equal_ = true;
  double worst_deviation_ = 0;
};

// One call for all tokens, or one call a token.
absl::Status AddAll(const TokenList& tokens, bool at_once, ExactMemory* memory) {
  if (at_once) return memory->Add(tokens);
  for (const auto& token : tokens) EXPUNGE_RETURN_IF_ERROR(memory->Add({token}));
  return absl::OkStatus();
}

absl::Status RemoveAll(const std::vector<std::string>& ids, bool at_once, ExactMemory* memory) {
  if (at_once) return memory->Remove(ids);
  for (const std::string& id : ids) EXPUNGE_RETURN_IF_ERROR(memory->Remove({id}));
  return absl::OkStatus();
}

// Build, delete, compare. Tokens are added one by one or all at once, and deleted likewise, in turn.
absl::Status RunDeletion(const Instance& instance, uint64_t number, Generator* generator, Trial* trial,
                         Findings* findings) {
  EXPUNGE_RETURN_IF_ERROR(AddAll(instance.tokens, number % 2 == 1, &trial->memory()));
  TokenList retained = instance.tokens;
  generator->Shuffle(&retained);
  const TokenList removed(retained.end() - kRemoved, retained.end());
  retained.resize(retained.size() - kRemoved);
  const MemoryState before = trial->memory().State();
  EXPUNGE_RETURN_IF_ERROR(RemoveAll(IdsOf(removed), number / 2 % 2 == 1, &trial->memory()));

  EXPUNGE_ASSIGN_OR_RETURN(const MemoryState reference, SolveReference(instance.config, retained));
  const Queries queries = QueriesOf(removed, retained);
  trial->CompareWith(reference, queries);
  findings->decays.push_back(ReadoutDeviation(Decay(before, removed), reference, queries));
  return absl::OkStatus();
}

// Every order of insertion, with the state of all tokens and of all but the first compared.
absl::Status RunInsertionOrders(const Instance& instance, Findings* findings) {
  const size_t n = instance.tokens.size();
  EXPUNGE_ASSIGN_OR_RETURN(const MemoryState full, SolveReference(instance.config, instance.tokens));
  std::vector<MemoryState> without;
  std::vector<Queries> queries;
  for (size_t i = 0; i < n; ++i) {
    TokenList retained = instance.tokens;
    const TokenList removed = {retained[i]};
    retained.erase(retained.begin() + static_cast<ptrdiff_t>(i));
    EXPUNGE_ASSIGN_OR_RETURN(MemoryState reference, SolveReference(instance.config, retained));
    without.push_back(std::move(reference));
    queries.push_back(QueriesOf(removed, retained));
    if (n == 1) continue;  // nothing is left to read
    findings->decays.push_back(ReadoutDeviation(Decay(full, removed), without[i], queries[i]));
  }
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  do {
    EXPUNGE_ASSIGN_OR_RETURN(Trial trial, Trial::Start(instance.config));
    const absl::Status status = [&]() -> absl::Status {
      for (const size_t i : order) EXPUNGE_RETURN_IF_ERROR(trial.memory().Add({instance.tokens[i]}));
      trial.CompareWith(full, queries[0]);
      EXPUNGE_RETURN_IF_ERROR(trial.memory().Remove({instance.tokens[order[0]]->id}));
      trial.CompareWith(without[order[0]], queries[order[0]]);
      return absl::OkStatus();
    }();
    trial.Finish(status, findings);
  } while (std::next_permutation(order.begin(), order.end()));
  return absl::OkStatus();
}

// The tokens that a stream's memory holds, and the others.
struct Pool {
  TokenList held;
  TokenList free;

  // Moves `count` tokens at random from one list to the other, or all that there are.
  static TokenList Move(TokenList* from, TokenList* to, size_t count, Generator* generator) {
    TokenList moved;
    while (moved.size() < count && !from->empty()) {
      std::swap((*from)[generator->Below(from->size())], from->back());
      moved.push_back(from->back());
      to->push_back(from->back());
      from->pop_back();
    }
    return moved;
  }
};

// One operation of a stream: of 100, 42 Adds of one token and 18 of a block, 28 Removes of one, 11 of a block
// and one of all; a Remove from an empty memory becomes an Add, an Add of no tokens a Remove.
absl::Status RunOperation(const solver::Config& config, Pool* pool, Generator* generator, Trial* trial,
                          Findings* findings) {
  const size_t choice = generator->Below(100);
  const size_t block = 2 + generator->Below(7);
  const bool add = pool->free.empty() ? false : pool->held.empty() || choice < 60;
  const MemoryState before = add ? MemoryState{} : trial->memory().State();
  TokenList removed;
  if (add) {
    const TokenList added = Pool::Move(&pool->free, &pool->held, choice < 42 ? 1 : block, generator);
    EXPUNGE_RETURN_IF_ERROR(trial->memory().Add(added));
  } else {
    const size_t count = choice < 88 ? 1 : choice < 99 ? block : pool->held.size();
    removed = Pool::Move(&pool->held, &pool->free, count, generator);
    EXPUNGE_RETURN_IF_ERROR(trial->memory().Remove(IdsOf(removed)));
  }
  EXPUNGE_ASSIGN_OR_RETURN(const MemoryState reference, SolveReference(config, pool->held));
  const Queries queries = QueriesOf(removed, pool->held);
  trial->CompareWith(reference, queries);
  if (!removed.empty() && !pool->held.empty()) {
    findings->decays.push_back(ReadoutDeviation(Decay(before, removed), reference, queries));
  }
  return absl::OkStatus();
}

absl::Status RunStream(const Instance& instance, Generator* generator, Trial* trial, Findings* findings) {
  Pool pool;
  pool.free = instance.tokens;
  for (int i = 0; i < kOperations; ++i) {
    const absl::Status status = RunOperation(instance.config, &pool, generator, trial, findings);
    if (!status.ok())
      return absl::Status(status.code(), absl::StrCat("operation ", i, ": ", status.message()));
  }
  return absl::OkStatus();
}

absl::Status RunHistory(const Regime& regime, uint64_t number, const Instance& instance, Generator* generator,
                        Findings* findings) {
  if (regime.change == Change::kInsertionOrders) return RunInsertionOrders(instance, findings);
  EXPUNGE_ASSIGN_OR_RETURN(Trial trial, Trial::Start(instance.config));
  const absl::Status status = regime.change == Change::kStream
                                  ? RunStream(instance, generator, &trial, findings)
                                  : RunDeletion(instance, number, generator, &trial, findings);
  trial.Finish(status, findings);
  return absl::OkStatus();
}

}  // namespace

void Findings::Merge(Findings other) {
  trials += other.trials;
  completed += other.completed;
  partition_equal += other.partition_equal;
  bits_equal += other.bits_equal;
  higher_precision += other.higher_precision;
  ties += other.ties;
  fallbacks += other.fallbacks;
  comparisons += other.comparisons;
  worst_deviation = std::max(worst_deviation, other.worst_deviation);
  decays.insert(decays.end(), other.decays.begin(), other.decays.end());
  if (other.problem.has_value() && (!problem.has_value() || other.problem->number < problem->number)) {
    problem = std::move(other.problem);
  }
}

Findings RunCase(const Regime& regime, uint64_t number, uint64_t seed, const std::vector<Stay>& stays) {
  Generator generator(seed, regime.name, number);
  const Instance instance = MakeInstance(regime, number, stays, &generator);
  Findings findings;
  const absl::Status status = RunHistory(regime, number, instance, &generator, &findings);
  if (!status.ok()) {  // not even a memory, or no reference
    ++findings.trials;
    findings.problem = Problem{0, std::string(status.message())};
  }
  if (findings.problem.has_value()) findings.problem->number = number;
  return findings;
}

}  // namespace expunge::bench
