// The answers of a call that has many: made one at a time, when there is room for the next.
#ifndef EXPUNGE_SERVER_CORE_ANSWER_STREAM_H_
#define EXPUNGE_SERVER_CORE_ANSWER_STREAM_H_

#include <functional>

#include "absl/status/statusor.h"

namespace expunge::core {

enum class StreamStep {
  kAnswer,  // here is one
  kAgain,   // none yet; ask again at once (so that no step takes long)
  kLater,   // none now; Await says when to ask again
  kEnd,     // there are no more
};

// Threads: one at a time. Must go before the service does.
template <class Answer>
class AnswerStream {
 public:
  AnswerStream() = default;
  virtual ~AnswerStream() = default;
  AnswerStream(const AnswerStream&) = delete;
  AnswerStream& operator=(const AnswerStream&) = delete;

  // Fills `*answer`, which is empty, if it returns kAnswer. After an error, and after kEnd, it is not called
  // again.
  [[nodiscard]] virtual absl::StatusOr<StreamStep> Next(Answer* answer) = 0;

  // Calls `wake` once, from any thread, perhaps before it returns, when there may be more than at the last
  // kLater; never, if this object goes before. `wake` must not throw, and returns at once.
  virtual void Await(std::function<void()> /*wake*/) {}
};

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_ANSWER_STREAM_H_
