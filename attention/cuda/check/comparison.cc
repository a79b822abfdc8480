#include "attention/cuda/check/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <utility>

#include "attention/cuda/arithmetic.h"
#include "attention/cuda/portable.h"

namespace expunge::attention::cuda::check {
namespace {

constexpr size_t kGuard = 256;  // bytes behind each output, which nobody may write
constexpr unsigned char kPoison = 0xff;

size_t Aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

// One case, on the host and as a part of the launch's memory.
struct Prepared {
  GroupCase size;
  Memory memory;
  FastRows rows;
  SupportImage image;
  std::vector<double> queries;
  std::vector<double> norms;
  std::vector<char> stored;
  size_t image_at = 0;
  size_t queries_at = 0;
  size_t outputs_at = 0;
  size_t sums_at = 0;
};

// Everything of a launch in one piece of memory and its copy in staging memory.
class Launcher {
 public:
  Launcher(Device* device, Kernel kernel) : device_(device), kernel_(kernel), traits_(TraitsOf(kernel)) {}
  ~Launcher() {
    if (memory_ != nullptr) (void)device_->Clear(stream_, memory_, bytes_);
    if (stream_ != nullptr) (void)device_->Synchronize(stream_);
    if (memory_ != nullptr) (void)device_->Free(memory_);
    if (staging_ != nullptr) {
      std::memset(staging_, 0, bytes_);
      (void)device_->FreeStaging(staging_);
    }
    if (stream_ != nullptr) (void)device_->DestroyStream(stream_);
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  void Add(Prepared prepared) {
    const auto place = [this](size_t bytes) { return std::exchange(bytes_, bytes_ + Aligned(bytes)); };
    const size_t rows = prepared.size.rows;
    prepared.image_at = place(prepared.image.bytes.size());
    prepared.queries_at = place(prepared.stored.size());
    prepared.outputs_at = place(rows * prepared.size.dv * traits_.accumulator_bytes + kGuard);
    prepared.sums_at = place(rows * 2 * traits_.accumulator_bytes + kGuard);
    cases_.push_back(std::move(prepared));
  }

  // Launches so many times, one after the other. Empty, or what failed.
  std::string Run(int launches = 1) {
    const size_t groups_at = std::exchange(bytes_, bytes_ + Aligned(cases_.size() * sizeof(Group)));
    uint32_t largest_key = 0;
    uint32_t largest_value = 0;
    size_t largest_rows = 0;
    for (const Prepared& c : cases_) {
      largest_key = std::max(largest_key, c.image.group.padded_key_dimension);
      largest_value = std::max(largest_value, c.image.group.value_dimension);
      largest_rows = std::max(largest_rows, c.size.rows);
    }
    const LaunchShape shape =
        ShapeFor(kernel_, largest_key, largest_value, static_cast<uint32_t>(largest_rows),
                 device_->facts().shared_bytes_per_block);
    if (shape.shared_bytes == 0) return "no shape fits the device's shared memory";
    std::vector<Tile> tiles;
    for (uint32_t i = 0; i < cases_.size(); ++i) {
      Group group = cases_[i].image.group;
      group.rows = static_cast<uint32_t>(cases_[i].size.rows);
      AddTiles(shape, group, i, &tiles);
    }
    const size_t tiles_at = std::exchange(bytes_, bytes_ + Aligned(tiles.size() * sizeof(Tile)));
    DeviceStatus status = device_->CreateStream(&stream_);
    if (status.ok()) status = device_->Allocate(bytes_, &memory_);
    if (status.ok()) status = device_->AllocateStaging(bytes_, &staging_);
    if (!status.ok()) return status.message;
    Fill(groups_at);
    std::memcpy(host() + tiles_at, tiles.data(), tiles.size() * sizeof(Tile));
    status = device_->CopyIn(stream_, memory_, staging_, bytes_);
    for (int i = 0; status.ok() && i < launches; ++i) {
      status = device_->Launch(stream_, shape, reinterpret_cast<const Group*>(there() + groups_at),
                               reinterpret_cast<const Tile*>(there() + tiles_at),
                               static_cast<uint32_t>(tiles.size()));
    }
    if (status.ok()) status = device_->CopyOut(stream_, staging_, memory_, bytes_);
    if (status.ok()) status = device_->Synchronize(stream_);
    return status.message;
  }

  [[nodiscard]] const std::vector<Prepared>& cases() const { return cases_; }
  [[nodiscard]] double Number(size_t at, size_t index) const {
    const char* begin = host() + at + index * traits_.accumulator_bytes;
    if (traits_.accumulator_bytes == 8) {
      double x;
      std::memcpy(&x, begin, 8);
      return x;
    }
    float x;
    std::memcpy(&x, begin, 4);
    return x;
  }
  // Whether all of the output was written, and nothing behind it.
  [[nodiscard]] bool Written(size_t at, size_t numbers) const {
    for (size_t i = 0; i < numbers; ++i) {
      if (!std::isfinite(Number(at, i))) return false;
    }
    const char* guard = host() + at + numbers * traits_.accumulator_bytes;
    return std::all_of(guard, guard + kGuard,
                       [](char c) { return static_cast<unsigned char>(c) == kPoison; });
  }

 private:
  [[nodiscard]] char* host() const { return static_cast<char*>(staging_); }
  [[nodiscard]] char* there() const { return static_cast<char*>(memory_); }
  void Fill(size_t groups_at) {
    std::memset(staging_, kPoison, bytes_);
    for (size_t i = 0; i < cases_.size(); ++i) {
      const Prepared& c = cases_[i];
      std::memcpy(host() + c.image_at, c.image.bytes.data(), c.image.bytes.size());
      std::memcpy(host() + c.queries_at, c.stored.data(), c.stored.size());
      Group group = c.image.At(there() + c.image_at);
      group.rows = static_cast<uint32_t>(c.size.rows);
      group.queries = there() + c.queries_at;
      group.outputs = there() + c.outputs_at;
      group.sums = there() + c.sums_at;
      std::memcpy(host() + groups_at + i * sizeof(Group), &group, sizeof(Group));
    }
  }

  Device* const device_;
  const Kernel kernel_;
  const KernelTraits traits_;
  std::vector<Prepared> cases_;
  size_t bytes_ = 0;
  Device::Stream stream_ = nullptr;
  void* memory_ = nullptr;
  void* staging_ = nullptr;
};

Prepared Prepare(const GroupCase& size, Memory memory, std::vector<double> queries, Kernel kernel) {
  Prepared prepared;
  prepared.size = size;
  prepared.memory = std::move(memory);
  prepared.queries = std::move(queries);
  prepared.rows = FastRowsOf(prepared.memory);
  prepared.image = MakeSupportImage(prepared.rows, kernel);
  const size_t padded = prepared.image.group.padded_key_dimension;
  const size_t bytes = padded * TraitsOf(kernel).element_bytes;
  prepared.stored.resize(size.rows * bytes);
  for (size_t q = 0; q < size.rows; ++q) {
    prepared.norms.push_back(StoreQuery(&prepared.queries[q * size.d], prepared.rows.key_centre.data(),
                                        size.d, padded, kernel, &prepared.stored[q * bytes]));
  }
  return prepared;
}

// The first, the last, and others in between.
std::vector<size_t> ChooseRows(size_t rows, size_t most) {
  std::vector<size_t> chosen;
  if (rows <= most) {
    for (size_t q = 0; q < rows; ++q) chosen.push_back(q);
    return chosen;
  }
  for (size_t i = 0; i < most; ++i) chosen.push_back(i * (rows - 1) / (most - 1));
  return chosen;
}

// `largest` becomes x if that is larger, and infinite if x is no number.
void Raise(double x, double* largest) {
  if (std::isnan(x)) x = std::numeric_limits<double>::infinity();
  *largest = std::max(*largest, x);
}

double Distance(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0;
  for (size_t k = 0; k < a.size(); ++k) squares += (a[k] - b[k]) * (a[k] - b[k]);
  return std::sqrt(squares);
}

void CompareCase(const Launcher& launcher, const Prepared& c, Kernel kernel, size_t most,
                 Comparison* comparison) {
  const ReadoutShape shape{c.size.tokens, c.size.d, c.size.dv};
  const FastArithmetic arithmetic = ArithmeticOf(kernel, shape, c.image.group.padded_key_dimension);
  const ValueBounds bounds = BoundsOf(c.memory);
  const FastErrorBound bound(arithmetic, c.rows.norms, bounds, shape);
  // Of one value only: nothing but its storage and the last additions count.
  const double scale = std::max(bounds.spread, bounds.norm * 1e-3);
  for (const size_t q : ChooseRows(c.size.rows, most)) {
    const double* query = &c.queries[q * c.size.d];
    const std::vector<double> exact = Exact(c.memory, query);
    std::vector<double> output(c.size.dv);
    for (size_t k = 0; k < c.size.dv; ++k) output[k] = launcher.Number(c.outputs_at, q * c.size.dv + k);
    const double error = Distance(output, exact);
    const double allowed = bound.At(c.norms[q]);
    if (!std::isfinite(allowed)) comparison->failure = "a bound is infinite";
    if (!std::all_of(exact.begin(), exact.end(), [](double x) { return std::isfinite(x); }))
      comparison->failure = "a reference is not finite";
    Raise(error / allowed, &comparison->bound_use);
    ++comparison->compared;
    if (c.size.queries == QueryKind::kFar) continue;
    Raise(error / scale, &comparison->error);
    // Written so that NaN does not pass for a plain error.
    const double plain = Distance(Plain(c.rows, query, kernel), exact) / scale;
    if (!std::isfinite(plain)) comparison->failure = "the plain implementation is not finite";
    Raise(plain, &comparison->plain_error);
  }
}

// One token is read without any rounding where its value is a float, and so is a far query's.
bool MustDiffer(const std::vector<GroupCase>& cases) {
  return std::any_of(cases.begin(), cases.end(),
                     [](const GroupCase& c) { return c.tokens > 1 && c.queries != QueryKind::kFar; });
}

std::string FailureOf(const Comparison& comparison, const std::vector<GroupCase>& cases, Kernel kernel) {
  // A few roundings of the result, for sizes at which the plain implementation happens to make none.
  const double floor = 4 * (TraitsOf(kernel).accumulator_bytes == 8 ? 0x1p-53 : 0x1p-24);
  if (!(comparison.error <= 2 * comparison.plain_error + floor))
    return "more than twice the error of plain code";
  if (!(comparison.bound_use <= 1)) return "beyond its proven bound";
  if (!(comparison.bound_use > 0) && MustDiffer(cases)) return "no rounding anywhere: nothing was compared";
  return "";
}

// What `kernel` stores for x.
double Stored(Kernel kernel, double x) {
  switch (TraitsOf(kernel).element_bytes) {
    case 8:
      return x;
    case 4:
      return static_cast<double>(static_cast<float>(x));
    default:
      return static_cast<double>(ToFloat(ToBf16(static_cast<float>(x))));
  }
}

constexpr size_t kMeasuredRows = 2000;

// Two tokens, x and -x, so that the centre of the keys is 0. The second one weighs nothing against the first:
// the L that a kernel writes is the logit b + z'y of the first, as it was added up.
Memory OpposedTokens(Kernel kernel, size_t d, Numbers* numbers) {
  Memory memory;
  memory.tokens = 2;
  memory.d = d;
  memory.dv = 1;
  memory.gamma = 0.5 / 1.4426950408889634;
  memory.values = {1, 1};
  memory.log_weights = {0, -2000};
  for (size_t k = 0; k < d; ++k) {
    memory.keys.push_back(Stored(kernel, std::ldexp(1 + numbers->Uniform(), -static_cast<int>(k % 11))));
  }
  for (size_t k = 0; k < d; ++k) memory.keys.push_back(-memory.keys[k]);
  return memory;
}

// Terms of many sizes; a third of the queries positive, so that losses in one direction add up.
std::vector<double> UnequalQueries(Kernel kernel, size_t d, Numbers* numbers) {
  std::vector<double> queries;
  for (size_t q = 0; q < kMeasuredRows; ++q) {
    for (size_t k = 0; k < d; ++k) {
      const double size = std::ldexp(1 + numbers->Uniform(), -static_cast<int>((q + 3 * k) % 13));
      const double sign = q % 3 == 0 || numbers->Uniform() < 0.5 ? 1 : -1;
      queries.push_back(Stored(kernel, sign * size));
    }
  }
  return queries;
}

// Compares with the exact sum of what is stored, so that only the additions are wrong.
void MeasureLogits(const Launcher& launcher, Kernel kernel, ArithmeticMeasurement* measurement) {
  const Prepared& c = launcher.cases()[0];
  const size_t d = c.size.d;
  const FastArithmetic arithmetic = ArithmeticOf(kernel, {2, d, 1}, c.image.group.padded_key_dimension);
  measurement->assumed = arithmetic.arithmetic;
  const bool wide = TraitsOf(kernel).accumulator_bytes == 8;
  const double bias = wide ? c.rows.bias[0] : static_cast<double>(static_cast<float>(c.rows.bias[0]));
  for (size_t q = 0; q < kMeasuredRows; ++q) {
    long double exact = bias;
    long double magnitudes = std::fabs(bias);
    for (size_t k = 0; k < d; ++k) {
      const long double term = static_cast<long double>(Stored(kernel, c.rows.keys[k])) *
                               static_cast<long double>(c.queries[q * d + k]);
      exact += term;
      magnitudes += std::fabs(term);
    }
    const long double error = std::fabs(launcher.Number(c.sums_at, 2 * q + 1) - exact);
    const auto total = static_cast<double>(error / magnitudes);
    measurement->total = std::max(measurement->total, total);
    measurement->largest = std::max(measurement->largest, total / (arithmetic.key_depth + 2));
  }
}

std::vector<double> MakeQueries(const GroupCase& size, Numbers* numbers) {
  std::vector<double> queries(size.rows * size.d);
  for (double& x : queries) {
    x = numbers->Normal() + 1;
    if (size.queries == QueryKind::kFar) x *= 1000;
    if (size.queries != QueryKind::kDoubles) x = static_cast<double>(static_cast<float>(x));
  }
  return queries;
}

}  // namespace

Comparison Compare(Device* device, Kernel kernel, const std::vector<GroupCase>& cases, size_t rows_compared,
                   int launches) {
  Launcher launcher(device, kernel);
  uint64_t seed = 1;
  for (const GroupCase& size : cases) {
    Numbers numbers(1000 + seed);
    std::vector<double> queries = MakeQueries(size, &numbers);
    launcher.Add(Prepare(size, MakeMemory(size.tokens, size.d, size.dv, seed), std::move(queries), kernel));
    ++seed;
  }
  Comparison comparison;
  comparison.failure = launcher.Run(launches);
  if (!comparison.failure.empty()) return comparison;
  for (const Prepared& c : launcher.cases()) {
    if (!launcher.Written(c.outputs_at, c.size.rows * c.size.dv) ||
        !launcher.Written(c.sums_at, c.size.rows * 2)) {
      comparison.failure = "a row was not written or is not finite, or memory beside it was";
      break;
    }
    CompareCase(launcher, c, kernel, rows_compared, &comparison);
  }
  if (comparison.failure.empty()) comparison.failure = FailureOf(comparison, cases, kernel);
  return comparison;
}

std::string CompareTogether(Device* device, Kernel kernel, int rounds, int launches) {
  const size_t longest = kernel == Kernel::kBfloat16Hopper ? 128 : 200;
  const std::vector<GroupCase> shapes[] = {{{17, 33, 20, 5}}, {{17, longest, 20, 70}}};
  std::string failures[2];
  const auto run = [&](size_t thread) {
    for (int i = 0; failures[thread].empty() && i < 2 * rounds; ++i) {
      failures[thread] = Compare(device, kernel, shapes[(i + thread) % 2], 3, launches).failure;
    }
  };
  std::thread other([&run] { run(1); });
  run(0);
  other.join();
  return failures[0].empty() ? failures[1] : failures[0];
}

ArithmeticMeasurement MeasureArithmetic(Device* device, Kernel kernel) {
  ArithmeticMeasurement measurement;
  for (const size_t d : {16, 128}) {
    Numbers numbers(77 + d);
    const Memory memory = OpposedTokens(kernel, d, &numbers);
    Launcher launcher(device, kernel);
    launcher.Add(Prepare({2, d, 1, kMeasuredRows}, memory, UnequalQueries(kernel, d, &numbers), kernel));
    measurement.failure = launcher.Run();
    if (!measurement.failure.empty()) return measurement;
    MeasureLogits(launcher, kernel, &measurement);
  }
  if (!(measurement.largest <= measurement.assumed))
    measurement.failure = "additions lose more than is assumed";
  return measurement;
}

const char* NameOf(Kernel kernel) {
  switch (kernel) {
    case Kernel::kFloat64:
      return "f64";
    case Kernel::kFloat32:
      return "f32";
    case Kernel::kBfloat16:
      return "bf16";
    case Kernel::kBfloat16Hopper:
      break;
  }
  return "bf16 wgmma";
}

}  // namespace expunge::attention::cuda::check
