// The error catalogue: every error that a caller can meet, once.
//
// An error is an absl::Status that carries a reason (stable, machine-readable) and, where one field of the
// input is at fault, that field's path. The status code follows from the reason. Messages name the field, the
// limit and the size of the value, never its content. docs/formats/errors.md lists the catalogue for callers.
#ifndef EXPUNGE_BASE_ERROR_H_
#define EXPUNGE_BASE_ERROR_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace expunge {

enum class Reason {
  kFieldMissing,        // INVALID_ARGUMENT     a required field is absent or empty
  kNameMalformed,       // INVALID_ARGUMENT     a name or id has a forbidden character or form
  kTooLong,             // INVALID_ARGUMENT     a string or list exceeds its limit
  kDimensionMismatch,   // INVALID_ARGUMENT     shape, dtype or byte count differ from what was promised
  kNotFinite,           // INVALID_ARGUMENT     NaN or infinity
  kMagnitudeOverflow,   // OUT_OF_RANGE         |x - y|^2 could overflow
  kOutOfRange,          // OUT_OF_RANGE         a number outside its range
  kRidgeTooSmall,       // FAILED_PRECONDITION  ridge <= n 2^-54
  kDuplicateInBatch,    // INVALID_ARGUMENT     the same id, or subject, twice in one request
  kTokenExists,         // ALREADY_EXISTS
  kMemoryExists,        // ALREADY_EXISTS
  kMemoryUnknown,       // NOT_FOUND
  kTokenUnknown,        // NOT_FOUND
  kSubjectUnknown,      // NOT_FOUND
  kCertificateUnknown,  // NOT_FOUND
  kTokenInSupport,      // FAILED_PRECONDITION  the token carries weight, or the state depends on it
  kMemoryEmpty,         // FAILED_PRECONDITION  a readout of a memory without tokens
  kStateChanged,        // FAILED_PRECONDITION  the memory is not in the state that was asked for
  kRequestIdReused,     // INVALID_ARGUMENT     the id was used with another body
  kRequestLost,         // FAILED_PRECONDITION  carried out before a restore, which lost its result
  kPageTokenInvalid,    // INVALID_ARGUMENT
  kPathInvalid,         // INVALID_ARGUMENT     not absolute, without a folder, or among what is backed up
  kPathExists,          // ALREADY_EXISTS       there is something at a place that is to be made
  kKeyNotActive,        // FAILED_PRECONDITION  the signing key named is not the one in use
  kKeysFull,            // RESOURCE_EXHAUSTED   as many signing keys as a key set can list
  kBackupRunning,       // FAILED_PRECONDITION  another backup is being made
  kBackupFailed,        // UNAVAILABLE          a half could not be written; the service itself is well
  kPlaintextRefused,    // PERMISSION_DENIED    a plain-text call from beyond this machine
  kMessageMalformed,    // INVALID_ARGUMENT     no encoding of the method's request; text that is not UTF-8
  kMessageTooLarge,     // RESOURCE_EXHAUSTED
  kMemoryFull,          // RESOURCE_EXHAUSTED   more tokens than a memory may hold
  kTenantFull,          // RESOURCE_EXHAUSTED   more memories than a tenant may have
  kDiskFull,            // RESOURCE_EXHAUSTED   too little room left for anything but erasures
  kOverloaded,          // UNAVAILABLE          too many requests wait; try again
  kShuttingDown,        // UNAVAILABLE
  kDeadlineExceeded,    // DEADLINE_EXCEEDED    before work started
  kCancelled,           // CANCELLED            before work started
  kStorageFailed,       // UNAVAILABLE          the database refused; the memory is read-only until restart
  kStorageCorrupt,      // DATA_LOSS            stored data contradicts itself
  kInternal,            // INTERNAL             a defect
};

// The reason's name as it goes over the wire, such as "TOKEN_UNKNOWN".
[[nodiscard]] absl::string_view ReasonName(Reason reason);

// The canonical code of the reason.
[[nodiscard]] absl::StatusCode ReasonCode(Reason reason);

// Every reason, in the order of the catalogue.
[[nodiscard]] absl::Span<const Reason> AllReasons();

// Builds an error. `field` is the path of the faulty input field, such as "tokens[3].token_id"; empty if none
// is.
[[nodiscard]] absl::Status MakeError(Reason reason, absl::string_view field, absl::string_view message);

// What MakeError put in; nullopt, "" for any other status.
[[nodiscard]] std::optional<Reason> GetReason(const absl::Status& status);
[[nodiscard]] std::string GetField(const absl::Status& status);

// `status` with `prefix` put before its field path ("tokens[3]" + "." + "key").
[[nodiscard]] absl::Status PrefixField(absl::string_view prefix, const absl::Status& status);

}  // namespace expunge

#endif  // EXPUNGE_BASE_ERROR_H_
