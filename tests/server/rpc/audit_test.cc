// Audit bundles and watched certificates over the wire.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "certificate/log/checkpoint.h"
#include "certificate/log/leaf.h"
#include "certificate/log/log_proof.h"
#include "certificate/log/merkle.h"
#include "tests/server/rpc/server_fixture.h"

namespace expunge::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

class AuditTest : public ServerTest {
 protected:
  void SetUp() override {
    StartServer();
    CreateMemory("m");
  }

  struct Watching {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::WatchCertificatesResponse>> reader;

    // The next certificate's name; what the stream ended with if there is none.
    std::string Next() {
      v1::WatchCertificatesResponse answer;
      if (!reader->Read(&answer)) return Describe(reader->Finish());
      EXPECT_FALSE(answer.certificate().envelope().empty());
      return answer.certificate().name();
    }
  };

  std::unique_ptr<Watching> Watch(const v1::WatchCertificatesRequest& request,
                                  milliseconds deadline = seconds(60)) {
    auto watching = std::make_unique<Watching>();
    watching->context.set_deadline(system_clock::now() + deadline);
    watching->reader = unlearning_->WatchCertificates(&watching->context, request);
    return watching;
  }

  static v1::WatchCertificatesRequest WatchRequest(const std::string& after = "") {
    v1::WatchCertificatesRequest request;
    request.set_parent(kTenant);
    request.set_after(after);
    return request;
  }

  static std::string Name(int number) {
    return absl::StrCat(kTenant, "/certificates/", absl::Dec(number, absl::kZeroPad12));
  }

  // A certificate of the memory's state.
  std::string Certify(const std::string& memory = "m") {
    v1::CertifyRequest request;
    request.set_name(MemoryName(memory));
    v1::CertifyResponse response;
    const auto status = Call(&v1::UnlearningService::Stub::Certify, unlearning_.get(), request, &response);
    EXPECT_TRUE(status.ok()) << Describe(status);
    return response.certificate().name();
  }

  static v1::ExportAuditRequest ExportRequest(const std::string& memory) {
    v1::ExportAuditRequest request;
    request.set_name(MemoryName(memory));
    return request;
  }

  // The whole bundle; checks what goes with the chunks.
  std::string Export(const v1::ExportAuditRequest& request, std::string* outcome = nullptr,
                     int* chunks = nullptr) {
    grpc::ClientContext context;
    context.set_deadline(system_clock::now() + seconds(60));
    const auto reader = unlearning_->ExportAudit(&context, request);
    std::string bundle;
    v1::ExportAuditResponse answer;
    uint64_t total = 0;
    uint64_t sent = 0;
    for (int i = 0; reader->Read(&answer); ++i) {
      EXPECT_EQ(answer.has_state(), i == 0);
      if (i == 0) total = answer.token_count();
      EXPECT_GE(answer.tokens_sent(), sent);
      sent = answer.tokens_sent();
      bundle += answer.chunk();
      if (chunks != nullptr) ++*chunks;
    }
    const std::string described = Describe(reader->Finish());
    if (outcome != nullptr) *outcome = described;
    EXPECT_TRUE(outcome != nullptr || described == "OK") << described;
    EXPECT_TRUE(described != "OK" || sent == total);
    return bundle;
  }

  // The value of a text field of a line.
  static std::string Field(absl::string_view line, const std::string& key) {
    const std::string prefix = absl::StrCat("\"", key, "\":\"");
    const size_t at = line.find(prefix);
    if (at == absl::string_view::npos) return "";
    line.remove_prefix(at + prefix.size());
    return std::string(line.substr(0, line.find('"')));
  }
};

// By the last line alone, which a reader on the way can check.
void ExpectWhole(const std::string& bundle) {
  const size_t last = bundle.rfind("{\"sha256\"");
  ASSERT_NE(last, std::string::npos);
  EXPECT_TRUE(absl::StrContains(bundle.substr(last), ToHex(AsView(Sha256(bundle.substr(0, last))))));
}

TEST_F(AuditTest, ABundleInManyChunksIsTheStateThatItNames) {
  Add("m", 0, 1500);
  int chunks = 0;
  v1::ExportAuditRequest request = ExportRequest("m");
  const v1::Memory memory = Full("m");
  request.set_expected_state_digest(memory.state().digest());
  request.set_expected_epoch(memory.state().epoch());
  const std::string bundle = Export(request, nullptr, &chunks);
  EXPECT_GT(chunks, 1);
  ExpectWhole(bundle);
  const std::vector<std::string> lines = absl::StrSplit(bundle, '\n');
  EXPECT_EQ(lines.size(), 1 + 1500 + 1 + 1U);
  EXPECT_EQ(Field(lines[0], "stateDigest"), ToHex(memory.state().digest()));
  EXPECT_EQ(Field(lines[0], "fingerprint"), ToHex(memory.fingerprint()));
  EXPECT_EQ(Export(ExportRequest("m")), bundle) << "two exports of one state differ";
}

