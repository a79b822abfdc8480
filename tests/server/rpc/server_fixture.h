// A real server in process, on a directory of its own and a free port, with a real client channel over the
// loopback.
#ifndef EXPUNGE_TESTS_SERVER_RPC_SERVER_FIXTURE_H_
#define EXPUNGE_TESTS_SERVER_RPC_SERVER_FIXTURE_H_

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "expunge/v1/memory_service.grpc.pb.h"
#include "expunge/v1/unlearning_service.grpc.pb.h"
#include "server/rpc/server.h"
#include "tests/support/files.h"

namespace expunge::rpc {

using Rows = std::vector<std::vector<double>>;

// Row-major FLOAT64, or FLOAT32. REQUIRES: rows of equal length.
v1::PackedVectors Pack(const Rows& rows, v1::Dtype dtype = v1::DTYPE_FLOAT64);

// What a failed call says: "CODE REASON field".
std::string Describe(const grpc::Status& status);

// The system's clock, which can be made to hold everyone who asks: a change in the server then stands still
// in the middle.
class GatedClock {
 public:
  void Close();
  void Open();
  // Returns when somebody stands at the closed gate.
  void WaitForArrival();
  [[nodiscard]] Clock AsClock();

 private:
  absl::Time Now();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  int waiting_ = 0;
};

class ServerTest : public testing::Test {
 protected:
  static constexpr char kTenant[] = "tenants/acme";

  ServerTest();
  ~ServerTest() override;

  // Starts (again, on the same directory) with `options_`. Fails the test if it cannot.
  void StartServer();
  void StopServer();

  // Each call: a fresh context with a generous deadline.
  template <class Request, class Response, class Stub>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*), Stub* stub,
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    return (stub->*method)(&context, request, response);
  }

  static std::string MemoryName(const std::string& id) { return std::string(kTenant) + "/memories/" + id; }
  // Key and value dimension 2; gamma 0.5; min_support 3.
  static v1::CreateMemoryRequest CreateRequest(const std::string& id);
  void CreateMemory(const std::string& id);
  // Tokens t{first}, t{first + 1}, ... about subjects s0, s1, s2 in turn, with the keys and values of
  // `Sample`.
  static v1::AddRequest AddRequestFor(const std::string& memory, int first, int count);
  v1::AddResponse Add(const std::string& memory, int first, int count);
  // Row `index` of a fixed pseudo-random sample; seed kSeed.
  static constexpr uint64_t kSeed = 20261129;
  static std::vector<double> Sample(int index);

  v1::Memory Full(const std::string& memory);
  std::vector<v1::TokenInfo> Tokens(const std::string& memory);
  v1::ReadResponse Read(const std::string& memory, const Rows& queries, bool with_contributions = false);
  // Everything that a client can see of the tenant, serialised: full memories, tokens, certificates.
  std::string Snapshot();

  test_support::TemporaryDirectory directory_;
  GatedClock clock_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::MemoryService::Stub> memories_;
  std::unique_ptr<v1::UnlearningService::Stub> unlearning_;
};

// One call in the background.
template <class Response>
struct PendingCall {
  grpc::ClientContext context;
  Response response;
  std::promise<grpc::Status> promise;
  std::future<grpc::Status> status = promise.get_future();
};

}  // namespace expunge::rpc

#endif  // EXPUNGE_TESTS_SERVER_RPC_SERVER_FIXTURE_H_
