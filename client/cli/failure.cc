#include "client/cli/failure.h"

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "client/cpp/status.h"

namespace expunge::cli {
namespace {

constexpr absl::string_view kHintUrl = "expunge.cli/hint";
constexpr absl::string_view kRefusalUrl = "expunge.cli/refusal";

std::string GetText(const absl::Status& status, absl::string_view url) {
  const auto payload = status.GetPayload(url);
  return payload.has_value() ? std::string(*payload) : std::string();
}

// What helps against an error of the service.
absl::string_view HintFor(Reason reason) {
  switch (reason) {
    case Reason::kMemoryUnknown:
      return "list the memories of this tenant with 'expunge memory list', or name another with --tenant";
    case Reason::kTokenUnknown:
      return "list the tokens of this memory with 'expunge tokens MEMORY'";
    case Reason::kSubjectUnknown:
      return "no token names this subject; check the spelling and --tenant with 'expunge tokens MEMORY'";
    case Reason::kCertificateUnknown:
      return "list the certificates with 'expunge cert list'";
    case Reason::kMemoryEmpty:
      return "add tokens first with 'expunge import MEMORY --csv FILE ...'";
    case Reason::kTokenExists:
      return "leave these rows out with --exclude-ids FILE, or delete the tokens first";
    case Reason::kMemoryExists:
      return "choose another name, or delete the memory with 'expunge memory delete'";
    case Reason::kRequestIdReused:
      return "this --request-id belongs to another call; leave it out to get a fresh one";
    case Reason::kDimensionMismatch:
      return "compare the columns you chose with 'expunge memory get MEMORY'";
    case Reason::kMessageTooLarge:
      return "send less at once with --batch-size";
    case Reason::kNameMalformed:
      return "names are 1 to 128 characters of A-Z a-z 0-9 . _ ~ -; subjects up to 256, also of @ : +";
    case Reason::kMagnitudeOverflow:
      return "standardise the keys with --standardize, or check the units of the columns";
    case Reason::kFieldMissing:
    case Reason::kTooLong:
    case Reason::kNotFinite:
    case Reason::kOutOfRange:
    case Reason::kDuplicateInBatch:
      return "correct the field that is named; the command's --help tells its range";
    case Reason::kRidgeTooSmall:
      return "a memory of so many tokens needs a larger --ridge, chosen when it is created";
    case Reason::kMemoryFull:
      return "delete tokens, or start the service with a larger --max-tokens-per-memory";
    case Reason::kTenantFull:
      return "delete a memory that is no longer needed: expunge memory list shows them";
    case Reason::kPathInvalid:
      return "name an absolute path on the server's machine, in a folder that exists, outside the data";
    case Reason::kPathExists:
      return "name a path at which there is nothing: the service makes the directory";
    case Reason::kKeyNotActive:
      return "see which key is in use with 'expunge keys list': it may have been rotated already";
    case Reason::kKeysFull:
      return "keep the present key: its certificates stay valid, and only a new data directory has new keys";
    case Reason::kBackupRunning:
      return "wait until it is done: 'expunge server status' tells";
    case Reason::kBackupFailed:
      return "look at the file system of that place (space, rights), then repeat the call: nothing is left";
    case Reason::kPlaintextRefused:
      return "use a tunnel, or run expunge on the machine of the service";
    case Reason::kOverloaded:
    case Reason::kShuttingDown:
      return "wait a moment, then repeat the call with the same --request-id";
    case Reason::kDeadlineExceeded:
    case Reason::kCancelled:
      return "nothing was done: repeat the call, with a longer --timeout";
    case Reason::kStorageFailed:
      return "look at the service's log; after its disk is well again, restart it and repeat the call";
    default:
      return "this is not your mistake: keep the service's log, and ask who runs it";
  }
}

}  // namespace

absl::Status UsageFailure(absl::string_view message, absl::string_view hint) {
  return WithHint(absl::InvalidArgumentError(message), hint);
}

absl::Status Refusal(absl::string_view reason, absl::string_view message, absl::string_view hint) {
  absl::Status status = absl::FailedPreconditionError(message);
  status.SetPayload(kRefusalUrl, absl::Cord(reason));
  return WithHint(status, hint);
}

absl::Status WithHint(const absl::Status& status, absl::string_view hint) {
  absl::Status result = status;
  if (!hint.empty()) result.SetPayload(kHintUrl, absl::Cord(hint));
  return result;
}

absl::Status WithContext(absl::string_view prefix, const absl::Status& status) {
  if (status.ok()) return status;
  absl::Status result(status.code(), absl::StrCat(prefix, ": ", status.message()));
  status.ForEachPayload(
      [&result](absl::string_view url, const absl::Cord& payload) { result.SetPayload(url, payload); });
  return result;
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  if (!RefusalReason(status).empty()) return kExitRefused;
  switch (client::GetOrigin(status)) {
    case client::Origin::kService:
      return kExitRefused;
    case client::Origin::kTransport:
      return kExitUnreachable;
    case client::Origin::kLocal:
      break;
  }
  return kExitUsage;
}

std::string HintOf(const absl::Status& status) {
  std::string own = GetText(status, kHintUrl);
  if (!own.empty()) return own;
  if (client::GetOrigin(status) == client::Origin::kTransport) {
    return status.code() == absl::StatusCode::kDeadlineExceeded
               ? "whether the call took effect is unknown: repeat it with the same --request-id, and a "
                 "longer "
                 "--timeout"
               : "start the service with 'expunged --data-dir DIR', or name another with --server HOST:PORT "
                 "(or EXPUNGE_SERVER)";
  }
  const auto reason = GetReason(status);
  if (!reason.has_value() && status.code() == absl::StatusCode::kUnimplemented) {
    return "check --server: something answers there, but not an Expunge service that knows this call";
  }
  if (reason == Reason::kNameMalformed && absl::EndsWith(GetField(status), "legal_basis")) {
    return "write it in printable ASCII, such as --legal-basis 'GDPR Art. 17(1)(b)'";
  }
  return reason.has_value() ? std::string(HintFor(*reason)) : std::string();
}

std::string RefusalReason(const absl::Status& status) { return GetText(status, kRefusalUrl); }

}  // namespace expunge::cli
