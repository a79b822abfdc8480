// Start-up believes nothing; a failing disk makes the service read-only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "server/core/records.h"
#include "server/core/vectors.h"
#include "storage/records.pb.h"
#include "tests/server/core/service_fixture.h"
#include "tests/server/core/store_edit.h"
#include "tests/storage/failing_env.h"

namespace expunge::core {
namespace {

using storage::Table;
using ::testing::HasSubstr;

void FlipClass(std::string* classes) { classes->front() = classes->front() == 'S' ? 'E' : 'S'; }

class RecoveryTest : public ServiceTest {
 protected:
  void SetUp() override {
    ServiceTest::SetUp();
    Create("cells");
    Add(kMemory, MakePoints("a", 12));
    pseudonym_ = PseudonymHex();
  }

  // Changes the first record of a table behind the service's back, and tries to start.
  template <typename Record>
  absl::Status StartWith(Table table, const std::function<void(Record*)>& change) {
    std::string key;
    Record record;
    for (const auto& [place, value] : DumpStore()) {
      if (place.first != static_cast<int>(table)) continue;
      key = place.second;
      EXPECT_TRUE(record.ParseFromString(value));
      break;
    }
    change(&record);
    return Write([&](Edit* edit) { edit->Put(table, key, record.SerializeAsString()); });
  }

  absl::Status Write(const std::function<void(Edit*)>& fill) {
    if (service_ != nullptr) {
      for (const auto& [place, value] : DumpRaw()) {
        if (place.second == "format") continue;
        const auto opened = store_->Get(static_cast<Table>(place.first), place.second);
        EXPECT_TRUE(opened.ok()) << opened.status();
        names_[place] = opened->key;
      }
    }
    Close();
    {
      auto store = storage::SealedStore::Open({directory_ / "data", "", "", {}});
      EXPECT_TRUE(store.ok()) << store.status();
      Edit edit(store->get(), names_);
      fill(&edit);
      EXPECT_TRUE(edit.Commit().ok());
    }
    return TryOpen();
  }

  std::string PseudonymHex() {
    for (const auto& [place, value] : DumpStore()) {
      if (place.first == static_cast<int>(Table::kMemories)) return ToHex(place.second);
    }
    return "";
  }

