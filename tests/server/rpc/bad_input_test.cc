// Every bad input: its code, its reason, the field named, and nothing changed.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/server/rpc/server_fixture.h"

namespace expunge::rpc {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHuge = 1e200;  // its square overflows

// Memory "m" holds t0 to t11; memory "empty" nothing.
class BadInputTest : public ServerTest {
 protected:
  void SetUp() override {
    options_.max_message_bytes = 64 << 10;
    StartServer();
    CreateMemory("m");
    CreateMemory("empty");
    Add("m", 0, 12);
    before_ = Snapshot();
  }
  void TearDown() override { EXPECT_EQ(Snapshot(), before_) << "a refused call changed something"; }

  void ExpectCreate(const char* expected, const std::function<void(v1::CreateMemoryRequest*)>& spoil) {
    v1::CreateMemoryRequest request = CreateRequest("new");
    spoil(&request);
    v1::CreateMemoryResponse response;
    const auto status = Call(&v1::MemoryService::Stub::CreateMemory, memories_.get(), request, &response);
    EXPECT_EQ(Describe(status), expected) << status.error_message();
  }
  void ExpectAdd(const char* expected, const std::function<void(v1::AddRequest*)>& spoil) {
    v1::AddRequest request = AddRequestFor("m", 100, 3);
    spoil(&request);
    v1::AddResponse response;
    const auto status = Call(&v1::MemoryService::Stub::Add, memories_.get(), request, &response);
    EXPECT_EQ(Describe(status), expected) << status.error_message();
  }
  void ExpectRead(const char* expected, const std::function<void(v1::ReadRequest*)>& spoil) {
    v1::ReadRequest request;
    request.set_name(MemoryName("m"));
    *request.mutable_queries() = Pack({{0, 0}, {1, 1}});
    spoil(&request);
    v1::ReadResponse response;
    const auto status = Call(&v1::MemoryService::Stub::Read, memories_.get(), request, &response);
    EXPECT_EQ(Describe(status), expected) << status.error_message();
  }
  void ExpectDelete(const char* expected, const std::function<void(v1::DeleteRequest*)>& spoil) {
    v1::DeleteRequest request;
    request.set_parent(MemoryName("m"));
    request.add_token_ids("t0");
    spoil(&request);
    v1::DeleteResponse response;
    const auto status = Call(&v1::UnlearningService::Stub::Delete, unlearning_.get(), request, &response);
    EXPECT_EQ(Describe(status), expected) << status.error_message();
  }

