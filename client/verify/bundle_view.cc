#include "client/verify/bundle_view.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "certificate/bundle/state_digest.h"
#include "certificate/hex_double.h"
#include "certificate/token_tree.h"
#include "client/verify/certificate_view.h"
#include "solver/reference_solver.h"

namespace expunge::verify {
namespace {

using certificate::AuditBundle;
using certificate::BundleToken;
using nlohmann::json;
using solver::TokenClass;

constexpr absl::string_view kMismatch = "BUNDLE_MISMATCH";

// Every bit, +0 and -0 apart.
bool Same(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

absl::StatusOr<AuditBundle> ReadBundle(const std::string& file) {
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> stream(std::fopen(file.c_str(), "rb"),
                                                                  &std::fclose);
  if (stream == nullptr) return absl::UnavailableError("the file cannot be opened");
  certificate::AuditBundleReader reader;
  std::array<char, size_t{1} << 16> buffer;
  while (true) {
    const size_t got = std::fread(buffer.data(), 1, buffer.size(), stream.get());
    if (std::ferror(stream.get()) != 0) return absl::UnavailableError("the file cannot be read");
    if (got == 0) return reader.Finish();
    if (const absl::Status added = reader.Add({buffer.data(), got}); !added.ok()) return added;
  }
}

// Of the solver's own limits, beyond what a bundle's form says.
absl::Status Validate(solver::MemoryState* state) {
  if (absl::Status status = ValidateConfig(state->config); !status.ok()) return status;
  if (absl::Status status = ValidateRidge(state->config, std::max<size_t>(1, state->tokens.size()));
      !status.ok()) {
    return status;
  }
  for (const auto& token : state->tokens) {
    std::vector<double> key = token->key;
    std::vector<double> value = token->value;
    if (absl::Status status = NormalizeKey(state->config, absl::MakeSpan(key)); !status.ok()) return status;
    if (absl::Status status = NormalizeValue(state->config, absl::MakeSpan(value)); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

}  // namespace

Verdict BundleView::Read(const std::string& file) {
  auto bundle = ReadBundle(file);
  if (!bundle.ok()) return Failed("BAD_BUNDLE", bundle.status().message());
  bundle_ = *std::move(bundle);
  return Ok(absl::StrCat("an audit bundle of ", bundle_.tokens.size(), " tokens, whole and in its one form"));
}

void BundleView::MakeState() {
  const certificate::MemoryParameters& parameters = bundle_.parameters;
  state_.config.key_dimension = parameters.key_dimension;
  state_.config.value_dimension = parameters.value_dimension;
  state_.config.gamma = parameters.gamma;
  state_.config.ridge = parameters.ridge;
  state_.config.box = {parameters.min_support, parameters.box_value};
  state_.solution.rho = bundle_.rho;
  for (BundleToken& token : bundle_.tokens) {
    places_.emplace(certificate::TokenHandle(bundle_.audit_key, token.id), state_.tokens.size());
    state_.tokens.push_back(std::make_shared<const solver::Token>(
        solver::Token{token.id, std::move(token.key), std::move(token.value)}));
    state_.solution.classes.push_back(static_cast<TokenClass>(token.token_class));
    state_.solution.weights.push_back(token.weight);
  }
}

std::vector<Claim> BundleView::Solve() {
  MakeState();
  std::vector<Claim> claims = {{"digests", CheckDigests()}, {"solution", CheckSolution()}};
  solved_ = claims[0].verdict.ok() && claims[1].verdict.ok();
  if (solved_) margins_ = MarginsOf(state_);
  return claims;
}

Verdict BundleView::CheckDigests() {
  const Digest& key = bundle_.audit_key;
  std::vector<certificate::TreeLeaf> leaves;
  std::vector<certificate::StateEntry> entries;
  for (const BundleToken& token : bundle_.tokens) {
    const Digest handle = certificate::TokenHandle(key, token.id);
    leaves.push_back({handle, token.commitment});
    if (token.token_class != 'R') entries.push_back({handle, token.token_class, token.weight});
  }
  const Digest token_root = certificate::TokenTreeRoot(std::move(leaves));
  const std::pair<const char*, bool> digests[] = {
      {"memoryPseudonym", certificate::MemoryPseudonym(key, bundle_.memory) == bundle_.memory_pseudonym},
      {"tokenRoot", token_root == bundle_.token_root},
      {"entriesRoot", certificate::EntriesRoot(key, entries) == bundle_.entries_root},
      {"stateDigest", certificate::StateDigest(key, bundle_.parameters, token_root, entries, bundle_.rho) ==
                          bundle_.state_digest},
      {"fingerprint", solver::Fingerprint(state_) == bundle_.fingerprint}};
  for (const auto& [name, right] : digests) {
    if (!right) return Failed("BUNDLE_DIGEST", absl::StrCat(name, " is not what follows from the tokens"));
  }
  return Ok(absl::StrCat("all digests follow from the tokens; the fingerprint is ",
                         ToHex(AsView(bundle_.fingerprint))));
}

Verdict BundleView::CheckSolution() {
  if (const absl::Status valid = Validate(&state_); !valid.ok()) {
    return Failed("BUNDLE_INVALID", absl::StrCat("no memory can hold this: ", valid.message()));
  }
  auto solution = solver::SolveFromNothing(state_.config, state_.tokens);
  if (!solution.ok()) return Failed("BUNDLE_INVALID", solution.status().message());
  for (size_t i = 0; i < state_.tokens.size(); ++i) {
    if (solution->classes[i] != state_.solution.classes[i]) {
      return Failed("BUNDLE_CLASS", absl::StrCat("the class of token ", i + 1, " is not the solution's"));
    }
    if (!Same(solution->weights[i], state_.solution.weights[i])) {
      return Failed("BUNDLE_WEIGHT",
                    absl::StrCat("the weight of token ", i + 1, " is not the solution's, rounded"));
    }
  }
  if (!Same(solution->rho, state_.solution.rho)) {
    return Failed("BUNDLE_RHO", "rho is not the solution's, rounded");
  }
  state_.solution = *std::move(solution);
  return Ok(absl::StrCat(state_.tokens.size(),
                         " tokens solved again: every class, every weight and rho are right in every bit (",
                         state_.solution.proof.ties, " ties)"));
}

std::string BundleView::CompareState(const json& predicate, const json& state) const {
  const certificate::MemoryParameters& parameters = bundle_.parameters;
  const auto count = [this](TokenClass token_class) {
    const auto& classes = state_.solution.classes;
    return absl::StrCat(std::count(classes.begin(), classes.end(), token_class));
  };
  const json& partition = state["partition"];
  const json& algorithm = predicate["algorithm"];
  const json& memory = predicate["memory"];
  const std::pair<const char*, bool> fields[] = {
      {"memory", DigestOf(memory["memory"]) == bundle_.memory_pseudonym},
      {"dimensions.key", memory["dimensions"]["key"] == absl::StrCat(parameters.key_dimension)},
      {"dimensions.value", memory["dimensions"]["value"] == absl::StrCat(parameters.value_dimension)},
      {"gamma", algorithm["gamma"] == certificate::HexDouble(parameters.gamma)},
      {"ridge", algorithm["ridge"] == certificate::HexDouble(parameters.ridge)},
      {"boxBound", algorithm["boxBound"] == bundle_.box_bound},
      {"tokenCount", state["tokenCount"] == absl::StrCat(bundle_.token_count)},
      {"tokenRoot", DigestOf(state["tokenRoot"]) == bundle_.token_root},
      {"entriesRoot", DigestOf(partition["entriesRoot"]) == bundle_.entries_root},
      {"margin", partition["margin"] == count(TokenClass::kMargin)},
      {"error", partition["error"] == count(TokenClass::kError)},
      {"reserve", partition["reserve"] == count(TokenClass::kReserve)},
  };
  for (const auto& [name, same] : fields) {
    if (!same) return name;
  }
  return "";
}

std::string BundleView::CompareRemoved(const json& removed) const {
  for (const json& token : removed) {
    const auto place = places_.find(DigestOf(token["handle"]));
    if (place == places_.end()) return "a removed token's handle";
    const BundleToken& held = bundle_.tokens[place->second];
    if (DigestOf(token["commitment"]) != held.commitment) return "a removed token's commitment";
    if (token["classBefore"] != std::string(1, held.token_class)) return "a removed token's class";
  }
  return "";
}

Verdict BundleView::Judge(const json& predicate, const char* name) const {
  const json& state = predicate[name];
  const bool before = absl::string_view(name) == "before";
  std::string other = CompareState(predicate, state);
  if (other.empty() && before) other = CompareRemoved(predicate["removed"]);
  if (other.empty() && !before && predicate["exactness"]["scope"] != bundle_.scope) other = "scope";
  if (!other.empty()) {
    return Failed(kMismatch, absl::StrCat(other, " is another in the certificate than in the bundle"));
  }
  if (const auto bound = FalseBound(state["proof"], state_.solution, margins_); bound.has_value()) {
    return Failed("BUNDLE_PROOF", absl::StrCat("proof.", *bound, " is more than holds of the solution"));
  }
  return Ok(absl::StrCat("the bundle is its state ", name, ", and no bound under proof is more than holds"));
}

Verdict BundleView::CheckCertificate(const json& statement) {
  if (!solved_) return LeftOpen("NO_BUNDLE", "the bundle is refused");
  const json& predicate = statement["predicate"];
  std::optional<Verdict> verdict;
  for (const char* name : {"before", "after"}) {
    if (!predicate.contains(name)) continue;
    if (DigestOf(predicate[name]["stateDigest"]) != bundle_.state_digest) continue;
    ++tied_;
    Verdict judged = Judge(predicate, name);
    if (judged.failed()) return judged;
    verdict = std::move(judged);
  }
  return verdict.value_or(NotChecked("ANOTHER_STATE", "the bundle is of another state"));
}

Verdict BundleView::CheckTied() const {
  if (!solved_) return LeftOpen("NO_BUNDLE", "the bundle is refused");
  if (tied_ == 0) return Failed("BUNDLE_UNRELATED", "no given certificate speaks of the bundle's state");
  return Ok("the given certificates speak of the bundle's state");
}

}  // namespace expunge::verify
