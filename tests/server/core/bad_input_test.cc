// Every bad input: its code, reason and field; and a database that is, byte for byte, what it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/server/core/service_fixture.h"

namespace expunge::core {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class BadInputTest : public ServiceTest {
 protected:
  void SetUp() override {
    options_.max_tokens_per_memory = 8;
    options_.max_memories_per_tenant = 2;
    ServiceTest::SetUp();
    Create("cells");
    Create("empty");
    points_ = MakePoints("a", 5);
    Add(kMemory, points_);
    before_ = DumpStore();
    memory_before_ = Full(kMemory).SerializeAsString();
  }

  void TearDown() override {
    EXPECT_EQ(DumpStore(), before_);
    EXPECT_EQ(Full(kMemory).SerializeAsString(), memory_before_);
    Open();  // and it still recovers
    EXPECT_EQ(Full(kMemory).SerializeAsString(), memory_before_);
  }

  absl::Status AddChanged(const std::function<void(v1::AddRequest*)>& change) {
    v1::AddRequest request = AddRequestFor(kMemory, {{"new0", {"s"}, 1, 2, 3}, {"new1", {"s"}, 4, 5, 6}});
    change(&request);
    return service_->Add(request).status();
  }

  absl::Status CreateChanged(const std::function<void(v1::CreateMemoryRequest*)>& change) {
    v1::CreateMemoryRequest request;
    request.set_parent("tenants/fresh");
    request.set_memory_id("m");
    *request.mutable_config() = SmallConfig();
    change(&request);
    return service_->CreateMemory(request).status();
  }

  absl::Status DeleteChanged(const std::function<void(v1::DeleteRequest*)>& change) {
    v1::DeleteRequest request;
    request.set_parent(kMemory);
    request.add_token_ids("a0");
    change(&request);
    return service_->Delete(request).status();
  }

  absl::Status ReadChanged(const std::function<void(v1::ReadRequest*)>& change) {
    v1::ReadRequest request;
    request.set_name(kMemory);
    *request.mutable_queries() = Pack({0, 0, 1, 1}, kKeyDimension);
    change(&request);
    return service_->Read(request).status();
  }

