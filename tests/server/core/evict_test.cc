// Evict: it changes no bit, says so, and the service knows for how long that would have stayed so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "certificate/read_payload.h"
#include "storage/records.pb.h"
#include "tests/server/core/service_fixture.h"

namespace expunge::core {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

constexpr uint32_t kSeed = 20261130;

class EvictTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    Create("cells");
    points_ = MakePoints("a", 40);
    Add(kMemory, points_);
  }

  static v1::EvictRequest Request(const std::vector<std::string>& ids) {
    v1::EvictRequest request;
    request.set_parent(kMemory);
    for (const std::string& id : ids) request.add_token_ids(id);
    return request;
  }
  static v1::EvictRequest RequestOf(uint64_t count) {
    v1::EvictRequest request = Request({});
    request.set_count(count);
    return request;
  }
  static v1::EvictRequest RequestOfAll() {
    v1::EvictRequest request = Request({});
    request.set_all_reserve(true);
    return request;
  }

  v1::EvictResponse Evict(const v1::EvictRequest& request) {
    const absl::StatusOr<v1::EvictResponse> response = service_->Evict(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.value_or(v1::EvictResponse());
  }

  std::vector<std::string> IdsOf(v1::TokenClass token_class) {
    std::vector<std::string> ids;
    for (const v1::TokenInfo& token : Tokens(kMemory)) {
      if (token.token_class() == token_class) ids.push_back(token.name().substr(token.name().rfind('/') + 1));
    }
    return ids;
  }
  std::vector<std::string> Reserve() { return IdsOf(v1::TOKEN_CLASS_RESERVE); }

  v1::Certificate Get(const std::string& name) {
    v1::GetCertificateRequest request;
    request.set_name(name);
    return service_->GetCertificate(request).value().certificate();
  }
  v1::SelectionHorizon HorizonOf(const v1::EvictResponse& response) {
    return Get(response.certificate().name()).selection();
  }

  // The fingerprint of a fresh memory with those of points_ whose ids are `ids`.
  std::string FreshFingerprint(const std::set<std::string>& ids) {
    const std::string id = absl::StrCat("fresh", ++fresh_);
    Create(id);
    std::vector<Point> kept;
    for (const Point& point : points_) {
      if (ids.count(point.id) > 0) kept.push_back(point);
    }
    const std::string name = absl::StrCat(kTenant, "/memories/", id);
    Add(name, kept);
    return Full(name).fingerprint();
  }

  std::vector<Point> points_;
  int fresh_ = 0;
};

TEST_F(EvictTest, ChangesNoWeightAndNoAnswerAndEqualsAMemoryOfTheRetainedTokens) {
  v1::ReadRequest read;
  read.set_name(kMemory);
  *read.mutable_queries() = Pack({0.1, 0.2, -3, 4, 0, 0}, 2);
  read.set_with_contributions(true);
  const v1::ReadResponse answer = service_->Read(read).value();
  const std::vector<v1::TokenInfo> before = Tokens(kMemory);
  const std::vector<std::string> reserve = Reserve();
  ASSERT_GT(reserve.size(), 10U);

  const v1::EvictResponse evicted = Evict(RequestOf(7));
  EXPECT_EQ(evicted.evicted_count(), 7U);
  const std::set<std::string> left = Ids(kMemory);
  EXPECT_EQ(left.size(), 33U);
  for (const v1::TokenInfo& token : before) {
    const std::string id = token.name().substr(token.name().rfind('/') + 1);
    EXPECT_TRUE(left.count(id) > 0 || token.token_class() == v1::TOKEN_CLASS_RESERVE);
  }
  std::vector<v1::TokenInfo> expected;
  for (const v1::TokenInfo& token : before) {
    if (left.count(token.name().substr(token.name().rfind('/') + 1)) > 0) expected.push_back(token);
  }
  const std::vector<v1::TokenInfo> after = Tokens(kMemory);
  ASSERT_EQ(after.size(), expected.size());
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].SerializeAsString(), expected[i].SerializeAsString());
  }
  v1::ReadResponse answer_after = service_->Read(read).value();
  EXPECT_NE(answer_after.state().digest(), answer.state().digest());
  *answer_after.mutable_state() = answer.state();
  EXPECT_EQ(answer_after.SerializeAsString(), answer.SerializeAsString());
  EXPECT_EQ(Full(kMemory).fingerprint(), FreshFingerprint(left));

  // It lives on as a memory of the retained tokens, in memory and after a restart.
  Delete(kMemory, {IdsOf(v1::TOKEN_CLASS_MARGIN).front()});
  EXPECT_EQ(Full(kMemory).fingerprint(), FreshFingerprint(Ids(kMemory)));
  Open();
  EXPECT_EQ(Full(kMemory).fingerprint(), FreshFingerprint(Ids(kMemory)));
}

