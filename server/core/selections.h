// Selections of a memory between the calls that make and ask for them (solver/selection.h has the claim).
#ifndef EXPUNGE_SERVER_CORE_SELECTIONS_H_
#define EXPUNGE_SERVER_CORE_SELECTIONS_H_

#include <cstdint>

#include "expunge/v1/types.pb.h"
#include "server/core/memory.h"
#include "server/core/tenant.h"
#include "storage/records.pb.h"

namespace expunge::core {

// Without anything of the keys of `removed`: of a token that a selection refers to, its weight is left, in
// one sum with others. Those that do not refer to any are shared. Cost: O(their references) and, for each
// that is affected, O(references) for each such token.
[[nodiscard]] HeldSelections Forgetting(const HeldSelections& selections, const HeldTokens& removed);

// Adds to a certificate of kind SELECTION whether its claim holds at the memory's present state; to others,
// nothing. `number` and `record` are the certificate's. Cost: solver::Selection::Evaluate.
void DescribeSelection(const Tenant& tenant, uint64_t number, const storage::v1::CertificateRecord& record,
                       v1::Certificate* certificate);

}  // namespace expunge::core

#endif  // EXPUNGE_SERVER_CORE_SELECTIONS_H_
