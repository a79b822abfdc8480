// Readouts by the CPU.
//
// Queries are read some rows at a time; the threads of one team share the pieces of all calls, and a call
// with little to do is not shared at all. Which rows are read together changes no bit of a certified answer.
#ifndef EXPUNGE_ATTENTION_CPU_CPU_ENGINE_H_
#define EXPUNGE_ATTENTION_CPU_CPU_ENGINE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/cpu/thread_team.h"
#include "attention/engine.h"
#include "attention/support_set.h"

namespace expunge::attention {

class CpuEngine final : public ReadoutEngine {
 public:
  // `threads` may work on one call, the caller included; 0: one a core. `why_no_device`: why this is not an
  // engine with a device, if one was looked for; its status says so.
  explicit CpuEngine(size_t threads, std::string why_no_device = "");

  // kBfloat16 is read as kFloat32. Cost: 2 Q m (d + dv) flops, 3 Q m d + 2 Q m dv if certified.
  // Throws std::bad_alloc, when no thread is at work on it any longer; the answers are then unspecified.
  void Read(absl::Span<const ReadoutTask> tasks, absl::Span<Readouts> answers) override;
  // Holds no copies: nothing to do.
  void Publish(const std::shared_ptr<const SupportSet>& previous,
               const std::shared_ptr<const SupportSet>& next) noexcept override;
  [[nodiscard]] EngineStatus Status() const override;

 private:
  cpu::ThreadTeam team_;
  const std::string why_no_device_;
};

// One query, certified.
struct CertifiedReadout {
  std::vector<double> output;  // dv
  double decision_value = 0;
  double error_bound = 0;
  std::vector<Contribution> contributions;  // empty unless asked for
};

// The same bits as any engine's, by the calling thread. REQUIRES: as for ReadoutTask. Cost: m (3 d + 2 dv).
[[nodiscard]] CertifiedReadout ReadCertified(const SupportSet& support, absl::Span<const double> query,
                                             bool with_contributions);

}  // namespace expunge::attention

#endif  // EXPUNGE_ATTENTION_CPU_CPU_ENGINE_H_