TEST_F(AuditTest, AnEmptyMemoryHasABundle) {
  const std::string bundle = Export(ExportRequest("m"));
  ExpectWhole(bundle);
  EXPECT_EQ(std::count(bundle.begin(), bundle.end(), '\n'), 2);
}

TEST_F(AuditTest, ABundleIsOfTheStateInWhichItBegan) {
  Add("m", 0, 4000);
  const std::string before = ToHex(Full("m").state().digest());
  grpc::ClientContext context;
  const auto reader = unlearning_->ExportAudit(&context, ExportRequest("m"));
  v1::ExportAuditResponse answer;
  ASSERT_TRUE(reader->Read(&answer));
  std::string bundle = answer.chunk();
  v1::DeleteMemoryRequest remove;
  remove.set_name(MemoryName("m"));
  v1::DeleteMemoryResponse removed;
  ASSERT_TRUE(Call(&v1::MemoryService::Stub::DeleteMemory, memories_.get(), remove, &removed).ok());
  while (reader->Read(&answer)) bundle += answer.chunk();
  EXPECT_EQ(Describe(reader->Finish()), "OK");
  ExpectWhole(bundle);
  EXPECT_EQ(Field(bundle, "stateDigest"), before);
  EXPECT_EQ(std::count(bundle.begin(), bundle.end(), '\n'), 4002);
  std::string outcome;
  EXPECT_EQ(Export(ExportRequest("m"), &outcome), "");
  EXPECT_EQ(outcome, "NOT_FOUND MEMORY_UNKNOWN name");
}

TEST_F(AuditTest, AnotherStateThanTheExpectedOneIsRefused) {
  Add("m", 0, 5);
  const v1::Memory old = Full("m");
  Add("m", 5, 1);
  std::string outcome;
  v1::ExportAuditRequest request = ExportRequest("m");
  request.set_expected_state_digest(old.state().digest());
  EXPECT_EQ(Export(request, &outcome), "");
  EXPECT_EQ(outcome, "FAILED_PRECONDITION STATE_CHANGED expected_state_digest");
  request = ExportRequest("m");
  request.set_expected_epoch(old.state().epoch());
  EXPECT_EQ(Export(request, &outcome), "");
  EXPECT_EQ(outcome, "FAILED_PRECONDITION STATE_CHANGED expected_epoch");
}

TEST_F(AuditTest, BadInputOfAnExportNamesTheField) {
  std::string outcome;
  v1::ExportAuditRequest request;
  Export(request, &outcome);
  EXPECT_EQ(outcome, "INVALID_ARGUMENT FIELD_MISSING name");
  request = ExportRequest("nope");
  Export(request, &outcome);
  EXPECT_EQ(outcome, "NOT_FOUND MEMORY_UNKNOWN name");
  request = ExportRequest("m");
  request.set_expected_state_digest("short");
  Export(request, &outcome);
  EXPECT_EQ(outcome, "INVALID_ARGUMENT DIMENSION_MISMATCH expected_state_digest");
}

TEST_F(AuditTest, AWatcherGetsWhatIsThereAndThenEachNewOne) {
  Add("m", 0, 5);
  EXPECT_EQ(Certify(), Name(1));
  const auto watching = Watch(WatchRequest());
  EXPECT_EQ(watching->Next(), Name(1));
  for (int i = 2; i < 12; ++i) {
    EXPECT_EQ(Certify(), Name(i));
    EXPECT_EQ(watching->Next(), Name(i));
  }
}

TEST_F(AuditTest, AWatcherWaitsWithoutPolling) {
  Add("m", 0, 5);
  const auto watching = Watch(WatchRequest());
  auto next = std::async(std::launch::async, [&] { return watching->Next(); });
  EXPECT_EQ(next.wait_for(milliseconds(200)), std::future_status::timeout);
  Certify();
  EXPECT_EQ(next.get(), Name(1));
}

TEST_F(AuditTest, AWatcherThatWasCutOffGoesOnWithoutGapOrRepetition) {
  Add("m", 0, 5);
  std::thread certifying([this] {
    for (int i = 0; i < 40; ++i) Certify();
  });
  std::string last;
  std::vector<std::string> seen;
  while (seen.size() < 40) {
    const auto watching = Watch(WatchRequest(last));
    for (int i = 0; i < 7 && seen.size() < 40; ++i) {
      last = watching->Next();
      seen.push_back(last);
    }
    watching->context.TryCancel();
  }
  certifying.join();
  for (int i = 0; i < 40; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], Name(i + 1));
}

