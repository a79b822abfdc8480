// Threads that share the pieces of whatever work there is.
#ifndef EXPUNGE_ATTENTION_CPU_THREAD_TEAM_H_
#define EXPUNGE_ATTENTION_CPU_THREAD_TEAM_H_

#include <cstddef>
#include <memory>

#include "absl/functional/function_ref.h"

namespace expunge::attention::cpu {

// Threads: any number may call at once; the team's threads help whom they find.
class ThreadTeam {
 public:
  // `threads`: of one call at most, the caller included; 0: one a core.
  explicit ThreadTeam(size_t threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  [[nodiscard]] size_t threads() const { return threads_; }

  // Calls piece(0), ..., piece(count - 1), each once, by at most `threads` threads at once; returns when all
  // have ended. The caller works on them, too, so that a busy team delays nobody. If one throws, those not
  // begun are left out; when the others have ended, what was thrown first is thrown again.
  void ForEach(size_t count, size_t threads, absl::FunctionRef<void(size_t)> piece);

 private:
  class Helpers;
  const size_t threads_;
  std::unique_ptr<Helpers> helpers_;
};

}  // namespace expunge::attention::cpu

#endif  // EXPUNGE_ATTENTION_CPU_THREAD_TEAM_H_
