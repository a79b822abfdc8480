#include "client/cli/views.h"

#include <array>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/bytes.h"

namespace expunge::cli {
namespace {

Json ConfigJson(const v1::MemoryConfig& config) {
  Json json;
  json["key_dimension"] = config.key_dimension();
  json["value_dimension"] = config.value_dimension();
  json["gamma"] = config.gamma();
  json["min_support"] = config.has_min_support() ? Json(config.min_support()) : Json(nullptr);
  json["box_bound"] = config.has_box_bound() ? Json(config.box_bound()) : Json(nullptr);
  json["ridge"] = config.has_ridge() ? Json(config.ridge()) : Json(nullptr);
  return json;
}

Json ProofJson(const v1::ProofSummary& proof) {
  Json json;
  json["strict"] = proof.strict();
  json["higher_precision"] = proof.higher_precision();
  json["ties"] = proof.ties();
  json["margin_lower"] = NumberJson(proof.margin_lower());
  json["weight_distance_lower"] = NumberJson(proof.weight_distance_lower());
  json["duality_gap_upper"] = NumberJson(proof.duality_gap_upper());
  json["eigenvalue_lower"] = NumberJson(proof.eigenvalue_lower());
  json["eta"] = NumberJson(proof.eta());
  return json;
}

}  // namespace

Json NumberJson(double number) {
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return number;
}

Json StateJson(const v1::StateReference& state) {
  Json json;
  json["epoch"] = state.epoch();
  json["digest"] = ToHex(state.digest());
  return json;
}

Json PartitionJson(const v1::Partition& partition) {
  Json json;
  json["margin"] = partition.margin();
  json["error"] = partition.error();
  json["reserve"] = partition.reserve();
  return json;
}

Json MemoryJson(const v1::Memory& memory) {
  Json json;
  json["name"] = memory.name();
  json["config"] = ConfigJson(memory.config());
  json["create_time"] = TimeText(memory.create_time());
  json["token_count"] = memory.token_count();
  json["state"] = StateJson(memory.state());
  if (memory.has_partition()) json["partition"] = PartitionJson(memory.partition());
  if (memory.has_proof()) json["proof"] = ProofJson(memory.proof());
  if (!memory.fingerprint().empty()) json["fingerprint"] = ToHex(memory.fingerprint());
  return json;
}

Json TokenJson(const v1::TokenInfo& token) {
  Json json;
  json["name"] = token.name();
  json["token_id"] = token.name().substr(token.name().rfind('/') + 1);
  json["subjects"] = Json::array();
  for (const auto& subject : token.subjects()) json["subjects"].push_back(subject);
  json["class"] = ClassName(token.token_class());
  json["weight"] = token.weight();
  json["commitment"] = ToHex(token.commitment());
  return json;
}

std::string SelectionStatusName(v1::SelectionStatus status) {
  const std::string name = v1::SelectionStatus_Name(status);
  return std::string(absl::StripPrefix(name, "SELECTION_STATUS_"));
}

Json CertificateJson(const v1::Certificate& certificate) {
  Json json;
  json["name"] = certificate.name();
  json["kind"] = KindName(certificate.kind());
  json["memory"] = certificate.memory();
  json["create_time"] = TimeText(certificate.create_time());
  json["stage"] = StageName(certificate.stage());
  json["completes"] = certificate.completes().empty() ? Json(nullptr) : Json(certificate.completes());
  if (!certificate.has_selection()) return json;
  const v1::SelectionHorizon& horizon = certificate.selection();
  Json& selection = json["selection"];
  selection["status"] = SelectionStatusName(horizon.status());
  if (!horizon.has_state()) return json;
  selection["state"] = StateJson(horizon.state());
  selection["movement_upper"] = horizon.movement_upper();
  selection["margin_lower"] = horizon.margin_lower();
  return json;
}

std::string HorizonText(const v1::SelectionHorizon& horizon) {
  std::string status = SelectionStatusName(horizon.status());
  if (!horizon.has_state()) return status;
  return absl::StrFormat("%s (moved by at most %.6g of a margin of at least %.6g)", status,
                         horizon.movement_upper(), horizon.margin_lower());
}

std::string StageName(v1::ErasureStage stage) {
  switch (stage) {
    case v1::ERASURE_STAGE_KEY_DESTROYED:
      return "KEY_DESTROYED";
    case v1::ERASURE_STAGE_PHYSICALLY_PURGED:
      return "PHYSICALLY_PURGED";
    default:
      return "";
  }
}

std::string StateText(const v1::StateReference& state) {
  return absl::StrCat("epoch ", state.epoch(), ", digest ", ToHex(state.digest()));
}

std::string PartitionText(const v1::Partition& partition) {
  return absl::StrCat(partition.margin(), " margin, ", partition.error(), " error (weight = C), ",
                      partition.reserve(), " reserve (weight 0)");
}

std::string BoxText(const v1::MemoryConfig& config) {
  if (config.has_box_bound()) return absl::StrCat("C = ", config.box_bound());
  return absl::StrCat("C = 2/", 2 * uint64_t{config.min_support()} - 1, ": at least ",
                      Count(config.min_support(), "token"), " with weight");
}

Fields MemoryFields(const v1::Memory& memory) {
  const v1::MemoryConfig& config = memory.config();
  Fields fields = {
      {"tokens", absl::StrCat(memory.token_count())},
      {"dimensions", absl::StrCat("keys ", config.key_dimension(), ", values ", config.value_dimension())},
      {"kernel", absl::StrCat("exp(-gamma |x-y|^2), gamma = ", config.gamma())},
      {"box bound", BoxText(config)},
      {"ridge", absl::StrCat(config.has_ridge() ? config.ridge() : 1e-6)},
      {"created", TimeText(memory.create_time())},
      {"state", StateText(memory.state())},
  };
  if (memory.has_partition()) fields.emplace_back("partition", PartitionText(memory.partition()));
  if (memory.has_proof()) {
    const v1::ProofSummary& proof = memory.proof();
    fields.emplace_back(
        "proof", absl::StrCat(proof.strict() ? "every class proven strictly" : "not every class strict", ", ",
                              Count(proof.higher_precision(), "decision"), " at higher precision, ",
                              Count(proof.ties(), "tie")));
    fields.emplace_back("duality gap", absl::StrCat("<= ", proof.duality_gap_upper()));
    fields.emplace_back("eta", absl::StrCat("<= ", proof.eta()));
  }
  if (!memory.fingerprint().empty()) fields.emplace_back("fingerprint", ToHex(memory.fingerprint()));
  return fields;
}

std::string ClassName(v1::TokenClass token_class) {
  switch (token_class) {
    case v1::TOKEN_CLASS_MARGIN:
      return "margin";
    case v1::TOKEN_CLASS_ERROR:
      return "error";
    case v1::TOKEN_CLASS_RESERVE:
      return "reserve";
    default:
      return "unspecified";
  }
}

std::string KindName(v1::CertificateKind kind) {
  const std::string name = v1::CertificateKind_Name(kind);
  return std::string(absl::StripPrefix(name, "CERTIFICATE_KIND_"));
}

std::string PrecisionName(v1::ReadoutPrecision precision) {
  const std::string name = v1::ReadoutPrecision_Name(precision);
  return absl::AsciiStrToLower(absl::StripPrefix(name, "READOUT_PRECISION_"));
}

std::string BackendName(v1::ReadoutBackend backend) {
  const std::string name = v1::ReadoutBackend_Name(backend);
  return absl::AsciiStrToLower(absl::StripPrefix(name, "READOUT_BACKEND_"));
}

std::string TimeText(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(time.seconds()), absl::UTCTimeZone());
}

std::string DurationText(const google::protobuf::Duration& duration) {
  return absl::FormatDuration(absl::Trunc(
      absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos()), absl::Milliseconds(1)));
}

std::string BytesText(uint64_t bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double amount = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
  return absl::StrFormat("%.1f %s", amount, kUnits.at(unit));
}

}  // namespace expunge::cli
