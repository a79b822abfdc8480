#include "tests/client/verify/shown_memory.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "certificate/bundle/state_digest.h"
#include "certificate/commitment.h"
#include "certificate/hex_double.h"
#include "solver/reference_solver.h"
#include "tests/certificate/fixtures.h"

namespace expunge::verify::testing {
namespace {

using certificate::HexDouble;
using certificate::testing::FixedDigest;

std::string Hex(const Digest& digest) { return ToHex(AsView(digest)); }

std::string Base64Of(const std::vector<double>& vector) {
  std::string bytes;
  for (const double element : vector) AppendDouble(element, &bytes);
  return ToBase64(bytes);
}

}  // namespace

ShownMemory::ShownMemory(absl::string_view name, int tokens)
    : name_(name), audit_key_(FixedDigest(absl::StrCat("audit key of ", name))) {
  config_.key_dimension = 2;
  config_.value_dimension = 1;
  config_.gamma = 0.5;
  config_.box.min_support = 5;
  for (int i = 0; i < tokens; ++i) {
    Held held;
    held.token.id = absl::StrCat("token-", i / 10, i % 10);
    // Around the origin, some of them further out.
    const double radius = i % 4 == 0 ? 0.25 : 1 + 0.125 * (i % 5);
    if (i == 9) {
      held.token.key = {6, -7};  // far from all others
    } else {
      held.token.key = {radius * std::cos(2.0 * i) + 0.0, radius * std::sin(2.0 * i) + 0.0};
    }
    held.token.value = {i / 8.0};
    held.subjects = {absl::StrCat("subject-", i % 3)};
    held.salt = FixedDigest(absl::StrCat("salt ", i, name));
    held.commitment = certificate::TokenCommitment(held.salt, absl::StrCat(name_, "/tokens/", held.token.id),
                                                   held.subjects, held.token.key, held.token.value);
    tree_.Insert({{Handle(held.token.id), held.commitment}});
    tokens_.emplace(held.token.id, std::move(held));
  }
}

Digest ShownMemory::Handle(const std::string& id) const { return certificate::TokenHandle(audit_key_, id); }

solver::MemoryState ShownMemory::State() const {
  solver::MemoryState state;
  state.config = config_;
  for (const auto& [id, held] : tokens_) {
    state.tokens.push_back(std::make_shared<const solver::Token>(held.token));
  }
  state.solution = solver::SolveFromNothing(config_, state.tokens).value();
  return state;
}

certificate::StateSummary ShownMemory::SummaryOf(const solver::MemoryState& state) const {
  const solver::Solution& solution = state.solution;
  certificate::StateSummary summary;
  summary.epoch = epoch_;
  summary.token_count = state.tokens.size();
  std::vector<certificate::StateEntry> entries;
  for (size_t i = 0; i < state.tokens.size(); ++i) {
    const solver::TokenClass token_class = solution.classes[i];
    if (token_class == solver::TokenClass::kReserve) {
      ++summary.reserve;
      continue;
    }
    ++(token_class == solver::TokenClass::kMargin ? summary.margin : summary.error);
    entries.push_back({Handle(state.tokens[i]->id), static_cast<char>(token_class), solution.weights[i]});
  }
  const certificate::MemoryParameters parameters{config_.key_dimension, config_.value_dimension,
                                                 config_.gamma,         config_.box.min_support,
                                                 config_.box.value,     config_.ridge};
  summary.token_root = tree_.Root();
  summary.entries_root = certificate::EntriesRoot(audit_key_, entries);
  summary.state_digest =
      certificate::StateDigest(audit_key_, parameters, summary.token_root, entries, solution.rho);
  const solver::Proof& proof = solution.proof;
  summary.strict = proof.strict;
  summary.higher_precision = proof.higher_precision;
  summary.ties = proof.ties;
  summary.margin_lower = proof.margin_lower;
  summary.weight_distance_lower = proof.weight_distance_lower;
  summary.duality_gap_upper = proof.duality_gap_upper;
  summary.eigenvalue_lower = proof.eigenvalue_lower;
  summary.eta = proof.eta;
  return summary;
}

certificate::StateSummary ShownMemory::Summary() const { return SummaryOf(State()); }

certificate::Statement ShownMemory::Describe(certificate::Kind kind) const {
  certificate::Statement statement = certificate::testing::FixedStatement(kind);
  statement.memory_pseudonym = certificate::MemoryPseudonym(audit_key_, name_);
  statement.algorithm = {config_.gamma, config_.ridge, absl::StrCat("2/(2*s-1), s=", config_.box.min_support),
                         config_.key_dimension, config_.value_dimension};
  statement.after = Summary();
  return statement;
}

certificate::Statement ShownMemory::Delete(const std::vector<std::string>& ids) {
  const solver::MemoryState before = State();
  const certificate::StateSummary summary = SummaryOf(before);
  std::vector<certificate::RemovedToken> removed;
  std::vector<Digest> handles;
  for (size_t i = 0; i < before.tokens.size(); ++i) {
    const std::string& id = before.tokens[i]->id;
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) continue;
    removed.push_back({Handle(id), tokens_.at(id).commitment, static_cast<char>(before.solution.classes[i])});
    handles.push_back(Handle(id));
  }
  certificate::Transition transition = tree_.TransitionOf(handles);
  tree_.Erase(handles);
  for (const std::string& id : ids) tokens_.erase(id);
  ++epoch_;
  certificate::Statement statement = Describe(certificate::Kind::kDeletion);
  statement.before = summary;
  statement.removed = std::move(removed);
  statement.transition = std::move(transition);
  statement.request_tokens = statement.removed.size();
  statement.request_memories = 1;
  return statement;
}

