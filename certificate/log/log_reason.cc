#include "certificate/log/log_reason.h"

#include <array>
#include <cstddef>

namespace expunge::certificate {
namespace {

struct Entry {
  absl::string_view name;
  absl::string_view text;
};

// In the order of the enum.
constexpr std::array<Entry, 15> kEntries = {{
    {"OK", "the log says so, and its proof holds"},
    {"EMPTY", "no bytes"},
    {"TOO_LARGE", "more than 1 MiB"},
    {"NOT_TEXT", "not UTF-8, or with control characters"},
    {"NOT_A_PROOF",
     "not a proof of inclusion (c2sp.org/tlog-proof@v1): cut short, damaged, or another kind of file"},
    {"NOT_A_NOTE", "not a signed note: a text, an empty line and lines of signatures"},
    {"TOO_MANY_SIGNATURES", "more than 100 signatures"},
    {"UNKNOWN_CHECKPOINT_KEY", "the checkpoint is signed by none of the given keys of logs"},
    {"BAD_CHECKPOINT_SIGNATURE", "the checkpoint was altered, or not signed by that key"},
    {"NOT_A_CHECKPOINT", "signed, but without origin, size and root"},
    {"WRONG_ORIGIN", "the checkpoint is of another log than its key"},
    {"INDEX_BEYOND_TREE", "the proof is of an entry that the tree does not have"},
    {"WRONG_SIZES", "the older tree is the larger one"},
    {"WRONG_PROOF_LENGTH", "more or fewer hashes than the proof must have"},
    {"ROOT_MISMATCH", "the hashes lead to another root than the checkpoint's"},
}};

static_assert(kEntries.size() == static_cast<size_t>(LogReason::kRootMismatch) + 1);

}  // namespace

absl::string_view LogReasonName(LogReason reason) { return kEntries[static_cast<size_t>(reason)].name; }
absl::string_view LogReasonText(LogReason reason) { return kEntries[static_cast<size_t>(reason)].text; }

}  // namespace expunge::certificate