TEST_F(AuditTest, AWatchOfATenantBeginsBeforeItsFirstMemory) {
  v1::WatchCertificatesRequest request;
  request.set_parent("tenants/newcomer");
  const auto watching = Watch(request);
  auto next = std::async(std::launch::async, [&] { return watching->Next(); });
  v1::CreateMemoryRequest create = CreateRequest("m");
  create.set_parent("tenants/newcomer");
  v1::CreateMemoryResponse created;
  ASSERT_TRUE(Call(&v1::MemoryService::Stub::CreateMemory, memories_.get(), create, &created).ok());
  v1::CertifyRequest certify;
  certify.set_name("tenants/newcomer/memories/m");
  v1::CertifyResponse certified;
  ASSERT_TRUE(Call(&v1::UnlearningService::Stub::Certify, unlearning_.get(), certify, &certified).ok());
  EXPECT_EQ(next.get(), "tenants/newcomer/certificates/000000000001");
}

TEST_F(AuditTest, AWatcherSeesWhatItAskedForAlone) {
  CreateMemory("other");
  Add("m", 0, 5);
  Add("other", 0, 5);
  v1::WatchCertificatesRequest request = WatchRequest();
  request.set_memory(MemoryName("other"));
  const auto watching = Watch(request);
  Certify("m");
  Certify("m");
  Certify("other");
  Certify("m");
  Certify("other");
  EXPECT_EQ(watching->Next(), Name(3));
  EXPECT_EQ(watching->Next(), Name(5));
}

TEST_F(AuditTest, ADeadlineAndTheServersEndEndAWatch) {
  EXPECT_EQ(Watch(WatchRequest(), milliseconds(150))->Next(), "DEADLINE_EXCEEDED");
  Add("m", 0, 5);
  Certify();
  const auto watching = Watch(WatchRequest());
  EXPECT_EQ(watching->Next(), Name(1));
  auto next = std::async(std::launch::async, [&] { return watching->Next(); });
  const auto start = system_clock::now();
  StopServer();
  EXPECT_EQ(next.get(), "UNAVAILABLE SHUTTING_DOWN");
  EXPECT_LT(system_clock::now() - start, seconds(8)) << "the drain was waited out";
  const std::string log = test_support::ReadWholeFile(directory_ / "log");
  EXPECT_TRUE(absl::StrContains(log, R"("method":"UnlearningService.WatchCertificates")")) << log;
  EXPECT_TRUE(absl::StrContains(log, R"("reason":"DEADLINE_EXCEEDED")")) << log;
  EXPECT_TRUE(absl::StrContains(log, R"("reason":"SHUTTING_DOWN")")) << log;
}

TEST_F(AuditTest, WatchersDoNotKeepOthersOut) {
  options_.max_streams = 3;
  options_.worker_threads = 1;
  StartServer();
  std::vector<std::unique_ptr<Watching>> watching;
  Add("m", 0, 5);
  Certify();
  for (int i = 0; i < 3; ++i) {
    watching.push_back(Watch(WatchRequest()));
    EXPECT_EQ(watching.back()->Next(), Name(1));
  }
  EXPECT_EQ(Watch(WatchRequest())->Next(), "UNAVAILABLE OVERLOADED");
  ExpectWhole(Export(ExportRequest("m")));
  EXPECT_EQ(Certify(), Name(2));
  for (const auto& watcher : watching) EXPECT_EQ(watcher->Next(), Name(2));
}

TEST_F(AuditTest, BadInputOfAWatchNamesTheField) {
  Add("m", 0, 5);
  Certify();
  const auto outcome = [&](auto&& edit) {
    v1::WatchCertificatesRequest request = WatchRequest();
    edit(&request);
    return Watch(request, seconds(20))->Next();
  };
  EXPECT_EQ(outcome([](auto* r) { r->set_parent("acme"); }), "INVALID_ARGUMENT NAME_MALFORMED parent");
  EXPECT_EQ(outcome([](auto* r) { r->set_after("7"); }), "INVALID_ARGUMENT NAME_MALFORMED after");
  EXPECT_EQ(outcome([](auto* r) { r->set_after(Name(2)); }), "NOT_FOUND CERTIFICATE_UNKNOWN after");
  EXPECT_EQ(outcome([](auto* r) { r->set_after("tenants/b/certificates/000000000001"); }),
            "INVALID_ARGUMENT NAME_MALFORMED after");
  EXPECT_EQ(outcome([](auto* r) { r->set_memory("tenants/b/memories/m"); }),
            "INVALID_ARGUMENT NAME_MALFORMED memory");
  EXPECT_EQ(outcome([](auto* r) { r->set_kind(static_cast<v1::CertificateKind>(99)); }),
            "OUT_OF_RANGE OUT_OF_RANGE kind");
  EXPECT_EQ(outcome([](auto* r) { r->set_stage(static_cast<v1::ErasureStage>(99)); }),
            "OUT_OF_RANGE OUT_OF_RANGE stage");
  EXPECT_EQ(outcome([](auto* r) { r->mutable_create_time_start()->set_nanos(-1); }),
            "OUT_OF_RANGE OUT_OF_RANGE create_time_start");
  EXPECT_EQ(outcome([](auto* r) { r->mutable_create_time_end()->set_seconds(int64_t{1} << 60); }),
            "OUT_OF_RANGE OUT_OF_RANGE create_time_end");
  EXPECT_EQ(outcome([](auto* r) { r->add_commitments("x"); }),
            "INVALID_ARGUMENT DIMENSION_MISMATCH commitments[0]");
}

