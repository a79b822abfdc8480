// Early return for absl::Status and absl::StatusOr.
#ifndef EXPUNGE_BASE_STATUS_MACROS_H_
#define EXPUNGE_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns from the enclosing function with the status of `expr` unless that is OK.
#define EXPUNGE_RETURN_IF_ERROR(expr)                  \
  do {                                                 \
    absl::Status expunge_status_ = (expr);             \
    if (!expunge_status_.ok()) return expunge_status_; \
  } while (false)

#define EXPUNGE_CONCAT_INNER_(a, b) a##b
#define EXPUNGE_CONCAT_(a, b) EXPUNGE_CONCAT_INNER_(a, b)

// Evaluates `expr` (a StatusOr); returns its status on error, else moves its value into `lhs`.
#define EXPUNGE_ASSIGN_OR_RETURN(lhs, expr) \
  EXPUNGE_ASSIGN_OR_RETURN_IMPL_(EXPUNGE_CONCAT_(expunge_or_, __LINE__), lhs, expr)
#define EXPUNGE_ASSIGN_OR_RETURN_IMPL_(tmp, lhs, expr) \
  auto tmp = (expr);                                   \
  if (!tmp.ok()) return std::move(tmp).status();       \
  lhs = *std::move(tmp)

#endif  // EXPUNGE_BASE_STATUS_MACROS_H_
