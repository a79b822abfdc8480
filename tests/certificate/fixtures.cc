#include "tests/certificate/fixtures.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "certificate/token_tree.h"

namespace expunge::certificate::testing {
namespace {

void Require(bool ok, const std::string& what) {
  if (ok) return;
  std::fprintf(stderr, "fatal: %s\n", what.c_str());
  std::abort();
}

std::string Pem(absl::string_view label, absl::string_view der_prefix_hex, absl::string_view key_hex) {
  const std::string der = FromHex(absl::StrCat(der_prefix_hex, key_hex)).value();
  return absl::StrCat("-----BEGIN ", label, "-----\n", ToBase64(der), "\n-----END ", label, "-----\n");
}

StateSummary FixedState(absl::string_view name, uint64_t epoch, uint64_t margin, uint64_t error,
                        uint64_t reserve) {
  StateSummary state;
  state.epoch = epoch;
  state.token_count = margin + error + reserve;
  state.state_digest = FixedDigest(absl::StrCat(name, " state"));
  state.token_root = TokenTreeRoot({});
  state.margin = margin;
  state.error = error;
  state.reserve = reserve;
  state.entries_root = FixedDigest(absl::StrCat(name, " entries"));
  state.strict = epoch % 2 == 0;
  state.higher_precision = 3 + epoch;
  state.ties = 5 + epoch;
  state.margin_lower = 0x1.91eb851eb851fp-7;
  state.weight_distance_lower = 0x1.5p-20;
  state.duality_gap_upper = 5e-324;
  state.eigenvalue_lower = 0x1.0c6f7a0b5ed8dp-20;
  state.eta = 0x1p-53;
  return state;
}

// Gives `statement` the tokens that its counts speak of, and takes those that it removes out of them.
void FillTrees(Statement* statement) {
  TokenTree tree;
  std::vector<TreeLeaf> leaves;
  std::vector<Digest> handles;
  for (const RemovedToken& token : statement->removed) {
    leaves.push_back({token.handle, token.commitment});
    handles.push_back(token.handle);
  }
  for (uint64_t i = leaves.size(); i < statement->before.token_count; ++i) {
    leaves.push_back(
        {FixedDigest(absl::StrCat("handle of kept ", i)), FixedDigest(absl::StrCat("kept ", i))});
  }
  tree.Insert(leaves);
  statement->before.token_root = tree.Root();
  statement->transition = tree.TransitionOf(handles);
  tree.Erase(handles);
  statement->after.token_root = tree.Root();
}

RemovedToken FixedToken(absl::string_view name, char class_before) {
  return {FixedDigest(absl::StrCat("handle of ", name)), FixedDigest(name), class_before};
}

StateSummary EmptyState(uint64_t epoch) {
  StateSummary state = FixedState("empty", epoch, 0, 0, 0);
  state.margin_lower = state.weight_distance_lower = std::numeric_limits<double>::infinity();
  state.duality_gap_upper = 0;
  return state;
}

}  // namespace

Digest FixedDigest(absl::string_view text) { return Sha256(text); }

Statement FixedStatement(Kind kind) {
  Statement statement;
  statement.kind = kind;
  statement.issued = absl::FromUnixSeconds(1'780'000'000);
  statement.software_version = "0.1.0";
  statement.software_commit = "0123456789abcdef0123456789abcdef01234567";
  statement.configuration_sha256 = FixedDigest("configuration");
  statement.tenant_pseudonym = FixedDigest("tenant");
  statement.memory_pseudonym = FixedDigest("memory");
  statement.sequence = 7;
  statement.previous_payload_sha256 = FixedDigest("previous");
  statement.request_pseudonym = FixedDigest("request");
  statement.received = absl::FromUnixSeconds(1'779'999'998) + absl::Milliseconds(999);
  statement.algorithm = {.gamma = 0.1, .ridge = 1e-6, .box_bound = "2/(2*s-1), s=5"};
  statement.algorithm.key_dimension = 30;
  statement.algorithm.value_dimension = 2;
  statement.before = FixedState("before", 41, 12, 4, 553);
  if (kind == Kind::kState) {
    statement.nonce = std::string("\x00\x7f\xff nonce", 9);
    statement.sequence = 1;
    statement.previous_payload_sha256 = Digest{};
    FillTrees(&statement);
    statement.after = statement.before;
    return statement;
  }
  statement.legal_basis = "GDPR Art. 17(1)(b)";
  statement.due = absl::FromUnixSeconds(1'782'000'000);
  statement.master_key = "a master key from a file";
  statement.sealed_bytes_expire = statement.issued + absl::Minutes(15);
  statement.backups_expire = statement.issued + absl::Hours(24 * 35);
  if (kind == Kind::kMemoryDeletion) {
    statement.before = FixedState("before", 41, 1, 1, 0);
    statement.after = EmptyState(42);
    statement.removed = {FixedToken("token 1", 'S'), FixedToken("token 2", 'E')};
  } else if (kind == Kind::kSelection) {
    statement.after = FixedState("after", 42, 12, 4, 550);
    statement.after.entries_root = statement.before.entries_root;
    statement.removed = {FixedToken("token 1", 'R'), FixedToken("token 2", 'R'), FixedToken("token 3", 'R')};
    statement.scope = Scope::kRetainedSet;
    statement.horizon_margin_lower = 0x1.3p-3;
  } else {
    statement.after = FixedState("after", 42, 11, 4, 551);
    statement.removed = {FixedToken("token 1", 'S'), FixedToken("token 2", 'R'), FixedToken("token 3", 'R')};
  }
  const uint64_t elsewhere = kind == Kind::kPurge ? 2 : 0;
  statement.request_tokens = statement.removed.size() + 2 * elsewhere;
  statement.request_memories = 1 + elsewhere;
  FillTrees(&statement);
  return statement;
}

PhysicalPurge FixedPurge() {
  PhysicalPurge purge;
  purge.issued = absl::FromUnixSeconds(1'780'000'300);
  purge.purged = absl::FromUnixSeconds(1'780'000'295) + absl::Milliseconds(999);
  purge.sequence = 9;
  purge.previous_payload_sha256 = FixedDigest("previous of the second");
  purge.software_version = "0.1.1";
  purge.software_commit = "89abcdef0123456789abcdef0123456789abcdef";
  purge.configuration_sha256 = FixedDigest("configuration of the second");
  return purge;
}

std::string FixedPayload(Kind kind) { return EncodePayload(FixedStatement(kind)); }

std::string SecondPayload(Kind kind) {
  auto payload = EncodePhysicalPurge(FixedPayload(kind), FixedPurge());
  Require(payload.ok(), std::string(payload.status().message()));
  return *std::move(payload);
}

std::string GoldenPayload(const GoldenCase& golden) {
  return golden.second ? SecondPayload(golden.kind) : FixedPayload(golden.kind);
}

Statement LargeStatement(int removed) {
  Statement statement = FixedStatement(Kind::kDeletion);
  statement.removed.clear();
  for (int i = 0; i < removed; ++i) statement.removed.push_back(FixedToken(absl::StrCat("token ", i), 'R'));
  statement.before = FixedState("before", 41, 12, 4, 553 + static_cast<uint64_t>(removed));
  statement.after = FixedState("after", 42, 12, 4, 553);
  statement.request_tokens = statement.removed.size();
  FillTrees(&statement);
  return statement;
}

std::string GoldenPath(absl::string_view file) { return absl::StrCat(EXPUNGE_GOLDEN_DIR, "/", file); }

std::string ReadBytes(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  Require(stream.good(), "cannot read " + path);
  std::ostringstream contents;
  contents << stream.rdbuf();
  return contents.str();
}

void WriteBytes(const std::string& path, absl::string_view bytes) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  Require(stream.good(), "cannot write " + path);
}

SigningKey TestKey() {
  auto key = SigningKey::FromPem(ReadBytes(GoldenPath("test_only_key.pem")));
  Require(key.ok(), "tests/golden/test_only_key.pem is damaged");
  return *std::move(key);
}

std::string PrivatePemOfSeed(absl::string_view seed_hex) {
  return Pem("PRIVATE KEY", "302e020100300506032b657004220420", seed_hex);
}

std::string PublicPemOf(absl::string_view key_hex) {
  return Pem("PUBLIC KEY", "302a300506032b6570032100", key_hex);
}

}  // namespace expunge::certificate::testing
