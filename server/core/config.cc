#include "server/core/config.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace expunge::core {
namespace {

constexpr uint32_t kMaxMinSupport = uint32_t{1} << 31;

absl::StatusOr<solver::BoxBound> BoxFromProto(const v1::MemoryConfig& proto) {
  solver::BoxBound box;
  switch (proto.box_case()) {
    case v1::MemoryConfig::kMinSupport:
      if (proto.min_support() < 1 || proto.min_support() > kMaxMinSupport) {
        return MakeError(Reason::kOutOfRange, "config.min_support", "config.min_support must be 1 to 2^31");
      }
      box.min_support = proto.min_support();
      return box;
    case v1::MemoryConfig::kBoxBound:
      if (!std::isfinite(proto.box_bound())) {
        return MakeError(Reason::kNotFinite, "config.box_bound", "config.box_bound must be finite");
      }
      if (proto.box_bound() <= 0) {
        return MakeError(Reason::kOutOfRange, "config.box_bound", "config.box_bound must be above 0");
      }
      box.value = proto.box_bound();
      return box;
    default:
      return MakeError(Reason::kFieldMissing, "config.box",
                       "one of config.min_support and config.box_bound is required");
  }
}

}  // namespace

absl::StatusOr<solver::Config> ConfigFromProto(const v1::MemoryConfig& proto) {
  solver::Config config;
  config.key_dimension = proto.key_dimension();
  config.value_dimension = proto.value_dimension();
  config.gamma = proto.gamma();
  EXPUNGE_ASSIGN_OR_RETURN(config.box, BoxFromProto(proto));
  config.ridge = proto.has_ridge() ? proto.ridge() : solver::kDefaultRidge;
  EXPUNGE_RETURN_IF_ERROR(PrefixField("config", solver::ValidateConfig(config)));
  EXPUNGE_RETURN_IF_ERROR(PrefixField("config", solver::ValidateRidge(config, 1)));
  return config;
}

v1::MemoryConfig ConfigToProto(const solver::Config& config) {
  v1::MemoryConfig proto;
  proto.set_key_dimension(config.key_dimension);
  proto.set_value_dimension(config.value_dimension);
  proto.set_gamma(config.gamma);
  if (config.box.min_support > 0) {
    proto.set_min_support(config.box.min_support);
  } else {
    proto.set_box_bound(config.box.value);
  }
  proto.set_ridge(config.ridge);
  return proto;
}

storage::v1::ConfigRecord ConfigToRecord(const solver::Config& config) {
  storage::v1::ConfigRecord record;
  record.set_key_dimension(config.key_dimension);
  record.set_value_dimension(config.value_dimension);
  record.set_gamma(config.gamma);
  record.set_min_support(config.box.min_support);
  record.set_box_bound(config.box.value);
  record.set_ridge(config.ridge);
  return record;
}

solver::Config ConfigFromRecord(const storage::v1::ConfigRecord& record) {
  solver::Config config;
  config.key_dimension = record.key_dimension();
  config.value_dimension = record.value_dimension();
  config.gamma = record.gamma();
  config.box.min_support = record.min_support();
  config.box.value = record.box_bound();
  config.ridge = record.ridge();
  return config;
}

std::string BoxBoundText(const solver::BoxBound& box) {
  if (box.min_support > 0) return absl::StrCat("2/(2*s-1), s=", box.min_support);
  return absl::StrFormat("%a", box.value);
}

}  // namespace expunge::core
