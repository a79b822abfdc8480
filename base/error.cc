#include "base/error.h"

#include <array>
#include <cstddef>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace expunge {
namespace {

constexpr absl::string_view kReasonUrl = "expunge/reason";
constexpr absl::string_view kFieldUrl = "expunge/field";

struct Entry {
  Reason reason;
  absl::string_view name;
  absl::StatusCode code;
};

using enum absl::StatusCode;
constexpr std::array kCatalogue = {
    Entry{Reason::kFieldMissing, "FIELD_MISSING", kInvalidArgument},
    Entry{Reason::kNameMalformed, "NAME_MALFORMED", kInvalidArgument},
    Entry{Reason::kTooLong, "TOO_LONG", kInvalidArgument},
    Entry{Reason::kDimensionMismatch, "DIMENSION_MISMATCH", kInvalidArgument},
    Entry{Reason::kNotFinite, "NOT_FINITE", kInvalidArgument},
    Entry{Reason::kMagnitudeOverflow, "MAGNITUDE_OVERFLOW", kOutOfRange},
    Entry{Reason::kOutOfRange, "OUT_OF_RANGE", kOutOfRange},
    Entry{Reason::kRidgeTooSmall, "RIDGE_TOO_SMALL", kFailedPrecondition},
    Entry{Reason::kDuplicateInBatch, "DUPLICATE_IN_BATCH", kInvalidArgument},
    Entry{Reason::kTokenExists, "TOKEN_EXISTS", kAlreadyExists},
    Entry{Reason::kMemoryExists, "MEMORY_EXISTS", kAlreadyExists},
    Entry{Reason::kMemoryUnknown, "MEMORY_UNKNOWN", kNotFound},
    Entry{Reason::kTokenUnknown, "TOKEN_UNKNOWN", kNotFound},
    Entry{Reason::kSubjectUnknown, "SUBJECT_UNKNOWN", kNotFound},
    Entry{Reason::kCertificateUnknown, "CERTIFICATE_UNKNOWN", kNotFound},
    Entry{Reason::kTokenInSupport, "TOKEN_IN_SUPPORT", kFailedPrecondition},
    Entry{Reason::kMemoryEmpty, "MEMORY_EMPTY", kFailedPrecondition},
    Entry{Reason::kStateChanged, "STATE_CHANGED", kFailedPrecondition},
    Entry{Reason::kRequestIdReused, "REQUEST_ID_REUSED", kInvalidArgument},
    Entry{Reason::kRequestLost, "REQUEST_LOST", kFailedPrecondition},
    Entry{Reason::kPageTokenInvalid, "PAGE_TOKEN_INVALID", kInvalidArgument},
    Entry{Reason::kPathInvalid, "PATH_INVALID", kInvalidArgument},
    Entry{Reason::kPathExists, "PATH_EXISTS", kAlreadyExists},
    Entry{Reason::kKeyNotActive, "KEY_NOT_ACTIVE", kFailedPrecondition},
    Entry{Reason::kKeysFull, "KEYS_FULL", kResourceExhausted},
    Entry{Reason::kBackupRunning, "BACKUP_RUNNING", kFailedPrecondition},
    Entry{Reason::kBackupFailed, "BACKUP_FAILED", kUnavailable},
    Entry{Reason::kPlaintextRefused, "PLAINTEXT_REFUSED", kPermissionDenied},
    Entry{Reason::kMessageMalformed, "MESSAGE_MALFORMED", kInvalidArgument},
    Entry{Reason::kMessageTooLarge, "MESSAGE_TOO_LARGE", kResourceExhausted},
    Entry{Reason::kMemoryFull, "MEMORY_FULL", kResourceExhausted},
    Entry{Reason::kTenantFull, "TENANT_FULL", kResourceExhausted},
    Entry{Reason::kDiskFull, "DISK_FULL", kResourceExhausted},
    Entry{Reason::kOverloaded, "OVERLOADED", kUnavailable},
    Entry{Reason::kShuttingDown, "SHUTTING_DOWN", kUnavailable},
    Entry{Reason::kDeadlineExceeded, "DEADLINE_EXCEEDED", kDeadlineExceeded},
    Entry{Reason::kCancelled, "CANCELLED", kCancelled},
    Entry{Reason::kStorageFailed, "STORAGE_FAILED", kUnavailable},
    Entry{Reason::kStorageCorrupt, "STORAGE_CORRUPT", kDataLoss},
    Entry{Reason::kInternal, "INTERNAL", kInternal},
};

const Entry& Find(Reason reason) { return kCatalogue.at(static_cast<size_t>(reason)); }

constexpr bool InOrder() {
  for (size_t i = 0; i < kCatalogue.size(); ++i) {
    if (static_cast<size_t>(kCatalogue[i].reason) != i) return false;
  }
  return true;
}
static_assert(InOrder(), "the catalogue must follow the order of the enum");

}  // namespace

absl::string_view ReasonName(Reason reason) { return Find(reason).name; }

absl::StatusCode ReasonCode(Reason reason) { return Find(reason).code; }

absl::Span<const Reason> AllReasons() {
  static constexpr auto kReasons = [] {
    std::array<Reason, kCatalogue.size()> all{};
    for (size_t i = 0; i < all.size(); ++i) all[i] = kCatalogue[i].reason;
    return all;
  }();
  return kReasons;
}

absl::Status MakeError(Reason reason, absl::string_view field, absl::string_view message) {
  absl::Status status(ReasonCode(reason), message);
  status.SetPayload(kReasonUrl, absl::Cord(ReasonName(reason)));
  if (!field.empty()) status.SetPayload(kFieldUrl, absl::Cord(field));
  return status;
}

std::optional<Reason> GetReason(const absl::Status& status) {
  const auto payload = status.GetPayload(kReasonUrl);
  if (!payload.has_value()) return std::nullopt;
  for (const Entry& entry : kCatalogue) {
    if (*payload == entry.name) return entry.reason;
  }
  return std::nullopt;
}

std::string GetField(const absl::Status& status) {
  const auto payload = status.GetPayload(kFieldUrl);
  return payload.has_value() ? std::string(*payload) : std::string();
}

absl::Status PrefixField(absl::string_view prefix, const absl::Status& status) {
  const std::string field = GetField(status);
  if (status.ok() || field.empty()) return status;
  absl::Status prefixed = status;
  prefixed.SetPayload(kFieldUrl, absl::Cord(absl::StrCat(prefix, ".", field)));
  return prefixed;
}

}  // namespace expunge