  std::string before_;
};

TEST_F(BadInputTest, NumbersOfAConfiguration) {
  const auto config = [this](const char* expected, const std::function<void(v1::MemoryConfig*)>& spoil) {
    ExpectCreate(expected, [&spoil](v1::CreateMemoryRequest* r) { spoil(r->mutable_config()); });
  };
  for (const double c : {0.0, -0.0, -1.0}) {
    config("OUT_OF_RANGE OUT_OF_RANGE config.box_bound", [c](auto* m) { m->set_box_bound(c); });
  }
  for (const double c : {kNaN, kInfinity, -kInfinity}) {
    config("INVALID_ARGUMENT NOT_FINITE config.box_bound", [c](auto* m) { m->set_box_bound(c); });
  }
  config("OUT_OF_RANGE OUT_OF_RANGE config.min_support", [](auto* m) { m->set_min_support(0); });
  config("OUT_OF_RANGE OUT_OF_RANGE config.min_support", [](auto* m) { m->set_min_support(0x80000001); });
  config("INVALID_ARGUMENT FIELD_MISSING config.box", [](auto* m) { m->clear_box(); });
  for (const double ridge : {9.99e-9, 0.0, -1e-6, 1.5}) {
    config("OUT_OF_RANGE OUT_OF_RANGE config.ridge", [ridge](auto* m) { m->set_ridge(ridge); });
  }
  config("INVALID_ARGUMENT NOT_FINITE config.ridge", [](auto* m) { m->set_ridge(kNaN); });
  for (const double gamma : {0.0, -1.0}) {
    config("OUT_OF_RANGE OUT_OF_RANGE config.gamma", [gamma](auto* m) { m->set_gamma(gamma); });
  }
  config("INVALID_ARGUMENT NOT_FINITE config.gamma", [](auto* m) { m->set_gamma(kInfinity); });
  config("INVALID_ARGUMENT NOT_FINITE config.gamma", [](auto* m) { m->set_gamma(kNaN); });
  for (const uint32_t dimension : {0U, 4097U}) {
    config("OUT_OF_RANGE OUT_OF_RANGE config.key_dimension",
           [=](auto* m) { m->set_key_dimension(dimension); });
    config("OUT_OF_RANGE OUT_OF_RANGE config.value_dimension",
           [=](auto* m) { m->set_value_dimension(dimension); });
  }
}

TEST_F(BadInputTest, NamesOfMemories) {
  const std::string long_name(10 << 10, 'x');
  ExpectCreate("INVALID_ARGUMENT NAME_MALFORMED memory_id", [](auto* r) { r->set_memory_id("a/b"); });
  ExpectCreate("INVALID_ARGUMENT NAME_MALFORMED memory_id", [](auto* r) { r->set_memory_id(".."); });
  ExpectCreate("INVALID_ARGUMENT NAME_MALFORMED memory_id", [](auto* r) { r->set_memory_id("m\xc3\xa4h"); });
  ExpectCreate("INVALID_ARGUMENT NAME_MALFORMED memory_id",
               [](auto* r) { r->set_memory_id(std::string("a\0b", 3)); });
  ExpectCreate("INVALID_ARGUMENT TOO_LONG memory_id", [&](auto* r) { r->set_memory_id(long_name); });
  ExpectCreate("INVALID_ARGUMENT FIELD_MISSING memory_id", [](auto* r) { r->clear_memory_id(); });
  ExpectCreate("INVALID_ARGUMENT NAME_MALFORMED parent", [](auto* r) { r->set_parent("tenants/a/b"); });
  ExpectCreate("INVALID_ARGUMENT NAME_MALFORMED parent", [](auto* r) { r->set_parent("acme"); });
  ExpectCreate("INVALID_ARGUMENT TOO_LONG parent", [&](auto* r) { r->set_parent("tenants/" + long_name); });
  ExpectCreate("ALREADY_EXISTS MEMORY_EXISTS memory_id", [](auto* r) { r->set_memory_id("m"); });
  ExpectAdd("INVALID_ARGUMENT TOO_LONG parent", [&](auto* r) { r->set_parent(MemoryName(long_name)); });
  ExpectAdd("INVALID_ARGUMENT NAME_MALFORMED parent",
            [](auto* r) { r->set_parent(MemoryName("m/tokens/t1")); });
  ExpectAdd("NOT_FOUND MEMORY_UNKNOWN parent", [](auto* r) { r->set_parent(MemoryName("nowhere")); });
  ExpectAdd("NOT_FOUND MEMORY_UNKNOWN parent", [](auto* r) { r->set_parent("tenants/other/memories/m"); });
  ExpectRead("NOT_FOUND MEMORY_UNKNOWN name", [](auto* r) { r->set_name(MemoryName("nowhere")); });
  ExpectDelete("NOT_FOUND MEMORY_UNKNOWN parent", [](auto* r) { r->set_parent(MemoryName("nowhere")); });
}

TEST_F(BadInputTest, VectorsOfABatch) {
  const Rows three = {{0, 0}, {1, 1}, {2, 2}};
  ExpectAdd("INVALID_ARGUMENT DIMENSION_MISMATCH keys.columns", [](auto* r) {
    *r->mutable_keys() = Pack({{0, 0, 0}, {1, 1, 1}, {2, 2, 2}});
  });
  ExpectAdd("INVALID_ARGUMENT DIMENSION_MISMATCH values.columns", [](auto* r) {
    *r->mutable_values() = Pack({{0}, {1}, {2}});
  });
  ExpectAdd("INVALID_ARGUMENT DIMENSION_MISMATCH keys.rows", [](auto* r) {
    *r->mutable_keys() = Pack({{0, 0}, {1, 1}});
  });
  ExpectAdd("INVALID_ARGUMENT DIMENSION_MISMATCH keys.data",
            [](auto* r) { r->mutable_keys()->mutable_data()->pop_back(); });
  ExpectAdd("INVALID_ARGUMENT FIELD_MISSING keys.dtype", [](auto* r) { r->mutable_keys()->clear_dtype(); });
  ExpectAdd("INVALID_ARGUMENT DIMENSION_MISMATCH values.dtype",
            [](auto* r) { r->mutable_values()->set_dtype(static_cast<v1::Dtype>(99)); });
  for (const double bad : {kNaN, kInfinity, -kInfinity}) {
    Rows rows = three;
    rows[1][0] = bad;
    for (const auto dtype : {v1::DTYPE_FLOAT64, v1::DTYPE_FLOAT32}) {
      ExpectAdd("INVALID_ARGUMENT NOT_FINITE keys.data[row 1]",
                [&](auto* r) { *r->mutable_keys() = Pack(rows, dtype); });
      ExpectAdd("INVALID_ARGUMENT NOT_FINITE values.data[row 1]",
                [&](auto* r) { *r->mutable_values() = Pack(rows, dtype); });
    }
  }
  ExpectAdd("OUT_OF_RANGE MAGNITUDE_OVERFLOW keys.data[row 2]", [](auto* r) {
    *r->mutable_keys() = Pack({{0, 0}, {1, 1}, {kHuge, 2}});
  });
}

TEST_F(BadInputTest, TokensOfABatch) {
  const std::string long_name(10 << 10, 'x');
  ExpectAdd("INVALID_ARGUMENT FIELD_MISSING tokens", [](auto* r) { r->clear_tokens(); });
  ExpectAdd("INVALID_ARGUMENT DUPLICATE_IN_BATCH tokens[2].token_id",
            [](auto* r) { r->mutable_tokens(2)->set_token_id("t100"); });
  ExpectAdd("ALREADY_EXISTS TOKEN_EXISTS tokens[1].token_id",
            [](auto* r) { r->mutable_tokens(1)->set_token_id("t7"); });
  ExpectAdd("INVALID_ARGUMENT FIELD_MISSING tokens[1].token_id",
            [](auto* r) { r->mutable_tokens(1)->clear_token_id(); });
  ExpectAdd("INVALID_ARGUMENT NAME_MALFORMED tokens[0].token_id",
            [](auto* r) { r->mutable_tokens(0)->set_token_id("a/b"); });
  ExpectAdd("INVALID_ARGUMENT TOO_LONG tokens[0].token_id",
            [&](auto* r) { r->mutable_tokens(0)->set_token_id(long_name); });
  ExpectAdd("INVALID_ARGUMENT FIELD_MISSING tokens[2].subjects",
            [](auto* r) { r->mutable_tokens(2)->clear_subjects(); });
  ExpectAdd("INVALID_ARGUMENT NAME_MALFORMED tokens[2].subjects[0]",
            [](auto* r) { r->mutable_tokens(2)->set_subjects(0, "a/b"); });
  ExpectAdd("INVALID_ARGUMENT TOO_LONG tokens[2].subjects[0]",
            [&](auto* r) { r->mutable_tokens(2)->set_subjects(0, long_name); });
  ExpectAdd("INVALID_ARGUMENT DUPLICATE_IN_BATCH tokens[2].subjects[1]",
            [](auto* r) { r->mutable_tokens(2)->add_subjects(r->tokens(2).subjects(0)); });
}

TEST_F(BadInputTest, Queries) {
  ExpectRead("INVALID_ARGUMENT DIMENSION_MISMATCH queries.columns", [](auto* r) {
    *r->mutable_queries() = Pack({{0}, {1}});
  });
  ExpectRead("INVALID_ARGUMENT NOT_FINITE queries.data[row 1]", [](auto* r) {
    *r->mutable_queries() = Pack({{0, 0}, {0, kNaN}});
  });
  ExpectRead("INVALID_ARGUMENT NOT_FINITE queries.data[row 0]", [](auto* r) {
    *r->mutable_queries() = Pack({{kInfinity, 0}, {0, 0}});
  });
  ExpectRead("OUT_OF_RANGE MAGNITUDE_OVERFLOW queries.data[row 0]", [](auto* r) {
    *r->mutable_queries() = Pack({{0, -kHuge}});
  });
  ExpectRead("FAILED_PRECONDITION MEMORY_EMPTY name", [](auto* r) { r->set_name(MemoryName("empty")); });
}

TEST_F(BadInputTest, Deletions) {
  ExpectDelete("NOT_FOUND TOKEN_UNKNOWN token_ids[1]", [](auto* r) { r->add_token_ids("t99"); });
  ExpectDelete("INVALID_ARGUMENT FIELD_MISSING token_ids", [](auto* r) { r->clear_token_ids(); });
  ExpectDelete("INVALID_ARGUMENT DUPLICATE_IN_BATCH token_ids[1]", [](auto* r) { r->add_token_ids("t0"); });
  ExpectDelete("INVALID_ARGUMENT NAME_MALFORMED token_ids[1]", [](auto* r) { r->add_token_ids("../t1"); });
  ExpectDelete("INVALID_ARGUMENT TOO_LONG basis.legal_basis",
               [](auto* r) { r->mutable_basis()->set_legal_basis(std::string(257, 'x')); });
  v1::PurgeRequest purge;
  purge.set_parent(kTenant);
  purge.set_subject("nobody");
  v1::PurgeResponse response;
  EXPECT_EQ(Describe(Call(&v1::UnlearningService::Stub::Purge, unlearning_.get(), purge, &response)),
            "NOT_FOUND SUBJECT_UNKNOWN subject");
  v1::GetCertificateRequest get;
  get.set_name(absl::StrCat(kTenant, "/certificates/000000000999"));
  v1::GetCertificateResponse got;
  EXPECT_EQ(Describe(Call(&v1::UnlearningService::Stub::GetCertificate, unlearning_.get(), get, &got)),
            "NOT_FOUND CERTIFICATE_UNKNOWN name");
}

TEST_F(BadInputTest, PagesAndSizes) {
  v1::ListTokensRequest list;
  list.set_parent(MemoryName("m"));
  v1::ListTokensResponse response;
  list.set_page_size(1001);
  EXPECT_EQ(Describe(Call(&v1::MemoryService::Stub::ListTokens, memories_.get(), list, &response)),
            "OUT_OF_RANGE OUT_OF_RANGE page_size");
  list.set_page_size(1);
  list.set_page_token("forged");
  EXPECT_EQ(Describe(Call(&v1::MemoryService::Stub::ListTokens, memories_.get(), list, &response)),
            "INVALID_ARGUMENT PAGE_TOKEN_INVALID page_token");
}

TEST_F(BadInputTest, AMessageOverTheLimit) {
  const size_t limit = options_.max_message_bytes;
  const auto with_bytes = [](size_t bytes) {
    return [bytes](v1::AddRequest* r) { r->mutable_keys()->set_data(std::string(bytes, '\0')); };
  };
  ExpectAdd("INVALID_ARGUMENT DIMENSION_MISMATCH keys.data", with_bytes(limit - 1000));
  ExpectAdd("RESOURCE_EXHAUSTED MESSAGE_TOO_LARGE", with_bytes(limit + 1));
  ExpectAdd("RESOURCE_EXHAUSTED", with_bytes(2 * limit));  // by gRPC itself, without details
}

TEST_F(BadInputTest, CompressedMessages) {
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    v1::AddRequest request = AddRequestFor("m", 100, 3);
    request.mutable_keys()->mutable_data()->append(256 << 20, '\0');  // packed, a quarter of a megabyte
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    context.set_compression_algorithm(algorithm);
    v1::AddResponse response;
    const grpc::Status status = memories_->Add(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
  }
}

TEST_F(BadInputTest, ARequestIdWithAnotherBody) {
  v1::AddRequest request = AddRequestFor("empty", 0, 1);
  request.set_request_id("import-1");
  v1::AddResponse response;
  ASSERT_TRUE(Call(&v1::MemoryService::Stub::Add, memories_.get(), request, &response).ok());
  before_ = Snapshot();
  const std::string first = response.SerializeAsString();
  ASSERT_TRUE(Call(&v1::MemoryService::Stub::Add, memories_.get(), request, &response).ok());
  EXPECT_EQ(response.SerializeAsString(), first) << "the same id and body: the same answer";
  ExpectAdd("INVALID_ARGUMENT REQUEST_ID_REUSED request_id", [](auto* r) { r->set_request_id("import-1"); });
  ExpectDelete("INVALID_ARGUMENT REQUEST_ID_REUSED request_id",
               [](auto* r) { r->set_request_id("import-1"); });
  ExpectAdd("INVALID_ARGUMENT NAME_MALFORMED request_id", [](auto* r) { r->set_request_id("a/b"); });
  ExpectAdd("INVALID_ARGUMENT TOO_LONG request_id",
            [](auto* r) { r->set_request_id(std::string(10 << 10, 'x')); });
}

TEST_F(BadInputTest, MoreTokensThanAMemoryMayHold) {
  options_.max_tokens_per_memory = 14;
  StartServer();
  ExpectAdd("RESOURCE_EXHAUSTED MEMORY_FULL tokens", [](auto*) {});
}

}  // namespace
}  // namespace expunge::rpc
