#include "tests/support/exact_memory_trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/bytes.h"
#include "solver/reference_solver.h"

namespace expunge::testing {

using solver::MemoryState;
using solver::TokenList;

std::string DifferenceFromReference(const solver::ExactMemory& memory, TokenList tokens) {
  std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a->id < b->id; });
  auto solution = solver::SolveFromNothing(memory.config(), tokens);
  if (!solution.ok()) return std::string(solution.status().message());
  const MemoryState expected{memory.config(), tokens, *std::move(solution)};
  const MemoryState actual = memory.State();
  if (actual.tokens.size() != expected.tokens.size()) return "another number of tokens";
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto& a = actual.solution;
    const auto& b = expected.solution;
    if (a.classes[i] != b.classes[i] ||
        std::bit_cast<uint64_t>(a.weights[i]) != std::bit_cast<uint64_t>(b.weights[i])) {
      return absl::StrFormat("token %d of %d: %c %a instead of %c %a", i, tokens.size(),
                             static_cast<char>(a.classes[i]), a.weights[i], static_cast<char>(b.classes[i]),
                             b.weights[i]);
    }
  }
  if (solver::Fingerprint(actual) != solver::Fingerprint(expected)) {
    return absl::StrFormat("rho %a instead of %a", actual.solution.rho, expected.solution.rho);
  }
  return "";
}

std::string StateBytes(const solver::ExactMemory& memory) {
  const Digest fingerprint = solver::Fingerprint(memory.State());
  std::string bytes(reinterpret_cast<const char*>(fingerprint.data()), fingerprint.size());
  const solver::Proof& proof = memory.proof();
  for (const double x : {proof.margin_lower, proof.weight_distance_lower, proof.duality_gap_upper,
                         proof.eigenvalue_lower, proof.eta}) {
    AppendDouble(x, &bytes);
  }
  bytes.push_back(proof.strict ? '1' : '0');
  bytes.push_back(memory.scope() == solver::Scope::kRetainedSet ? '1' : '0');
  bytes.append(std::to_string(memory.selections().size()));
  return bytes;
}

Trial::Trial(const solver::Config& config, TokenList pool, uint64_t seed,
             const solver::ExactMemoryOptions& options)
    : pool_(std::move(pool)), inside_(pool_.size(), false), random_(seed) {
  auto memory = solver::ExactMemory::Create(config, options);
  EXPECT_TRUE(memory.ok());
  memory_ = *std::move(memory);
}

std::vector<size_t> Trial::Choose(bool inside, size_t count) {
  std::vector<size_t> choice;
  for (size_t i = 0; i < pool_.size(); ++i) {
    if (inside_[i] == inside) choice.push_back(i);
  }
  for (size_t i = 0; i < std::min(count, choice.size()); ++i) {
    std::swap(choice[i], choice[i + random_() % (choice.size() - i)]);
  }
  choice.resize(std::min(count, choice.size()));
  return choice;
}

void Trial::Add(const std::vector<size_t>& indices) {
  TokenList tokens;
  for (const size_t i : indices) {
    tokens.push_back(pool_[i]);
    inside_[i] = true;
  }
  const absl::Status status = memory_->Add(tokens);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

void Trial::Remove(const std::vector<size_t>& indices) {
  std::vector<std::string> ids;
  for (const size_t i : indices) {
    ids.push_back(pool_[i]->id);
    inside_[i] = false;
  }
  const absl::Status status = memory_->Remove(ids);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

void Trial::AddRandom(size_t count) { Add(Choose(false, count)); }
void Trial::RemoveRandom(size_t count) { Remove(Choose(true, count)); }

void Trial::Step() {
  const size_t count = random_() % 4 == 0 ? 1 + random_() % 5 : 1;
  const uint64_t present = memory_->size();
  const bool add = present == 0 || (present < pool_.size() && random_() % 2 == 0);
  if (add) {
    AddRandom(count);
  } else {
    RemoveRandom(count);
  }
}

TokenList Trial::Tokens() const {
  TokenList tokens;
  for (size_t i = 0; i < pool_.size(); ++i) {
    if (inside_[i]) tokens.push_back(pool_[i]);
  }
  return tokens;
}

}  // namespace expunge::testing
