// What a list, and a watch, of certificates can be narrowed by; and how a watch steps through them.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/core/service_fixture.h"

namespace expunge::core {
namespace {

using Numbers = std::vector<int>;

int NumberOf(const std::string& name) { return std::stoi(name.substr(name.rfind('/') + 1)); }

// Certificates 1 to 7 of "cells" and "other", a second apart:
//   1 STATE of cells, 2 DELETION of cells (a0, a1), 3 STATE of other, 4 PURGE of other (subject of b2),
//   then EraseBytes: 5 and 6 complete 2 and 4; 7 STATE of cells.
class ListCertificatesTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    clock_step_ = absl::Seconds(1);
    Create("cells");
    Create("other");
    cells_ = Add(kMemory, MakePoints("a", 6));
    other_ = Add(kOther, MakePoints("b", 6));
    Certify(kMemory);
    Delete(kMemory, {"a0", "a1"});
    Certify(kOther);
    v1::PurgeRequest purge;
    purge.set_parent(kTenant);
    purge.set_subject(MakePoints("b", 6)[2].subjects[0]);
    purge.mutable_basis()->set_legal_basis(R"(says "commitment":" as a text)");
    ASSERT_TRUE(service_->Purge(purge).ok());
    ASSERT_TRUE(service_->EraseBytes().ok());
    Certify(kMemory);
  }

  void Certify(const std::string& memory) {
    v1::CertifyRequest request;
    request.set_name(memory);
    ASSERT_TRUE(service_->Certify(request).ok());
  }

  static v1::ListCertificatesRequest Request() {
    v1::ListCertificatesRequest request;
    request.set_parent(kTenant);
    return request;
  }

  // By pages of one, and by a watch: the same.
  template <class Edit>
  Numbers List(const Edit& edit) {
    v1::ListCertificatesRequest request = Request();
    edit(&request);
    request.set_page_size(1);
    Numbers listed;
    do {
      const auto response = service_->ListCertificates(request);
      EXPECT_TRUE(response.ok()) << response.status();
      if (!response.ok()) return listed;
      for (const auto& one : response->certificates()) listed.push_back(NumberOf(one.name()));
      request.set_page_token(response->next_page_token());
    } while (!request.page_token().empty());
    v1::WatchCertificatesRequest watch;
    watch.set_parent(kTenant);
    edit(&watch);
    EXPECT_EQ(Watch(watch), listed);
    return listed;
  }

  // What a watch gives at once.
  Numbers Watch(const v1::WatchCertificatesRequest& request) {
    Numbers seen;
    auto stream = service_->WatchCertificates(request);
    EXPECT_TRUE(stream.ok()) << stream.status();
    while (stream.ok()) {
      v1::WatchCertificatesResponse answer;
      const auto step = (*stream)->Next(&answer);
      EXPECT_TRUE(step.ok()) << step.status();
      if (!step.ok() || *step == StreamStep::kLater) break;
      if (*step == StreamStep::kAnswer) seen.push_back(NumberOf(answer.certificate().name()));
    }
    return seen;
  }

  google::protobuf::Timestamp TimeOf(int number) {
    v1::GetCertificateRequest request;
    request.set_name(absl::StrCat(kTenant, "/certificates/", absl::Dec(number, absl::kZeroPad12)));
    return service_->GetCertificate(request)->certificate().create_time();
  }

  static constexpr char kOther[] = "tenants/acme/memories/other";
  v1::AddResponse cells_;
  v1::AddResponse other_;
};

