#include "tests/attention/cuda/host_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "tests/attention/cuda/emulated_launch.h"
#include "tests/attention/cuda/failing_allocations.h"

namespace expunge::attention::cuda::testing {
namespace {

using Call = DeviceLog::Call;

// The beginning of new memory, so that nobody takes it for zeros. More would make the tests slow.
constexpr size_t kPoison = size_t{64} << 10;
constexpr char kPoisonByte = static_cast<char>(0xff);

}  // namespace

void DeviceLog::FailAt(uint64_t n, DeviceError error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  fail_in_ = n;
  fail_with_ = error;
  fail_only_ = false;
}

void DeviceLog::FailAt(uint64_t n, DeviceError error, Call only) {
  const std::lock_guard<std::mutex> lock(mutex_);
  fail_in_ = n;
  fail_with_ = error;
  fail_only_ = true;
  fail_call_ = only;
}

void DeviceLog::OnLaunch(std::function<void()> hook) {
  const std::lock_guard<std::mutex> lock(mutex_);
  on_launch_ = std::move(hook);
}

void DeviceLog::AfterLaunch(std::function<void(const Group*)> hook) {
  const std::lock_guard<std::mutex> lock(mutex_);
  after_launch_ = std::move(hook);
}

uint64_t DeviceLog::calls() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return all_calls_;
}

uint64_t DeviceLog::calls(Call call) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = calls_.find(call);
  return found == calls_.end() ? 0 : found->second;
}

size_t DeviceLog::bytes_in_use() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t bytes = 0;
  for (const auto& block : memory_) bytes += block.second;
  return bytes;
}

size_t DeviceLog::blocks_in_use() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return memory_.size() + staging_.size() + streams_.size();
}

bool DeviceLog::staging_is_wiped() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::all_of(staging_.begin(), staging_.end(), [](const auto& block) {
    return std::all_of(block.first, block.first + block.second, [](char c) { return c == 0; });
  });
}

bool DeviceLog::memory_is_wiped() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::all_of(memory_.begin(), memory_.end(), [this](const auto& block) {
    const auto written = written_.find(block.first);
    const size_t bytes = written == written_.end() ? 0 : written->second;
    return std::all_of(block.first, block.first + bytes, [](char c) { return c == 0; });
  });
}

std::vector<std::string> DeviceLog::violations() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return violations_;
}

HostDevice::HostDevice(std::shared_ptr<DeviceLog> log, size_t memory_bytes, bool hopper)
    : log_(std::move(log)) {
  facts_.name = "emulated device";
  facts_.compute_major = hopper ? 9 : 8;
  facts_.multiprocessors = 1;
  facts_.memory_bytes = memory_bytes;
  facts_.shared_bytes_per_block = size_t{hopper ? 227U : 163U} << 10;
}

HostDevice::~HostDevice() {
  const std::lock_guard<std::mutex> lock(log_->mutex_);
  if (!log_->lost_) return;
  for (auto* blocks : {&log_->memory_, &log_->staging_}) {
    for (const auto& block : *blocks) std::free(block.first);
    blocks->clear();
  }
  for (void* stream : log_->streams_) delete static_cast<Work*>(stream);
  log_->streams_.clear();
}

DeviceStatus HostDevice::Enter(Call call, const char* what) {
  const std::lock_guard<std::mutex> lock(log_->mutex_);
  ++log_->calls_[call];
  ++log_->all_calls_;
  if (log_->lost_) log_->violations_.push_back(std::string("a call after the device was lost: ") + what);
  const bool counts = log_->fail_in_ > 0 && (!log_->fail_only_ || log_->fail_call_ == call);
  if (!counts || --log_->fail_in_ > 0) return {};
  log_->lost_ = log_->fail_with_ == DeviceError::kLost;
  return {log_->fail_with_, std::string(what) + ": injected"};
}

void HostDevice::Violation(const std::string& what) {
  const std::lock_guard<std::mutex> lock(log_->mutex_);
  log_->violations_.push_back(what);
}

void HostDevice::CheckRange(const std::map<char*, size_t>& blocks, const void* begin, size_t bytes,
                            const char* what) {
  const std::lock_guard<std::mutex> lock(log_->mutex_);
  auto* at = const_cast<char*>(static_cast<const char*>(begin));
  auto block = blocks.upper_bound(at);
  if (block != blocks.begin() && at + bytes <= (--block)->first + block->second) {
    size_t& written = log_->written_[block->first];
    written = std::max(written, static_cast<size_t>(at + bytes - block->first));
    return;
  }
  log_->violations_.push_back(std::string(what) + " outside of any block");
}

DeviceStatus HostDevice::Allocate(size_t bytes, void** memory) {
  const AllocationsSucceed hardware;
  if (DeviceStatus status = Enter(Call::kAllocate, "allocate"); !status.ok()) return status;
  if (log_->bytes_in_use() + bytes > facts_.memory_bytes)
    return {DeviceError::kOutOfMemory, "allocate: full"};
  auto* block = static_cast<char*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  std::memset(block, kPoisonByte, std::min(bytes, kPoison));
  const std::lock_guard<std::mutex> lock(log_->mutex_);
  log_->memory_[block] = bytes;
  *memory = block;
  return {};
}

DeviceStatus HostDevice::AllocateStaging(size_t bytes, void** memory) {
  const AllocationsSucceed hardware;
  if (DeviceStatus status = Enter(Call::kStaging, "allocate staging"); !status.ok()) return status;
  // Zero, as only what was written has to be wiped.
  auto* block = static_cast<char*>(std::calloc(1, bytes));
  const std::lock_guard<std::mutex> lock(log_->mutex_);
  log_->staging_[block] = bytes;
  *memory = block;
  return {};
}