std::string ShownMemory::Bundle(const solver::MemoryState& state) const {
  const certificate::StateSummary summary = SummaryOf(state);
  std::string text =
      absl::StrCat(R"({"auditKey":")", Hex(audit_key_), R"(","boxBound":"2/(2*s-1), s=)",
                   config_.box.min_support, R"(","created":"2026-05-28T20:26:40Z","entriesRoot":")",
                   Hex(summary.entries_root), R"(","epoch":")", epoch_);
  absl::StrAppend(&text, R"(","fingerprint":")", Hex(solver::Fingerprint(state)),
                  R"(","format":"expunge-audit-bundle-v1","gamma":")", HexDouble(config_.gamma),
                  R"(","keyDimension":"2","memory":")", name_, R"(","memoryPseudonym":")",
                  Hex(certificate::MemoryPseudonym(audit_key_, name_)));
  absl::StrAppend(&text, R"(","rho":")", HexDouble(state.solution.rho), R"(","ridge":")",
                  HexDouble(config_.ridge), R"(","scope":"FULL_HISTORY","stateDigest":")",
                  Hex(summary.state_digest));
  absl::StrAppend(&text, R"(","tokenCount":")", state.tokens.size(), R"(","tokenRoot":")",
                  Hex(summary.token_root), R"(","valueDimension":"1"})", "\n");
  for (size_t i = 0; i < state.tokens.size(); ++i) {
    const solver::Token& token = *state.tokens[i];
    const Held& held = tokens_.at(token.id);
    absl::StrAppend(&text, R"({"class":")", std::string(1, static_cast<char>(state.solution.classes[i])),
                    R"(","commitment":")", Hex(held.commitment), R"(","id":")", token.id, R"(","key":")",
                    Base64Of(token.key));
    absl::StrAppend(&text, R"(","subjects":[")", absl::StrJoin(held.subjects, R"(",")"), R"("],"value":")",
                    Base64Of(token.value), R"(","weight":")", HexDouble(state.solution.weights[i]), "\"}\n");
  }
  const Digest digest = Sha256(text);
  return absl::StrCat(text, R"({"sha256":")", Hex(digest), R"(","tokens":")", state.tokens.size(), "\"}\n");
}

std::string ShownMemory::Receipt(const std::string& id, bool full) const {
  const Held& held = tokens_.at(id);
  std::string line = absl::StrCat(R"({"token":")", name_, "/tokens/", id, R"(","salt":")", Hex(held.salt),
                                  R"(","commitment":")", Hex(held.commitment), "\"");
  if (full) {
    absl::StrAppend(&line, R"(,"subjects":[")", absl::StrJoin(held.subjects, R"(",")"), R"("],"key":")",
                    Base64Of(held.token.key), R"(","value":")", Base64Of(held.token.value), "\"");
  }
  return absl::StrCat(line, "}\n");
}

}  // namespace expunge::verify::testing
