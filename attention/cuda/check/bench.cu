#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "attention/cuda/check/bench.h"
#include "attention/cuda/check/comparison.h"
#include "attention/cuda/fast_rows.h"
#include "attention/cuda/launch.h"
#ifdef EXPUNGE_CHECK_CUBLAS
#include <cublas_v2.h>
#endif

namespace expunge::attention::cuda::check {
namespace {

// Operations a cycle of one multiprocessor, by the vendor's data sheets for 8.0 and 9.0; other devices are
// counted as 8.0. A multiply-add is two.
struct Rates {
  double f64 = 128;
  double f32 = 128;
  double bf16 = 2048;
  double exp2 = 16;
};

struct Limits {
  double f64, f32, bf16, exp2;  // operations a second
  double bytes;                 // a second
};

Limits LimitsOf(const DeviceFacts& facts) {
  int device = 0;
  int clock_khz = 0;
  int memory_khz = 0;
  int bus_bits = 0;
  (void)cudaGetDevice(&device);
  (void)cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device);
  (void)cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, device);
  (void)cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, device);
  Rates rates;
  if (facts.compute_major == 9) rates = {256, 256, 4096, 16};
  const double cycles = 1e3 * clock_khz * facts.multiprocessors;
  return {rates.f64 * cycles, rates.f32 * cycles, rates.bf16 * cycles, rates.exp2 * cycles,
          2e3 * memory_khz * bus_bits / 8};
}

struct Shape {
  size_t memories;
  size_t tokens;  // of each memory
  size_t rows;    // of each memory
  size_t d;       // and dv
};

struct Cost {
  double operations;  // of the two products; the exponentials besides
  double exponentials;
  double bytes;
};

Cost CostOf(const Shape& shape, Kernel kernel) {
  const KernelTraits traits = TraitsOf(kernel);
  const double pairs = 1.0 * shape.memories * shape.rows * shape.tokens;
  const double rows = 1.0 * shape.memories * shape.rows;
  const double support = 1.0 * shape.memories * shape.tokens;
  return {
      pairs * 4 * shape.d, pairs,
      rows * (shape.d * (traits.element_bytes + traits.accumulator_bytes) + 2.0 * traits.accumulator_bytes) +
          support * (2.0 * shape.d * traits.element_bytes + traits.accumulator_bytes)};
}

// Seconds below which the device cannot be, and by what.
std::pair<double, const char*> FloorOf(const Limits& limits, const Cost& cost, Kernel kernel) {
  const double rate = kernel == Kernel::kFloat64   ? limits.f64
                      : kernel == Kernel::kFloat32 ? limits.f32
                                                   : limits.bf16;
  std::pair<double, const char*> floor = {cost.operations / rate, "mult-adds"};
  // Doubles have no unit for exponentials.
  if (kernel != Kernel::kFloat64) floor = std::max(floor, {cost.exponentials / limits.exp2, "exp2"});
  return std::max(floor, {cost.bytes / limits.bytes, "bytes"});
}

bool Ok(cudaError_t error, const char* what) {
  if (error != cudaSuccess) std::printf("FAIL %s: %s\n", what, cudaGetErrorName(error));
  return error == cudaSuccess;
}

#ifdef EXPUNGE_CHECK_CUBLAS
constexpr bool kHasProduct = true;
bool Ok(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) std::printf("FAIL %s: error %d\n", what, static_cast<int>(status));
  return status == CUBLAS_STATUS_SUCCESS;
}
#else
constexpr bool kHasProduct = false;
#endif

// Memory of the device, freed at the end.
class Memories {
 public:
  ~Memories() {
    for (void* memory : all_) (void)cudaFree(memory);
  }
  void* Take(size_t bytes) {
    void* memory = nullptr;
    if (!Ok(cudaMalloc(&memory, bytes), "allocating")) return nullptr;
    all_.push_back(memory);
    return memory;
  }

 private:
  std::vector<void*> all_;
};

