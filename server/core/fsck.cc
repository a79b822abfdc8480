#include "server/core/fsck.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "certificate/key_set.h"
#include "server/core/fsck_walk.h"
#include "server/core/handles.h"
#include "server/core/records.h"
#include "storage/records.pb.h"

namespace expunge::core {
namespace {

using storage::OpenRecord;
using storage::Table;

void CheckSecret(FsckWalk* walk, absl::string_view key, const OpenRecord& opened) {
  const auto secret = ReadSecret(opened);
  walk->Claim(Table::kMeta, key, opened.key, storage::kMasterSlot);
  if (secret.ok()) {
    walk->secret = *secret;
  } else {
    walk->AddProblem(Table::kMeta, key, secret.status().message());
  }
}

// Each set by itself; then all of them as a chain.
void CheckKeySets(FsckWalk* walk) {
  bool readable = true;
  walk->ForEach(Table::kMeta, kKeySetPrefix, [&](absl::string_view key, const OpenRecord& opened) {
    storage::v1::KeySetRecord record;
    if (opened.key == storage::KeyName{} && ParseRecord(opened, &record)) return;
    walk->AddProblem(Table::kMeta, key, "a key set's record is unreadable");
    readable = false;
  });
  if (!readable) return;
  absl::StatusOr<std::vector<StoredKeySet>> sets = LoadKeySets(walk->store());
  if (!sets.ok()) {
    walk->AddProblem({"meta", "", "", "", 0, std::string(sets.status().message())});
  } else if (sets->empty()) {
    walk->AddProblem({"meta", "", "", "", 0, "the key sets are missing"});
  } else {
    walk->key_sets = *std::move(sets);
  }
}

void CheckTenant(FsckWalk* walk, absl::string_view key, const OpenRecord& opened) {
  walk->Claim(Table::kMeta, key, opened.key, storage::kMasterSlot);
  const absl::string_view handle = absl::StripPrefix(key, kTenantPrefix);
  // Without the secret no handle can be verified; that it is missing is a problem of its own.
  const Digest secret = walk->secret.value_or(Digest{});
  storage::v1::TenantRecord record;
  if (walk->secret.has_value()) {
    const auto read = ReadTenant(secret, handle, opened);
    if (!read.ok()) {
      walk->AddProblem(Table::kMeta, key, read.status().message());
      return;
    }
    record = *read;
  } else if (!ParseRecord(opened, &record)) {
    walk->AddProblem(Table::kMeta, key, "a tenant's record is unreadable");
    return;
  }
  ++walk->report().tenants;
  walk->tenants[std::string(handle)] = {record.name(), record.next_certificate(), opened.key.slot, {}};
}

void CheckServersKeys(FsckWalk* walk) {
  const std::set<std::string>& ids = walk->options().server_key_ids;
  if (ids.empty() || walk->key_sets.empty()) return;
  for (const certificate::KeyUse use :
       {certificate::KeyUse::kCertificate, certificate::KeyUse::kCheckpoint}) {
    const std::string& active = walk->key_sets.back().set.Active(use).key_id;
    if (ids.contains(active)) continue;
    walk->AddProblem({"meta", "", "", "", 0,
                      absl::StrCat("the server does not have the key ", active, ", which signs ",
                                   certificate::KeyUseName(use), "s")});
  }
}

void CheckVault(FsckWalk* walk) {
  const uint64_t present = walk->store().database().sequence();
  const uint64_t seen = walk->store().vault().committed();
  walk->report().key_slots = walk->store().vault().usage().slots;
  if (present >= seen) return;
  walk->AddProblem(
      {"", "", "", "", 0,
       absl::StrCat("the database ends at change ", present, ", but its key vault has seen change ", seen,
                    ": the database is an older copy, or its newest log is missing")});
}

}  // namespace

void CheckMeta(FsckWalk* walk) {
  // The secret first: the handles of tenants follow from it.
  bool has_secret = false;
  walk->ForEach(Table::kMeta, kSecretKey, [&](absl::string_view key, const OpenRecord& opened) {
    has_secret = true;
    CheckSecret(walk, key, opened);
  });
  if (!has_secret) walk->AddProblem({"meta", "", "", "", 0, "the store's secret is missing or damaged"});
  CheckKeySets(walk);
  walk->ForEach(Table::kMeta, kTenantPrefix,
                [&](absl::string_view key, const OpenRecord& opened) { CheckTenant(walk, key, opened); });
  walk->ForEachKey(Table::kMeta, [&](absl::string_view key) {
    if (key == "format") {  // opening has checked it; it is not sealed
      ++walk->report().records["meta"];
      walk->Advance(1);
      return;
    }
    for (const absl::string_view known : {kSecretKey, kKeySetPrefix, kTenantPrefix, kLogKey}) {
      if (absl::StartsWith(key, known)) return;
    }
    walk->AddProblem(Table::kMeta, key, "a record that nobody knows");
  });
  CheckServersKeys(walk);
}

FsckReport Fsck(storage::SealedStore& store, const FsckOptions& options) {
  FsckWalk walk(store, options);
  CheckVault(&walk);
  CheckMeta(&walk);
  CheckLog(&walk);
  CheckMemories(&walk);
  CheckCertificates(&walk);
  CheckErasuresAndRequests(&walk);
  for (const absl::Status& damaged : store.database().CheckTableFiles()) {
    walk.AddProblem({"", "", "", "", 0, std::string(damaged.message())});
  }
  return std::move(walk.report());
}

std::string DescribeProblem(const FsckProblem& problem) {
  std::string place = problem.table;
  const auto add = [&place](absl::string_view what, absl::string_view which) {
    if (!which.empty()) absl::StrAppend(&place, place.empty() ? "" : ", ", what, " ", which);
  };
  add("tenant", problem.tenant);
  add("memory", problem.memory);
  add("record", problem.record);
  if (problem.number > 0) add("number", absl::StrCat(problem.number));
  return place.empty() ? problem.text : absl::StrCat(place, ": ", problem.text);
}

}  // namespace expunge::core