TEST_F(ListCertificatesTest, WithoutFiltersEveryCertificateIsThere) {
  EXPECT_EQ(List([](auto*) {}), (Numbers{1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(ListCertificatesTest, EveryFilterSelectsItsOwn) {
  EXPECT_EQ(List([](auto* r) { r->set_memory(kMemory); }), (Numbers{1, 2, 5, 7}));
  EXPECT_EQ(List([](auto* r) { r->set_kind(v1::CERTIFICATE_KIND_PURGE); }), (Numbers{4, 6}));
  EXPECT_EQ(List([](auto* r) { r->set_stage(v1::ERASURE_STAGE_KEY_DESTROYED); }), (Numbers{2, 4}));
  EXPECT_EQ(List([](auto* r) { r->set_stage(v1::ERASURE_STAGE_PHYSICALLY_PURGED); }), (Numbers{5, 6}));
  EXPECT_EQ(List([](auto* r) {
              r->set_memory(kMemory);
              r->set_stage(v1::ERASURE_STAGE_KEY_DESTROYED);
              r->set_kind(v1::CERTIFICATE_KIND_DELETION);
            }),
            (Numbers{2}));
}

TEST_F(ListCertificatesTest, ATimeRangeHasItsStartAndNotItsEnd) {
  const auto second = TimeOf(2);
  const auto fourth = TimeOf(4);
  ASSERT_LT(second.seconds(), fourth.seconds());
  EXPECT_EQ(List([&](auto* r) {
              *r->mutable_create_time_start() = second;
              *r->mutable_create_time_end() = fourth;
            }),
            (Numbers{2, 3}));
  EXPECT_EQ(List([&](auto* r) { *r->mutable_create_time_start() = fourth; }), (Numbers{4, 5, 6, 7}));
  EXPECT_EQ(List([&](auto* r) { *r->mutable_create_time_end() = second; }), (Numbers{1}));
  EXPECT_EQ(List([&](auto* r) {
              *r->mutable_create_time_start() = second;
              *r->mutable_create_time_end() = second;
            }),
            Numbers());
}

TEST_F(ListCertificatesTest, ReceiptsFindEveryCertificateThatSpeaksOfThem) {
  const auto speaking_of = [&](const std::vector<std::string>& commitments) {
    return List([&](auto* r) {
      for (const auto& one : commitments) r->add_commitments(one);
    });
  };
  EXPECT_EQ(speaking_of({cells_.receipts(0).commitment()}), (Numbers{2, 5}));
  EXPECT_EQ(speaking_of({cells_.receipts(5).commitment()}), Numbers()) << "it was never removed";
  EXPECT_EQ(speaking_of({other_.receipts(2).commitment()}), (Numbers{4, 6}));
  EXPECT_EQ(speaking_of({cells_.receipts(1).commitment(), cells_.receipts(5).commitment(),
                         other_.receipts(2).commitment()}),
            (Numbers{2, 4, 5, 6}));
}

TEST_F(ListCertificatesTest, BadFiltersNameTheField) {
  const auto outcome = [&](auto&& edit) {
    v1::ListCertificatesRequest request = Request();
    edit(&request);
    return service_->ListCertificates(request).status();
  };
  EXPECT_TRUE(Fails(outcome([](auto* r) { r->set_stage(static_cast<v1::ErasureStage>(9)); }),
                    Reason::kOutOfRange, "stage"));
  EXPECT_TRUE(Fails(outcome([](auto* r) { r->mutable_create_time_start()->set_nanos(1'000'000'000); }),
                    Reason::kOutOfRange, "create_time_start"));
  EXPECT_TRUE(Fails(outcome([](auto* r) { r->mutable_create_time_end()->set_seconds(-62'135'596'801); }),
                    Reason::kOutOfRange, "create_time_end"));
  EXPECT_TRUE(Fails(outcome([](auto* r) {
                      r->mutable_create_time_start()->set_seconds(10);
                      r->mutable_create_time_end()->set_seconds(9);
                    }),
                    Reason::kOutOfRange, "create_time_end"));
  EXPECT_TRUE(Fails(outcome([](auto* r) {
                      r->add_commitments(std::string(32, 'x'));
                      r->add_commitments(std::string(31, 'x'));
                    }),
                    Reason::kDimensionMismatch, "commitments[1]"));
  EXPECT_TRUE(Fails(outcome([](auto* r) {
                      for (int i = 0; i < 1001; ++i) r->add_commitments(std::string(32, 'x'));
                    }),
                    Reason::kTooLong, "commitments"));
}

TEST_F(ListCertificatesTest, APageTokenBelongsToAllFilters) {
  v1::ListCertificatesRequest request = Request();
  request.set_page_size(1);
  request.set_memory(kMemory);
  *request.mutable_create_time_start() = TimeOf(1);
  const std::string token = service_->ListCertificates(request)->next_page_token();
  ASSERT_FALSE(token.empty());
  request.set_page_token(token);
  request.set_page_size(3);
  ASSERT_TRUE(service_->ListCertificates(request).ok()) << "another page size is the same list";
  const auto refused = [&](auto&& edit) {
    v1::ListCertificatesRequest changed = request;
    edit(&changed);
    return Fails(service_->ListCertificates(changed).status(), Reason::kPageTokenInvalid, "page_token");
  };
  EXPECT_TRUE(refused([](auto* r) { r->clear_memory(); }));
  EXPECT_TRUE(refused([](auto* r) { r->set_kind(v1::CERTIFICATE_KIND_STATE); }));
  EXPECT_TRUE(refused([](auto* r) { r->set_stage(v1::ERASURE_STAGE_KEY_DESTROYED); }));
  EXPECT_TRUE(refused([](auto* r) { r->clear_create_time_start(); }));
  EXPECT_TRUE(refused([](auto* r) { r->mutable_create_time_end()->set_seconds(4'000'000'000); }));
  EXPECT_TRUE(refused([](auto* r) { r->add_commitments(std::string(32, 'x')); }));
}

TEST_F(ListCertificatesTest, AWatchGoesOnAfterTheCertificateThatIsNamed) {
  v1::WatchCertificatesRequest request;
  request.set_parent(kTenant);
  request.set_after("tenants/acme/certificates/000000000004");
  EXPECT_EQ(Watch(request), (Numbers{5, 6, 7}));
  request.set_after("tenants/acme/certificates/000000000007");
  EXPECT_EQ(Watch(request), Numbers());
  request.set_after("tenants/acme/certificates/000000000008");
  EXPECT_TRUE(Fails(service_->WatchCertificates(request).status(), Reason::kCertificateUnknown, "after"));
  request.set_after("tenants/acme/certificates/nope");
  EXPECT_TRUE(Fails(service_->WatchCertificates(request).status(), Reason::kCertificateUnknown, "after"));
}

TEST_F(ListCertificatesTest, AWatchIsWokenByReleasesAloneAndOnce) {
  v1::WatchCertificatesRequest request;
  request.set_parent(kTenant);
  request.set_after("tenants/acme/certificates/000000000007");
  auto stream = *service_->WatchCertificates(request);
  v1::WatchCertificatesResponse answer;
  ASSERT_EQ(*stream->Next(&answer), StreamStep::kLater);
  std::atomic<int> woken = 0;
  stream->Await([&] { ++woken; });
  EXPECT_EQ(woken, 0);
  Certify(kMemory);
  EXPECT_EQ(woken, 1);
  Certify(kMemory);
  EXPECT_EQ(woken, 1);
  ASSERT_EQ(*stream->Next(&answer), StreamStep::kAnswer);
  EXPECT_EQ(NumberOf(answer.certificate().name()), 8);
  answer.Clear();
  ASSERT_EQ(*stream->Next(&answer), StreamStep::kAnswer);
  EXPECT_EQ(NumberOf(answer.certificate().name()), 9);
  ASSERT_EQ(*stream->Next(&answer), StreamStep::kLater);
  Certify(kMemory);  // between the look and the wait
  stream->Await([&] { ++woken; });
  EXPECT_EQ(woken, 2);
  ASSERT_EQ(*stream->Next(&answer), StreamStep::kAnswer);
  ASSERT_EQ(*stream->Next(&answer), StreamStep::kLater);
  stream->Await([&] { ++woken; });
  stream.reset();
  Certify(kMemory);
  EXPECT_EQ(woken, 2) << "one that has gone is not woken";
}

TEST_F(ListCertificatesTest, AWatchThatPassesOverManyTakesBreaks) {
  for (int i = 0; i < 600; ++i) Certify(kMemory);
  v1::WatchCertificatesRequest request;
  request.set_parent(kTenant);
  request.set_kind(v1::CERTIFICATE_KIND_MEMORY_DELETION);
  auto stream = *service_->WatchCertificates(request);
  v1::WatchCertificatesResponse answer;
  int breaks = 0;
  while (*stream->Next(&answer) == StreamStep::kAgain) ++breaks;
  EXPECT_GE(breaks, 3);
  EXPECT_LE(breaks, 4);
}

}  // namespace
}  // namespace expunge::core
