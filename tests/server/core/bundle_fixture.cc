#include "tests/server/core/bundle_fixture.h"

#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/hash.h"
#include "server/core/digests.h"
#include "server/core/memory.h"
#include "solver/reference_solver.h"

namespace expunge::core {
namespace {

struct GoldenToken {
  std::string id;
  std::vector<std::string> subjects;
  std::vector<double> key;
  double value;
};

MemoryIdentity GoldenIdentity() {
  MemoryIdentity identity;
  identity.tenant = "acme";
  identity.memory = "cells";
  identity.config = {2, 1, 0.5, {4, 0}, 1e-6};
  identity.create_time = absl::FromUnixSeconds(1'780'000'000);
  std::iota(identity.audit_key.begin(), identity.audit_key.end(), uint8_t{0});
  identity.pseudonym = MemoryPseudonym(identity.audit_key, identity.Name());
  return identity;
}

}  // namespace

Snapshot GoldenMemory() {
  auto identity = std::make_shared<const MemoryIdentity>(GoldenIdentity());
  // Four around, one in their midst, and one far away. Ascending by id.
  const std::vector<GoldenToken> golden = {
      {"biopsy-0001", {"patient-17"}, {1, 0}, 1},
      {"biopsy-0002", {"patient-17", "patient-04"}, {-1, 0.25}, 0},
      {"biopsy-0003", {"patient-23"}, {0, 1.5}, 1},
      {"biopsy-0004", {"patient-42"}, {0.125, -1}, 0.1},
      {"biopsy-0005", {"patient-05"}, {0, 0.1}, 0.5},
      {"biopsy-0006", {"patient-99"}, {6, -7}, -2},
  };
  HeldTokens held;
  solver::TokenList tokens;
  for (const GoldenToken& token : golden) {
    HeldToken made = MakeHeldToken(*identity, {token.id, token.key, {token.value}}, token.subjects);
    made.salt = Sha256(absl::StrCat("golden salt of ", token.id));
    made.commitment = ExpectedCommitment(*identity, made);
    tokens.push_back(made.token);
    held.push_back(std::make_shared<const HeldToken>(std::move(made)));
  }
  auto solution = solver::SolveFromNothing(identity->config, tokens);
  if (!solution.ok()) std::abort();
  MemoryContent content;
  content.tokens = TokenSequence(held);
  content.tree = TreeOf(held);
  content.entries = EntriesOf(*solution);
  content.rho = solution->rho;
  content.proof = solution->proof;
  return std::make_shared<const MemoryView>(std::move(identity), 1, std::move(content));
}

}  // namespace expunge::core
