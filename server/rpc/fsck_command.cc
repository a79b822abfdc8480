#include "server/rpc/fsck_command.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/progress.h"
#include "base/status_macros.h"
#include "certificate/key_keeper.h"
#include "server/rpc/signing_keys.h"
#include "server/rpc/store_options.h"
#include "storage/sealed_store.h"

namespace expunge::rpc {
namespace {

using core::FsckProblem;
using core::FsckReport;
using nlohmann::ordered_json;

// How often the bar is drawn.
constexpr absl::Duration kRedraw = absl::Milliseconds(100);

// Draws the bar now and then, and at the end.
class Bar {
 public:
  explicit Bar(FILE* stream) : stream_(stream) {}
  void Show(uint64_t done, uint64_t total) {
    if (progress_ == nullptr)
      progress_ = std::make_unique<Progress>(ProgressMode::kAuto, "checking", total, stream_);
    const absl::Time now = absl::Now();
    if (done < total && now < next_) return;
    next_ = now + kRedraw;
    progress_->Show(done);
  }

 private:
  FILE* const stream_;
  std::unique_ptr<Progress> progress_;
  absl::Time next_ = absl::InfinitePast();
};

// Those that the server has, also ones that a rotation has only prepared. A missing key is a problem of the
// data, not of the check.
absl::StatusOr<std::set<std::string>> ServerKeyIds(const ServerOptions& server, FsckReport* report) {
  EXPUNGE_ASSIGN_OR_RETURN(const core::SigningKeys keys, SigningKeysFor(server));
  std::set<std::string> ids;
  bool missing = false;
  for (certificate::KeyKeeper* const keeper : {keys.certificate.get(), keys.checkpoint.get()}) {
    const auto active = keeper->Load();
    const auto next = keeper->LoadNext();
    if (active.ok()) ids.insert((*active)->KeyId());
    if (next.ok()) ids.insert((*next)->KeyId());
    if (active.ok() || next.ok()) continue;
    if (!absl::IsNotFound(active.status())) return active.status();
    report->problems.push_back({"", "", "", "", 0, std::string(active.status().message())});
    missing = true;
  }
  return missing ? std::set<std::string>() : ids;
}

absl::StatusOr<FsckReport> Check(const ServerOptions& server, const FsckCommandOptions& options, FILE* err) {
  EXPUNGE_ASSIGN_OR_RETURN(storage::SealedStoreOptions store_options, StoreOptionsFor(server));
  store_options.store.read_only = true;
  FsckReport before;
  auto store = storage::SealedStore::Open(store_options);
  if (absl::IsDataLoss(store.status())) {
    before.problems.push_back(
        {"", "", "", "", 0, absl::StrCat(store.status().message(), "; nothing else could be checked")});
    return before;
  }
  EXPUNGE_RETURN_IF_ERROR(store.status());
  EXPUNGE_ASSIGN_OR_RETURN(std::set<std::string> key_ids, ServerKeyIds(server, &before));
  Bar bar(err);
  core::FsckOptions fsck;
  fsck.solve = options.solve;
  fsck.server_key_ids = std::move(key_ids);
  fsck.progress = [&bar](uint64_t done, uint64_t total) { bar.Show(done, total); };
  FsckReport report = core::Fsck(**store, fsck);
  report.problems.insert(report.problems.begin(), before.problems.begin(), before.problems.end());
  return report;
}

ordered_json ProblemJson(const FsckProblem& problem) {
  ordered_json json;
  const auto add = [&json](const char* name, const std::string& value) {
    if (!value.empty()) json[name] = value;
  };
  add("table", problem.table);
  add("tenant", problem.tenant);
  add("memory", problem.memory);
  add("record", problem.record);
  if (problem.number > 0) json["number"] = problem.number;
  json["problem"] = problem.text;
  return json;
}

void PrintJson(const FsckReport& report, std::ostream& out) {
  ordered_json json;
  json["clean"] = report.problems.empty();
  json["tenants"] = report.tenants;
  json["memories"] = report.memories;
  json["tokens"] = report.tokens;
  json["certificates"] = report.certificates;
  json["erasures"] = report.erasures;
  json["pending_erasures"] = report.pending_erasures;
  json["key_slots"] = report.key_slots;
  json["records"] = report.records;
  json["problems"] = ordered_json::array();
  for (const FsckProblem& problem : report.problems) json["problems"].push_back(ProblemJson(problem));
  out << json.dump(2, ' ', true, ordered_json::error_handler_t::replace) << "\n";
}

void PrintText(const FsckReport& report, std::ostream& out) {
  for (const FsckProblem& problem : report.problems) out << core::DescribeProblem(problem) << "\n";
  if (!report.problems.empty()) out << "\n";
  const auto row = [&out](absl::string_view name, uint64_t count, absl::string_view note) {
    out << absl::StrFormat("%-14s %10d%s\n", name, count, note);
  };
  row("tenants", report.tenants, "");
  row("memories", report.memories, "");
  row("tokens", report.tokens, "");
  row("certificates", report.certificates, "");
  row("erasures", report.erasures,
      report.pending_erasures == 0
          ? ""
          : absl::StrCat("  (of ", report.pending_erasures, " the bytes may still be in files)"));
  row("key slots", report.key_slots, "");
  uint64_t records = 0;
  for (const auto& [table, count] : report.records) records += count;
  row("records", records, "  in all tables");
  if (report.problems.empty()) {
    out << "no problems\n";
  } else {
    out << report.problems.size() << (report.problems.size() == 1 ? " problem\n" : " problems\n");
  }
}

}  // namespace

int RunFsck(const ServerOptions& server, const FsckCommandOptions& options, std::ostream& out, FILE* err) {
  const absl::StatusOr<FsckReport> report = Check(server, options, err);
  if (!report.ok()) {
    absl::FPrintF(err, "expunged: cannot check: %s\n", std::string(report.status().message()));
    return absl::IsInvalidArgument(report.status()) ? kFsckUsage : kFsckNotChecked;
  }
  if (options.json) {
    PrintJson(*report, out);
  } else {
    PrintText(*report, out);
  }
  out.flush();
  return report->problems.empty() ? kFsckClean : kFsckProblems;
}

}  // namespace expunge::rpc