// Median seconds of `run`, which enqueues on the stream; negative if it failed. Long runs are repeated less.
template <typename Run>
double Time(cudaStream_t stream, int repetitions, const Run& run) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  if (!Ok(cudaEventCreate(&begin), "an event") || !Ok(cudaEventCreate(&end), "an event")) return -1;
  std::vector<float> times;
  bool ok = run() && Ok(cudaStreamSynchronize(stream), "running");
  float spent = 0;
  constexpr float kEnough = 400;  // milliseconds
  for (int i = 0; ok && i < repetitions && spent < kEnough; ++i) {
    float milliseconds = 0;
    ok = Ok(cudaEventRecord(begin, stream), "timing") && run() &&
         Ok(cudaEventRecord(end, stream), "timing") && Ok(cudaEventSynchronize(end), "running") &&
         Ok(cudaEventElapsedTime(&milliseconds, begin, end), "timing");
    times.push_back(milliseconds);
    spent += milliseconds;
  }
  (void)cudaEventDestroy(begin);
  (void)cudaEventDestroy(end);
  if (!ok) return -1;
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1e-3;
}

class Bench {
 public:
  Bench(Device* device, cudaStream_t stream, int repetitions)
      : device_(device), stream_(stream), repetitions_(repetitions), limits_(LimitsOf(device->facts())) {}

  // Seconds of one launch.
  double Readout(const Shape& shape, Kernel kernel) {
    Memories memories;
    std::vector<Group> groups;
    if (!MakeGroups(shape, kernel, &memories, &groups)) return -1;
    const LaunchShape launch = ShapeFor(kernel, groups[0].padded_key_dimension, groups[0].value_dimension,
                                        groups[0].rows, device_->facts().shared_bytes_per_block);
    std::vector<Tile> tiles;
    for (uint32_t g = 0; g < groups.size(); ++g) AddTiles(launch, groups[g], g, &tiles);
    void* there = memories.Take(groups.size() * sizeof(Group) + tiles.size() * sizeof(Tile));
    if (there == nullptr) return -1;
    void* tiles_there = static_cast<char*>(there) + groups.size() * sizeof(Group);
    if (!Ok(cudaMemcpy(there, groups.data(), groups.size() * sizeof(Group), cudaMemcpyHostToDevice),
            "copying") ||
        !Ok(cudaMemcpy(tiles_there, tiles.data(), tiles.size() * sizeof(Tile), cudaMemcpyHostToDevice),
            "copying")) {
      return -1;
    }
    return Time(stream_, repetitions_, [&] {
      const DeviceStatus status =
          device_->Launch(stream_, launch, static_cast<const Group*>(there),
                          static_cast<const Tile*>(tiles_there), static_cast<uint32_t>(tiles.size()));
      if (!status.ok()) std::printf("FAIL %s\n", status.message.c_str());
      return status.ok();
    });
  }

