#include "client/cli/certificate_filters.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/bytes.h"
#include "base/status_macros.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"

namespace expunge::cli {
namespace {

constexpr size_t kMaxReceiptBytes = size_t{64} << 20;

absl::Status AddCommitment(absl::string_view hex, absl::string_view where, const absl::Status& failure,
                           v1::ListCertificatesRequest* request) {
  const auto bytes = FromHex(absl::AsciiStrToLower(hex));
  if (!bytes.has_value() || bytes->size() != sizeof(Digest)) return WithContext(where, failure);
  request->add_commitments(*bytes);
  return absl::OkStatus();
}

// A file of receipts, as 'expunge import' writes it: one JSON object a line.
absl::Status AddReceipts(const std::string& path, v1::ListCertificatesRequest* request) {
  EXPUNGE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxReceiptBytes));
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const Json json = Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
    const bool has = json.is_object() && json.contains("commitment") && json["commitment"].is_string();
    EXPUNGE_RETURN_IF_ERROR(AddCommitment(
        has ? json["commitment"].get<std::string>() : std::string(), absl::StrCat(path, ", line ", number),
        UsageFailure("no receipt of a token", "give a file that 'expunge import --receipts' wrote"),
        request));
  }
  return absl::OkStatus();
}

}  // namespace

void AddCertificateFilters(CLI::App* command, CertificateFilters* filters) {
  command->add_option("--memory", filters->memory, "Only those of this memory; it may no longer exist");
  command->add_option("--kind", filters->kind, "Only this kind")
      ->check(CLI::IsMember({"DELETION", "PURGE", "SELECTION", "STATE", "MEMORY_DELETION"}));
  command->add_option("--stage", filters->stage, "Only erasures of this stage")
      ->check(CLI::IsMember({"KEY_DESTROYED", "PHYSICALLY_PURGED"}));
  command->add_option("--since", filters->since,
                      "Only those issued at this time or later: 2026-05-28 or 2026-05-28T20:26:40Z, in UTC");
  command->add_option("--until", filters->until, "Only those issued before this time");
  command
      ->add_option("--commitment", filters->commitments,
                   "Only those that speak of a token with this commitment, 64 hexadecimal digits from its "
                   "receipt; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--receipts", filters->receipts,
                   "The same for every receipt in this file; with all receipts of a data subject: all "
                   "certificates that speak of the subject")
      ->allow_extra_args(false);
}

absl::StatusOr<google::protobuf::Timestamp> ParseTimeOption(absl::string_view option,
                                                            absl::string_view text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime("%Y-%m-%d", text, &time, &error) &&
      !absl::ParseTime("%Y-%m-%d%ET%H:%M:%SZ", text, &time, &error)) {
    return UsageFailure(absl::StrCat(option, " is no time"),
                        "write it as 2026-05-28 or 2026-05-28T20:26:40Z, in UTC");
  }
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(absl::ToUnixSeconds(time));
  return timestamp;
}

absl::StatusOr<v1::ListCertificatesRequest> ListRequestFor(const Context& context,
                                                           const CertificateFilters& filters) {
  v1::ListCertificatesRequest request;
  request.set_parent(context.TenantName());
  if (!filters.memory.empty()) request.set_memory(context.MemoryName(filters.memory));
  // The checks of the options have seen to it that these names are ours.
  v1::CertificateKind kind = v1::CERTIFICATE_KIND_UNSPECIFIED;
  if (v1::CertificateKind_Parse(absl::StrCat("CERTIFICATE_KIND_", filters.kind), &kind)) {
    request.set_kind(kind);
  }
  v1::ErasureStage stage = v1::ERASURE_STAGE_UNSPECIFIED;
  if (v1::ErasureStage_Parse(absl::StrCat("ERASURE_STAGE_", filters.stage), &stage)) request.set_stage(stage);
  if (!filters.since.empty()) {
    EXPUNGE_ASSIGN_OR_RETURN(*request.mutable_create_time_start(), ParseTimeOption("--since", filters.since));
  }
  if (!filters.until.empty()) {
    EXPUNGE_ASSIGN_OR_RETURN(*request.mutable_create_time_end(), ParseTimeOption("--until", filters.until));
  }
  for (const std::string& commitment : filters.commitments) {
    EXPUNGE_RETURN_IF_ERROR(AddCommitment(
        commitment, "--commitment",
        UsageFailure("no commitment", "give the 64 hexadecimal digits from a receipt"), &request));
  }
  for (const std::string& path : filters.receipts) {
    EXPUNGE_RETURN_IF_ERROR(AddReceipts(path, &request));
  }
  return request;
}

v1::WatchCertificatesRequest WatchRequestFor(const v1::ListCertificatesRequest& request) {
  v1::WatchCertificatesRequest watch;
  watch.set_parent(request.parent());
  watch.set_memory(request.memory());
  watch.set_kind(request.kind());
  watch.set_stage(request.stage());
  if (request.has_create_time_start()) *watch.mutable_create_time_start() = request.create_time_start();
  if (request.has_create_time_end()) *watch.mutable_create_time_end() = request.create_time_end();
  *watch.mutable_commitments() = request.commitments();
  return watch;
}

}  // namespace expunge::cli
