#include "attention/cuda/resident_sets.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "attention/cuda/arithmetic.h"
#include "base/secret.h"

namespace expunge::attention::cuda {
namespace {

constexpr size_t kStagingBytes = size_t{4} << 20;

// The fast form of `support`, and no copy of its rows left behind.
FastRows FastRowsOf(const SupportSet& support) {
  std::vector<double> keys(support.size() * support.key_dimension());
  std::vector<double> values(support.size() * support.value_dimension());
  support.CopyRows(keys.data(), values.data());
  SupportRows rows;
  rows.tokens = support.size();
  rows.key_dimension = support.key_dimension();
  rows.value_dimension = support.value_dimension();
  rows.keys = keys.data();
  rows.values = values.data();
  rows.log_weights = support.certified().bias;
  rows.gamma = support.gamma();
  FastRows fast = MakeFastRows(rows);
  Wipe(&keys);
  Wipe(&values);
  return fast;
}

void WipeRows(FastRows* rows) {
  for (std::vector<double>* part :
       {&rows->keys, &rows->bias, &rows->values, &rows->key_centre, &rows->value_centre}) {
    Wipe(part);
  }
}

}  // namespace

ResidentSet::~ResidentSet() {
  Wipe(&key_centre_);
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
  Evicted gone;
  const std::lock_guard<std::mutex> lock(mutex_);
  Sweep(&gone);
  const auto superseded = superseded_.find(support.get());
  if (superseded != superseded_.end() && superseded->second.lock() == support) return resident;
  entries_[{support.get(), kernel}] = {support, resident, ++uses_};
  return resident;
}

void ResidentSets::Publish(const std::shared_ptr<const SupportSet>& previous,
                           const std::shared_ptr<const SupportSet>& next) {
  std::vector<Kernel> kernels;
  Evicted gone;  // wiped below, without the lock
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Sweep(&gone);
    if (previous != nullptr) {
      superseded_[previous.get()] = previous;
      auto entry = entries_.lower_bound({previous.get(), Kernel::kFloat64});
      while (entry != entries_.end() && entry->first.first == previous.get()) {
        kernels.push_back(entry->first.second);
        gone.push_back(std::move(entry->second.resident));
        entry = entries_.erase(entry);
      }
    }
  }
  gone.clear();
  if (next == nullptr || next->empty()) return;
  for (const Kernel kernel : kernels) (void)Get(next, kernel);
}

void ResidentSets::Forget() {
  std::map<Key, Entry> gone;
  const std::lock_guard<std::mutex> lock(mutex_);
  gone.swap(entries_);
}

void ResidentSets::Sweep(Evicted* gone) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->second.support.expired()) {
      gone->push_back(std::move(entry->second.resident));
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
  for (auto set = superseded_.begin(); set != superseded_.end();) {
    set = set->second.expired() ? superseded_.erase(set) : std::next(set);
  }
}

ResidentSets::Evicted ResidentSets::Evict(uint64_t needed, bool all) {
  Evicted evicted;
  const std::lock_guard<std::mutex> lock(mutex_);
  Sweep(&evicted);
  uint64_t left = shared_->bytes.load();
  for (const auto& resident : evicted) left -= resident.use_count() == 1 ? resident->bytes_ : 0;
  while (all || left + needed > budget_) {
    auto coldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      // New holders come only under this lock, so that one held by the list alone stays so.
      if (entry->second.resident.use_count() > 1) continue;
      if (coldest == entries_.end() || entry->second.last_use < coldest->second.last_use) coldest = entry;
    }
    if (coldest == entries_.end()) break;
    left -= coldest->second.resident->bytes_;
    evicted.push_back(std::move(coldest->second.resident));
    entries_.erase(coldest);
    ++evictions_;
  }
  return evicted;
}

bool ResidentSets::EnsureUploads() {
  if (shared_->stream == nullptr && !health_->Note(device_->CreateStream(&shared_->stream))) return false;
  return staging_ != nullptr || health_->Note(device_->AllocateStaging(kStagingBytes, &staging_));
}

bool ResidentSets::Allocate(size_t bytes, ResidentSet* resident) {
  (void)Evict(bytes, /*all=*/false);
  if (health_->lost() || shared_->bytes.load() + bytes > budget_) return false;
  void* memory = nullptr;
  DeviceStatus status = device_->Allocate(bytes, &memory);
  if (status.error == DeviceError::kOutOfMemory) {
    health_->Note(status);
    (void)Evict(0, /*all=*/true);
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
bool ResidentSets::Send(const std::vector<char>& bytes, void* to) {
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
  std::shared_ptr<ResidentSet> resident;
  if (rows.fits_float || kernel == Kernel::kFloat64) {
    resident = std::shared_ptr<ResidentSet>(new ResidentSet(shared_));
    SupportImage image = MakeSupportImage(rows, kernel);
    if (Allocate(bytes, resident.get()) && Send(image.bytes, resident->memory_)) {
      const ReadoutShape shape{support.size(), support.key_dimension(), support.value_dimension()};
      resident->group_ = image.At(resident->memory_);
      resident->key_centre_ = rows.key_centre;
      resident->error_bound_ = FastErrorBound(ArithmeticOf(kernel, shape, image.group.padded_key_dimension),
                                              rows.norms, support.value_bounds(), shape);
    } else {
      resident = nullptr;
    }
    Wipe(image.bytes.data(), image.bytes.size());
  }
  WipeRows(&rows);
  return resident;
}

}  // namespace expunge::attention::cuda