  std::vector<Point> points_;
  Dump before_;
  std::string memory_before_;
};

TEST_F(BadInputTest, Names) {
  const std::string long_name(10'000, 'x');
  const auto with_parent = [this](const std::string& parent) {
    return AddChanged([&](v1::AddRequest* r) { r->set_parent(parent); });
  };
  EXPECT_TRUE(Fails(with_parent(""), Reason::kFieldMissing, "parent"));
  EXPECT_TRUE(Fails(with_parent("cells"), Reason::kNameMalformed, "parent"));
  EXPECT_TRUE(Fails(with_parent("tenants/acme/memories/"), Reason::kNameMalformed, "parent"));
  EXPECT_TRUE(Fails(with_parent("tenants/acme/memories/a/b"), Reason::kNameMalformed, "parent"));
  EXPECT_TRUE(Fails(with_parent("tenants/acme/memories/.."), Reason::kNameMalformed, "parent"));
  EXPECT_TRUE(Fails(with_parent("tenants/acme/memories/caf\xc3\xa9"), Reason::kNameMalformed, "parent"));
  EXPECT_TRUE(Fails(with_parent("tenants/acme/memories/" + long_name), Reason::kTooLong, "parent"));
  EXPECT_TRUE(
      Fails(with_parent("tenants/acme/memories/" + std::string(129, 'x')), Reason::kTooLong, "parent"));
  EXPECT_TRUE(Fails(with_parent("tenants/acme/memories/unknown"), Reason::kMemoryUnknown, "parent"));
  EXPECT_TRUE(Fails(with_parent("tenants/nobody/memories/cells"), Reason::kMemoryUnknown, "parent"));

  const auto with_id = [this](const std::string& id) {
    return AddChanged([&](v1::AddRequest* r) { r->mutable_tokens(1)->set_token_id(id); });
  };
  EXPECT_TRUE(Fails(with_id(""), Reason::kFieldMissing, "tokens[1].token_id"));
  EXPECT_TRUE(Fails(with_id("a/b"), Reason::kNameMalformed, "tokens[1].token_id"));
  EXPECT_TRUE(Fails(with_id("a b"), Reason::kNameMalformed, "tokens[1].token_id"));
  EXPECT_TRUE(Fails(with_id("."), Reason::kNameMalformed, "tokens[1].token_id"));
  EXPECT_TRUE(Fails(with_id(std::string("a\0b", 3)), Reason::kNameMalformed, "tokens[1].token_id"));
  EXPECT_TRUE(Fails(with_id(long_name), Reason::kTooLong, "tokens[1].token_id"));

  const auto with_request_id = [this](const std::string& id) {
    return AddChanged([&](v1::AddRequest* r) { r->set_request_id(id); });
  };
  EXPECT_TRUE(Fails(with_request_id("a/b"), Reason::kNameMalformed, "request_id"));
  EXPECT_TRUE(Fails(with_request_id(long_name), Reason::kTooLong, "request_id"));
  EXPECT_TRUE(
      Fails(CreateChanged([](auto* r) { r->set_memory_id("x/y"); }), Reason::kNameMalformed, "memory_id"));
  EXPECT_TRUE(Fails(CreateChanged([](auto* r) { r->set_parent("acme"); }), Reason::kNameMalformed, "parent"));
}

TEST_F(BadInputTest, Subjects) {
  const auto with_subjects = [this](const std::vector<std::string>& subjects) {
    return AddChanged([&](v1::AddRequest* r) {
      r->mutable_tokens(0)->clear_subjects();
      for (const std::string& subject : subjects) r->mutable_tokens(0)->add_subjects(subject);
    });
  };
  EXPECT_TRUE(Fails(with_subjects({}), Reason::kFieldMissing, "tokens[0].subjects"));
  EXPECT_TRUE(Fails(with_subjects({""}), Reason::kFieldMissing, "tokens[0].subjects[0]"));
  EXPECT_TRUE(Fails(with_subjects({"a", "b", "a"}), Reason::kDuplicateInBatch, "tokens[0].subjects[2]"));
  EXPECT_TRUE(Fails(with_subjects({"a", "b/c"}), Reason::kNameMalformed, "tokens[0].subjects[1]"));
  EXPECT_TRUE(Fails(with_subjects({std::string(257, 's')}), Reason::kTooLong, "tokens[0].subjects[0]"));
  std::vector<std::string> many;
  for (int i = 0; i < 65; ++i) many.push_back("s" + std::to_string(i));
  EXPECT_TRUE(Fails(with_subjects(many), Reason::kTooLong, "tokens[0].subjects"));

  v1::PurgeRequest purge;
  purge.set_parent(kTenant);
  EXPECT_TRUE(Fails(service_->Purge(purge).status(), Reason::kFieldMissing, "subject"));
  purge.set_subject("subject-unknown");
  EXPECT_TRUE(Fails(service_->Purge(purge).status(), Reason::kSubjectUnknown, "subject"));
  purge.set_subject("two words");
  EXPECT_TRUE(Fails(service_->Purge(purge).status(), Reason::kNameMalformed, "subject"));
}

TEST_F(BadInputTest, Batches) {
  EXPECT_TRUE(Fails(service_->Add(AddRequestFor(kMemory, {})).status(), Reason::kFieldMissing, "tokens"));
  EXPECT_TRUE(Fails(service_->Add(AddRequestFor(kMemory, MakePoints("n", 10'001))).status(), Reason::kTooLong,
                    "tokens"));
  EXPECT_TRUE(Fails(AddChanged([](auto* r) { r->mutable_tokens(1)->set_token_id("new0"); }),
                    Reason::kDuplicateInBatch, "tokens[1].token_id"));
  EXPECT_TRUE(Fails(AddChanged([](auto* r) { r->mutable_tokens(1)->set_token_id("a4"); }),
                    Reason::kTokenExists, "tokens[1].token_id"));
  EXPECT_TRUE(Fails(service_->Add(AddRequestFor(kMemory, MakePoints("n", 4))).status(), Reason::kMemoryFull,
                    "tokens"));
  EXPECT_TRUE(
      Fails(DeleteChanged([](auto* r) { r->clear_token_ids(); }), Reason::kFieldMissing, "token_ids"));
  EXPECT_TRUE(
      Fails(DeleteChanged([](auto* r) { r->add_token_ids("a9"); }), Reason::kTokenUnknown, "token_ids[1]"));
  EXPECT_TRUE(Fails(DeleteChanged([](auto* r) { r->add_token_ids("a0"); }), Reason::kDuplicateInBatch,
                    "token_ids[1]"));
  EXPECT_TRUE(Fails(DeleteChanged([](auto* r) { r->set_parent("tenants/acme/memories/none"); }),
                    Reason::kMemoryUnknown, "parent"));
  EXPECT_TRUE(Fails(DeleteChanged([](auto* r) {
                      for (int i = 0; i < 10'000; ++i) r->add_token_ids("t" + std::to_string(i));
                    }),
                    Reason::kTooLong, "token_ids"));
}

TEST_F(BadInputTest, Vectors) {
  const auto with_keys = [this](const v1::PackedVectors& keys) {
    return AddChanged([&](v1::AddRequest* r) { *r->mutable_keys() = keys; });
  };
  EXPECT_TRUE(Fails(AddChanged([](auto* r) { r->clear_keys(); }), Reason::kFieldMissing, "keys"));
  EXPECT_TRUE(Fails(AddChanged([](auto* r) { r->clear_values(); }), Reason::kFieldMissing, "values"));
  EXPECT_TRUE(Fails(AddChanged([](auto* r) { r->mutable_keys()->clear_dtype(); }), Reason::kFieldMissing,
                    "keys.dtype"));
  EXPECT_TRUE(Fails(AddChanged([](auto* r) { r->mutable_keys()->set_dtype(static_cast<v1::Dtype>(9)); }),
                    Reason::kDimensionMismatch, "keys.dtype"));
  EXPECT_TRUE(Fails(with_keys(Pack({1, 2, 3, 4, 5, 6}, 3)), Reason::kDimensionMismatch, "keys.columns"));
  EXPECT_TRUE(Fails(with_keys(Pack({1, 2, 3, 4, 5, 6}, 2)), Reason::kDimensionMismatch, "keys.rows"));
  EXPECT_TRUE(Fails(AddChanged([](auto* r) { r->mutable_keys()->mutable_data()->pop_back(); }),
                    Reason::kDimensionMismatch, "keys.data"));
  EXPECT_TRUE(Fails(AddChanged([](auto* r) { r->mutable_values()->mutable_data()->push_back('\0'); }),
                    Reason::kDimensionMismatch, "values.data"));
  EXPECT_TRUE(Fails(with_keys(Pack({1, 2, 3, kNaN}, 2)), Reason::kNotFinite, "keys.data[row 1]"));
  EXPECT_TRUE(Fails(with_keys(Pack({-kInfinity, 2, 3, 4}, 2)), Reason::kNotFinite, "keys.data[row 0]"));
  EXPECT_TRUE(Fails(with_keys(Pack({1, 2, 3, 1e200}, 2)), Reason::kMagnitudeOverflow, "keys.data[row 1]"));
  EXPECT_TRUE(Fails(AddChanged([](auto* r) {
                      *r->mutable_values() = Pack({1, kInfinity}, 1);
                    }),
                    Reason::kNotFinite, "values.data[row 1]"));
  EXPECT_TRUE(Fails(AddChanged([](auto* r) {
                      *r->mutable_values() = Pack({1e300, 1}, 1);
                    }),
                    Reason::kMagnitudeOverflow, "values.data[row 0]"));
  // In single precision, too: little-endian bits.
  const auto with_float32 = [&](const char* last) {
    v1::PackedVectors keys = Pack({0, 0}, 2);
    keys.set_rows(2);
    keys.set_dtype(v1::DTYPE_FLOAT32);
    keys.mutable_data()->replace(12, 4, last, 4);
    return with_keys(keys);
  };
  EXPECT_TRUE(Fails(with_float32("\x00\x00\xc0\x7f"), Reason::kNotFinite, "keys.data[row 1]"));
  EXPECT_TRUE(Fails(with_float32("\x01\x00\xa0\xff"), Reason::kNotFinite, "keys.data[row 1]"));
  EXPECT_TRUE(Fails(with_float32("\x00\x00\x80\xff"), Reason::kNotFinite, "keys.data[row 1]"));
  // rows * columns * 8 is 2^67, which is 0 in 64 bits.
  EXPECT_TRUE(Fails(AddChanged([](auto* r) {
                      r->mutable_keys()->clear_data();
                      r->mutable_keys()->set_rows(0x80000000U);
                      r->mutable_keys()->set_columns(0x80000000U);
                    }),
                    Reason::kDimensionMismatch, "keys.rows"));
}

TEST_F(BadInputTest, Reads) {
  EXPECT_TRUE(Fails(ReadChanged([](auto* r) { r->clear_queries(); }), Reason::kFieldMissing, "queries"));
  EXPECT_TRUE(Fails(ReadChanged([](auto* r) { r->mutable_queries()->set_rows(0); }), Reason::kFieldMissing,
                    "queries.rows"));
  EXPECT_TRUE(Fails(ReadChanged([](auto* r) { r->mutable_queries()->set_rows(10'001); }), Reason::kTooLong,
                    "queries.rows"));
  EXPECT_TRUE(Fails(ReadChanged([](auto* r) {
                      *r->mutable_queries() = Pack({1, 2, 3}, 3);
                    }),
                    Reason::kDimensionMismatch, "queries.columns"));
  EXPECT_TRUE(Fails(ReadChanged([](auto* r) {
                      *r->mutable_queries() = Pack({0, 0, 0, kNaN}, 2);
                    }),
                    Reason::kNotFinite, "queries.data[row 1]"));
  EXPECT_TRUE(Fails(ReadChanged([](auto* r) {
                      *r->mutable_queries() = Pack({1e300, 0}, 2);
                    }),
                    Reason::kMagnitudeOverflow, "queries.data[row 0]"));
  EXPECT_TRUE(Fails(ReadChanged([](auto* r) { r->set_output_dtype(static_cast<v1::Dtype>(7)); }),
                    Reason::kDimensionMismatch, "output_dtype"));
  EXPECT_TRUE(Fails(ReadChanged([](auto* r) { r->set_name("tenants/acme/memories/empty"); }),
                    Reason::kMemoryEmpty, "name"));
  EXPECT_TRUE(Fails(ReadChanged([](auto* r) { r->set_name("tenants/acme/memories/none"); }),
                    Reason::kMemoryUnknown, "name"));
}

TEST_F(BadInputTest, Configurations) {
  const auto with = [this](const std::function<void(v1::MemoryConfig*)>& change) {
    return CreateChanged([&](v1::CreateMemoryRequest* r) { change(r->mutable_config()); });
  };
  EXPECT_TRUE(Fails(CreateChanged([](auto* r) { r->clear_config(); }), Reason::kFieldMissing, "config"));
  EXPECT_TRUE(Fails(with([](auto* c) { c->clear_box(); }), Reason::kFieldMissing, "config.box"));
  EXPECT_TRUE(Fails(with([](auto* c) { c->set_box_bound(0); }), Reason::kOutOfRange, "config.box_bound"));
  EXPECT_TRUE(Fails(with([](auto* c) { c->set_box_bound(-0.5); }), Reason::kOutOfRange, "config.box_bound"));
  EXPECT_TRUE(Fails(with([](auto* c) { c->set_box_bound(kNaN); }), Reason::kNotFinite, "config.box_bound"));
  EXPECT_TRUE(
      Fails(with([](auto* c) { c->set_box_bound(kInfinity); }), Reason::kNotFinite, "config.box_bound"));
  EXPECT_TRUE(Fails(with([](auto* c) { c->set_min_support(0); }), Reason::kOutOfRange, "config.min_support"));
  EXPECT_TRUE(Fails(with([](auto* c) { c->set_min_support(0x80000001U); }), Reason::kOutOfRange,
                    "config.min_support"));
  EXPECT_TRUE(Fails(with([](auto* c) { c->set_ridge(9.9e-9); }), Reason::kOutOfRange, "config.ridge"));
  EXPECT_TRUE(Fails(with([](auto* c) { c->set_ridge(0); }), Reason::kOutOfRange, "config.ridge"));
  EXPECT_TRUE(Fails(with([](auto* c) { c->set_ridge(kNaN); }), Reason::kNotFinite, "config.ridge"));
  EXPECT_TRUE(Fails(with([](auto* c) { c->set_gamma(0); }), Reason::kOutOfRange, "config.gamma"));
  EXPECT_TRUE(Fails(with([](auto* c) { c->set_gamma(-1); }), Reason::kOutOfRange, "config.gamma"));
  EXPECT_TRUE(Fails(with([](auto* c) { c->set_gamma(kInfinity); }), Reason::kNotFinite, "config.gamma"));
  EXPECT_TRUE(
      Fails(with([](auto* c) { c->set_key_dimension(0); }), Reason::kOutOfRange, "config.key_dimension"));
  EXPECT_TRUE(
      Fails(with([](auto* c) { c->set_key_dimension(4097); }), Reason::kOutOfRange, "config.key_dimension"));
  EXPECT_TRUE(
      Fails(with([](auto* c) { c->set_value_dimension(0); }), Reason::kOutOfRange, "config.value_dimension"));
}

TEST_F(BadInputTest, MemoriesAndCertificates) {
  EXPECT_TRUE(Fails(CreateChanged([](auto* r) {
                      r->set_parent(kTenant);
                      r->set_memory_id("cells");
                    }),
                    Reason::kMemoryExists, "memory_id"));
  EXPECT_TRUE(Fails(CreateChanged([](auto* r) { r->set_parent(kTenant); }), Reason::kTenantFull, "parent"));
  v1::GetMemoryRequest describe;
  describe.set_name(kMemory);
  describe.set_view(static_cast<v1::MemoryView>(3));
  EXPECT_TRUE(Fails(service_->GetMemory(describe).status(), Reason::kOutOfRange, "view"));
  v1::ListCertificatesRequest list;
  list.set_parent(kTenant);
  list.set_kind(static_cast<v1::CertificateKind>(99));
  EXPECT_TRUE(Fails(service_->ListCertificates(list).status(), Reason::kOutOfRange, "kind"));
  list.clear_kind();
  list.set_memory("tenants/other/memories/cells");
  EXPECT_TRUE(Fails(service_->ListCertificates(list).status(), Reason::kNameMalformed, "memory"));
  v1::DeleteMemoryRequest remove;
  remove.set_name("tenants/acme/memories/none");
  EXPECT_TRUE(Fails(service_->DeleteMemory(remove).status(), Reason::kMemoryUnknown, "name"));
  v1::GetCertificateRequest get;
  for (const char* id : {"000000000001", "1", "x", "0000000000001", "999999999999"}) {
    get.set_name(std::string("tenants/acme/certificates/") + id);
    EXPECT_TRUE(Fails(service_->GetCertificate(get).status(), Reason::kCertificateUnknown, "name")) << id;
  }
  get.set_name("tenants/acme/certificates");
  EXPECT_TRUE(Fails(service_->GetCertificate(get).status(), Reason::kNameMalformed, "name"));
  v1::CertifyRequest certify;
  certify.set_name(kMemory);
  certify.set_nonce(std::string(65, 'n'));
  EXPECT_TRUE(Fails(service_->Certify(certify).status(), Reason::kTooLong, "nonce"));
}

TEST_F(BadInputTest, LegalBases) {
  const auto with = [this](const std::string& basis) {
    return DeleteChanged([&](v1::DeleteRequest* r) { r->mutable_basis()->set_legal_basis(basis); });
  };
  EXPECT_TRUE(Fails(with(std::string(257, 'x')), Reason::kTooLong, "basis.legal_basis"));
  EXPECT_TRUE(Fails(with("line\nbreak"), Reason::kNameMalformed, "basis.legal_basis"));
  EXPECT_TRUE(Fails(with("caf\xc3\xa9"), Reason::kNameMalformed, "basis.legal_basis"));
}

TEST_F(BadInputTest, Pages) {
  v1::ListTokensRequest list;
  list.set_parent(kMemory);
  list.set_page_size(1001);
  EXPECT_TRUE(Fails(service_->ListTokens(list).status(), Reason::kOutOfRange, "page_size"));
  list.set_page_size(2);
  for (const std::string& token : {std::string("!"), std::string("YWJj"), std::string(5000, 'A')}) {
    list.set_page_token(token);
    EXPECT_TRUE(Fails(service_->ListTokens(list).status(), Reason::kPageTokenInvalid, "page_token"));
  }
  list.clear_page_token();
  const auto page = service_->ListTokens(list);
  ASSERT_TRUE(page.ok());
  list.set_page_token(page->next_page_token());
  list.set_subject("subject-a1");  // another query
  EXPECT_TRUE(Fails(service_->ListTokens(list).status(), Reason::kPageTokenInvalid, "page_token"));
}

TEST_F(BadInputTest, ValidateOnlyChangesNothingAndValidatesEverything) {
  v1::DeleteRequest request;
  request.set_parent(kMemory);
  request.add_token_ids("a0");
  request.add_token_ids("a1");
  request.set_validate_only(true);
  request.set_request_id("dry");
  const auto response = service_->Delete(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_FALSE(response->has_certificate());
  EXPECT_EQ(response->deleted_count(), 2U);
  request.add_token_ids("none");
  EXPECT_TRUE(Fails(service_->Delete(request).status(), Reason::kTokenUnknown, "token_ids[2]"));

  v1::PurgeRequest purge;
  purge.set_parent(kTenant);
  purge.set_subject("subject-a2");
  purge.set_validate_only(true);
  const auto purged = service_->Purge(purge);
  ASSERT_TRUE(purged.ok()) << purged.status();
  EXPECT_EQ(purged->deleted_count(), 1U);
  EXPECT_EQ(purged->certificates_size(), 0);

  v1::DeleteMemoryRequest remove;
  remove.set_name(kMemory);
  remove.set_validate_only(true);
  const auto removed = service_->DeleteMemory(remove);
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_FALSE(removed->has_certificate());
}

}  // namespace
}  // namespace expunge::core
