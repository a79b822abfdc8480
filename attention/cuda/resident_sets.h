// Support sets on the device: copied there when they are first read, wiped when they are superseded or have
// to make room.
//
// Whoever reads holds a copy alive; the last holder wipes it. So a publication never waits for readers, and a
// reader never sees half a support set. A superseded set that is read once more gets a copy for that read.
#ifndef EXPUNGE_ATTENTION_CUDA_RESIDENT_SETS_H_
#define EXPUNGE_ATTENTION_CUDA_RESIDENT_SETS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "attention/cuda/device.h"
#include "attention/cuda/fast_rows.h"
#include "attention/cuda/health.h"
#include "attention/cuda/wiped.h"
#include "attention/error_bound.h"
#include "attention/support_set.h"

namespace expunge::attention::cuda {

// A copy of one support set on the device, in the layout of one kernel.
class ResidentSet {
 public:
  ~ResidentSet();
  ResidentSet(const ResidentSet&) = delete;
  ResidentSet& operator=(const ResidentSet&) = delete;

  // Queries and outputs are left to be filled in.
  [[nodiscard]] const Group& group() const { return group_; }
  [[nodiscard]] const Wiped<double>& key_centre() const { return key_centre_; }
  [[nodiscard]] const FastErrorBound& error_bound() const { return error_bound_; }

 private:
  friend class ResidentSets;
  // What copies share with those who count them.
  struct Shared {
    Device* device;
    Health* health;
    Device::Stream stream = nullptr;  // of copies in and of wiping
    std::atomic<uint64_t> bytes{0};
  };
  explicit ResidentSet(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  const std::shared_ptr<Shared> shared_;
  void* memory_ = nullptr;
  size_t bytes_ = 0;
  Group group_;
  Wiped<double> key_centre_;
  FastErrorBound error_bound_;
};

// Threads: any number of calls at once.
class ResidentSets {
 public:
  // `budget`: bytes that all copies may take together.
  ResidentSets(Device* device, Health* health, uint64_t budget);
  // REQUIRES: nobody holds a copy.
  ~ResidentSets();
  ResidentSets(const ResidentSets&) = delete;
  ResidentSets& operator=(const ResidentSets&) = delete;

  // Null if it cannot be read on the device: it does not fit, a number exceeds the range of the kernel's
  // type, or the device failed, which health tells. Cost, when it is not there yet: O(m (d + dv)).
  [[nodiscard]] std::shared_ptr<const ResidentSet> Get(const std::shared_ptr<const SupportSet>& support,
                                                       Kernel kernel);
  // Takes all copies of `previous` (which may be null) off the list, for good. Needs no memory: what must be
  // forgotten is forgotten also where there is none.
  void Supersede(const std::shared_ptr<const SupportSet>& previous) noexcept;
  // Of a lost device: lets go of all copies.
  void Forget();

  [[nodiscard]] uint64_t bytes() const { return shared_->bytes.load(); }
  [[nodiscard]] uint64_t evictions() const { return evictions_.load(); }

 private:
  using Key = std::pair<const SupportSet*, Kernel>;
  struct Entry {
    std::weak_ptr<const SupportSet> support;  // whether the pointer in the key is still the same one
    std::shared_ptr<const ResidentSet> resident;
    uint64_t last_use = 0;
  };
  using Entries = std::map<Key, Entry>;

  [[nodiscard]] std::shared_ptr<const ResidentSet> Find(const std::shared_ptr<const SupportSet>& support,
                                                        Kernel kernel);
  [[nodiscard]] std::shared_ptr<const ResidentSet> Make(const SupportSet& support, Kernel kernel);
  [[nodiscard]] bool Allocate(size_t bytes, ResidentSet* resident);
  [[nodiscard]] bool Send(const Wiped<char>& bytes, void* to);
  [[nodiscard]] bool EnsureUploads();
  void Note(const std::shared_ptr<const SupportSet>& superseded) noexcept;
  // Take one off the list, if there is one: it is wiped with the result, unless somebody still reads it.
  template <typename Wanted>
  [[nodiscard]] Entries::node_type Take(const Wanted& wanted);
  [[nodiscard]] Entries::node_type TakeColdest();  // of those that nobody reads
  // Takes copies that nobody reads off the list, the coldest first, until `needed` more bytes are within the
  // budget; all of them if `all`.
  void Evict(uint64_t needed, bool all);
  // Takes those of support sets that are gone off the list.
  void Sweep();

  Device* const device_;
  Health* const health_;
  const uint64_t budget_;
  const std::shared_ptr<ResidentSet::Shared> shared_;
  std::atomic<uint64_t> evictions_{0};

  std::mutex mutex_;
  Entries entries_;
  std::map<const SupportSet*, std::weak_ptr<const SupportSet>> superseded_;
  // False once a superseded set could not be noted, for want of memory: every copy is then for one read, as
  // it might be of that set.
  bool keeps_ = true;
  uint64_t uses_ = 0;

  std::mutex upload_mutex_;  // before mutex_
  void* staging_ = nullptr;
};

}  // namespace expunge::attention::cuda

#endif  // EXPUNGE_ATTENTION_CUDA_RESIDENT_SETS_H_
