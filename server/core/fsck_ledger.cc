// The deletion ledger, against the certificates and against what is there; and the answers to requests.
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "expunge/v1/types.pb.h"
#include "server/core/fsck_walk.h"
#include "server/core/handles.h"
#include "storage/records.pb.h"

namespace expunge::core {
namespace {

using storage::OpenRecord;
using storage::Table;

// The certificates of an erasure, as far as they are there. Adds those that complete them, if they must
// exist.
struct Erasure {
  const storage::v1::ErasureRecord& record;
  const TenantFacts& tenant;
  const std::set<uint64_t>& completed;  // numbers
};

// Returns whether all of its certificates could be read.
bool CheckItsCertificates(FsckWalk* walk, absl::string_view key, const Erasure& erasure,
                          std::set<std::string>* memories) {
  bool whole = true;
  uint64_t removed = 0;
  for (const uint64_t number : erasure.record.certificates()) {
    const auto found = erasure.tenant.certificates.find(number);
    if (found == erasure.tenant.certificates.end() ||
        found->second.stage != v1::ERASURE_STAGE_KEY_DESTROYED) {
      walk->AddProblem(
          Table::kErasures, key,
          absl::StrCat("certificate ", number, ", which it names, is not there, or not of a deletion"));
      whole = false;
      continue;
    }
    removed += found->second.removed;
    memories->insert(found->second.memory);
    if (erasure.record.purged() == erasure.completed.contains(number)) continue;
    walk->AddProblem(
        Table::kErasures, key,
        absl::StrCat("certificate ", number,
                     erasure.record.purged() ? " has no second stage, but the erasure is complete"
                                             : " has a second stage, but the erasure is pending"));
  }
  if (whole && removed != static_cast<uint64_t>(erasure.record.tokens_size())) {
    walk->AddProblem(
        Table::kErasures, key,
        absl::StrCat("it names ", erasure.record.tokens_size(), " tokens, and its certificates ", removed));
  }
  return whole;
}

void CheckWhatIsGone(FsckWalk* walk, absl::string_view key, const storage::v1::ErasureRecord& record,
                     bool certificates_readable, const std::set<std::string>& memories) {
  for (const std::string& memory : record.memories()) {
    if (!walk->memories.contains(memory)) continue;
    walk->AddProblem(Table::kErasures, key,
                     absl::StrCat("memory ", ToHex(memory), ", which it names, is still there"));
  }
  for (const std::string& token : record.tokens()) {
    if (certificates_readable && !memories.contains(token.substr(0, sizeof(Digest)))) {
      walk->AddProblem(Table::kErasures, key,
                       "it names a token of a memory that none of its certificates names");
    }
    // A token that was added again has the same key. Its commitment is another, and the certificate tells.
    if (certificates_readable || !walk->tokens.contains(token)) continue;
    walk->AddProblem(
        Table::kErasures, key,
        "a token that it names is there, and without its certificate nobody can tell whether it was "
        "added again");
  }
}

void CheckErasure(FsckWalk* walk, absl::string_view key, const Erasure& erasure) {
  ++walk->report().erasures;
  if (!erasure.record.purged()) ++walk->report().pending_erasures;
  if (erasure.record.certificates_size() == 0 || CertificateNumber(key) != erasure.record.certificates(0)) {
    walk->AddProblem(Table::kErasures, key, "it is not under the number of its first certificate");
  }
  std::set<std::string> memories;
  const bool readable = CheckItsCertificates(walk, key, erasure, &memories);
  CheckWhatIsGone(walk, key, erasure.record, readable, memories);
}

void CheckLedger(FsckWalk* walk) {
  std::map<std::string, std::set<uint64_t>> completed;  // by the tenant's handle
  std::map<std::string, std::set<uint64_t>> entered;
  for (const auto& [handle, tenant] : walk->tenants) {
    for (const auto& [number, facts] : tenant.certificates) {
      if (facts.completes > 0) completed[handle].insert(facts.completes);
    }
  }
  walk->ForEach(Table::kErasures, "", [&](absl::string_view key, const OpenRecord& opened) {
    const TenantFacts* const tenant = walk->OwnerOf(Table::kErasures, key, opened);
    if (tenant == nullptr) return;
    storage::v1::ErasureRecord record;
    if (!ParseRecord(opened, &record) || key.size() != sizeof(Digest) + sizeof(uint64_t)) {
      walk->AddProblem(Table::kErasures, key, "the entry is unreadable");
      return;
    }
    const std::string handle(key.substr(0, sizeof(Digest)));
    for (const uint64_t number : record.certificates()) {
      if (entered[handle].insert(number).second) continue;
      walk->AddProblem(Table::kErasures, key,
                       absl::StrCat("another entry names certificate ", number, ", too"));
    }
    CheckErasure(walk, key, {record, *tenant, completed[handle]});
  });
  for (const auto& [handle, tenant] : walk->tenants) {
    for (const auto& [number, facts] : tenant.certificates) {
      if (facts.stage != v1::ERASURE_STAGE_KEY_DESTROYED || entered[handle].contains(number)) continue;
      walk->AddProblem({"erasures", ToHex(handle), ToHex(facts.memory), "", number,
                        "the deletion of this certificate is not in the ledger, or its entry is damaged"});
    }
  }
}

}  // namespace

void CheckErasuresAndRequests(FsckWalk* walk) {
  CheckLedger(walk);
  walk->ForEach(Table::kRequests, "", [&](absl::string_view key, const OpenRecord& opened) {
    storage::v1::RequestRecord record;
    const bool readable = ParseRecord(opened, &record) && key.size() == 2 * sizeof(Digest);
    // What a restore lost may be of a tenant that is gone.
    if (readable && record.lost() && opened.key == storage::KeyName{}) return;
    if (walk->OwnerOf(Table::kRequests, key, opened) == nullptr) return;
    if (!readable) {
      walk->AddProblem(Table::kRequests, key, "the answer to a request is unreadable");
    }
  });
}

}  // namespace expunge::core
