#include "bench/solver/measurement.h"

#include "absl/strings/str_format.h"

namespace expunge::bench {

const char* Name(Op op) {
  switch (op) {
    case Op::kDeleteMargin:
      return "delete_margin";
    case Op::kDeleteError:
      return "delete_error";
    case Op::kDeleteReserve:
      return "delete_reserve";
    case Op::kAddSupport:
      return "add_support";
    case Op::kAddReserve:
      return "add_reserve";
  }
  return "";
}

const char* ShapeName(const Setting& setting) {
  return setting.shape == Shape::kGaussian ? "gaussian" : "clustered";
}

std::string BoxName(const Setting& setting) {
  const double inverse = setting.box.min_support > 0 ? setting.box.min_support - 0.5 : 1 / setting.box.value;
  return absl::StrFormat("1/%g", inverse);
}

double BoxValue(const Setting& setting) {
  return setting.box.min_support > 0 ? 2.0 / (2.0 * setting.box.min_support - 1) : setting.box.value;
}

std::string Describe(const Setting& setting) {
  return absl::StrFormat("%s, n %d, C %s", ShapeName(setting), setting.n, BoxName(setting));
}

}  // namespace expunge::bench
