#include "server/core/selections.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace expunge::core {

HeldSelections Forgetting(const HeldSelections& selections, const HeldTokens& removed) {
  if (selections.empty()) return selections;
  std::set<absl::string_view> ids;
  for (const auto& held : removed) ids.insert(held->token->id);
  HeldSelections remaining = selections;
  for (HeldSelection& selection : remaining) {
    std::vector<absl::string_view> forgotten;
    for (const solver::SupportEntry& entry : selection.claim->reference()) {
      if (ids.count(entry.token->id) > 0) forgotten.emplace_back(entry.token->id);
    }
    if (forgotten.empty()) continue;
    auto claim = std::make_shared<solver::Selection>(*selection.claim);
    for (const absl::string_view id : forgotten) claim->Forget(id);
    selection.claim = std::move(claim);
  }
  return remaining;
}

void DescribeSelection(const Tenant& tenant, uint64_t number, const storage::v1::CertificateRecord& record,
                       v1::Certificate* certificate) {
  if (record.kind() != v1::CERTIFICATE_KIND_SELECTION) return;
  v1::SelectionHorizon* const horizon = certificate->mutable_selection();
  horizon->set_status(v1::SELECTION_STATUS_UNKNOWN);
  const Snapshot present = tenant.Find(record.memory());
  // Another memory may have taken up the name.
  if (present == nullptr || AsView(present->identity().pseudonym) != record.memory_pseudonym()) return;
  const uint64_t first = record.completes() > 0 ? record.completes() : number;
  const HeldSelections& selections = present->content().selections;
  const auto found =
      std::find_if(selections.begin(), selections.end(),
                   [first](const HeldSelection& selection) { return selection.certificate == first; });
  if (found == selections.end()) return;
  const solver::Horizon evaluated = found->claim->Evaluate(present->Support(), present->content().rho);
  horizon->set_status(evaluated.holds ? v1::SELECTION_STATUS_HOLDS : v1::SELECTION_STATUS_EXPIRED);
  *horizon->mutable_state() = present->ReferenceProto();
  horizon->set_movement_upper(evaluated.movement_upper);
  horizon->set_margin_lower(evaluated.margin_lower);
}

}  // namespace expunge::core
