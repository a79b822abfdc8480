// Add.
#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/error.h"
#include "base/secret.h"
#include "base/status_macros.h"
#include "server/core/change.h"
#include "server/core/handles.h"
#include "server/core/lookup.h"
#include "server/core/names.h"
#include "server/core/operations.h"
#include "server/core/requests.h"
#include "server/core/step.h"
#include "server/core/vectors.h"

namespace expunge::core {
namespace {

// What a Delete takes: a key for each memory's next records. It must not depend on room on the vault's disk.
constexpr size_t kSpareKeys = 64;

constexpr int kMaxSubjects = 64;

// What a token's fields must be, whatever the memory.
absl::Status CheckNewToken(const v1::NewToken& token) {
  EXPUNGE_RETURN_IF_ERROR(CheckId(token.token_id(), "token_id"));
  if (token.subjects().empty()) {
    return MakeError(Reason::kFieldMissing, "subjects", "a token names at least one subject");
  }
  if (token.subjects_size() > kMaxSubjects) {
    return MakeError(Reason::kTooLong, "subjects",
                     absl::StrCat("a token names ", token.subjects_size(), " subjects; at most ",
                                  kMaxSubjects, " are allowed"));
  }
  std::set<absl::string_view> seen;
  for (int i = 0; i < token.subjects_size(); ++i) {
    const std::string field = absl::StrCat("subjects[", i, "]");
    EXPUNGE_RETURN_IF_ERROR(CheckSubject(token.subjects(i), field));
    if (!seen.insert(token.subjects(i)).second) {
      return MakeError(Reason::kDuplicateInBatch, field, "the token names a subject twice");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNewTokens(const v1::AddRequest& request) {
  EXPUNGE_RETURN_IF_ERROR(CheckBatchSize(static_cast<uint64_t>(request.tokens_size()), "tokens"));
  std::set<absl::string_view> seen;
  for (int i = 0; i < request.tokens_size(); ++i) {
    const std::string field = absl::StrCat("tokens[", i, "]");
    EXPUNGE_RETURN_IF_ERROR(PrefixField(field, CheckNewToken(request.tokens(i))));
    if (!seen.insert(request.tokens(i).token_id()).second) {
      return MakeError(Reason::kDuplicateInBatch, absl::StrCat(field, ".token_id"),
                       "the request has a token of this id already");
    }
  }
  if (!request.has_keys()) return MakeError(Reason::kFieldMissing, "keys", "keys are required");
  if (!request.has_values()) return MakeError(Reason::kFieldMissing, "values", "values are required");
  return absl::OkStatus();
}

// What the tokens must be beside those that the memory holds.
absl::Status CheckAgainstMemory(const Context& context, const MemoryView& memory,
                                const v1::AddRequest& request) {
  for (int i = 0; i < request.tokens_size(); ++i) {
    if (memory.Find(request.tokens(i).token_id()) == memory.tokens().size()) continue;
    return MakeError(Reason::kTokenExists, absl::StrCat("tokens[", i, "].token_id"),
                     "the memory has a token of this id");
  }
  const uint64_t total = memory.tokens().size() + static_cast<uint64_t>(request.tokens_size());
  if (total > context.options.max_tokens_per_memory) {
    return MakeError(Reason::kMemoryFull, "tokens",
                     absl::StrCat("the memory would have ", total, " tokens; at most ",
                                  context.options.max_tokens_per_memory, " are allowed"));
  }
  return PrefixField("config", solver::ValidateRidge(memory.identity().config, total));
}

struct DecodedVectors {
  SecretArray<double> keys;
  SecretArray<double> values;
};

absl::StatusOr<DecodedVectors> Decode(const solver::Config& config, const v1::AddRequest& request) {
  const auto rows = static_cast<uint32_t>(request.tokens_size());
  DecodedVectors decoded;
  EXPUNGE_ASSIGN_OR_RETURN(decoded.keys,
                           DecodeVectors(request.keys(), {config, VectorRole::kKey, rows, "keys"}));
  EXPUNGE_ASSIGN_OR_RETURN(decoded.values,
                           DecodeVectors(request.values(), {config, VectorRole::kValue, rows, "values"}));
  return decoded;
}

std::vector<double> Row(const SecretArray<double>& elements, uint32_t columns, int row) {
  const auto part = absl::MakeConstSpan(elements).subspan(static_cast<size_t>(row) * columns, columns);
  return {part.begin(), part.end()};
}

// The new tokens, in the order of the request.
HeldTokens MakeTokens(const MemoryIdentity& memory, const v1::AddRequest& request,
                      const DecodedVectors& vectors, const RequestIdentity& identity,
                      const std::vector<storage::Slot>& key_slots) {
  HeldTokens tokens;
  for (int i = 0; i < request.tokens_size(); ++i) {
    const v1::NewToken& source = request.tokens(i);
    solver::Token token{source.token_id(), Row(vectors.keys, memory.config.key_dimension, i),
                        Row(vectors.values, memory.config.value_dimension, i)};
    HeldToken held =
        MakeHeldToken(memory, std::move(token), {source.subjects().begin(), source.subjects().end()});
    if (identity.has_id) held.added_by = ToBytes(identity.handle);
    held.added_index = static_cast<uint32_t>(i);
    held.key_slot = key_slots[static_cast<size_t>(i)];
    tokens.push_back(std::make_shared<const HeldToken>(std::move(held)));
  }
  return tokens;
}

void AppendReceipts(const MemoryIdentity& memory, const HeldTokens& tokens, v1::AddResponse* response) {
  for (const auto& held : tokens) {
    v1::TokenReceipt* receipt = response->add_receipts();
    receipt->set_token(FormatTokenName(memory.tenant, memory.memory, held->token->id));
    receipt->set_salt(ToBytes(held->salt));
    receipt->set_commitment(ToBytes(held->commitment));
  }
}

// Makes the receipts of a remembered answer again, from the tokens that it added and that still exist.
void RestoreReceipts(const Snapshot& memory, const RequestIdentity& identity,
                     absl::string_view memory_pseudonym, v1::AddResponse* response) {
  if (memory == nullptr || AsView(memory->identity().pseudonym) != memory_pseudonym) return;
  HeldTokens added;
  for (const auto& held : memory->tokens()) {
    if (held->added_by == AsView(identity.handle)) added.push_back(held);
  }
  std::sort(added.begin(), added.end(),
            [](const auto& a, const auto& b) { return a->added_index < b->added_index; });
  AppendReceipts(memory->identity(), added, response);
}

}  // namespace

absl::StatusOr<v1::AddResponse> AddTokens(const Context& context, const v1::AddRequest& request) {
  const absl::Time received = context.clock();
  EXPUNGE_ASSIGN_OR_RETURN(const MemoryName name, ParseMemoryName(request.parent(), "parent"));
  EXPUNGE_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  EXPUNGE_RETURN_IF_ERROR(CheckNewTokens(request));
  Tenant* tenant = context.tenants.Find(name.tenant);
  if (tenant == nullptr) return MemoryUnknown("parent");

  const std::lock_guard lock(tenant->writer());
  const Snapshot before = tenant->Find(name.memory);
  const RequestIdentity identity = IdentifyRequest(context, name.tenant, "Add", request);
  EXPUNGE_ASSIGN_OR_RETURN(const auto remembered, FindAnswer(context, *tenant, identity));
  if (remembered.has_value()) {
    EXPUNGE_ASSIGN_OR_RETURN(v1::AddResponse response, DecodeAnswer<v1::AddResponse>(*remembered));
    RestoreReceipts(before, identity, remembered->memory_pseudonym(), &response);
    return response;
  }
  if (before == nullptr) return MemoryUnknown("parent");
  const MemoryIdentity& memory = before->identity();
  EXPUNGE_RETURN_IF_ERROR(CheckAgainstMemory(context, *before, request));
  EXPUNGE_ASSIGN_OR_RETURN(const DecodedVectors vectors, Decode(memory.config, request));
  EXPUNGE_RETURN_IF_ERROR(CheckWritable(context));
  EXPUNGE_RETURN_IF_ERROR(context.store->database().CheckRoom(request.ByteSizeLong()));

  const auto count = static_cast<size_t>(request.tokens_size());
  EXPUNGE_RETURN_IF_ERROR(context.store->vault().KeepSpare(tenant->key_slot(), count + kSpareKeys));
  EXPUNGE_ASSIGN_OR_RETURN(const auto key_slots, context.store->vault().Take(tenant->key_slot(), count));
  const HeldTokens added = MakeTokens(memory, request, vectors, identity, key_slots);
  EXPUNGE_ASSIGN_OR_RETURN(Step step, StepByAdding(context, before, added));
  v1::AddResponse response;
  *response.mutable_state() = step.after->ReferenceProto();
  *response.mutable_partition() = step.after->PartitionProto();
  Change change(context, *tenant, identity, received);
  change.Put(std::move(step));
  EXPUNGE_RETURN_IF_ERROR(change.Commit(response, AsView(memory.pseudonym)));
  AppendReceipts(memory, added, &response);
  return response;
}

}  // namespace expunge::core
