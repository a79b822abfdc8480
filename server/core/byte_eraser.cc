#include "server/core/byte_eraser.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/core/certificates.h"
#include "server/core/change.h"
#include "server/core/handles.h"
#include "server/core/names.h"
#include "server/core/records.h"
#include "server/core/requests.h"
#include "server/core/times.h"
#include "storage/records.pb.h"

namespace expunge::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How long a failed attempt waits for the next.
constexpr std::chrono::seconds kRetry{10};
// How often the watch looks, at least and at most.
constexpr milliseconds kShortestLook{20};
constexpr milliseconds kLongestLook{1000};

absl::StatusOr<storage::v1::ErasureRecord> LoadErasure(const Context& context, const Tenant& tenant,
                                                       uint64_t first_certificate) {
  EXPUNGE_ASSIGN_OR_RETURN(
      const storage::OpenRecord opened,
      context.store->Get(storage::Table::kErasures, ErasureKey(tenant.handle(), first_certificate)));
  storage::v1::ErasureRecord erasure;
  if (ParseRecord(opened, &erasure)) return erasure;
  return MakeError(Reason::kStorageCorrupt, "", "an entry of the deletion ledger is unreadable");
}

}  // namespace

ByteEraser::ByteEraser(const Context& context) : context_(context) {
  if (context_.options.erase_bytes_within > milliseconds(0)) watcher_ = std::thread([this] { Watch(); });
}

ByteEraser::~ByteEraser() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

bool ByteEraser::IsDue() const {
  const auto oldest = context_.erasures->Oldest();
  return oldest.has_value() && steady_clock::now() - *oldest >= context_.options.erase_bytes_within / 2;
}

void ByteEraser::Watch() {
  const milliseconds look = std::clamp(context_.options.erase_bytes_within / 8, kShortestLook, kLongestLook);
  milliseconds wait = look;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, wait, [this] { return stopping_; })) {
    wait = look;
    lock.unlock();
    const bool failed = IsDue() && !Erase().ok();
    lock.lock();
    if (failed) wait = kRetry;
  }
}

absl::Status ByteEraser::Erase() {
  const std::lock_guard erasing(erasing_);
  // Those that are committed now; what comes later waits for the next time.
  std::map<std::string, std::vector<PendingErasure>> by_tenant;
  for (PendingErasure& erasure : context_.erasures->All()) by_tenant[erasure.tenant].push_back(erasure);
  if (by_tenant.empty()) return absl::OkStatus();
  absl::Status status = context_.store->database().EraseDeletedBytes();
  if (status.ok()) {
    // What is wrong with one tenant keeps no other from its certificates.
    for (const auto& [tenant, erasures] : by_tenant) status.Update(Complete(tenant, erasures));
  }
  const std::lock_guard lock(mutex_);
  last_error_ = std::string(status.message());
  return status;
}

absl::Status ByteEraser::Complete(const std::string& tenant_name,
                                  const std::vector<PendingErasure>& erasures) {
  Tenant* tenant = context_.tenants.Find(tenant_name);
  const std::lock_guard lock(tenant->writer());
  EXPUNGE_RETURN_IF_ERROR(CheckWritable(context_));
  for (const PendingErasure& pending : erasures) {
    // One change for each: an erasure and its certificates are one step.
    Change change(context_, *tenant, RequestIdentity{}, context_.clock());
    EXPUNGE_ASSIGN_OR_RETURN(storage::v1::ErasureRecord erasure,
                             LoadErasure(context_, *tenant, pending.first_certificate));
    for (const uint64_t number : erasure.certificates()) {
      EXPUNGE_ASSIGN_OR_RETURN(const auto first, LoadCertificateRecord(context_, *tenant, number));
      EXPUNGE_RETURN_IF_ERROR(change.Complete(number, first));
    }
    erasure.set_purged(true);
    change.PutErasure(pending.first_certificate, std::move(erasure));
    EXPUNGE_RETURN_IF_ERROR(change.Commit(v1::GetErasureStatusResponse()));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::GetErasureStatusResponse> ByteEraser::Status(
    const v1::GetErasureStatusRequest& request) const {
  EXPUNGE_ASSIGN_OR_RETURN(const std::string tenant, ParseTenantName(request.parent(), "parent"));
  v1::GetErasureStatusResponse response;
  std::optional<steady_clock::time_point> oldest;
  for (const PendingErasure& erasure : context_.erasures->All()) {
    if (erasure.tenant != tenant) continue;
    response.set_pending_count(response.pending_count() + 1);
    oldest = std::min(oldest.value_or(erasure.since), erasure.since);
  }
  if (oldest.has_value()) *response.mutable_oldest_age() = DurationProto(steady_clock::now() - *oldest);
  const milliseconds within = context_.options.erase_bytes_within;
  if (within > milliseconds(0)) *response.mutable_promised_within() = DurationProto(within);
  response.set_last_error(LastError());
  return response;
}

std::string ByteEraser::LastError() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

}  // namespace expunge::core
