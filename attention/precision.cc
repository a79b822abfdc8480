#include "attention/precision.h"

namespace expunge::attention {

const char* NameOf(Backend backend) {
  switch (backend) {
    case Backend::kCpu:
      return "cpu";
    case Backend::kCuda:
      return "cuda";
  }
  return "unknown";
}

const char* NameOf(Precision precision) {
  switch (precision) {
    case Precision::kCertified:
      return "certified";
    case Precision::kFloat64:
      return "float64";
    case Precision::kFloat32:
      return "float32";
    case Precision::kBfloat16:
      return "bfloat16";
  }
  return "unknown";
}

}  // namespace expunge::attention
