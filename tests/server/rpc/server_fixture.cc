#include "tests/server/rpc/server_fixture.h"

#include <bit>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace expunge::rpc {

v1::PackedVectors Pack(const Rows& rows, v1::Dtype dtype) {
  v1::PackedVectors packed;
  packed.set_dtype(dtype);
  packed.set_rows(static_cast<uint32_t>(rows.size()));
  packed.set_columns(rows.empty() ? 0 : static_cast<uint32_t>(rows.front().size()));
  for (const auto& row : rows) {
    for (const double element : row) {
      if (dtype == v1::DTYPE_FLOAT32) {
        AppendU32(std::bit_cast<uint32_t>(static_cast<float>(element)), packed.mutable_data());
      } else {
        AppendDouble(element, packed.mutable_data());
      }
    }
  }
  return packed;
}

std::string Describe(const grpc::Status& status) {
  if (status.ok()) return "OK";
  std::string text = absl::StatusCodeToString(static_cast<absl::StatusCode>(status.error_code()));
  google::rpc::Status rich;
  if (status.error_details().empty() || !rich.ParseFromString(status.error_details())) return text;
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad_request;
  for (const auto& detail : rich.details()) {
    if (detail.UnpackTo(&info)) absl::StrAppend(&text, " ", info.reason());
    if (detail.UnpackTo(&bad_request)) absl::StrAppend(&text, " ", bad_request.field_violations(0).field());
  }
  EXPECT_EQ(info.domain(), "expunge.v1");
  return text;
}

void GatedClock::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

void GatedClock::Open() {
  const std::lock_guard lock(mutex_);
  closed_ = false;
  changed_.notify_all();
}

void GatedClock::WaitForArrival() {
  std::unique_lock lock(mutex_);
  const bool arrived = changed_.wait_for(lock, std::chrono::seconds(60), [this] { return waiting_ > 0; });
  EXPECT_TRUE(arrived) << "nobody asked for the time";
}

Clock GatedClock::AsClock() {
  return [this] { return Now(); };
}

absl::Time GatedClock::Now() {
  std::unique_lock lock(mutex_);
  ++waiting_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !closed_; });
  --waiting_;
  return absl::Now();
}

ServerTest::ServerTest() {
  options_.data_dir = directory_ / "data";
  options_.address = "127.0.0.1:0";
  options_.worker_threads = 2;
}

ServerTest::~ServerTest() {
  clock_.Open();
  StopServer();
}

void ServerTest::StartServer() {
  StopServer();
  const auto log = Log::Open({LogLevel::kInfo, directory_ / "log"});
  ASSERT_TRUE(log.ok()) << log.status();
  auto server = Server::Start(options_, *log, clock_.AsClock());
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own for every start
  channel_ = grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                       grpc::InsecureChannelCredentials(), arguments);
  memories_ = v1::MemoryService::NewStub(channel_);
  unlearning_ = v1::UnlearningService::NewStub(channel_);
}

void ServerTest::StopServer() {
  if (server_ != nullptr) server_->Stop();
  server_.reset();
}

v1::CreateMemoryRequest ServerTest::CreateRequest(const std::string& id) {
  v1::CreateMemoryRequest request;
  request.set_parent(kTenant);
  request.set_memory_id(id);
  auto* config = request.mutable_config();
  config->set_key_dimension(2);
  config->set_value_dimension(2);
  config->set_gamma(0.5);
  config->set_min_support(3);
  return request;
}

void ServerTest::CreateMemory(const std::string& id) {
  v1::CreateMemoryResponse response;
  const auto status =
      Call(&v1::MemoryService::Stub::CreateMemory, memories_.get(), CreateRequest(id), &response);
  ASSERT_TRUE(status.ok()) << Describe(status) << status.error_message();
}

std::vector<double> ServerTest::Sample(int index) {
  std::mt19937_64 bits(kSeed + static_cast<uint64_t>(index));
  std::vector<double> row;
  for (int i = 0; i < 4; ++i) row.push_back(static_cast<double>(bits() >> 11) * 0x1p-51 - 2);  // [-2, 2)
  return row;
}

