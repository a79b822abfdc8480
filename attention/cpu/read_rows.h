// Rows of one task, from the support set to the answer.
#ifndef EXPUNGE_ATTENTION_CPU_READ_ROWS_H_
#define EXPUNGE_ATTENTION_CPU_READ_ROWS_H_

#include <cstddef>

#include "attention/cpu/certified_rows.h"
#include "attention/cpu/fast_rows.h"
#include "attention/engine.h"

namespace expunge::attention::cpu {

// Readouts of one task in one precision.
struct Work {
  const ReadoutTask* task = nullptr;
  Readouts* answer = nullptr;
  Precision precision = Precision::kCertified;
};

[[nodiscard]] size_t QueriesOf(const ReadoutTask& task);

// `wanted`, or the first more exact precision in which the task can be read.
[[nodiscard]] Precision PrecisionFor(const ReadoutTask& task, Precision wanted);

// Gives the answer its sizes; keeps the memory that it has. REQUIRES: PrecisionFor(task, precision) is
// `precision`, here and below.
void PrepareAnswer(const Work& work);

// How many rows ReadRows takes at most.
[[nodiscard]] size_t RowsAtOnce(const Work& work);

// What a thread keeps from one piece of work to the next: memory, all of whose bytes are 0 between pieces.
struct ThreadScratch {
  FastScratch<float> fast_float;
  FastScratch<double> fast_double;
  CertifiedScratch certified;
};

// The calling thread's.
[[nodiscard]] ThreadScratch* ScratchOfThread();

// Reads rows [first, first + rows) into the answer; what it puts into the scratch is wiped, also if it
// throws. Threads: disjoint rows at once, each with an own scratch.
void ReadRows(const Work& work, size_t first, size_t rows, ThreadScratch* scratch);

}  // namespace expunge::attention::cpu

#endif  // EXPUNGE_ATTENTION_CPU_READ_ROWS_H_
