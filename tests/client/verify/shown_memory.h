// A small memory with what a service knows of it: for certificates and audit bundles that are true.
#ifndef EXPUNGE_TESTS_CLIENT_VERIFY_SHOWN_MEMORY_H_
#define EXPUNGE_TESTS_CLIENT_VERIFY_SHOWN_MEMORY_H_

#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "certificate/statement.h"
#include "certificate/token_tree.h"
#include "solver/memory_state.h"

namespace expunge::verify::testing {

// Threads: one at a time.
class ShownMemory {
 public:
  // With `tokens` tokens in the plane, always the same for the same numbers.
  ShownMemory(absl::string_view name, int tokens);

  struct Held {
    solver::Token token;
    std::vector<std::string> subjects;
    Digest salt{};
    Digest commitment{};
  };

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::map<std::string, Held>& tokens() const { return tokens_; }
  [[nodiscard]] solver::MemoryState State() const;
  [[nodiscard]] certificate::StateSummary Summary() const;
  // The parts of a statement that are about the memory; `after` is the present state.
  [[nodiscard]] certificate::Statement Describe(certificate::Kind kind) const;
  // Removes tokens; the statement of it.
  [[nodiscard]] certificate::Statement Delete(const std::vector<std::string>& ids);

  // docs/formats/audit_bundle.md; with the weights, classes and rho of `state`, and digests that follow.
  [[nodiscard]] std::string Bundle(const solver::MemoryState& state) const;
  [[nodiscard]] std::string Bundle() const { return Bundle(State()); }
  // A line of a file of receipts. `full`: with the token.
  [[nodiscard]] std::string Receipt(const std::string& id, bool full) const;

 private:
  [[nodiscard]] Digest Handle(const std::string& id) const;
  [[nodiscard]] certificate::StateSummary SummaryOf(const solver::MemoryState& state) const;

  std::string name_;
  Digest audit_key_{};
  solver::Config config_;
  std::map<std::string, Held> tokens_;
  certificate::TokenTree tree_;
  uint64_t epoch_ = 1;
};

}  // namespace expunge::verify::testing

#endif  // EXPUNGE_TESTS_CLIENT_VERIFY_SHOWN_MEMORY_H_