DeviceStatus HostDevice::Release(std::map<char*, size_t>* blocks, void* memory, const char* what) {
  const std::lock_guard<std::mutex> lock(log_->mutex_);
  const auto block = blocks->find(static_cast<char*>(memory));
  if (block == blocks->end()) {
    log_->violations_.push_back(std::string(what) + " of what is no block");
    return {};
  }
  const char* begin = block->first;
  // What was never written is as it was allocated.
  const size_t written = std::max(log_->written_[block->first], std::min(block->second, kPoison));
  if (!std::all_of(begin, begin + written, [](char c) { return c == 0 || c == kPoisonByte; })) {
    log_->violations_.push_back(std::string(what) + " without wiping");
  }
  log_->written_.erase(block->first);
  std::free(block->first);
  blocks->erase(block);
  return {};
}

DeviceStatus HostDevice::Free(void* memory) {
  const AllocationsSucceed hardware;
  if (DeviceStatus status = Enter(Call::kFree, "free"); !status.ok()) return status;
  return Release(&log_->memory_, memory, "free");
}

DeviceStatus HostDevice::FreeStaging(void* memory) {
  const AllocationsSucceed hardware;
  if (DeviceStatus status = Enter(Call::kStaging, "free staging"); !status.ok()) return status;
  return Release(&log_->staging_, memory, "free staging");
}

DeviceStatus HostDevice::CreateStream(Stream* stream) {
  const AllocationsSucceed hardware;
  if (DeviceStatus status = Enter(Call::kStream, "create stream"); !status.ok()) return status;
  auto* work = new Work;
  const std::lock_guard<std::mutex> lock(log_->mutex_);
  log_->streams_.insert(work);
  *stream = work;
  return {};
}

DeviceStatus HostDevice::DestroyStream(Stream stream) {
  const AllocationsSucceed hardware;
  if (DeviceStatus status = Enter(Call::kStream, "destroy stream"); !status.ok()) return status;
  const std::lock_guard<std::mutex> lock(log_->mutex_);
  if (!static_cast<Work*>(stream)->steps.empty()) log_->violations_.push_back("a stream destroyed with work");
  log_->streams_.erase(stream);
  delete static_cast<Work*>(stream);
  return {};
}

DeviceStatus HostDevice::Enqueue(Stream stream, std::function<void()> step) {
  const std::lock_guard<std::mutex> lock(log_->mutex_);
  static_cast<Work*>(stream)->steps.push_back(std::move(step));
  return {};
}

DeviceStatus HostDevice::CopyIn(Stream stream, void* device_memory, const void* staging, size_t bytes) {
  const AllocationsSucceed hardware;
  if (DeviceStatus status = Enter(Call::kCopyIn, "copy in"); !status.ok()) return status;
  CheckRange(log_->memory_, device_memory, bytes, "copy in");
  CheckRange(log_->staging_, staging, bytes, "copy in from");
  return Enqueue(stream, [=] { std::memcpy(device_memory, staging, bytes); });
}

DeviceStatus HostDevice::CopyOut(Stream stream, void* staging, const void* device_memory, size_t bytes) {
  const AllocationsSucceed hardware;
  if (DeviceStatus status = Enter(Call::kCopyOut, "copy out"); !status.ok()) return status;
  CheckRange(log_->memory_, device_memory, bytes, "copy out");
  CheckRange(log_->staging_, staging, bytes, "copy out to");
  return Enqueue(stream, [=] { std::memcpy(staging, device_memory, bytes); });
}

DeviceStatus HostDevice::Clear(Stream stream, void* device_memory, size_t bytes) {
  const AllocationsSucceed hardware;
  if (DeviceStatus status = Enter(Call::kClear, "clear"); !status.ok()) return status;
  CheckRange(log_->memory_, device_memory, bytes, "clear");
  return Enqueue(stream, [=] { std::memset(device_memory, 0, bytes); });
}

DeviceStatus HostDevice::Launch(Stream stream, const LaunchShape& shape, const Group* groups,
                                const Tile* tiles, uint32_t tile_count) {
  const AllocationsSucceed hardware;
  if (DeviceStatus status = Enter(Call::kLaunch, "launch"); !status.ok()) return status;
  CheckRange(log_->memory_, groups, sizeof(Group), "groups");
  CheckRange(log_->memory_, tiles, tile_count * sizeof(Tile), "tiles");
  return Enqueue(stream, [=, this] {
    std::function<void()> hook;
    std::function<void(const Group*)> after;
    {
      const std::lock_guard<std::mutex> lock(log_->mutex_);
      hook = log_->on_launch_;
      after = log_->after_launch_;
    }
    if (hook) hook();
    for (uint32_t t = 0; t < tile_count; ++t) {
      const Group& group = groups[tiles[t].group];
      CheckRange(log_->memory_, group.keys, 1, "keys");
      CheckRange(log_->memory_, group.outputs, group.rows * group.value_dimension, "outputs");
    }
    if (!EmulateLaunch(shape, groups, tiles, tile_count, Schedule{})) Violation("a kernel that never ends");
    if (after) after(groups);
  });
}

DeviceStatus HostDevice::Synchronize(Stream stream) {
  const AllocationsSucceed hardware;
  if (DeviceStatus status = Enter(Call::kSynchronize, "synchronize"); !status.ok()) return status;
  std::vector<std::function<void()>> steps;
  {
    const std::lock_guard<std::mutex> lock(log_->mutex_);
    steps.swap(static_cast<Work*>(stream)->steps);
  }
  for (const auto& step : steps) step();
  return {};
}

}  // namespace expunge::attention::cuda::testing