  std::string pseudonym_;
  Edit::Names names_;
};

TEST_F(RecoveryTest, RefusesAChangedToken) {
  const absl::Status status = StartWith<storage::v1::TokenRecord>(
      Table::kTokens, [](storage::v1::TokenRecord* token) { (*token->mutable_value())[6] ^= 1; });
  EXPECT_TRUE(Fails(status, Reason::kStorageCorrupt, ""));
  EXPECT_THAT(std::string(status.message()), HasSubstr(pseudonym_));
  EXPECT_THAT(std::string(status.message()), ::testing::Not(HasSubstr("cells")));
}

TEST_F(RecoveryTest, RefusesAChangedWeightClassRhoOrDigest) {
  using Mutation = std::function<void(storage::v1::StateRecord*)>;
  const std::vector<Mutation> mutations = {
      [](auto* state) { (*state->mutable_support_weights())[0] ^= 1; },
      [](auto* state) { state->mutable_support_weights()->pop_back(); },
      [](auto* state) { FlipClass(state->mutable_support_classes()); },
      [](auto* state) { state->mutable_support_classes()->front() = 'R'; },
      [](auto* state) { state->mutable_support_classes()->pop_back(); },
      [](auto* state) { state->set_support(0, state->support(0) + 1); },
      [](auto* state) { state->set_support(state->support_size() - 1, 12); },  // there are 12 tokens
      [](auto* state) { state->mutable_support()->SwapElements(0, 1); },
      [](auto* state) { state->mutable_support()->RemoveLast(); },
      [](auto* state) { state->set_rho(state->rho() + 1e-15); },
      [](auto* state) { (*state->mutable_state_digest())[5] ^= 4; },
      [](auto* state) { (*state->mutable_token_root())[5] ^= 4; },
      [](auto* state) { (*state->mutable_entries_root())[5] ^= 4; },
  };
  for (size_t i = 0; i < mutations.size(); ++i) {
    storage::v1::StateRecord original;
    EXPECT_TRUE(Fails(StartWith<storage::v1::StateRecord>(Table::kStates,
                                                          [&](storage::v1::StateRecord* state) {
                                                            original = *state;
                                                            mutations[i](state);
                                                          }),
                      Reason::kStorageCorrupt, ""))
        << i;
    const absl::Status restored = Write([&](Edit* transaction) {
      transaction->Put(Table::kStates, *FromHex(pseudonym_), original.SerializeAsString());
    });
    ASSERT_TRUE(restored.ok()) << restored;
  }
}

TEST_F(RecoveryTest, SolvingAgainFindsAStateThatIsConsistentButNotCanonical) {
  // The digests fit each state, but it is wrong: a weight by its last bit, a class, S without one of its
  // tokens, a token of R in E, rho.
  const Dump dump = DumpStore();
  storage::v1::MemoryRecord memory;
  storage::v1::StateRecord state;
  const std::string key = *FromHex(pseudonym_);
  ASSERT_TRUE(memory.ParseFromString(dump.at({static_cast<int>(Table::kMemories), key})));
  ASSERT_TRUE(state.ParseFromString(dump.at({static_cast<int>(Table::kStates), key})));
  const auto identity = DecodeMemory(memory).value().identity;
  HeldTokens tokens;
  for (const auto& [place, value] : dump) {
    if (place.first != static_cast<int>(Table::kTokens)) continue;
    storage::v1::TokenRecord token;
    ASSERT_TRUE(token.ParseFromString(value));
    tokens.push_back(DecodeToken(*identity, token, 1).value());
  }
  std::sort(tokens.begin(), tokens.end(),
            [](const auto& a, const auto& b) { return a->token->id < b->token->id; });
  const MemoryContent right = DecodeState(state, identity->config, tokens).value();
  ASSERT_EQ(right.entries.front().token_class, solver::TokenClass::kMargin);
  uint32_t reserve = 0;  // the first place that is in R
  while (reserve < right.entries.size() && right.entries[reserve].index == reserve) ++reserve;
  ASSERT_LT(reserve, tokens.size());
  const std::vector<std::function<void(MemoryContent*)>> mutations = {
      [](auto* content) { content->entries[0].weight = std::nextafter(content->entries[0].weight, 1.0); },
      [](auto* content) { content->entries[0].token_class = solver::TokenClass::kError; },
      [](auto* content) { content->entries.erase(content->entries.begin()); },
      [=](auto* content) {
        content->entries.insert(content->entries.begin() + reserve,
                                {reserve, solver::TokenClass::kError, 2.0 / 7});
      },
      [](auto* content) { content->rho = std::nextafter(content->rho, 0.0); },
  };
  for (size_t i = 0; i < mutations.size(); ++i) {
    MemoryContent content = right;
    mutations[i](&content);
    const MemoryView wrong(identity, state.epoch(), content);
    options_.recover_by_solving = false;
    const absl::Status hashed = Write([&](Edit* transaction) {
      transaction->Put(Table::kStates, key, EncodeState(wrong).SerializeAsString());
    });
    EXPECT_TRUE(hashed.ok()) << i << hashed;
    options_.recover_by_solving = true;
    EXPECT_TRUE(Fails(TryOpen(), Reason::kStorageCorrupt, "")) << i;
  }
}

TEST_F(RecoveryTest, RefusesAnOlderFormat) {
  const absl::Status status = Write([](Edit* edit) { edit->PutRaw(Table::kMeta, "format", "3"); });
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("in no log"));
}

TEST_F(RecoveryTest, RefusesAConfigurationThatNoMemoryCanHave) {
  const absl::Status status = StartWith<storage::v1::MemoryRecord>(
      Table::kMemories, [](storage::v1::MemoryRecord* memory) { memory->mutable_config()->set_gamma(-1); });
  EXPECT_TRUE(Fails(status, Reason::kStorageCorrupt, ""));
  EXPECT_THAT(std::string(status.message()), HasSubstr(pseudonym_));
}

TEST_F(RecoveryTest, RefusesMissingForeignAndChangedCertificates) {
  Delete(kMemory, {"a3"});
  Delete(kMemory, {"a4"});
  std::map<std::string, storage::v1::CertificateRecord> certificates;
  for (const auto& [place, value] : DumpStore()) {
    if (place.first != static_cast<int>(Table::kCertificates)) continue;
    ASSERT_TRUE(certificates[place.second].ParseFromString(value));
  }
  ASSERT_EQ(certificates.size(), 2U);
  const std::string first = certificates.begin()->first;
  const std::string second = certificates.rbegin()->first;
  using Damage = std::function<void(Edit*)>;
  const auto put = [&](const std::string& key, const storage::v1::CertificateRecord& record) -> Damage {
    return
        [=](auto* transaction) { transaction->Put(Table::kCertificates, key, record.SerializeAsString()); };
  };
  storage::v1::CertificateRecord altered = certificates[second];
  altered.mutable_payload()->back() ^= 1;
  storage::v1::CertificateRecord foreign_key = certificates[first];
  foreign_key.set_key_id(std::string(64, '0'));
  const std::vector<Damage> damages = {
      [&](auto* transaction) { transaction->Delete(Table::kCertificates, first); },
      [&](auto* transaction) { transaction->Delete(Table::kCertificates, second); },
      [&](auto* transaction) { transaction->Put(Table::kCertificates, first, "\xff"); },
      put(std::string(40, 'x'), certificates[first]),
      put(second, altered),
      put(second, certificates[first]),
      put(first, foreign_key),
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    EXPECT_TRUE(Fails(Write(damages[i]), Reason::kStorageCorrupt, "")) << i;
    const absl::Status restored = Write([&](Edit* transaction) {
      transaction->Delete(Table::kCertificates, std::string(40, 'x'));
      for (const auto& [key, record] : certificates) put(key, record)(transaction);
    });
    ASSERT_TRUE(restored.ok()) << i << restored;
  }
}

TEST_F(RecoveryTest, AcceptsAMemoryWithTheNameOfOneThatIsGone) {
  v1::DeleteMemoryRequest remove;
  remove.set_name(kMemory);
  ASSERT_TRUE(service_->DeleteMemory(remove).ok());
  Create("cells");
  ASSERT_TRUE(TryOpen().ok());
  Add(kMemory, MakePoints("b", 3));
  Delete(kMemory, {"b0"});
  EXPECT_TRUE(TryOpen().ok());
}

TEST_F(RecoveryTest, RefusesAMissingState) {
  std::string key;
  for (const auto& [place, value] : DumpStore()) {
    if (place.first == static_cast<int>(Table::kStates)) key = place.second;
  }
  EXPECT_TRUE(Fails(Write([&](auto* transaction) { transaction->Delete(Table::kStates, key); }),
                    Reason::kStorageCorrupt, ""));
}

TEST_F(RecoveryTest, RefusesAMissingTokenAndAStrayOne) {
  std::string key;
  std::string value_of_key;
  for (const auto& [place, value] : DumpStore()) {
    if (place.first != static_cast<int>(Table::kTokens)) continue;
    key = place.second;
    value_of_key = value;
  }
  EXPECT_TRUE(Fails(Write([&](auto* transaction) { transaction->Delete(Table::kTokens, key); }),
                    Reason::kStorageCorrupt, ""));
  EXPECT_TRUE(Write([&](auto* transaction) { transaction->Put(Table::kTokens, key, value_of_key); }).ok());
  const std::string stray(64, 'q');
  EXPECT_TRUE(Fails(Write([&](auto* transaction) { transaction->Put(Table::kTokens, stray, value_of_key); }),
                    Reason::kStorageCorrupt, ""));
}

TEST_F(RecoveryTest, RefusesAnotherSigningKey) {
  Close();
  key_file_ = directory_ / "another.pem";
  ASSERT_TRUE(certificate::SigningKey::LoadOrCreate(key_file_).ok());
  const absl::Status status = TryOpen();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("key file"));
}

