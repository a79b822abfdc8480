// The log of certificates: every leaf in its place, and the tree that they make.
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "certificate/log/leaf.h"
#include "certificate/log/merkle.h"
#include "server/core/fsck_walk.h"
#include "server/core/handles.h"
#include "server/core/key_sets.h"
#include "server/core/records.h"
#include "storage/records.pb.h"

namespace expunge::core {
namespace {

using storage::OpenRecord;
using storage::Table;

void CheckHead(FsckWalk* walk, const certificate::MerkleLog& tree, bool complete) {
  bool found = false;
  walk->ForEach(Table::kMeta, kLogKey, [&](absl::string_view key, const OpenRecord& opened) {
    found = true;
    storage::v1::LogRecord record;
    if (!ParseRecord(opened, &record) || record.origin().empty()) {
      walk->AddProblem(Table::kMeta, key, "the log's own record is unreadable");
    } else if (record.size() != tree.size() || (complete && record.root() != ToBytes(tree.Root()))) {
      walk->AddProblem(Table::kMeta, key,
                       absl::StrCat("the log has ", tree.size(), " leaves that do not make the tree of ",
                                    record.size(), " that was stored with them"));
    }
  });
  if (!found) walk->AddProblem({"meta", "", "", "", 0, "the log's own record is missing"});
}

void CheckKeySetsAreLogged(FsckWalk* walk) {
  for (const StoredKeySet& stored : walk->key_sets) {
    const absl::StatusOr<std::string> leaf = LeafOf(stored.record);
    const auto logged = walk->leaves.find(stored.record.log_index());
    if (leaf.ok() && logged != walk->leaves.end() && logged->second == Sha256(*leaf)) continue;
    walk->AddProblem({"meta", "", "", "", stored.set.sequence, "a key set is not in the log in its place"});
  }
}

}  // namespace

void CheckLog(FsckWalk* walk) {
  certificate::MerkleLog tree;
  bool complete = true;
  walk->ForEach(Table::kLog, "", [&](absl::string_view key, const OpenRecord& opened) {
    if (key.size() != sizeof(uint64_t) || opened.bytes.size() != certificate::kLogLeafBytes ||
        !(opened.key == storage::KeyName{})) {
      walk->AddProblem(Table::kLog, key, "it is no leaf of the log");
      complete = false;
      return;
    }
    if (LogIndex(key) != tree.size() && complete) {
      walk->AddProblem({"log", "", "", "", tree.size(), "leaves are missing from this one on"});
      complete = false;
    }
    tree.Append(certificate::HashLogLeaf(AsView(opened.bytes)));
    walk->leaves[LogIndex(key)] = Sha256(AsView(opened.bytes));
  });
  CheckHead(walk, tree, complete);
  CheckKeySetsAreLogged(walk);
}

}  // namespace expunge::core
