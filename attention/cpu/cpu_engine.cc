#include "attention/cpu/cpu_engine.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/cpu/fast_rows.h"
#include "attention/cpu/read_rows.h"

namespace expunge::attention {
namespace {

using cpu::Work;

// Of one thread, some twenty microseconds: who would have to do less comes too late to help.
constexpr double kFlopsOfThread = 1e6;

struct Piece {
  const Work* work;
  size_t first;
  size_t rows;
};

double FlopsOf(const Work& work) {
  const SupportSet& support = *work.task->support;
  return 2.0 * static_cast<double>(cpu::QueriesOf(*work.task)) * static_cast<double>(support.size()) *
         (support.key_dimension() + support.value_dimension());
}

size_t ThreadsFor(double flops, size_t available) {
  const double useful = std::min(flops / kFlopsOfThread, static_cast<double>(available));
  return std::max<size_t>(1, static_cast<size_t>(useful));
}

// Rows that one thread reads together: tiles of them, and fewer where all threads would not find work.
size_t RowsOfPiece(size_t queries, size_t threads) {
  constexpr size_t kTile = 8;
  constexpr size_t kPiecesOfThread = 4;  // so that all end at about the same time
  return (queries / (kPiecesOfThread * threads) / kTile + 1) * kTile;
}

std::vector<Piece> PiecesOf(absl::Span<const Work> works, size_t threads) {
  size_t all_queries = 0;
  for (const Work& work : works) all_queries += cpu::QueriesOf(*work.task);
  const size_t rows = threads > 1 ? RowsOfPiece(all_queries, threads) : all_queries;
  std::vector<Piece> pieces;
  for (const Work& work : works) {
    const size_t queries = cpu::QueriesOf(*work.task);
    const size_t at_once = std::min(rows, cpu::RowsAtOnce(work));
    for (size_t first = 0; first < queries; first += at_once) {
      pieces.push_back({&work, first, std::min(at_once, queries - first)});
    }
  }
  return pieces;
}

// Some query of the answer is too far away for its precision.
bool NeedsMore(const Work& work) {
  const std::vector<double>& bounds = work.answer->error_bounds;
  return work.precision != Precision::kCertified &&
         std::any_of(bounds.begin(), bounds.end(), [](double bound) { return std::isinf(bound); });
}

Precision MoreExact(Precision precision) {
  return precision == Precision::kFloat32 ? Precision::kFloat64 : Precision::kCertified;
}

void ReadAll(absl::Span<const Work> works, cpu::ThreadTeam* team) {
  double flops = 0;
  for (const Work& work : works) {
    cpu::PrepareAnswer(work);
    flops += FlopsOf(work);
  }
  const size_t threads = team == nullptr ? 1 : ThreadsFor(flops, team->threads());
  const std::vector<Piece> pieces = PiecesOf(works, threads);
  const auto read = [&](size_t i) {
    cpu::ReadRows(*pieces[i].work, pieces[i].first, pieces[i].rows, cpu::ScratchOfThread());
  };
  if (threads > 1) {
    team->ForEach(pieces.size(), threads, read);
  } else {
    for (size_t i = 0; i < pieces.size(); ++i) read(i);
  }
}

// In the precisions asked for, and again more exactly where that is necessary.
void ReadTasks(absl::Span<const ReadoutTask> tasks, absl::Span<Readouts> answers, cpu::ThreadTeam* team) {
  std::vector<Work> works;
  works.reserve(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    works.push_back({&tasks[i], &answers[i], cpu::PrecisionFor(tasks[i], tasks[i].precision)});
  }
  while (!works.empty()) {
    ReadAll(works, team);
    std::vector<Work> again;
    for (Work& work : works) {
      if (!NeedsMore(work)) continue;
      work.precision = cpu::PrecisionFor(*work.task, MoreExact(work.precision));
      again.push_back(work);
    }
    works = std::move(again);
  }
}

}  // namespace

CpuEngine::CpuEngine(size_t threads, std::string why_no_device)
    : team_(threads), why_no_device_(std::move(why_no_device)) {}

void CpuEngine::Read(absl::Span<const ReadoutTask> tasks, absl::Span<Readouts> answers) {
  ReadTasks(tasks, answers, &team_);
}

void CpuEngine::Publish(const std::shared_ptr<const SupportSet>& previous,
                        const std::shared_ptr<const SupportSet>& next) noexcept {}

EngineStatus CpuEngine::Status() const {
  EngineStatus status;
  status.backend = Backend::kCpu;
  status.device = cpu::VectorUnit();
  if (!why_no_device_.empty()) absl::StrAppend(&status.device, "; no device: ", why_no_device_);
  return status;
}

CertifiedReadout ReadCertified(const SupportSet& support, absl::Span<const double> query,
                               bool with_contributions) {
  // Shared with nobody: the task ends before the reference does.
  const std::shared_ptr<const SupportSet> borrowed(std::shared_ptr<const SupportSet>(), &support);
  const ReadoutTask task = {borrowed, query, Precision::kCertified, with_contributions};
  Readouts answer;
  ReadTasks({&task, 1}, {&answer, 1}, nullptr);
  CertifiedReadout readout;
  const auto& output = std::get<SecretArray<double>>(answer.outputs);
  readout.output.assign(output.begin(), output.end());
  readout.decision_value = answer.decision_values[0];
  readout.error_bound = answer.error_bounds[0];
  if (with_contributions) readout.contributions = std::move(answer.contributions[0]);
  return readout;
}

}  // namespace expunge::attention
