#include "solver/exact_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "solver/memory_core.h"

namespace expunge::solver {
namespace {

std::string Indexed(absl::string_view list, size_t i) { return absl::StrCat(list, "[", i, "]"); }

// An error of NormalizeKey or NormalizeValue, which does not know its field.
absl::Status WithField(const absl::Status& status, const std::string& field) {
  if (status.ok()) return status;
  return MakeError(GetReason(status).value_or(Reason::kInternal), field, status.message());
}

// The token with -0 turned into +0: itself where there is none. `name`: its field.
absl::StatusOr<std::shared_ptr<const Token>> Normalized(const Config& config, const std::string& name,
                                                        const std::shared_ptr<const Token>& token) {
  if (token == nullptr) return MakeError(Reason::kFieldMissing, name, "a token is missing");
  auto copy = std::make_shared<Token>(*token);
  EXPUNGE_RETURN_IF_ERROR(WithField(NormalizeKey(config, absl::MakeSpan(copy->key)), name + ".key"));
  EXPUNGE_RETURN_IF_ERROR(WithField(NormalizeValue(config, absl::MakeSpan(copy->value)), name + ".value"));
  const auto negative_zero = [](double x) { return x == 0 && std::signbit(x); };
  if (std::none_of(token->key.begin(), token->key.end(), negative_zero) &&
      std::none_of(token->value.begin(), token->value.end(), negative_zero)) {
    return token;
  }
  return std::shared_ptr<const Token>(std::move(copy));
}

}  // namespace

class ExactMemory::Impl {
 public:
  Impl(const Config& config, const ExactMemoryOptions& options) : core(config, options) {}

  // Every id is there, and none comes twice.
  [[nodiscard]] absl::Status CheckIds(absl::Span<const std::string> ids) const {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (!core.table().Contains(ids[i]))
        return MakeError(Reason::kTokenUnknown, Indexed("ids", i), "the memory has no token of this id");
    }
    if (ids.size() < 2) return absl::OkStatus();
    absl::flat_hash_set<absl::string_view> seen;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (!seen.insert(ids[i]).second)
        return MakeError(Reason::kDuplicateInBatch, Indexed("ids", i), "the call names this token already");
    }
    return absl::OkStatus();
  }

  MemoryCore core;
  Scope scope = Scope::kFullHistory;
  std::vector<Selection> selections;
};

ExactMemory::ExactMemory(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ExactMemory::~ExactMemory() = default;

absl::StatusOr<std::unique_ptr<ExactMemory>> ExactMemory::Create(const Config& config,
                                                                 const ExactMemoryOptions& options) {
  EXPUNGE_RETURN_IF_ERROR(ValidateConfig(config));
  return std::unique_ptr<ExactMemory>(new ExactMemory(std::make_unique<Impl>(config, options)));
}

absl::StatusOr<std::unique_ptr<ExactMemory>> ExactMemory::Open(const MemoryState& state,
                                                               const ExactMemoryOptions& options) {
  EXPUNGE_ASSIGN_OR_RETURN(auto memory, Create(state.config, options));
  EXPUNGE_RETURN_IF_ERROR(ValidateRidge(state.config, state.tokens.size()));
  EXPUNGE_RETURN_IF_ERROR(memory->impl_->core.Load(state.tokens, state.solution.classes));
  return memory;
}

absl::Status ExactMemory::Add(absl::Span<const std::shared_ptr<const Token>> tokens) {
  if (tokens.empty()) return absl::OkStatus();
  MemoryCore& core = impl_->core;
  TokenList added;
  absl::flat_hash_set<absl::string_view> seen;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string name = Indexed("tokens", i);
    EXPUNGE_ASSIGN_OR_RETURN(auto token, Normalized(core.config(), name, tokens[i]));
    if (core.table().Contains(token->id))
      return MakeError(Reason::kTokenExists, name + ".id", "the memory holds a token of this id");
    if (!seen.insert(token->id).second)
      return MakeError(Reason::kDuplicateInBatch, name + ".id", "the call has a token of this id already");
    added.push_back(std::move(token));
  }
  EXPUNGE_RETURN_IF_ERROR(ValidateRidge(core.config(), size() + tokens.size()));
  return core.Add(added);
}

absl::Status ExactMemory::Remove(absl::Span<const std::string> ids) {
  EXPUNGE_RETURN_IF_ERROR(impl_->CheckIds(ids));
  if (ids.empty()) return absl::OkStatus();
  EXPUNGE_RETURN_IF_ERROR(impl_->core.Remove(ids));
  for (Selection& selection : impl_->selections) {
    for (const std::string& id : ids) selection.Forget(id);
  }
  return absl::OkStatus();
}