TEST_F(EvictTest, TheCertificateSaysWhatWasDroppedAndForHowLong) {
  const v1::Memory before = Full(kMemory);
  const v1::EvictResponse evicted = Evict(RequestOf(5));
  EXPECT_EQ(evicted.certificate().kind(), v1::CERTIFICATE_KIND_SELECTION);
  EXPECT_EQ(evicted.certificate().stage(), v1::ERASURE_STAGE_KEY_DESTROYED);
  const json payload = json::parse(VerifiedPayload(evicted.certificate()));
  const auto at = [&payload](const char* pointer) { return payload[Pointer(pointer)]; };
  EXPECT_EQ(at("/predicate/kind"), "SELECTION");
  EXPECT_EQ(at("/predicate/removedCount"), "5");
  EXPECT_EQ(at("/predicate/request/tokens"), "5");
  EXPECT_EQ(at("/predicate/exactness/scope"), "RETAINED_SET");
  EXPECT_EQ(at("/predicate/horizon/reference"), ToHex(before.state().digest()));
  EXPECT_EQ(at("/predicate/before/partition/entriesRoot"), at("/predicate/after/partition/entriesRoot"));
  for (const json& token : at("/predicate/removed")) EXPECT_EQ(token["classBefore"], "R");

  // The second certificate repeats the claim, and both say what has become of it.
  ASSERT_TRUE(service_->EraseBytes().ok());
  const v1::Certificate second = Certificates().back();
  EXPECT_EQ(second.kind(), v1::CERTIFICATE_KIND_SELECTION);
  EXPECT_EQ(second.completes(), evicted.certificate().name());
  const json completed = json::parse(VerifiedPayload(second));
  EXPECT_EQ(completed[Pointer("/predicate/horizon")], at("/predicate/horizon"));
  EXPECT_EQ(second.selection().status(), v1::SELECTION_STATUS_HOLDS);
  EXPECT_EQ(HorizonOf(evicted).status(), v1::SELECTION_STATUS_HOLDS);
}

TEST_F(EvictTest, EveryLaterCertificateOfTheMemoryHasTheScopeOfTheRetainedSet) {
  const auto scope = [this](const v1::Certificate& certificate) {
    return certificate::ReadPayload(VerifiedPayload(certificate))->scope;
  };
  const v1::DeleteResponse earlier = Delete(kMemory, {"a0"});
  EXPECT_EQ(scope(earlier.certificate()), certificate::Scope::kFullHistory);
  Evict(RequestOf(1));
  ASSERT_TRUE(service_->EraseBytes().ok());
  Open();
  v1::CertifyRequest certify;
  certify.set_name(kMemory);
  EXPECT_EQ(scope(service_->Certify(certify)->certificate()), certificate::Scope::kRetainedSet);
  EXPECT_EQ(scope(Delete(kMemory, {Reserve().front()}).certificate()), certificate::Scope::kRetainedSet);
  Add(kMemory, MakePoints("b", 3));
  v1::DeleteMemoryRequest remove;
  remove.set_name(kMemory);
  EXPECT_EQ(scope(service_->DeleteMemory(remove)->certificate()), certificate::Scope::kRetainedSet);
  // A new memory of the same name begins anew, and of the old one's selection nothing can be said.
  Create("cells");
  Add(kMemory, points_);
  EXPECT_EQ(scope(service_->Certify(certify)->certificate()), certificate::Scope::kFullHistory);
  int selections = 0;
  for (const v1::Certificate& certificate : Certificates()) {
    EXPECT_EQ(certificate.has_selection(), certificate.kind() == v1::CERTIFICATE_KIND_SELECTION);
    if (!certificate.has_selection()) continue;
    ++selections;
    EXPECT_EQ(certificate.selection().status(), v1::SELECTION_STATUS_UNKNOWN);
    EXPECT_FALSE(certificate.selection().has_state());
  }
  EXPECT_EQ(selections, 2);
}

