// Targets of certificates, keys and bundles; and the table of all.
#include "tests/fuzz/targets.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "certificate/bundle/audit_bundle.h"
#include "certificate/check_payload.h"
#include "certificate/describe.h"
#include "certificate/envelope.h"
#include "certificate/hex_double.h"
#include "certificate/json_text.h"
#include "certificate/key_chain.h"
#include "certificate/key_set.h"
#include "certificate/read_payload.h"
#include "certificate/signing_key.h"
#include "certificate/timestamp/timestamp.h"
#include "certificate/token_tree.h"
#include "certificate/transition.h"
#include "client/verify/certificate_view.h"
#include "client/verify/receipts.h"
#include "tests/fuzz/seeds.h"

namespace expunge::fuzz {
namespace {

using certificate::VerifyReason;

constexpr Target kTargets[] = {
    {"audit_bundle", &RunAuditBundle, &AuditBundleSeeds},
    {"checkpoint", &RunCheckpoint, &CheckpointSeeds},
    {"entry_tile", &RunEntryTile, &EntryTileSeeds},
    {"envelope", &RunEnvelope, &EnvelopeSeeds},
    {"hash_tile", &RunHashTile, &HashTileSeeds},
    {"hex_double", &RunHexDouble, &HexDoubleSeeds},
    {"json", &RunJson, &JsonSeeds},
    {"key_set", &RunKeySet, &KeySetSeeds},
    {"keys_file", &RunKeysFile, &KeysFileSeeds},
    {"log_proof", &RunLogProof, &LogProofSeeds},
    {"merkle", &RunMerkle, &MerkleSeeds},
    {"note", &RunNote, &NoteSeeds},
    {"payload", &RunPayload, &PayloadSeeds},
    {"public_pem", &RunPublicPem, &PublicPemSeeds},
    {"receipts", &RunReceipts, &ReceiptsSeeds},
    {"tile_path", &RunTilePath, &TilePathSeeds},
    {"timestamp", &RunTimestamp, &TimestampSeeds},
    {"transition", &RunTransition, &TransitionSeeds},
    {"vkey", &RunVkey, &VkeySeeds},
};

}  // namespace

absl::Span<const Target> AllTargets() { return kTargets; }

void Require(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", claim);
  std::abort();
}

void RunAuditBundle(absl::string_view bytes) {
  certificate::AuditBundleReader whole;
  const absl::Status added = whole.Add(bytes);
  const auto bundle = whole.Finish();
  Require(added.ok() || !bundle.ok(), "a bundle that is refused at once is refused at the end");
  certificate::AuditBundleReader parts;
  for (size_t at = 0; at < bytes.size(); at += 7) {
    if (!parts.Add(bytes.substr(at, 7)).ok()) break;
  }
  Require(parts.Finish().ok() == bundle.ok(), "a bundle reads alike however it comes");
}

void RunEnvelope(absl::string_view bytes) {
  const certificate::VerifyResult result = VerifyEnvelope(bytes, TrustedKeys());
  if (result.reason != VerifyReason::kOk) {
    Require(result.payload.empty() && result.signature.empty(), "nothing of a refused envelope is given out");
    return;
  }
  Require(certificate::MakeEnvelope(result.payload, result.key_id, result.signature) == bytes,
          "a certificate has one form");
}

void RunPayload(absl::string_view bytes) {
  const bool accepted = certificate::CheckPayload(bytes) == VerifyReason::kOk;
  Require(certificate::ReadPayload(bytes).ok() == accepted, "what is accepted can be read");
  Require(certificate::DescribePayload(bytes).ok() == accepted, "and described");
  if (!accepted) return;
  const auto statement =
      nlohmann::json::parse(bytes.begin(), bytes.end(), nullptr, /*allow_exceptions=*/false);
  Require(statement.dump() == bytes, "a payload has one form");
  const verify::CertificateView view = verify::ViewOf(bytes, statement);
  Require(view.sequence > 0, "a certificate has a place");
  Require(!verify::CheckTransition(statement).failed(), "an accepted transition verifies");
}

void RunJson(absl::string_view bytes) {
  const auto value = certificate::ParseJson(bytes, {.max_depth = 16, .max_separators = 1000});
  Require(!value.has_value() || certificate::IsJson(bytes), "what is parsed is JSON");
}

void RunHexDouble(absl::string_view bytes) {
  const auto value = certificate::ParseHexDouble(bytes);
  Require(!value.has_value() || certificate::HexDouble(*value) == bytes, "a double has one form");
}

void RunKeySet(absl::string_view bytes) {
  const bool accepted = certificate::CheckKeySetPayload(bytes) == VerifyReason::kOk;
  const auto set = certificate::ReadKeySet(bytes);
  Require(set.ok() == accepted, "what is accepted can be read");
  if (!set.ok()) return;
  const std::string again = EncodeKeySet(*set);
  Require(certificate::CheckKeySetPayload(again) == VerifyReason::kOk, "what was read can be written");
  // Of the issuer, who may be somebody else, a set that was read knows version and commit alone.
  const bool ours = absl::StrContains(bytes, R"("name":"Expunge","software":"expunged")");
  Require(!ours || again == bytes, "a key set has one form");
}

void RunKeysFile(absl::string_view bytes) {
  const certificate::KeyChain chain = certificate::VerifyKeysFile(bytes, TrustedKeys());
  Require((chain.reason == certificate::KeyChainReason::kOk) == !chain.sets.empty(),
          "sets are given out if all are well");
}

void RunPublicPem(absl::string_view bytes) {
  const auto key = certificate::PublicKey::FromPem(bytes);
  if (!key.ok()) return;
  Require(certificate::PublicKey::FromRaw(key->Raw())->KeyId() == key->KeyId(), "a key is its 32 bytes");
}

void RunReceipts(absl::string_view bytes) {
  verify::Receipts receipts;
  const verify::Verdict verdict = receipts.Read(bytes);
  Require(!verdict.ok() || receipts.size() > 0, "a file of receipts has one");
}

void RunTimestamp(absl::string_view bytes) {
  const auto read = certificate::ReadTimestamp("message", bytes, "");
  const auto verified = certificate::VerifyTimestamp("message", bytes, "");
  Require(verified.reason != certificate::TimestampReason::kOk, "nothing verifies without an authority");
  Require(read.authority.empty(), "nobody is named without a check");
}

// Elements, one a line; the leaves are always the same.
void RunTransition(absl::string_view bytes) {
  certificate::Transition transition;
  for (const absl::string_view text : absl::StrSplit(bytes, '\n')) {
    const auto node = certificate::ParseTransitionNode(text);
    if (!node.has_value()) continue;
    Require(certificate::TransitionText(*node) == text, "an element has one form");
    transition.push_back(*node);
  }
  (void)certificate::VerifyTransition(transition, {}, Digest{}, Digest{});
}

}  // namespace expunge::fuzz