v1::AddRequest ServerTest::AddRequestFor(const std::string& memory, int first, int count) {
  v1::AddRequest request;
  request.set_parent(MemoryName(memory));
  Rows keys;
  Rows values;
  for (int i = first; i < first + count; ++i) {
    auto* token = request.add_tokens();
    token->set_token_id(absl::StrCat("t", i));
    token->add_subjects(absl::StrCat("s", i % 3));
    const auto sample = Sample(i);
    keys.push_back({sample[0], sample[1]});
    values.push_back({sample[2], sample[3]});
  }
  *request.mutable_keys() = Pack(keys);
  *request.mutable_values() = Pack(values);
  return request;
}

v1::AddResponse ServerTest::Add(const std::string& memory, int first, int count) {
  v1::AddResponse response;
  const auto status =
      Call(&v1::MemoryService::Stub::Add, memories_.get(), AddRequestFor(memory, first, count), &response);
  EXPECT_TRUE(status.ok()) << Describe(status) << status.error_message();
  return response;
}

v1::Memory ServerTest::Full(const std::string& memory) {
  v1::GetMemoryRequest request;
  request.set_name(MemoryName(memory));
  request.set_view(v1::MEMORY_VIEW_FULL);
  v1::GetMemoryResponse response;
  const auto status = Call(&v1::MemoryService::Stub::GetMemory, memories_.get(), request, &response);
  EXPECT_TRUE(status.ok()) << Describe(status) << status.error_message();
  return response.memory();
}

std::vector<v1::TokenInfo> ServerTest::Tokens(const std::string& memory) {
  v1::ListTokensRequest request;
  request.set_parent(MemoryName(memory));
  request.set_page_size(7);
  std::vector<v1::TokenInfo> tokens;
  do {
    v1::ListTokensResponse response;
    const auto status = Call(&v1::MemoryService::Stub::ListTokens, memories_.get(), request, &response);
    EXPECT_TRUE(status.ok()) << Describe(status) << status.error_message();
    tokens.insert(tokens.end(), response.tokens().begin(), response.tokens().end());
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return tokens;
}

v1::ReadResponse ServerTest::Read(const std::string& memory, const Rows& queries, bool with_contributions) {
  v1::ReadRequest request;
  request.set_name(MemoryName(memory));
  *request.mutable_queries() = Pack(queries);
  request.set_with_contributions(with_contributions);
  v1::ReadResponse response;
  const auto status = Call(&v1::MemoryService::Stub::Read, memories_.get(), request, &response);
  EXPECT_TRUE(status.ok()) << Describe(status) << status.error_message();
  return response;
}

std::string ServerTest::Snapshot() {
  std::string bytes;
  v1::ListMemoriesRequest list;
  list.set_parent(kTenant);
  list.set_page_size(1000);
  v1::ListMemoriesResponse memories;
  auto status = Call(&v1::MemoryService::Stub::ListMemories, memories_.get(), list, &memories);
  EXPECT_TRUE(status.ok()) << Describe(status);
  AppendField(memories.SerializeAsString(), &bytes);
  for (const auto& memory : memories.memories()) {
    const std::string id = memory.name().substr(MemoryName("").size());
    AppendField(Full(id).SerializeAsString(), &bytes);
    for (const auto& token : Tokens(id)) AppendField(token.SerializeAsString(), &bytes);
  }
  v1::ListCertificatesRequest certificates;
  certificates.set_parent(kTenant);
  certificates.set_page_size(1000);
  v1::ListCertificatesResponse issued;
  status = Call(&v1::UnlearningService::Stub::ListCertificates, unlearning_.get(), certificates, &issued);
  EXPECT_TRUE(status.ok()) << Describe(status);
  AppendField(issued.SerializeAsString(), &bytes);
  return bytes;
}

}  // namespace expunge::rpc