// The oracle: a memory that kept the dropped tokens, solved from nothing. Whenever the service says that the
// claim holds, all of them are in reserve there, and the others have the same weights.
TEST_F(EvictTest, TheHorizonNeverHoldsTooLong) {
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  int held = 0;
  int expired = 0;
  int would_carry_weight = 0;
  for (int trial = 0; trial < 12; ++trial) {
    const std::string id = absl::StrCat("trial", trial);
    const std::string memory = absl::StrCat(kTenant, "/memories/", id);
    Create(id);
    std::map<std::string, Point> all;
    std::vector<Point> start = MakePoints("p", 40);
    for (Point& point : start) {
      point.x *= 1 + trial % 3;
      all[point.id] = point;
    }
    Add(memory, start);
    v1::EvictRequest request;
    request.set_parent(memory);
    request.set_count(1 + trial % 4);
    const std::set<std::string> before = Ids(memory);
    const v1::EvictResponse evicted = service_->Evict(request).value();
    const std::set<std::string> kept = Ids(memory);
    std::set<std::string> dropped;
    std::set_difference(before.begin(), before.end(), kept.begin(), kept.end(),
                        std::inserter(dropped, dropped.end()));
    for (int step = 0; step < 8; ++step) {
      const std::set<std::string> present = Ids(memory);
      if (step % 2 == 0) {
        const std::string gone = *std::next(present.begin(), random() % present.size());
        Delete(memory, {gone});
        all.erase(gone);
      } else {
        Point point{absl::StrCat("q", step), {"someone"}, 0, 0, 1};
        point.x = (random() % 2000) / 500.0 - 2;
        point.y = (random() % 2000) / 500.0 - 2;
        Add(memory, {point});
        all[point.id] = point;
      }
      const v1::SelectionHorizon horizon = HorizonOf(evicted);
      ASSERT_NE(horizon.status(), v1::SELECTION_STATUS_UNKNOWN);
      EXPECT_EQ(horizon.state().SerializeAsString(), Full(memory).state().SerializeAsString());
      const bool holds = horizon.status() == v1::SELECTION_STATUS_HOLDS;
      EXPECT_TRUE(!holds || horizon.movement_upper() < horizon.margin_lower());
      ++(holds ? held : expired);

      const std::string twin = absl::StrCat("twin", trial, ".", step);
      const std::string twin_name = absl::StrCat(kTenant, "/memories/", twin);
      Create(twin);
      std::vector<Point> points;
      for (const auto& [point_id, point] : all) points.push_back(point);
      Add(twin_name, points);
      std::map<std::string, double> weights;
      for (const v1::TokenInfo& token : Tokens(memory)) {
        weights[token.name().substr(token.name().rfind('/') + 1)] = token.weight();
      }
      bool unchanged = true;
      for (const v1::TokenInfo& token : Tokens(twin_name)) {
        const std::string token_id = token.name().substr(token.name().rfind('/') + 1);
        if (dropped.count(token_id) > 0) {
          unchanged = unchanged && token.token_class() == v1::TOKEN_CLASS_RESERVE;
        } else {
          unchanged = unchanged && token.weight() == weights.at(token_id);
        }
      }
      EXPECT_TRUE(!holds || unchanged) << trial << " " << step;
      would_carry_weight += unchanged ? 0 : 1;
      // The same after a restart.
      if (step == 5) {
        Open();
        EXPECT_EQ(HorizonOf(evicted).SerializeAsString(), horizon.SerializeAsString());
      }
    }
  }
  std::cout << held << " held, " << expired << " expired, " << would_carry_weight << " would carry weight\n";
  EXPECT_GT(held, 5);
  EXPECT_GT(expired, 5);
  EXPECT_GT(would_carry_weight, 3);
}

