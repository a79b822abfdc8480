// Certificates: making the payload, sealing it, verifying the envelope, by number of removed tokens; and
// beside them the bare Ed25519 operations, which no format can beat.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/hash.h"
#include "certificate/envelope.h"
#include "certificate/signing_key.h"
#include "certificate/statement.h"
#include "certificate/token_tree.h"

namespace expunge::bench {
namespace {

certificate::Statement MakeStatement(int64_t removed) {
  certificate::Statement statement;
  statement.kind = certificate::Kind::kDeletion;
  statement.issued = absl::FromUnixSeconds(1'900'000'000);
  statement.received = statement.issued;
  statement.software_version = "0.1.0";
  statement.software_commit = "0123456789abcdef0123456789abcdef01234567";
  statement.legal_basis = "GDPR Art. 17(1)(b)";
  statement.master_key = "a master key from a file";
  statement.algorithm = {0.015625, 1e-6, "2/(2*s-1), s=5", 64, 64};
  statement.before.epoch = 7;
  statement.before.token_count = static_cast<uint64_t>(removed) + 1000;
  statement.before.margin = 42;
  statement.before.reserve = statement.before.token_count - 42;
  statement.after = statement.before;
  statement.after.epoch = 8;
  statement.after.token_count = 1000;
  statement.after.reserve = 1000 - 42;
  statement.before.weight_distance_lower = statement.after.weight_distance_lower = 0x1p-20;
  std::vector<certificate::TreeLeaf> leaves;
  std::vector<Digest> handles;
  for (uint64_t i = 0; i < statement.before.token_count; ++i) {
    leaves.push_back({Sha256(absl::StrCat("handle ", i)), Sha256(absl::StrCat(i))});
    if (i >= static_cast<uint64_t>(removed)) continue;
    handles.push_back(leaves.back().handle);
    statement.removed.push_back({leaves.back().handle, leaves.back().content, 'R'});
  }
  certificate::TokenTree tree;
  tree.Insert(leaves);
  statement.before.token_root = tree.Root();
  statement.transition = tree.TransitionOf(handles);
  tree.Erase(handles);
  statement.after.token_root = tree.Root();
  statement.request_tokens = statement.removed.size();
  statement.request_memories = 1;
  std::sort(statement.removed.begin(), statement.removed.end(),
            [](const auto& a, const auto& b) { return a.commitment < b.commitment; });
  return statement;
}

void Encode(benchmark::State& state) {
  const certificate::Statement statement = MakeStatement(state.range(0));
  while (state.KeepRunning()) benchmark::DoNotOptimize(certificate::EncodePayload(statement));
}

void EncodeAndSeal(benchmark::State& state) {
  const certificate::Statement statement = MakeStatement(state.range(0));
  const certificate::SigningKey key = certificate::SigningKey::Generate();
  size_t bytes = 0;
  while (state.KeepRunning()) {
    const std::string envelope = certificate::Seal(certificate::EncodePayload(statement), key);
    bytes = envelope.size();
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}

void Verify(benchmark::State& state) {
  const certificate::SigningKey key = certificate::SigningKey::Generate();
  const std::vector<certificate::PublicKey> keys = {key.Public()};
  const std::string envelope =
      certificate::Seal(certificate::EncodePayload(MakeStatement(state.range(0))), key);
  while (state.KeepRunning()) {
    const certificate::VerifyResult result = certificate::VerifyEnvelope(envelope, keys);
    if (result.reason != certificate::VerifyReason::kOk) {
      state.SkipWithError(std::string(certificate::VerifyReasonText(result.reason)).c_str());
      return;
    }
  }
  state.counters["bytes"] = static_cast<double>(envelope.size());
}

void BareSign(benchmark::State& state) {
  const certificate::SigningKey key = certificate::SigningKey::Generate();
  const std::string message(2048, 'm');
  while (state.KeepRunning()) benchmark::DoNotOptimize(key.Sign(message));
}

void BareVerify(benchmark::State& state) {
  const certificate::SigningKey key = certificate::SigningKey::Generate();
  const certificate::PublicKey public_key = key.Public();
  const std::string message(2048, 'm');
  const std::string signature = key.Sign(message);
  while (state.KeepRunning()) {
    if (!public_key.Verify(message, signature)) state.SkipWithError("a good signature was refused");
  }
}

BENCHMARK(Encode)->ArgName("removed")->Arg(1)->Arg(100)->Arg(10'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(EncodeAndSeal)->ArgName("removed")->Arg(1)->Arg(100)->Arg(10'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(Verify)->ArgName("removed")->Arg(1)->Arg(100)->Arg(10'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BareSign)->Unit(benchmark::kMicrosecond);
BENCHMARK(BareVerify)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace expunge::bench

BENCHMARK_MAIN();