  // Seconds of a matrix product with as many operations: rows x tokens, 2 d terms each. Negative: not at
  // hand, or it failed and that was printed.
  double Product(const Shape& shape, Kernel kernel) {
#ifdef EXPUNGE_CHECK_CUBLAS
    const size_t rows = shape.memories * shape.rows;
    const size_t k = 2 * shape.d;
    const size_t bytes = TraitsOf(kernel).element_bytes;
    Memories memories;
    void* a = memories.Take(rows * k * bytes);
    void* b = memories.Take(shape.tokens * k * bytes);
    void* c = memories.Take(rows * shape.tokens * bytes);
    if (a == nullptr || b == nullptr || c == nullptr) return -1;
    if (!Scatter(a, rows * k, kernel) || !Scatter(b, shape.tokens * k, kernel)) return -1;
    cublasHandle_t handle = nullptr;
    if (!Ok(cublasCreate(&handle), "opening cuBLAS") || !Ok(cublasSetStream(handle, stream_), "its stream"))
      return -1;
    const bool wide = kernel == Kernel::kFloat64;
    const cudaDataType_t type = wide ? CUDA_R_64F : kernel == Kernel::kFloat32 ? CUDA_R_32F : CUDA_R_16BF;
    const cublasComputeType_t compute = wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
    const double one64 = 1;
    const double zero64 = 0;
    const float one32 = 1;
    const float zero32 = 0;
    const void* one = wide ? static_cast<const void*>(&one64) : &one32;
    const void* zero = wide ? static_cast<const void*>(&zero64) : &zero32;
    const int n = static_cast<int>(rows);
    const int m = static_cast<int>(shape.tokens);
    const int depth = static_cast<int>(k);
    const double seconds = Time(stream_, repetitions_, [&] {
      return Ok(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, depth, one, b, type, depth, a, type,
                             depth, zero, c, type, m, compute, CUBLAS_GEMM_DEFAULT),
                "a product of cuBLAS");
    });
    (void)cublasDestroy(handle);
    return seconds;
#else
    (void)shape;
    (void)kernel;
    return -1;
#endif
  }

  // Seconds below which one launch cannot be.
  double Floor(const Shape& shape, Kernel kernel) const {
    return FloorOf(limits_, CostOf(shape, kernel), kernel).first;
  }

  // A line of the table; false if the device failed.
  bool Line(const Shape& shape, Kernel kernel, double full_seconds) {
    const double seconds = Readout(shape, kernel);
    if (seconds < 0) return false;
    const Cost cost = CostOf(shape, kernel);
    const auto [floor, what] = FloorOf(limits_, cost, kernel);
    char product[24] = "-";
    const double product_seconds = Product(shape, kernel);
    if (kHasProduct && product_seconds < 0) return false;
    if (product_seconds > 0) std::snprintf(product, sizeof(product), "%.2f", product_seconds / seconds);
    char full[24] = "-";
    if (full_seconds > 0) std::snprintf(full, sizeof(full), "%.0fx", full_seconds / seconds);
    std::printf("%-10s %5zu %6zu %6zu %4zu  %10.1f %9.1f %9.2f  %5.0f%% of %-9s  %8s  %8s\n", NameOf(kernel),
                shape.memories, shape.tokens, shape.rows, shape.d, seconds * 1e6, cost.bytes * 1e-6,
                cost.operations / seconds * 1e-12, 100 * floor / seconds, what, product, full);
    std::fflush(stdout);
    return true;
  }

 private:
  // Random numbers of the kernel's type: never zeros, which are faster.
  bool Scatter(void* to, size_t count, Kernel kernel) {
    const size_t bytes = TraitsOf(kernel).element_bytes;
    const size_t block = std::min(count, size_t{1} << 20);
    std::vector<char> numbers(block * bytes);
    Numbers random(5);
    const double centre = 0;
    for (size_t i = 0; i < block; ++i) {
      const double x = random.Normal();
      (void)StoreQuery(&x, &centre, 1, 1, kernel, &numbers[i * bytes]);
    }
    for (size_t begin = 0; begin < count; begin += block) {
      const size_t length = std::min(block, count - begin);
      if (!Ok(cudaMemcpy(static_cast<char*>(to) + begin * bytes, numbers.data(), length * bytes,
                         cudaMemcpyHostToDevice),
              "copying")) {
        return false;
      }
    }
    return true;
  }

  bool MakeGroups(const Shape& shape, Kernel kernel, Memories* memories, std::vector<Group>* groups) {
    const SupportImage image =
        MakeSupportImage(FastRowsOf(MakeMemory(shape.tokens, shape.d, shape.d, 3)), kernel);
    const KernelTraits traits = TraitsOf(kernel);
    const size_t image_bytes = (image.bytes.size() + 255) / 256 * 256;
    const size_t rows = shape.memories * shape.rows;
    const size_t query_bytes = image.group.padded_key_dimension * traits.element_bytes;
    char* images = static_cast<char*>(memories->Take(image_bytes * shape.memories));
    char* queries = static_cast<char*>(memories->Take(rows * query_bytes));
    char* outputs = static_cast<char*>(memories->Take(rows * shape.d * traits.accumulator_bytes));
    char* sums = static_cast<char*>(memories->Take(rows * 2 * traits.accumulator_bytes));
    if (images == nullptr || queries == nullptr || outputs == nullptr || sums == nullptr) return false;
    if (!Scatter(queries, rows * image.group.padded_key_dimension, kernel)) return false;
    for (size_t i = 0; i < shape.memories; ++i) {
      char* there = images + i * image_bytes;
      if (!Ok(cudaMemcpy(there, image.bytes.data(), image.bytes.size(), cudaMemcpyHostToDevice), "copying"))
        return false;
      Group group = image.At(there);
      group.rows = static_cast<uint32_t>(shape.rows);
      group.queries = queries + i * shape.rows * query_bytes;
      group.outputs = outputs + i * shape.rows * shape.d * traits.accumulator_bytes;
      group.sums = sums + i * shape.rows * 2 * traits.accumulator_bytes;
      groups->push_back(group);
    }
    return true;
  }

  Device* const device_;
  const cudaStream_t stream_;
  const int repetitions_;
  const Limits limits_;
};