TEST_F(EvictTest, OfAnErasedTokenTheSelectionKeepsItsWeightAlone) {
  const v1::EvictResponse evicted = Evict(RequestOf(3));
  const auto record = [this] {
    storage::v1::StateRecord state;
    for (const auto& [key, value] : DumpStore()) {
      const bool is_state = key.first == static_cast<int>(storage::Table::kStates);
      EXPECT_TRUE(!is_state || state.ParseFromString(value));
    }
    return state;
  };
  const storage::v1::StateRecord at_first = record();
  Open();
  ASSERT_EQ(at_first.selections_size(), 1);
  EXPECT_TRUE(at_first.retained_set());
  EXPECT_EQ(at_first.selections(0).dropped(), 3U);
  EXPECT_EQ(at_first.selections(0).erased_weight_upper(), 0);
  const v1::TokenInfo gone = [this] {
    for (const v1::TokenInfo& token : Tokens(kMemory)) {
      if (token.token_class() == v1::TOKEN_CLASS_MARGIN) return token;
    }
    return v1::TokenInfo();
  }();
  Delete(kMemory, {gone.name().substr(gone.name().rfind('/') + 1)});
  const v1::SelectionHorizon horizon = HorizonOf(evicted);
  const storage::v1::StateRecord later = record();
  ASSERT_EQ(later.selections_size(), 1);
  EXPECT_EQ(later.selections(0).reference_size(), at_first.selections(0).reference_size() - 1);
  EXPECT_GE(later.selections(0).erased_weight_upper(), gone.weight());
  EXPECT_LE(later.selections(0).erased_weight_upper(), gone.weight() * (1 + 1e-14));
  // What is unknown of it moves the bound at least by its weight, twice.
  EXPECT_GE(horizon.movement_upper(), 2 * gone.weight());
  Open();
  EXPECT_EQ(HorizonOf(evicted).SerializeAsString(), horizon.SerializeAsString());
}

TEST_F(EvictTest, SoManySelectionsAreKept) {
  std::vector<v1::EvictResponse> evicted;
  Add(kMemory, MakePoints("b", 40));
  for (int i = 0; i < 18; ++i) evicted.push_back(Evict(RequestOf(1)));
  for (size_t i = 0; i < evicted.size(); ++i) {
    EXPECT_EQ(HorizonOf(evicted[i]).status(),
              i < 2 ? v1::SELECTION_STATUS_UNKNOWN : v1::SELECTION_STATUS_HOLDS)
        << i;
  }
  Open();
  EXPECT_EQ(HorizonOf(evicted[1]).status(), v1::SELECTION_STATUS_UNKNOWN);
  EXPECT_EQ(HorizonOf(evicted[2]).status(), v1::SELECTION_STATUS_HOLDS);
}

TEST_F(EvictTest, NamedTokensGoAndOthersStay) {
  const std::vector<std::string> reserve = Reserve();
  const v1::EvictResponse evicted = Evict(Request({reserve[3], reserve[1]}));
  EXPECT_EQ(evicted.evicted_count(), 2U);
  std::set<std::string> left = Ids(kMemory);
  EXPECT_EQ(left.size(), 38U);
  EXPECT_EQ(left.count(reserve[1]) + left.count(reserve[3]), 0U);
}

TEST_F(EvictTest, AllThatCanGoGoes) {
  const size_t reserve = Reserve().size();
  EXPECT_EQ(Evict(RequestOfAll()).evicted_count(), reserve);
  EXPECT_TRUE(Reserve().empty());
  EXPECT_TRUE(Fails(service_->Evict(RequestOfAll()).status(), Reason::kTokenInSupport, "all_reserve"));
  EXPECT_TRUE(Fails(service_->Evict(RequestOf(1)).status(), Reason::kTokenInSupport, "count"));
}

