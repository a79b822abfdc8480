// A launch of a readout kernel, emulated block by block.
#ifndef EXPUNGE_TESTS_ATTENTION_CUDA_EMULATED_LAUNCH_H_
#define EXPUNGE_TESTS_ATTENTION_CUDA_EMULATED_LAUNCH_H_

#include "attention/cuda/launch.h"
#include "tests/attention/cuda/emulator.h"

namespace expunge::attention::cuda::testing {

// Arrays in ordinary memory. Returns false if threads of a block wait for each other for ever.
[[nodiscard]] bool EmulateLaunch(const LaunchShape& shape, const Group* groups, const Tile* tiles,
                                 uint32_t tile_count, const Schedule& schedule);

}  // namespace expunge::attention::cuda::testing

#endif  // EXPUNGE_TESTS_ATTENTION_CUDA_EMULATED_LAUNCH_H_
