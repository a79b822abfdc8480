// Certificates: their numbers, their form, and the chain of each memory.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "certificate/key_chain.h"
#include "certificate/read_payload.h"
#include "expunge/v1/types.pb.h"
#include "server/core/certificates.h"
#include "server/core/fsck_walk.h"
#include "server/core/handles.h"
#include "storage/records.pb.h"

namespace expunge::core {
namespace {

using certificate::PayloadFacts;
using storage::OpenRecord;
using storage::Table;

// The end of each memory's chain so far, by the tenant's handle and the memory's pseudonym.
using Chains = std::map<std::string, Chain>;

uint32_t StageOf(const PayloadFacts& payload) {
  if (payload.completes.has_value()) return v1::ERASURE_STAGE_PHYSICALLY_PURGED;
  return payload.kind == certificate::Kind::kState ? v1::ERASURE_STAGE_UNSPECIFIED
                                                   : v1::ERASURE_STAGE_KEY_DESTROYED;
}

bool SaysTheSame(const storage::v1::CertificateRecord& record, const PayloadFacts& payload,
                 absl::string_view tenant) {
  return AsView(payload.tenant) == tenant && ToBytes(payload.memory) == record.memory_pseudonym() &&
         payload.sequence == record.sequence() &&
         static_cast<uint32_t>(KindProto(payload.kind)) == record.kind() &&
         StageOf(payload) == record.stage() && payload.completes.has_value() == (record.completes() > 0);
}

// Numbers begin at 1 and have no gap.
void CheckNumber(FsckWalk* walk, absl::string_view tenant, uint64_t number, uint64_t* next) {
  if (number > *next) {
    walk->AddProblem({"certificates", ToHex(tenant), "", "", *next,
                      absl::StrCat(number - *next == 1 ? "the certificate is missing"
                                                       : "certificates are missing from this one up to ",
                                   number - *next == 1 ? "" : absl::StrCat(number - 1))});
  }
  *next = number + 1;
}

void CheckPlaceInChain(FsckWalk* walk, absl::string_view key, const PayloadFacts& payload,
                       const Digest& payload_sha256, Chain* chain) {
  if (payload.sequence != chain->next_sequence ||
      payload.previous_payload_sha256 != chain->last_payload_sha256) {
    walk->AddProblem(Table::kCertificates, key,
                     "it does not follow the one before it in its memory's chain, or that is missing");
  }
  *chain = {payload.sequence + 1, payload_sha256};
}

void CheckFirstStage(FsckWalk* walk, absl::string_view key, const storage::v1::CertificateRecord& record,
                     const PayloadFacts& payload, const TenantFacts& tenant) {
  if (!payload.completes.has_value()) return;
  const auto first = tenant.certificates.find(record.completes());
  if (first != tenant.certificates.end() && first->second.memory == record.memory_pseudonym() &&
      first->second.stage == v1::ERASURE_STAGE_KEY_DESTROYED &&
      first->second.sequence == payload.completes->sequence &&
      first->second.payload_sha256 == payload.completes->payload_sha256) {
    return;
  }
  walk->AddProblem(Table::kCertificates, key, "it completes a certificate that is not there, or another");
}

// Its leaf is in the log, in its place.
void CheckLogged(FsckWalk* walk, absl::string_view key, const storage::v1::CertificateRecord& record) {
  const absl::StatusOr<std::string> leaf = LeafOf(record);
  const auto logged = walk->leaves.find(record.log_index());
  if (leaf.ok() && logged != walk->leaves.end() && logged->second == Sha256(*leaf)) return;
  walk->AddProblem(Table::kCertificates, key, "it is not in the log in its place");
}

// Its key was in use when it was issued, and where it stands in the log.
void CheckKeyWasInUse(FsckWalk* walk, absl::string_view key, const storage::v1::CertificateRecord& record) {
  if (walk->key_sets.empty()) return;
  const certificate::KeyWindowReason reason =
      CheckCertificateKey(walk->key_sets.back().set, record.key_id(),
                          absl::FromUnixNanos(record.create_time_unix_nanos()), record.log_index());
  if (reason == certificate::KeyWindowReason::kOk) return;
  walk->AddProblem(Table::kCertificates, key, certificate::KeyWindowReasonText(reason));
}

// Once tokens were dropped from a memory's reserve, its certificates say so; second ones say what the first
// said.
void CheckScope(FsckWalk* walk, absl::string_view key, const PayloadFacts& payload) {
  if (payload.completes.has_value()) return;
  if (payload.scope == certificate::Scope::kRetainedSet) {
    walk->retained.insert(ToBytes(payload.memory));
  } else if (walk->retained.contains(ToBytes(payload.memory))) {
    walk->AddProblem(Table::kCertificates, key, "it claims more than an earlier one of its memory leaves");
  }
}

void CheckCertificate(FsckWalk* walk, absl::string_view key, const OpenRecord& opened, TenantFacts* tenant,
                      Chains* chains) {
  storage::v1::CertificateRecord record;
  if (!ParseRecord(opened, &record)) {
    walk->AddProblem(Table::kCertificates, key, "its record is unreadable");
    return;
  }
  CheckKeyWasInUse(walk, key, record);
  CheckLogged(walk, key, record);
  const auto payload = certificate::ReadPayload(record.payload());
  if (!payload.ok()) {
    walk->AddProblem(Table::kCertificates, key,
                     absl::StrCat("its payload is not in the form of one: ", payload.status().message()));
    return;
  }
  const absl::string_view handle = key.substr(0, sizeof(Digest));
  if (!SaysTheSame(record, *payload, handle)) {
    walk->AddProblem(Table::kCertificates, key, "its record and its payload contradict each other");
  }
  const Digest sha256 = Sha256(record.payload());
  CheckPlaceInChain(walk, key, *payload, sha256, &(*chains)[absl::StrCat(handle, AsView(payload->memory))]);
  CheckFirstStage(walk, key, record, *payload, *tenant);
  CheckScope(walk, key, *payload);
  for (const Digest& removed : payload->removed) {
    if (!walk->commitments.contains(removed)) continue;
    walk->AddProblem(Table::kCertificates, key, "a token that it says is removed is still there");
  }
  ++walk->report().certificates;
  tenant->certificates[CertificateNumber(key)] = {
      record.memory_pseudonym(), payload->sequence,       sha256,       record.stage(),
      record.completes(),        payload->removed.size(), record.kind()};
}

// Each selection of a state has its certificate, and a memory has the scope that its certificates say.
void CheckSelections(FsckWalk* walk) {
  for (const auto& [pseudonym, memory] : walk->memories) {
    if (!memory.scope.has_value()) continue;
    if ((*memory.scope == certificate::Scope::kRetainedSet) != walk->retained.contains(pseudonym)) {
      walk->AddProblem(Table::kStates, pseudonym, "its scope is not the one that its certificates say");
    }
    const auto tenant = walk->tenants.find(memory.tenant);
    if (tenant == walk->tenants.end()) continue;
    for (const uint64_t number : memory.selections) {
      const auto found = tenant->second.certificates.find(number);
      if (found != tenant->second.certificates.end() && found->second.memory == pseudonym &&
          found->second.kind == v1::CERTIFICATE_KIND_SELECTION && found->second.completes == 0) {
        continue;
      }
      walk->AddProblem(Table::kStates, pseudonym, "a selection of it has no certificate");
    }
  }
}

// Each memory that is there remembers the end of its chain.
void CheckEnds(FsckWalk* walk, const Chains& chains) {
  for (const auto& [pseudonym, memory] : walk->memories) {
    if (!memory.readable) continue;
    const auto found = chains.find(memory.tenant + pseudonym);
    const Chain end = found == chains.end() ? Chain{} : found->second;
    if (end.next_sequence == memory.chain.next_sequence &&
        end.last_payload_sha256 == memory.chain.last_payload_sha256) {
      continue;
    }
    walk->AddProblem(Table::kMemories, pseudonym, "its latest certificate is not the one that it remembers");
  }
}

}  // namespace

void CheckCertificates(FsckWalk* walk) {
  Chains chains;
  std::map<std::string, uint64_t> next;  // number, by the tenant's handle
  for (const auto& [handle, tenant] : walk->tenants) next[handle] = 1;
  walk->ForEachKey(Table::kCertificates, [&](absl::string_view key) {
    const auto found = next.find(std::string(key.substr(0, sizeof(Digest))));
    if (found == next.end() || key.size() != sizeof(Digest) + sizeof(uint64_t)) return;
    CheckNumber(walk, found->first, CertificateNumber(key), &found->second);
  });
  for (const auto& [handle, tenant] : walk->tenants) {
    if (next[handle] == tenant.next_certificate) continue;
    walk->AddProblem(
        {"certificates", ToHex(handle), "", "", next[handle] - 1,
         absl::StrCat("this is the last one, but the tenant has counted to ", tenant.next_certificate - 1)});
  }
  walk->ForEach(Table::kCertificates, "", [&](absl::string_view key, const OpenRecord& opened) {
    TenantFacts* const tenant = walk->OwnerOf(Table::kCertificates, key, opened);
    if (tenant == nullptr) return;
    if (key.size() != sizeof(Digest) + sizeof(uint64_t)) {
      walk->AddProblem(Table::kCertificates, key, "it is under a key that is none of a certificate");
      return;
    }
    CheckCertificate(walk, key, opened, tenant, &chains);
  });
  CheckEnds(walk, chains);
  CheckSelections(walk);
}

}  // namespace expunge::core
