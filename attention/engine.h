// Readouts of many queries from many memories: the one interface to whatever computes them.
//
//     o(q) = sum_i a_i k(q, x_i) v_i / sum_i a_i k(q, x_i)         over i in S and E
//     f(q) = 2 sum_i a_i k(q, x_i) - (1 - rho)
// as a softmax of the logits log a_i - gamma |q - x_i|^2: it never becomes 0/0, and a far query still gets a
// proper weighted mean.
//
// Every answer names what computed it, and bounds |o(q) - o*(q)|_2 against the readout o* of the exact
// weights (docs/math/readout.md). An engine answers in any case: what a backend or a precision cannot do (no
// device, a device lost, a value beyond the range of float, contributions) is done in a more exact way, and
// the answer says in which.
#ifndef EXPUNGE_ATTENTION_ENGINE_H_
#define EXPUNGE_ATTENTION_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/precision.h"
#include "attention/support_set.h"
#include "base/secret.h"

namespace expunge::attention {

// One token's share of a readout.
struct Contribution {
  uint32_t token = 0;  // SupportSet::indices()
  double weight = 0;   // of the softmax
};

// Row-major; floats are worth exactly what they are as doubles.
using QueryRows = std::variant<absl::Span<const float>, absl::Span<const double>>;
using OutputRows = std::variant<SecretArray<float>, SecretArray<double>>;  // wiped when they go

// Queries to one memory.
struct ReadoutTask {
  std::shared_ptr<const SupportSet> support;  // not empty
  QueryRows queries;                          // Q x d; normalised (solver::NormalizeKey)
  Precision precision = Precision::kCertified;
  bool with_contributions = false;  // then read as kCertified
};

struct Readouts {
  Backend backend = Backend::kCpu;
  Precision precision = Precision::kCertified;
  OutputRows outputs;                   // Q x dv; floats of kFloat32 and kBfloat16, doubles of the others
  std::vector<double> decision_values;  // Q; as exact as the precision, without a bound
  std::vector<double> error_bounds;     // Q; Euclidean norm
  // Q, each in descending order of weight, then ascending tokens; empty unless asked for.
  std::vector<std::vector<Contribution>> contributions;
};

// What an engine has done since it was made.
struct EngineStatus {
  Backend backend = Backend::kCpu;
  std::string device;      // the name of the device; of the CPU, its vector unit, and why there is no device
  uint64_t fallbacks = 0;  // tasks for the device that the CPU answered
  uint64_t device_errors = 0;     // errors of the device or its driver
  std::string last_device_error;  // empty: none
  uint64_t resident_bytes = 0;    // of support sets, on the device
  uint64_t evictions = 0;         // support sets that left the device to make room
};

// Threads: any number of calls at once.
class ReadoutEngine {
 public:
  virtual ~ReadoutEngine() = default;

  // answers[i] is the answer to tasks[i]. Bits of kCertified depend on the task alone; those of others may
  // depend on the machine, and on what is read together. REQUIRES: as many answers as tasks.
  virtual void Read(absl::Span<const ReadoutTask> tasks, absl::Span<Readouts> answers) = 0;

  // `next` takes the place of `previous` (either may be null): whatever copies of `previous` the engine holds
  // are wiped as soon as the reads that use them end. Does not wait for them, and does not fail; copies of
  // `next` are made when it is first read.
  virtual void Publish(const std::shared_ptr<const SupportSet>& previous,
                       const std::shared_ptr<const SupportSet>& next) noexcept = 0;

  [[nodiscard]] virtual EngineStatus Status() const = 0;
};

enum class BackendChoice { kCpu, kCuda, kAuto };

struct EngineOptions {
  BackendChoice backend = BackendChoice::kAuto;
  size_t threads = 0;                         // of the CPU, shared by all reads; 0: one a core
  uint64_t device_bytes = uint64_t{2} << 30;  // that support sets may take on the device
};

// kAuto: the device, if this build has CUDA and there is one that can be used, else the CPU.
// Returns: FailedPrecondition for kCuda without such a device or build; says why and what to do.
[[nodiscard]] absl::StatusOr<std::unique_ptr<ReadoutEngine>> MakeReadoutEngine(const EngineOptions& options);

}  // namespace expunge::attention

#endif  // EXPUNGE_ATTENTION_ENGINE_H_