TEST_F(RecoveryTest, HashingAloneAcceptsWhatSolvingAccepts) {
  const std::string full = Full(kMemory).SerializeAsString();
  options_.recover_by_solving = false;
  Open();
  EXPECT_EQ(Full(kMemory).SerializeAsString(), full);
}

TEST_F(RecoveryTest, AFailedCommitChangesNothingAndTheServiceReadsOn) {
  testing::Faults faults;
  const std::unique_ptr<rocksdb::Env> env = testing::MakeFailingEnv(&faults);
  store_options_.env = env.get();
  Open();
  const Dump dump = DumpStore();
  const std::string full = Full(kMemory).SerializeAsString();
  faults.sync = true;
  v1::DeleteRequest request;
  request.set_parent(kMemory);
  request.add_token_ids("a0");
  request.set_request_id("delete-1");
  EXPECT_TRUE(Fails(service_->Delete(request).status(), Reason::kStorageFailed, ""));
  EXPECT_EQ(Full(kMemory).SerializeAsString(), full);
  EXPECT_EQ(DumpStore(), dump);
  faults.sync = false;
  EXPECT_TRUE(Fails(service_->Delete(request).status(), Reason::kStorageFailed, ""));
  EXPECT_TRUE(
      Fails(service_->Add(AddRequestFor(kMemory, MakePoints("b", 1))).status(), Reason::kStorageFailed, ""));

  // After a restart the retry succeeds, whether or not the first attempt reached the disk.
  Open();
  const auto retried = service_->Delete(request);
  ASSERT_TRUE(retried.ok()) << retried.status();
  EXPECT_FALSE(VerifiedPayload(retried->certificate()).empty());
  EXPECT_EQ(Full(kMemory).token_count(), 11U);
  Close();  // before the environment goes
}

}  // namespace
}  // namespace expunge::core