absl::StatusOr<ExactMemory::Eviction> ExactMemory::Evict(const EvictionRequest& request) {
  MemoryCore& core = impl_->core;
  Eviction eviction;
  switch (request.choice) {
    case EvictionRequest::Choice::kNamed:
      EXPUNGE_RETURN_IF_ERROR(impl_->CheckIds(request.ids));
      for (size_t i = 0; i < request.ids.size(); ++i) {
        if (!core.MayDrop(request.ids[i]))
          return MakeError(Reason::kTokenInSupport, Indexed("ids", i),
                           "the token carries weight, or the state depends on it");
      }
      eviction.dropped = request.ids;
      break;
    case EvictionRequest::Choice::kAll:
      eviction.dropped = core.DeepestReserve(size());
      break;
    case EvictionRequest::Choice::kDownTo:
      eviction.dropped = core.DeepestReserve(size() - std::min(size(), request.max_tokens));
      break;
  }
  std::sort(eviction.dropped.begin(), eviction.dropped.end());
  if (eviction.dropped.empty()) return eviction;
  const double margin = core.MarginLower(eviction.dropped);
  std::vector<SupportEntry> reference = Support();
  EXPUNGE_RETURN_IF_ERROR(core.Drop(eviction.dropped));
  for (Selection& selection : impl_->selections) {
    for (const std::string& id : eviction.dropped) selection.Forget(id);
  }
  impl_->scope = Scope::kRetainedSet;
  eviction.selection = impl_->selections.size();
  impl_->selections.emplace_back(core.config(), std::move(reference), rho(), margin, eviction.dropped.size());
  return eviction;
}

Scope ExactMemory::scope() const { return impl_->scope; }
const std::vector<Selection>& ExactMemory::selections() const { return impl_->selections; }
std::vector<Selection> ExactMemory::TakeSelections() { return std::exchange(impl_->selections, {}); }
Horizon ExactMemory::EvaluateHorizon(size_t index) const {
  return impl_->selections[index].Evaluate(Support(), rho());
}

const Config& ExactMemory::config() const { return impl_->core.config(); }
uint64_t ExactMemory::size() const { return impl_->core.table().tokens(); }
bool ExactMemory::Contains(absl::string_view id) const { return impl_->core.table().Contains(id); }
double ExactMemory::rho() const { return impl_->core.rho(); }
const Proof& ExactMemory::proof() const { return impl_->core.proof(); }
const SolverCounters& ExactMemory::counters() const { return impl_->core.counters(); }
uint64_t ExactMemory::ByteSize() const { return impl_->core.ByteSize(); }
std::vector<SupportEntry> ExactMemory::Support() const { return impl_->core.Support(); }

MemoryState ExactMemory::State() const {
  MemoryState state;
  state.config = config();
  state.tokens.reserve(size());
  impl_->core.table().VisitAll(
      [&state](const std::shared_ptr<const Token>& token) { state.tokens.push_back(token); });
  std::sort(state.tokens.begin(), state.tokens.end(),
            [](const auto& a, const auto& b) { return a->id < b->id; });
  state.solution.classes.assign(size(), TokenClass::kReserve);
  state.solution.weights.assign(size(), 0.0);
  state.solution.rho = rho();
  state.solution.proof = proof();
  size_t i = 0;
  for (const SupportEntry& entry : Support()) {
    while (state.tokens[i] != entry.token) ++i;
    state.solution.classes[i] = entry.token_class;
    state.solution.weights[i] = entry.weight;
  }
  return state;
}

// A group is one unknown of the system, with the mean of its tokens' right-hand sides; what a token's differs
// from the mean meets ridge I alone.
void ExactMemory::SolveBordered(absl::Span<const double> rhs, double mass, absl::Span<double> z,
                                double* zeta) const {
  const GroupTable& table = impl_->core.table();
  const MarginSystem& system = impl_->core.active().system();
  absl::flat_hash_map<uint32_t, size_t> place;
  for (size_t k = 0; k < system.size(); ++k) place[system.groups()[k]] = k;
  std::vector<size_t> member;
  std::vector<double> means(system.size(), 0.0);
  for (const SupportEntry& entry : Support()) {
    if (entry.token_class != TokenClass::kMargin) continue;
    const size_t k = place[table.GroupOf(entry.token->id)];
    means[k] += rhs[member.size()] / system.Count(k);
    member.push_back(k);
  }
  std::vector<double> masses(system.size());
  system.SolveBordered(means, mass, absl::MakeSpan(masses), zeta);
  for (size_t i = 0; i < member.size(); ++i) {
    const size_t k = member[i];
    z[i] = masses[k] / system.Count(k) + (rhs[i] - means[k]) / config().ridge;
  }
}

}  // namespace expunge::solver