TEST_F(EvictTest, WhatCannotGoChangesNothing) {
  const std::vector<std::string> reserve = Reserve();
  const std::string margin = IdsOf(v1::TOKEN_CLASS_MARGIN).front();
  const v1::Memory before = Full(kMemory);
  EXPECT_TRUE(Fails(service_->Evict(Request({reserve[0], margin})).status(), Reason::kTokenInSupport,
                    "token_ids[1]"));
  EXPECT_TRUE(Fails(service_->Evict(Request({reserve[0], "nobody"})).status(), Reason::kTokenUnknown,
                    "token_ids[1]"));
  EXPECT_TRUE(Fails(service_->Evict(Request({reserve[0], reserve[0]})).status(), Reason::kDuplicateInBatch,
                    "token_ids[1]"));
  EXPECT_TRUE(Fails(service_->Evict(Request({})).status(), Reason::kFieldMissing, "token_ids"));
  v1::EvictRequest both = RequestOf(1);
  both.set_all_reserve(true);
  EXPECT_TRUE(Fails(service_->Evict(both).status(), Reason::kFieldMissing, "token_ids"));
  EXPECT_TRUE(
      Fails(service_->Evict(RequestOf(reserve.size() + 1)).status(), Reason::kTokenInSupport, "count"));
  EXPECT_TRUE(Fails(service_->Evict(RequestOf(std::numeric_limits<uint64_t>::max())).status(),
                    Reason::kTokenInSupport, "count"));
  v1::EvictRequest elsewhere = RequestOf(1);
  elsewhere.set_parent("tenants/acme/memories/other");
  EXPECT_TRUE(Fails(service_->Evict(elsewhere).status(), Reason::kMemoryUnknown, "parent"));
  elsewhere.set_parent("tenants/nobody/memories/other");
  EXPECT_TRUE(Fails(service_->Evict(elsewhere).status(), Reason::kMemoryUnknown, "parent"));
  elsewhere.set_parent("cells");
  EXPECT_TRUE(Fails(service_->Evict(elsewhere).status(), Reason::kNameMalformed, "parent"));
  v1::EvictRequest late = RequestOf(1);
  late.mutable_basis()->mutable_due()->set_nanos(-1);
  EXPECT_TRUE(Fails(service_->Evict(late).status(), Reason::kOutOfRange, "basis.due"));
  v1::EvictRequest named = Request({"a/b"});
  EXPECT_TRUE(Fails(service_->Evict(named).status(), Reason::kNameMalformed, "token_ids[0]"));

  v1::EvictRequest checked = RequestOf(2);
  checked.set_validate_only(true);
  const v1::EvictResponse valid = Evict(checked);
  EXPECT_EQ(valid.evicted_count(), 2U);
  EXPECT_FALSE(valid.has_certificate());
  EXPECT_EQ(Full(kMemory).SerializeAsString(), before.SerializeAsString());
  EXPECT_TRUE(Certificates().empty());
}

TEST_F(EvictTest, ARetryGetsTheFirstAnswer) {
  v1::EvictRequest request = RequestOf(4);
  request.set_request_id("once");
  const v1::EvictResponse first = Evict(request);
  const v1::EvictResponse again = Evict(request);
  EXPECT_EQ(Lasting(again.certificate()), Lasting(first.certificate()));
  EXPECT_EQ(again.evicted_count(), 4U);
  EXPECT_EQ(Ids(kMemory).size(), 36U);
  Open();
  EXPECT_EQ(Lasting(Evict(request).certificate()), Lasting(first.certificate()));
  request.set_count(5);
  EXPECT_TRUE(Fails(service_->Evict(request).status(), Reason::kRequestIdReused, "request_id"));
}

TEST_F(EvictTest, WhatWasSealedOfDroppedTokensOpensNoMore) {
  const Dump before = DumpRaw();
  Evict(RequestOf(6));
  const Dump after = DumpRaw();
  int opened = 0;
  int closed = 0;
  for (const auto& [key, value] : before) {
    if (key.first != static_cast<int>(storage::Table::kTokens)) continue;
    const bool opens = store_->OpenValue(storage::Table::kTokens, key.second, value).ok();
    EXPECT_EQ(opens, after.count(key) > 0);
    ++(opens ? opened : closed);
  }
  EXPECT_EQ(opened, 34);
  EXPECT_EQ(closed, 6);
}

}  // namespace
}  // namespace expunge::core
