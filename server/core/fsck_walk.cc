#include "server/core/fsck_walk.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/core/handles.h"
#include "storage/database_options.h"

namespace expunge::core {
namespace {

using storage::Table;

std::string NameOf(Table table) {
  // Callers know this table by what is in it, RocksDB by the only name that it can have.
  return table == Table::kMeta ? "meta" : storage::ColumnFamilyNames().at(static_cast<size_t>(table));
}

// The parts of a key, as far as it has them.
FsckProblem ProblemAt(Table table, absl::string_view key) {
  FsckProblem problem;
  problem.table = NameOf(table);
  const absl::string_view first = key.substr(0, sizeof(Digest));
  const absl::string_view rest = key.substr(first.size());
  switch (table) {
    case Table::kMeta:
      if (absl::ConsumePrefix(&key, kTenantPrefix)) {
        problem.tenant = ToHex(key);
      } else {
        problem.record = ToHex(key);
      }
      break;
    case Table::kMemories:
    case Table::kStates:
    case Table::kTokens:
      problem.memory = ToHex(first);
      problem.record = ToHex(rest);
      break;
    case Table::kCertificates:
    case Table::kErasures:
      problem.tenant = ToHex(first);
      if (rest.size() == sizeof(uint64_t)) {
        problem.number = CertificateNumber(key);
      } else {
        problem.record = ToHex(rest);
      }
      break;
    case Table::kLog:
      problem.record = ToHex(key);
      break;
    case Table::kRequests:
      problem.tenant = ToHex(first);
      problem.record = ToHex(rest);
      break;
  }
  return problem;
}

}  // namespace

FsckWalk::FsckWalk(storage::SealedStore& store, const FsckOptions& options)
    : store_(store), options_(options) {
  for (int table = 0; table <= static_cast<int>(storage::kLastTable); ++table) {
    report_.records[NameOf(static_cast<Table>(table))] = 0;
    // A table that cannot be read to its end is reported when its records are opened.
    store_.database()
        .Scan(static_cast<Table>(table), "", "",
              [&](absl::string_view, absl::string_view) {
                ++total_;
                if (options_.solve && static_cast<Table>(table) == Table::kTokens) ++total_;
                return true;
              })
        .IgnoreError();
  }
}

void FsckWalk::AddProblem(Table table, absl::string_view key, absl::string_view text) {
  FsckProblem problem = ProblemAt(table, key);
  problem.text = std::string(text);
  report_.problems.push_back(std::move(problem));
}

void FsckWalk::ForEach(Table table, absl::string_view prefix,
                       const std::function<void(absl::string_view, const storage::OpenRecord&)>& visit) {
  const absl::Status read =
      store_.database().Scan(table, prefix, "", [&](absl::string_view key, absl::string_view value) {
        ++report_.records[NameOf(table)];
        Advance(1);
        const absl::StatusOr<storage::OpenRecord> opened = store_.OpenValue(table, key, value);
        if (opened.ok()) {
          visit(key, *opened);
        } else {
          AddProblem(table, key, opened.status().message());
        }
        return true;
      });
  if (read.ok()) return;
  AddProblem(
      {NameOf(table), "", "", "", 0,
       absl::StrCat("the table could not be read to its end, so records are not checked: ", read.message())});
}

void FsckWalk::ForEachKey(Table table, const std::function<void(absl::string_view)>& visit) {
  // Errors are reported by ForEach.
  store_.database()
      .Scan(table, "", "",
            [&](absl::string_view key, absl::string_view) {
              visit(key);
              return true;
            })
      .IgnoreError();
}

TenantFacts* FsckWalk::OwnerOf(Table table, absl::string_view key, const storage::OpenRecord& record) {
  const auto tenant = tenants.find(std::string(key.substr(0, sizeof(Digest))));
  if (tenant == tenants.end()) {
    AddProblem(table, key, "it belongs to no tenant whose record can be read");
    return nullptr;
  }
  if (record.key != storage::KeyName{storage::kMasterSlot, tenant->second.key_slot}) {
    AddProblem(table, key, "it is sealed under a key that is not its tenant's");
  }
  return &tenant->second;
}

void FsckWalk::Claim(Table table, absl::string_view record_key, storage::KeyName key, storage::Slot parent) {
  const absl::Status claimed = live_.Add(key, parent);
  if (!claimed.ok()) AddProblem(table, record_key, claimed.message());
}

void FsckWalk::Advance(uint64_t steps) {
  done_ = std::min(total_, done_ + steps);
  if (options_.progress) options_.progress(done_, total_);
}

}  // namespace expunge::core
