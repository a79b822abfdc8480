#include "attention/cuda/resident_sets.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "attention/cuda/arithmetic.h"
#include "base/secret.h"

namespace expunge::attention::cuda {
namespace {

constexpr size_t kStagingBytes = size_t{4} << 20;

// The fast form of `support`, and no copy of its rows left behind.
FastRows FastRowsOf(const SupportSet& support) {
  Wiped<double> keys(support.size() * support.key_dimension());
  Wiped<double> values(support.size() * support.value_dimension());
  support.CopyRows(keys.data(), values.data());
  SupportRows rows;
  rows.tokens = support.size();
  rows.key_dimension = support.key_dimension();
  rows.value_dimension = support.value_dimension();
  rows.keys = keys.data();
  rows.values = values.data();
  rows.log_weights = support.certified().bias;
  rows.gamma = support.gamma();
  return MakeFastRows(rows);
}

}  // namespace

ResidentSet::~ResidentSet() {
  if (memory_ == nullptr) return;
  shared_->bytes -= bytes_;
  // A lost device keeps its memory until the process ends, and nothing can be done to it.
  if (shared_->health->lost()) return;
  Health& health = *shared_->health;
  if (!health.Note(shared_->device->Clear(shared_->stream, memory_, bytes_))) return;
  if (!health.Note(shared_->device->Synchronize(shared_->stream))) return;
  health.Note(shared_->device->Free(memory_));
}

ResidentSets::ResidentSets(Device* device, Health* health, uint64_t budget)
    : device_(device), health_(health), budget_(budget), shared_(std::make_shared<ResidentSet::Shared>()) {
  shared_->device = device;
  shared_->health = health;
}

ResidentSets::~ResidentSets() {
  entries_.clear();
  if (health_->lost()) return;
  if (staging_ != nullptr) health_->Note(device_->FreeStaging(staging_));
  if (shared_->stream != nullptr) health_->Note(device_->DestroyStream(shared_->stream));
}

std::shared_ptr<const ResidentSet> ResidentSets::Find(const std::shared_ptr<const SupportSet>& support,
                                                      Kernel kernel) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find({support.get(), kernel});
  if (found == entries_.end() || found->second.support.lock() != support) return nullptr;
  found->second.last_use = ++uses_;
  return found->second.resident;
}

std::shared_ptr<const ResidentSet> ResidentSets::Get(const std::shared_ptr<const SupportSet>& support,
                                                     Kernel kernel) {
  std::shared_ptr<const ResidentSet> resident = Find(support, kernel);
  if (resident != nullptr) return resident;
  const std::lock_guard<std::mutex> upload(upload_mutex_);
  resident = Find(support, kernel);  // another thread may have brought it meanwhile
  if (resident != nullptr || health_->lost()) return resident;
  resident = Make(*support, kernel);
  if (resident == nullptr) return nullptr;
  Sweep();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!keeps_) return resident;
  const auto superseded = superseded_.find(support.get());
  if (superseded != superseded_.end() && superseded->second.lock() == support) return resident;
  entries_[{support.get(), kernel}] = {support, resident, ++uses_};
  return resident;
}

void ResidentSets::Supersede(const std::shared_ptr<const SupportSet>& previous) noexcept {
  if (previous != nullptr) Note(previous);
  while (previous != nullptr) {
    const Entries::node_type gone = Take([&](const Entries::value_type& entry) {  // wiped without the lock
      return entry.first.first == previous.get();
    });
    if (gone.empty()) break;
  }
  Sweep();
}

// Before the copies go, so that no reader puts another one on the list behind our back.
void ResidentSets::Note(const std::shared_ptr<const SupportSet>& superseded) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  try {
    superseded_[superseded.get()] = superseded;
  } catch (const std::bad_alloc&) {
    keeps_ = false;
  }
}

void ResidentSets::Forget() {
  Entries gone;
  const std::lock_guard<std::mutex> lock(mutex_);
  gone.swap(entries_);
}

