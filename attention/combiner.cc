#include "attention/combiner.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

namespace expunge::attention {
namespace {

size_t QueriesOf(const ReadoutTask& task) {
  const size_t elements = std::visit([](const auto& rows) { return rows.size(); }, task.queries);
  return elements / task.support->key_dimension();
}

size_t QueriesOf(absl::Span<const ReadoutTask> tasks) {
  size_t queries = 0;
  for (const ReadoutTask& task : tasks) queries += QueriesOf(task);
  return queries;
}

}  // namespace

// A small read, on its caller's stack.
struct ReadoutCombiner::Waiting {
  absl::Span<const ReadoutTask> tasks;
  absl::Span<Readouts> answers;
  size_t queries;
  std::chrono::steady_clock::time_point patient_until;
  bool done = false;
  Waiting* next = nullptr;
  std::exception_ptr thrown = nullptr;
  std::condition_variable changed{};
};

// A place in flight; and a lane, for small reads. REQUIRES, to make one: mutex_ held.
class ReadoutCombiner::InFlight {
 public:
  InFlight(ReadoutCombiner* combiner, bool lane) : combiner_(*combiner), lane_(lane) {
    ++combiner_.in_flight_;
    if (lane_) ++combiner_.lanes_in_use_;
  }
  ~InFlight() {
    const std::lock_guard lock(combiner_.mutex_);
    --combiner_.in_flight_;
    if (lane_) --combiner_.lanes_in_use_;
    combiner_.WakeFirst();
  }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  ReadoutCombiner& combiner_;
  const bool lane_;
};

ReadoutCombiner::ReadoutCombiner(ReadoutEngine* engine, const CombinerOptions& options)
    : engine_(*engine), options_(options) {}

CombinerCounts ReadoutCombiner::Counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void ReadoutCombiner::Read(absl::Span<const ReadoutTask> tasks, absl::Span<Readouts> answers) {
  if (tasks.empty()) return;
  const size_t queries = QueriesOf(tasks);
  if (queries > options_.small_queries) return ReadAlone(tasks, answers);
  Waiting own{tasks, answers, queries, std::chrono::steady_clock::now() + options_.delay};
  ReadSmall(&own);
  if (own.thrown != nullptr) std::rethrow_exception(own.thrown);
}

void ReadoutCombiner::ReadAlone(absl::Span<const ReadoutTask> tasks, absl::Span<Readouts> answers) {
  std::unique_lock lock(mutex_);
  const InFlight place(this, false);
  lock.unlock();
  engine_.Read(tasks, answers);
}

void ReadoutCombiner::ReadSmall(Waiting* own) {
  std::unique_lock lock(mutex_);
  (last_ == nullptr ? first_ : last_->next) = own;
  last_ = own;
  queued_queries_ += own->queries;
  ++counts_.waiting;
  WakeFirst();  // the group may be full now
  while (!own->done) {
    const auto now = std::chrono::steady_clock::now();
    const bool first = first_ == own;
    if (first && MayLead(now)) break;
    if (first && now < own->patient_until) {
      own->changed.wait_until(lock, own->patient_until);
    } else {
      own->changed.wait(lock);
    }
  }
  if (own->done) return;
  const InFlight place(this, true);
  Waiting* const group = TakeGroup();
  WakeFirst();  // for whom there was no room: another lane may be free
  lock.unlock();
  Compute(group);
  lock.lock();
  for (Waiting* one = group; one != nullptr;) {
    Waiting* const next = one->next;
    one->done = true;
    one->changed.notify_one();  // it is gone once the lock is free
    one = next;
  }
  lock.unlock();
}

bool ReadoutCombiner::MayLead(std::chrono::steady_clock::time_point now) const {
  if (lanes_in_use_ >= options_.lanes) return false;
  return in_flight_ == 0 || queued_queries_ >= options_.group_queries || now >= first_->patient_until;
}

void ReadoutCombiner::WakeFirst() {
  if (first_ != nullptr && lanes_in_use_ < options_.lanes) first_->changed.notify_one();
}

ReadoutCombiner::Waiting* ReadoutCombiner::TakeGroup() {
  Waiting* const group = first_;
  Waiting* end = nullptr;
  size_t count = 0;
  size_t queries = 0;
  while (first_ != nullptr && (count == 0 || queries + first_->queries <= options_.group_queries)) {
    queries += first_->queries;
    ++count;
    end = first_;
    first_ = first_->next;
  }
  end->next = nullptr;
  if (first_ == nullptr) last_ = nullptr;
  queued_queries_ -= queries;
  counts_.waiting -= count;
  if (count > 1) {
    ++counts_.groups;
    counts_.combined += count;
  }
  return group;
}

// Throws nothing: what is thrown goes to whom it concerns.
void ReadoutCombiner::Compute(Waiting* group) {
  if (group->next != nullptr) {
    try {
      return ComputeTogether(group);
    } catch (...) {
      // Whom it concerns shows when each is read alone.
    }
  }
  for (Waiting* one = group; one != nullptr; one = one->next) {
    try {
      engine_.Read(one->tasks, one->answers);
    } catch (...) {
      one->thrown = std::current_exception();
    }
  }
}

void ReadoutCombiner::ComputeTogether(Waiting* group) {
  std::vector<ReadoutTask> tasks;
  for (const Waiting* one = group; one != nullptr; one = one->next) {
    tasks.insert(tasks.end(), one->tasks.begin(), one->tasks.end());
  }
  std::vector<Readouts> answers(tasks.size());
  engine_.Read(tasks, absl::MakeSpan(answers));
  auto answer = answers.begin();
  for (Waiting* one = group; one != nullptr; one = one->next) {
    for (Readouts& own : one->answers) own = std::move(*answer++);
  }
}

}  // namespace expunge::attention
