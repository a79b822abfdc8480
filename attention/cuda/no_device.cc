// For builds without CUDA.
#include "attention/cuda/device.h"

namespace expunge::attention::cuda {

std::unique_ptr<Device> OpenCudaDevice(std::string* why) {
  *why = "this build has no CUDA: configure with -DEXPUNGE_CUDA=ON where the toolkit is installed";
  return nullptr;
}

}  // namespace expunge::attention::cuda
