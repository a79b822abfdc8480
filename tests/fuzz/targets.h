// Parsers of bytes from strangers, as functions that take any bytes.
//
// A target aborts if a parser accepts what it must not: what was parsed and written again has to be what was
// parsed, where a format has one form. All else that can go wrong, the sanitizers notice.
#ifndef EXPUNGE_TESTS_FUZZ_TARGETS_H_
#define EXPUNGE_TESTS_FUZZ_TARGETS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace expunge::fuzz {

struct Target {
  const char* name;
  void (*run)(absl::string_view bytes);
  std::vector<std::string> (*seeds)();  // well-formed, at least one
};

// All of them, in the order of their names.
[[nodiscard]] absl::Span<const Target> AllTargets();

// Aborts, naming the claim, unless it holds.
void Require(bool holds, const char* claim);

// The targets.
void RunAuditBundle(absl::string_view bytes);
void RunCheckpoint(absl::string_view bytes);
void RunEntryTile(absl::string_view bytes);
void RunEnvelope(absl::string_view bytes);
void RunHashTile(absl::string_view bytes);
void RunHexDouble(absl::string_view bytes);
void RunJson(absl::string_view bytes);
void RunKeySet(absl::string_view bytes);
void RunKeysFile(absl::string_view bytes);
void RunLogProof(absl::string_view bytes);
void RunMerkle(absl::string_view bytes);
void RunNote(absl::string_view bytes);
void RunPayload(absl::string_view bytes);
void RunPublicPem(absl::string_view bytes);
void RunReceipts(absl::string_view bytes);
void RunTilePath(absl::string_view bytes);
void RunTimestamp(absl::string_view bytes);
void RunTransition(absl::string_view bytes);
void RunVkey(absl::string_view bytes);

}  // namespace expunge::fuzz

#endif  // EXPUNGE_TESTS_FUZZ_TARGETS_H_
