// Messages of the wire API as JSON with stable field names, and as fields of text.
//
// Digests are lower-case hexadecimal; 64-bit integers are JSON numbers; an infinite number is the string
// "Infinity".
#ifndef EXPUNGE_CLIENT_CLI_VIEWS_H_
#define EXPUNGE_CLIENT_CLI_VIEWS_H_

#include <google/protobuf/duration.pb.h>

#include <cstdint>
#include <string>

#include "client/cli/context.h"
#include "expunge/v1/memory_service.pb.h"
#include "expunge/v1/types.pb.h"

namespace expunge::cli {

[[nodiscard]] Json NumberJson(double number);
[[nodiscard]] Json StateJson(const v1::StateReference& state);
[[nodiscard]] Json PartitionJson(const v1::Partition& partition);
[[nodiscard]] Json MemoryJson(const v1::Memory& memory);
[[nodiscard]] Json TokenJson(const v1::TokenInfo& token);
// Everything but the envelope.
[[nodiscard]] Json CertificateJson(const v1::Certificate& certificate);
// "HOLDS (moved by at most 0.01 of a margin of at least 0.2)", "UNKNOWN".
[[nodiscard]] std::string HorizonText(const v1::SelectionHorizon& horizon);

// "KEY_DESTROYED", "PHYSICALLY_PURGED", or "" for a certificate that erases nothing.
[[nodiscard]] std::string StageName(v1::ErasureStage stage);
[[nodiscard]] std::string StateText(const v1::StateReference& state);
[[nodiscard]] std::string PartitionText(const v1::Partition& partition);
// "2/(2*5-1), at least 5 tokens carry weight" or the double.
[[nodiscard]] std::string BoxText(const v1::MemoryConfig& config);
[[nodiscard]] Fields MemoryFields(const v1::Memory& memory);

// "margin", "error", "reserve".
[[nodiscard]] std::string ClassName(v1::TokenClass token_class);
// "DELETION", ...
[[nodiscard]] std::string KindName(v1::CertificateKind kind);
// "certified", "float64", "float32", "bfloat16".
[[nodiscard]] std::string PrecisionName(v1::ReadoutPrecision precision);
// "cpu", "cuda".
[[nodiscard]] std::string BackendName(v1::ReadoutBackend backend);
// RFC 3339 in UTC.
[[nodiscard]] std::string TimeText(const google::protobuf::Timestamp& time);
// "1m30.5s", to the millisecond.
[[nodiscard]] std::string DurationText(const google::protobuf::Duration& duration);
// "512 B", "1.5 GiB".
[[nodiscard]] std::string BytesText(uint64_t bytes);

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_VIEWS_H_