template <typename Wanted>
ResidentSets::Entries::node_type ResidentSets::Take(const Wanted& wanted) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), wanted);
  return found == entries_.end() ? Entries::node_type() : entries_.extract(found);
}

ResidentSets::Entries::node_type ResidentSets::TakeColdest() {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto coldest = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    // New holders come only under this lock, so that one held by the list alone stays so.
    if (entry->second.resident.use_count() > 1) continue;
    if (coldest == entries_.end() || entry->second.last_use < coldest->second.last_use) coldest = entry;
  }
  return coldest == entries_.end() ? Entries::node_type() : entries_.extract(coldest);
}

void ResidentSets::Sweep() {
  const auto gone = [](const Entries::value_type& entry) { return entry.second.support.expired(); };
  while (!Take(gone).empty()) {
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto set = superseded_.begin(); set != superseded_.end();) {
    set = set->second.expired() ? superseded_.erase(set) : std::next(set);
  }
}

void ResidentSets::Evict(uint64_t needed, bool all) {
  Sweep();
  while (all || shared_->bytes.load() + needed > budget_) {
    if (TakeColdest().empty()) return;
    ++evictions_;
  }
}

bool ResidentSets::EnsureUploads() {
  if (shared_->stream == nullptr && !health_->Note(device_->CreateStream(&shared_->stream))) return false;
  return staging_ != nullptr || health_->Note(device_->AllocateStaging(kStagingBytes, &staging_));
}

bool ResidentSets::Allocate(size_t bytes, ResidentSet* resident) {
  Evict(bytes, /*all=*/false);
  if (health_->lost() || shared_->bytes.load() + bytes > budget_) return false;
  void* memory = nullptr;
  DeviceStatus status = device_->Allocate(bytes, &memory);
  if (status.error == DeviceError::kOutOfMemory) {
    health_->Note(status);
    Evict(0, /*all=*/true);
    if (health_->lost()) return false;
    status = device_->Allocate(bytes, &memory);
  }
  if (!health_->Note(status)) return false;
  resident->memory_ = memory;
  resident->bytes_ = bytes;
  shared_->bytes += bytes;
  return true;
}

// By way of the staging buffer, so that no copy is left in memory of the driver. Holds upload_mutex_.
bool ResidentSets::Send(const Wiped<char>& bytes, void* to) {
  bool sent = true;
  for (size_t begin = 0; sent && begin < bytes.size(); begin += kStagingBytes) {
    const size_t length = std::min(kStagingBytes, bytes.size() - begin);
    std::memcpy(staging_, bytes.data() + begin, length);
    sent =
        health_->Note(device_->CopyIn(shared_->stream, static_cast<char*>(to) + begin, staging_, length)) &&
        health_->Note(device_->Synchronize(shared_->stream));
  }
  Wipe(staging_, std::min(kStagingBytes, bytes.size()));
  return sent;
}

std::shared_ptr<const ResidentSet> ResidentSets::Make(const SupportSet& support, Kernel kernel) {
  const size_t bytes =
      SupportImageBytes(support.size(), support.key_dimension(), support.value_dimension(), kernel);
  if (bytes > budget_ || !EnsureUploads()) return nullptr;
  FastRows rows = FastRowsOf(support);
  if (!rows.Fit(kernel)) return nullptr;
  const SupportImage image = MakeSupportImage(rows, kernel);
  auto resident = std::shared_ptr<ResidentSet>(new ResidentSet(shared_));
  if (!Allocate(bytes, resident.get()) || !Send(image.bytes, resident->memory_)) return nullptr;
  const ReadoutShape shape{support.size(), support.key_dimension(), support.value_dimension()};
  resident->group_ = image.At(resident->memory_);
  resident->key_centre_ = std::move(rows.key_centre);
  resident->error_bound_ = FastErrorBound(ArithmeticOf(kernel, shape, image.group.padded_key_dimension),
                                          rows.norms, support.value_bounds(), shape);
  return resident;
}

}  // namespace expunge::attention::cuda
