// The configuration of a memory, between the wire, the solver, the store and certificates.
#ifndef EXPUNGE_SERVER_CORE_CONFIG_H_
#define EXPUNGE_SERVER_CORE_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "expunge/v1/types.pb.h"
#include "solver/memory_state.h"
#include "storage/records.pb.h"

namespace expunge::core {

// Checks everything; an absent ridge becomes the default.
// Returns: kFieldMissing, kNotFinite, kOutOfRange with the field "config", "config.gamma", ...
[[nodiscard]] absl::StatusOr<solver::Config> ConfigFromProto(const v1::MemoryConfig& proto);

// With every field set, the ridge too.
[[nodiscard]] v1::MemoryConfig ConfigToProto(const solver::Config& config);

[[nodiscard]] storage::v1::ConfigRecord ConfigToRecord(const solver::Config& config);
[[nodiscard]] solver::Config ConfigFromRecord(const storage::v1::ConfigRecord& record);

// The box bound C as certificates state it, exactly: "2/(2*s-1), s=5", or a C hex-float such as "0x1p-2".
[[nodiscard]] std::string BoxBoundText(const solver::BoxBound& box);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_CONFIG_H_
