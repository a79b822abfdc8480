// Every handler passes the gate: each method that the services declare, now or later, is tried from a peer
// that is not of this machine's loopback. (gRPC's in-process channel names its peer "inproc"; an address
// would need a second machine.)
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>

#include "absl/strings/str_cat.h"
#include "certificate/key_keeper.h"
#include "expunge/v1/admin_service.pb.h"
#include "expunge/v1/memory_service.pb.h"
#include "expunge/v1/unlearning_service.pb.h"
#include "google/rpc/status.pb.h"
#include "server/core/service.h"
#include "server/rpc/dispatcher.h"
#include "server/rpc/services.h"
#include "storage/sealed_store.h"
#include "tests/server/rpc/server_fixture.h"

namespace expunge::rpc {
namespace {

class GateTest : public testing::Test {
 protected:
  void Start(const AccessPolicy& access) {
    auto store = storage::SealedStore::Open({directory_ / "db", "", "", {}});
    ASSERT_TRUE(store.ok()) << store.status();
    auto service = core::Service::Open(*std::move(store),
                                       {certificate::KeyInFile(directory_ / "signing_key.pem"),
                                        certificate::KeyInFile(directory_ / "checkpoint_key.pem")},
                                       SystemClock());
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
    auto log = Log::Open({LogLevel::kError, directory_ / "log"});
    ASSERT_TRUE(log.ok()) << log.status();
    DispatcherOptions options;
    options.max_message_bytes = 1 << 20;
    options.access = access;
    dispatcher_ = std::make_unique<Dispatcher>(service_.get(), *log, options);
    admin_ = std::make_unique<AdminServiceHandlers>(dispatcher_.get());
    memory_ = std::make_unique<MemoryServiceHandlers>(dispatcher_.get());
    unlearning_ = std::make_unique<UnlearningServiceHandlers>(dispatcher_.get());
    grpc::ServerBuilder builder;
    builder.RegisterService(admin_.get());
    builder.RegisterService(memory_.get());
    builder.RegisterService(unlearning_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  void TearDown() override {
    server_->Shutdown();
    dispatcher_->Join();
    server_.reset();
  }

  // Where each request of a call has its answer, its error is one.
  static grpc::Status ErrorIn(grpc::ByteBuffer* bytes) {
    v1::StreamReadResponse answer;
    EXPECT_TRUE(grpc::SerializationTraits<v1::StreamReadResponse>::Deserialize(bytes, &answer).ok());
    const auto& error = answer.error();
    return {static_cast<grpc::StatusCode>(error.code()), error.message(), error.SerializeAsString()};
  }

  // What every declared method answers to a request of these bytes.
  std::vector<std::string> TryAll(const std::string& bytes = "") {
    std::vector<std::string> answers;
    grpc::GenericStub stub(server_->InProcessChannel({}));
    const auto* files = google::protobuf::DescriptorPool::generated_pool();
    for (const char* name :
         {"expunge.v1.AdminService", "expunge.v1.MemoryService", "expunge.v1.UnlearningService"}) {
      const auto* service = files->FindServiceByName(name);
      for (int i = 0; service != nullptr && i < service->method_count(); ++i) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
        const grpc::Slice slice(bytes);
        const grpc::ByteBuffer request(&slice, 1);
        grpc::ByteBuffer response;
        std::promise<grpc::Status> done;
        stub.UnaryCall(&context, absl::StrCat("/", name, "/", service->method(i)->name()), {}, &request,
                       &response, [&done](const grpc::Status& status) { done.set_value(status); });
        grpc::Status status = done.get_future().get();
        if (status.ok() && service->method(i)->client_streaming()) status = ErrorIn(&response);
        answers.push_back(absl::StrCat(service->method(i)->name(), " ", Describe(status)));
      }
    }
    return answers;
  }

  test_support::TemporaryDirectory directory_;
  std::unique_ptr<core::Service> service_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<AdminServiceHandlers> admin_;
  std::unique_ptr<MemoryServiceHandlers> memory_;
  std::unique_ptr<UnlearningServiceHandlers> unlearning_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(GateTest, EveryMethodRefusesPlainTextFromElsewhere) {
  Start({false});
  const auto answers = TryAll();
  EXPECT_GE(answers.size(), 16U);
  for (const auto& answer : answers) {
    EXPECT_THAT(answer, testing::EndsWith(" PERMISSION_DENIED PLAINTEXT_REFUSED"));
  }
}

TEST_F(GateTest, TheOperatorsWordOpensItForEveryMethod) {
  Start({true});
  const auto answers = TryAll();
  EXPECT_GE(answers.size(), 16U);
  for (const auto& answer : answers) {
    // These ask for nothing in particular.
    EXPECT_TRUE(answer == "ListSigningKeys OK" || answer == "GetServerStatus OK" ||
                answer == "GetLogProof OK" ||
                answer.find(" INVALID_ARGUMENT FIELD_MISSING ") != std::string::npos)
        << answer;
  }
}

TEST_F(GateTest, EveryMethodRefusesBytesThatAreNoMessage) {
  Start({true});
  // A truncated varint; a field that is longer than the message; a group that never ends.
  for (const std::string bytes : {"\x08\xff", "\x0a\x7fx", "\x0b"}) {
    const auto answers = TryAll(bytes);
    EXPECT_GE(answers.size(), 16U);
    for (const auto& answer : answers) {
      EXPECT_THAT(answer, testing::EndsWith(" INVALID_ARGUMENT MESSAGE_MALFORMED"));
    }
  }
}

TEST_F(GateTest, ATextThatIsNotUtf8IsRefusedWithAReason) {
  Start({true});
  for (const auto& answer : TryAll("\x0a\x04t\xff\xfe/")) {
    // They have no text in their first field.
    if (answer.find("ListSigningKeys") == 0 || answer.find("GetServerStatus") == 0 ||
        answer.find("RotateSigningKey") == 0) {
      continue;
    }
    EXPECT_THAT(answer, testing::EndsWith(" INVALID_ARGUMENT MESSAGE_MALFORMED"));
  }
}

TEST_F(GateTest, AStoppingServerRefusesEveryMethod) {
  Start({true});
  dispatcher_->RefuseNewCalls();
  for (const auto& answer : TryAll()) EXPECT_THAT(answer, testing::EndsWith(" UNAVAILABLE SHUTTING_DOWN"));
}

}  // namespace
}  // namespace expunge::rpc
