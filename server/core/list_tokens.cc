// ListTokens.
#include <string>

#include "base/status_macros.h"
#include "server/core/handles.h"
#include "server/core/lookup.h"
#include "server/core/names.h"
#include "server/core/operations.h"
#include "server/core/paging.h"

namespace expunge::core {
namespace {

v1::TokenClass ClassProto(solver::TokenClass token_class) {
  switch (token_class) {
    case solver::TokenClass::kMargin:
      return v1::TOKEN_CLASS_MARGIN;
    case solver::TokenClass::kError:
      return v1::TOKEN_CLASS_ERROR;
    case solver::TokenClass::kReserve:
      return v1::TOKEN_CLASS_RESERVE;
  }
  return v1::TOKEN_CLASS_UNSPECIFIED;
}

v1::TokenInfo TokenInfoProto(const MemoryView& memory, size_t index) {
  const HeldToken& held = *memory.tokens()[index];
  v1::TokenInfo info;
  info.set_name(FormatTokenName(memory.identity().tenant, memory.identity().memory, held.token->id));
  for (const std::string& subject : held.subjects) info.add_subjects(subject);
  const HeldEntry entry = memory.EntryAt(index);
  info.set_token_class(ClassProto(entry.token_class));
  info.set_weight(entry.weight);
  info.set_commitment(ToBytes(held.commitment));
  return info;
}

}  // namespace

absl::StatusOr<v1::ListTokensResponse> ListTokens(const Context& context,
                                                  const v1::ListTokensRequest& request) {
  if (!request.subject().empty()) EXPUNGE_RETURN_IF_ERROR(CheckSubject(request.subject(), "subject"));
  EXPUNGE_ASSIGN_OR_RETURN(const uint32_t page_size, CheckPageSize(request.page_size()));
  EXPUNGE_ASSIGN_OR_RETURN(const Snapshot memory, FindMemory(context, request.parent(), "parent"));
  const Pages pages(context.secret, {"ListTokens", AsView(memory->identity().pseudonym), request.subject()});
  EXPUNGE_ASSIGN_OR_RETURN(const std::string last, pages.Start(request.page_token()));

  v1::ListTokensResponse response;
  *response.mutable_state() = memory->ReferenceProto();
  std::string final_id;
  for (size_t i = memory->tokens().Place(last); i < memory->tokens().size(); ++i) {
    const HeldToken& held = *memory->tokens()[i];
    if (held.token->id <= last || (!request.subject().empty() && !held.Names(request.subject()))) continue;
    if (static_cast<uint32_t>(response.tokens_size()) == page_size) {
      response.set_next_page_token(pages.Next(final_id));
      break;
    }
    *response.add_tokens() = TokenInfoProto(*memory, i);
    final_id = held.token->id;
  }
  return response;
}

}  // namespace expunge::core