TEST_F(AuditTest, ProofsOfTheLogLeadToTheCheckpointThatComesWithThem) {
  Add("m", 0, 5);
  Certify();
  v1::GetLogProofRequest request;
  v1::GetLogProofResponse first;
  ASSERT_TRUE(Call(&v1::UnlearningService::Stub::GetLogProof, unlearning_.get(), request, &first).ok());
  EXPECT_EQ(first.leaf(), "");
  for (int i = 0; i < 5; ++i) Certify();
  request.set_name(Name(3));
  request.set_old_size(first.log_size());
  v1::GetLogProofResponse response;
  ASSERT_TRUE(Call(&v1::UnlearningService::Stub::GetLogProof, unlearning_.get(), request, &response).ok());
  EXPECT_EQ(response.log_size(), first.log_size() + 5);
  EXPECT_EQ(response.leaf().size(), certificate::kLogLeafBytes);
  const auto parsed = certificate::ParseLogProof(response.log_proof());
  ASSERT_EQ(parsed.reason, certificate::LogReason::kOk);
  EXPECT_EQ(parsed.proof.index, response.leaf_index());
  EXPECT_EQ(parsed.proof.checkpoint, response.checkpoint());
  const auto tree_of = [](const std::string& checkpoint) {
    return certificate::ParseCheckpointText(checkpoint.substr(0, checkpoint.find("\n\n") + 1))->tree;
  };
  const certificate::TreeHead newest = tree_of(response.checkpoint());
  EXPECT_EQ(newest.size, response.log_size());
  EXPECT_EQ(certificate::VerifyInclusion(certificate::HashLogLeaf(response.leaf()), response.leaf_index(),
                                         newest.size, newest.root, parsed.proof.hashes),
            certificate::LogReason::kOk);
  std::vector<Digest> consistency;
  for (const auto& hash : response.consistency_hashes()) consistency.push_back(*DigestFromBytes(hash));
  EXPECT_EQ(certificate::VerifyConsistency(tree_of(first.checkpoint()), newest, consistency),
            certificate::LogReason::kOk);
  v1::GetCertificateRequest get;
  get.set_name(Name(3));
  v1::GetCertificateResponse got;
  ASSERT_TRUE(Call(&v1::UnlearningService::Stub::GetCertificate, unlearning_.get(), get, &got).ok());
  EXPECT_EQ(got.certificate().log_proof(), response.log_proof());
}

TEST_F(AuditTest, BadInputOfALogProofNamesTheField) {
  Add("m", 0, 5);
  Certify();
  const auto outcome = [&](auto&& edit) {
    v1::GetLogProofRequest request;
    edit(&request);
    v1::GetLogProofResponse response;
    return Describe(Call(&v1::UnlearningService::Stub::GetLogProof, unlearning_.get(), request, &response));
  };
  EXPECT_EQ(outcome([](auto* r) { r->set_name("acme"); }), "INVALID_ARGUMENT NAME_MALFORMED name");
  EXPECT_EQ(outcome([](auto* r) { r->set_name(Name(2)); }), "NOT_FOUND CERTIFICATE_UNKNOWN name");
  EXPECT_EQ(outcome([](auto* r) { r->set_leaf_index(1000); }), "OUT_OF_RANGE OUT_OF_RANGE leaf_index");
  EXPECT_EQ(outcome([](auto* r) { r->set_old_size(1000); }), "OUT_OF_RANGE OUT_OF_RANGE old_size");
  EXPECT_EQ(outcome([](auto* r) {
              r->set_name(Name(1));
              r->set_leaf_index(0);
            }),
            "OUT_OF_RANGE OUT_OF_RANGE leaf_index");
}

TEST_F(AuditTest, AnOversizeMessageIsRefusedAsElsewhere) {
  options_.max_message_bytes = 1024;
  StartServer();
  const auto watching = Watch(WatchRequest(std::string(1050, 'x')));
  EXPECT_EQ(watching->Next(), "RESOURCE_EXHAUSTED MESSAGE_TOO_LARGE");
}

}  // namespace
}  // namespace expunge::rpc