void Heading(const char* title) {
  std::printf("\n%s\n%-10s %5s %6s %6s %4s  %10s %9s %9s  %-18s  %8s  %8s\n", title, "kernel", "mems", "M",
              "Q", "d=dv", "us", "MB", "TFLOP/s", "share of limit", "GEMM t/t", "n=10000");
}

std::vector<Kernel> AllKernels(const Device& device) {
  std::vector<Kernel> kernels = {Kernel::kFloat64, Kernel::kFloat32, Kernel::kBfloat16};
  if (device.BestBfloat16() == Kernel::kBfloat16Hopper) kernels.push_back(Kernel::kBfloat16Hopper);
  return kernels;
}

bool Grouped(Bench* bench, Kernel kernel, size_t tokens, size_t rows) {
  const double one = bench->Readout({1, tokens, 1000 * rows, 128}, kernel);
  const double many = bench->Readout({1000, tokens, rows, 128}, kernel);
  if (one < 0 || many < 0) return false;
  // A thousand memories are more to read than one: no launch can be nearer to one than the ratio of the
  // limits.
  const double limits =
      bench->Floor({1000, tokens, rows, 128}, kernel) / bench->Floor({1, tokens, 1000 * rows, 128}, kernel);
  std::printf(
      "%-10s M %5zu, %zu queries to each of 1000 memories: %.1f us, all to one: %.1f us, ratio %.2f, "
      "of the limits %.2f\n",
      NameOf(kernel), tokens, rows, many * 1e6, one * 1e6, many / one, limits);
  std::fflush(stdout);
  return true;
}

}  // namespace

bool RunBenchmarks(Device* device, bool quick) {
  Device::Stream stream = nullptr;
  if (const DeviceStatus status = device->CreateStream(&stream); !status.ok()) {
    std::printf("FAIL %s\n", status.message.c_str());
    return false;
  }
  Bench bench(device, static_cast<cudaStream_t>(stream), quick ? 3 : 9);
  const std::vector<size_t> tokens =
      quick ? std::vector<size_t>{100, 1000} : std::vector<size_t>{14, 100, 1000};
  const std::vector<size_t> rows =
      quick ? std::vector<size_t>{1024, 65536} : std::vector<size_t>{1, 64, 1024, 65536};
  const std::vector<size_t> dimensions = quick ? std::vector<size_t>{128} : std::vector<size_t>{64, 128};
  bool ok = true;
  Heading(
      "One memory. GEMM t/t: time of a cuBLAS product with as many operations / ours. n=10000: time of a "
      "softmax over "
      "all of 10,000 tokens / ours.");
  for (const Kernel kernel : AllKernels(*device)) {
    for (const size_t d : dimensions) {
      for (const size_t q : rows) {
        const double full = ok ? bench.Readout({1, 10000, q, d}, kernel) : -1;
        ok = ok && full >= 0;
        for (const size_t m : tokens) ok = ok && bench.Line({1, m, q, d}, kernel, full);
      }
    }
  }
  std::printf("\nMany memories in one launch, d = dv = 128\n");
  for (const Kernel kernel : AllKernels(*device)) {
    for (const size_t m : quick ? std::vector<size_t>{100} : std::vector<size_t>{14, 100, 1000}) {
      ok = ok && Grouped(&bench, kernel, m, 64) && Grouped(&bench, kernel, m, 66);
    }
  }
  if (const DeviceStatus status = device->DestroyStream(stream); !status.ok()) ok = false;
  return ok;
}

}  // namespace expunge::attention::cuda::check
