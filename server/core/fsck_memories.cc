// Memories, their tokens and their states.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/core/fsck_walk.h"
#include "server/core/handles.h"

namespace expunge::core {
namespace {

using storage::OpenRecord;
using storage::Table;

// A memory whose own record can be read.
struct Readable {
  std::shared_ptr<const MemoryIdentity> identity;
  storage::KeyName key;
};
using ReadableMemories = std::map<std::string, Readable>;

ReadableMemories CheckRecords(FsckWalk* walk) {
  std::map<std::string, std::string> handles;  // of tenants, by name
  for (const auto& [handle, tenant] : walk->tenants) handles[tenant.name] = handle;
  std::set<std::pair<std::string, std::string>> names;
  ReadableMemories readable;
  walk->ForEachKey(Table::kMemories, [&](absl::string_view key) { walk->memories[std::string(key)]; });
  walk->ForEach(Table::kMemories, "", [&](absl::string_view key, const OpenRecord& opened) {
    const auto decoded = ReadMemory(key, opened);
    if (!decoded.ok()) {
      walk->AddProblem(Table::kMemories, key, decoded.status().message());
      return;
    }
    const MemoryIdentity& identity = *decoded->identity;
    const auto tenant = handles.find(identity.tenant);
    if (tenant == handles.end()) {
      walk->AddProblem(Table::kMemories, key, "it belongs to no tenant whose record can be read");
      return;
    }
    walk->Claim(Table::kMemories, key, opened.key, walk->tenants[tenant->second].key_slot);
    if (!names.insert({identity.tenant, identity.memory}).second) {
      walk->AddProblem(Table::kMemories, key, "another memory has its name");
    }
    ++walk->report().memories;
    walk->memories[std::string(key)] = {true, tenant->second, decoded->chain, std::nullopt, {}};
    readable[std::string(key)] = {decoded->identity, opened.key};
  });
  return readable;
}

// nullopt if one of them could not be read: then nothing can be said of the state.
std::optional<HeldTokens> CheckTokens(FsckWalk* walk, absl::string_view pseudonym, const Readable& memory) {
  HeldTokens tokens;
  uint64_t records = 0;
  const uint64_t before = walk->report().records["tokens"];
  walk->ForEach(Table::kTokens, pseudonym, [&](absl::string_view key, const OpenRecord& opened) {
    walk->Claim(Table::kTokens, key, opened.key, memory.key.parent);
    auto token = ReadToken(*memory.identity, key.substr(sizeof(Digest)), opened);
    if (!token.ok()) {
      walk->AddProblem(Table::kTokens, key, token.status().message());
      return;
    }
    ++records;
    ++walk->report().tokens;
    walk->tokens[std::string(key)] = (*token)->commitment;
    walk->commitments.insert((*token)->commitment);
    tokens.push_back(*std::move(token));
  });
  if (walk->report().records["tokens"] - before != records) return std::nullopt;
  SortTokens(&tokens);
  return tokens;
}

absl::Status CheckState(FsckWalk* walk, absl::string_view pseudonym, const Readable& memory,
                        const HeldTokens& tokens) {
  const absl::StatusOr<OpenRecord> opened = walk->store().Get(Table::kStates, pseudonym);
  if (absl::IsNotFound(opened.status())) return absl::InvalidArgumentError("its state is missing");
  // One that does not unseal is reported with the table.
  if (!opened.ok()) return absl::OkStatus();
  EXPUNGE_ASSIGN_OR_RETURN(const Snapshot view, ReadState(memory.identity, memory.key, *opened, tokens));
  MemoryFacts& facts = walk->memories[std::string(pseudonym)];
  facts.scope = view->content().scope;
  for (const HeldSelection& selection : view->content().selections) {
    facts.selections.push_back(selection.certificate);
  }
  return walk->options().solve ? CheckBySolving(*view) : absl::OkStatus();
}

void CheckMemory(FsckWalk* walk, const std::string& pseudonym, const Readable& memory) {
  const std::optional<HeldTokens> tokens = CheckTokens(walk, pseudonym, memory);
  if (!tokens.has_value()) {
    walk->AddProblem(Table::kStates, pseudonym, "the state cannot be checked, as tokens are damaged");
    return;
  }
  const absl::Status state = CheckState(walk, pseudonym, memory, *tokens);
  if (!state.ok()) walk->AddProblem(Table::kStates, pseudonym, state.message());
  if (walk->options().solve) walk->Advance(tokens->size());
}

}  // namespace

void CheckMemories(FsckWalk* walk) {
  const ReadableMemories readable = CheckRecords(walk);
  for (const auto& [pseudonym, memory] : readable) CheckMemory(walk, pseudonym, memory);
  // What was not reached through a memory: of one whose record is damaged, or of one that is gone.
  std::set<std::string> others;
  walk->ForEachKey(Table::kTokens, [&](absl::string_view key) {
    std::string owner(key.substr(0, sizeof(Digest)));
    if (!readable.contains(owner)) others.insert(std::move(owner));
  });
  for (const std::string& owner : others) {
    if (!walk->memories.contains(owner)) {
      walk->AddProblem(Table::kTokens, owner, "tokens of it exist, but not the memory");
    }
    walk->ForEach(Table::kTokens, owner, [](absl::string_view, const OpenRecord&) {});
  }
  walk->ForEach(Table::kStates, "", [&](absl::string_view key, const OpenRecord&) {
    if (!walk->memories.contains(std::string(key))) {
      walk->AddProblem(Table::kStates, key, "a state of it exists, but not the memory");
    }
  });
}

}  // namespace expunge::core
