#include "attention/cuda/lane.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <variant>

#include "attention/cuda/fast_rows.h"
#include "base/secret.h"

namespace expunge::attention::cuda {
namespace {

constexpr size_t kAlignment = 256;
constexpr double kLog2E = 1.4426950408889634;

size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

size_t TilesOf(const LaunchShape& shape, size_t rows, size_t value_dimension) {
  const size_t columns = (value_dimension + shape.value_columns - 1) / shape.value_columns;
  return (rows + shape.tile_rows - 1) / shape.tile_rows * columns;
}

size_t QueryBytes(const LaunchShape& shape, const Group& group) {
  return group.padded_key_dimension * TraitsOf(shape.kernel).element_bytes;
}
size_t OutputBytes(const LaunchShape& shape, const Group& group) {
  return group.value_dimension * TraitsOf(shape.kernel).accumulator_bytes;
}
size_t SumBytes(const LaunchShape& shape) { return 2 * TraitsOf(shape.kernel).accumulator_bytes; }

// At most what so many rows take in a slot.
size_t SlotBytes(const LaunchShape& shape, const Group& group, size_t rows) {
  return 5 * kAlignment + sizeof(Group) + TilesOf(shape, rows, group.value_dimension) * sizeof(Tile) +
         rows * (QueryBytes(shape, group) + OutputBytes(shape, group) + SumBytes(shape));
}

// Writes queries `first` and on for the device, bounds their errors, and leaves |q - c| where the decision
// value will be.
void StoreQueries(const LaunchShape& shape, DeviceTask* task, size_t first, size_t rows, char* to) {
  const SupportSet& support = *task->task->support;
  const ResidentSet& resident = *task->resident;
  const size_t d = support.key_dimension();
  const size_t stride = QueryBytes(shape, resident.group());
  std::visit(
      [&](const auto& queries) {
        for (size_t q = first; q < first + rows; ++q, to += stride) {
          const double norm = StoreQuery(queries.data() + q * d, resident.key_centre().data(), d,
                                         resident.group().padded_key_dimension, shape.kernel, to);
          task->answer->decision_values[q] = norm;
          task->answer->error_bounds[q] = resident.error_bound().At(norm);
          if (std::isinf(task->answer->error_bounds[q])) task->too_far = true;
        }
      },
      task->task->queries);
}

template <typename A>
void TakeOutputs(const DeviceTask& task, size_t first, size_t rows, const char* outputs, const char* sums) {
  const SupportSet& support = *task.task->support;
  const size_t dv = support.value_dimension();
  Readouts& answer = *task.answer;
  std::visit(
      [=](auto& all) {
        static_assert(sizeof(all[0]) == 4 || sizeof(all[0]) == 8);
        std::memcpy(all.data() + first * dv, outputs, rows * dv * sizeof(all[0]));
      },
      answer.outputs);
  for (size_t q = 0; q < rows; ++q) {
    A sum[2];
    std::memcpy(sum, sums + q * sizeof(sum), sizeof(sum));
    double& decision = answer.decision_values[first + q];
    // f = 2 P 2^(L - gamma log2(e) |q - c|^2) - (1 - rho); far away the power is 0. The sum of the weights
    // times a kernel of at most 1 is at most 1, whatever rounding made of the exponent.
    const double exponent = static_cast<double>(sum[1]) - support.gamma() * kLog2E * decision * decision;
    const double weight = std::clamp(static_cast<double>(sum[0]) * std::exp2(exponent), 0.0, 1.0);
    decision = 2 * weight - (1 - support.rho());
  }
}

}  // namespace

size_t QueriesOf(const ReadoutTask& task) {
  return std::visit([&task](const auto& rows) { return rows.size() / task.support->key_dimension(); },
                    task.queries);
}

void PrepareAnswer(const ReadoutTask& task, Precision precision, Readouts* answer) {
  const size_t queries = QueriesOf(task);
  const size_t numbers = queries * task.support->value_dimension();
  *answer = Readouts();
  answer->backend = Backend::kCuda;
  answer->precision = precision;
  if (precision == Precision::kFloat64) {
    answer->outputs = std::variant_alternative_t<1, OutputRows>(numbers);
  } else {
    answer->outputs = std::variant_alternative_t<0, OutputRows>(numbers);
  }
  answer->decision_values.resize(queries);
  answer->error_bounds.resize(queries);
}

bool Lane::Open() {
  for (Slot& slot : slots_) {
    if (!health_->Note(device_->CreateStream(&slot.stream)) ||
        !health_->Note(device_->AllocateStaging(slot_bytes_, &slot.staging)) ||
        !health_->Note(device_->Allocate(slot_bytes_, &slot.memory))) {
      return false;
    }
  }
  return true;
}

Lane::~Lane() {
  for (Slot& slot : slots_) {
    if (slot.staging != nullptr) Wipe(slot.staging, slot.used);
    if (health_->lost()) continue;
    if (slot.memory != nullptr) health_->Note(device_->Free(slot.memory));
    if (slot.staging != nullptr) health_->Note(device_->FreeStaging(slot.staging));
    if (slot.stream != nullptr) health_->Note(device_->DestroyStream(slot.stream));
  }
}

void Lane::Choose(const LaunchShape& shape, absl::Span<DeviceTask> tasks, Cursor* cursor, Slot* slot) const {
  size_t left = slot_bytes_;
  for (; cursor->task < tasks.size(); ++cursor->task, cursor->row = 0) {
    DeviceTask& task = tasks[cursor->task];
    const Group& group = task.resident->group();
    size_t rows = QueriesOf(*task.task) - cursor->row;
    if (SlotBytes(shape, group, rows) > left) {
      // Whole tiles, as many as fit; of very long rows fewer.
      const size_t tile = SlotBytes(shape, group, shape.tile_rows);
      rows = left / tile * shape.tile_rows;
      if (rows == 0 && slot->pieces.empty()) rows = 1;
    }
    if (rows == 0) return;
    left -= SlotBytes(shape, group, rows);
    slot->pieces.push_back({&task, cursor->row, rows});
    cursor->row += rows;
    if (cursor->row < QueriesOf(*task.task)) return;
  }
}

bool Lane::Start(const LaunchShape& shape, Slot* slot) {
  std::vector<Group> groups;
  std::vector<Tile> tiles;
  for (const Piece& piece : slot->pieces) {
    groups.push_back(piece.task->resident->group());
    groups.back().rows = static_cast<uint32_t>(piece.rows);
    AddTiles(shape, groups.back(), static_cast<uint32_t>(groups.size() - 1), &tiles);
  }
  const size_t tiles_at = Aligned(groups.size() * sizeof(Group));
  size_t at = tiles_at + Aligned(tiles.size() * sizeof(Tile));
  for (Piece& piece : slot->pieces) {
    piece.queries = at;
    at += Aligned(piece.rows * QueryBytes(shape, piece.task->resident->group()));
  }
  const size_t outputs_at = at;
  auto* staging = static_cast<char*>(slot->staging);
  auto* memory = static_cast<char*>(slot->memory);
  for (size_t i = 0; i < slot->pieces.size(); ++i) {
    Piece& piece = slot->pieces[i];
    piece.outputs = at;
    piece.sums = at + Aligned(piece.rows * OutputBytes(shape, groups[i]));
    at = piece.sums + Aligned(piece.rows * SumBytes(shape));
    groups[i].queries = memory + piece.queries;
    groups[i].outputs = memory + piece.outputs;
    groups[i].sums = memory + piece.sums;
  }
  slot->used = at;
  for (const Piece& piece : slot->pieces)
    StoreQueries(shape, piece.task, piece.first, piece.rows, staging + piece.queries);
  std::memcpy(staging, groups.data(), groups.size() * sizeof(Group));
  std::memcpy(staging + tiles_at, tiles.data(), tiles.size() * sizeof(Tile));
  const bool started =
      health_->Note(device_->CopyIn(slot->stream, memory, staging, outputs_at)) &&
      health_->Note(device_->Launch(slot->stream, shape, reinterpret_cast<const Group*>(memory),
                                    reinterpret_cast<const Tile*>(memory + tiles_at),
                                    static_cast<uint32_t>(tiles.size()))) &&
      health_->Note(
          device_->CopyOut(slot->stream, staging + outputs_at, memory + outputs_at, at - outputs_at));
  // Nothing of the queries or the answers stays on the device, however far they came.
  return !health_->lost() && health_->Note(device_->Clear(slot->stream, memory, at)) && started;
}

bool Lane::Finish(const LaunchShape& shape, Slot* slot) {
  if (slot->pieces.empty()) return true;
  if (!health_->Note(device_->Synchronize(slot->stream))) return false;
  const auto* staging = static_cast<const char*>(slot->staging);
  for (const Piece& piece : slot->pieces) {
    const char* outputs = staging + piece.outputs;
    if (TraitsOf(shape.kernel).accumulator_bytes == sizeof(double)) {
      TakeOutputs<double>(*piece.task, piece.first, piece.rows, outputs, staging + piece.sums);
    } else {
      TakeOutputs<float>(*piece.task, piece.first, piece.rows, outputs, staging + piece.sums);
    }
  }
  Wipe(slot->staging, slot->used);
  slot->pieces.clear();
  slot->used = 0;
  return true;
}

void Lane::Abandon() noexcept {
  for (Slot& slot : slots_) {
    slot.pieces.clear();
    if (slot.used == 0) continue;
    // What was started may still read and write the slot.
    if (!health_->lost()) health_->Note(device_->Synchronize(slot.stream));
    Wipe(slot.staging, slot.used);
    // A lost device may write once more: the end of the lane wipes again.
    if (!health_->lost()) slot.used = 0;
  }
}

bool Lane::Read(const LaunchShape& shape, absl::Span<DeviceTask> tasks) {
  // Also where memory of the host runs out: nothing may be under way then, or left in the slots.
  struct Abandoning {
    ~Abandoning() { lane->Abandon(); }
    Lane* lane;
  } const abandoning{this};
  Cursor cursor;
  for (size_t turn = 0; cursor.task < tasks.size(); ++turn) {
    Slot& slot = slots_[turn % 2];
    if (!Finish(shape, &slot)) return false;
    Choose(shape, tasks, &cursor, &slot);
    if (!Start(shape, &slot)) return false;
  }
  for (Slot& slot : slots_) {
    if (!Finish(shape, &slot)) return false;
  }
  return true;
}

}  // namespace expunge::attention::cuda
