// The integrity check: silent on what is well, and every damage named, also several at once.
#include "server/core/fsck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "server/core/handles.h"
#include "server/core/load.h"
#include "storage/database_options.h"
#include "storage/records.pb.h"
#include "tests/server/core/service_fixture.h"
#include "tests/server/core/store_edit.h"
#include "tests/storage/vault_support.h"
#include "tests/support/tree_state.h"

namespace expunge::core {
namespace {

namespace fs = std::filesystem;
using storage::Table;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kOther[] = "tenants/acme/memories/other";

class FsckTest : public ServiceTest {
 protected:
  // Two memories, one that is gone; deletions, one of them complete and one pending; a token that was added
  // again.
  void SetUp() override {
    ServiceTest::SetUp();
    Create("cells");
    Create("other");
    Create("gone");
    Add(kMemory, MakePoints("a", 12), "add-1");
    Add(kOther, MakePoints("b", 5));
    Add("tenants/acme/memories/gone", MakePoints("c", 3));
    Delete(kMemory, {"a3", "a4"}, "delete-1");
    v1::DeleteMemoryRequest remove;
    remove.set_name("tenants/acme/memories/gone");
    ASSERT_TRUE(service_->DeleteMemory(remove).ok());
    ASSERT_TRUE(service_->EraseBytes().ok());
    Add(kMemory, {MakePoints("a", 12)[3]});  // a3 again
    Delete(kOther, {"b1"});
    v1::CertifyRequest certify;
    certify.set_name(kMemory);
    ASSERT_TRUE(service_->Certify(certify).ok());
    dump_ = DumpStore();
    for (const auto& [place, value] : DumpRaw()) {
      if (place.second != "format")
        names_[place] = store_->Get(static_cast<Table>(place.first), place.second)->key;
    }
    Close();
  }

  [[nodiscard]] std::string Data() const { return directory_ / "data"; }
  // The database lies in a directory called data, vault and master key beside it.
  [[nodiscard]] FsckReport Check(FsckOptions options = {}) {
    if (options.server_key_ids.empty()) {
      const auto checkpoint_key = certificate::SigningKey::LoadExisting(checkpoint_key_file_);
      options.server_key_ids = {key_.Public().KeyId(), checkpoint_key->Public().KeyId()};
    }
    storage::SealedStoreOptions reading{Data(), "", "", {}};
    reading.store.read_only = true;
    auto store = storage::SealedStore::Open(reading);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? Fsck(**store, options) : FsckReport();
  }
  void Write(const std::function<void(Edit*)>& fill) {
    auto store = storage::SealedStore::Open({Data(), "", "", {}});
    ASSERT_TRUE(store.ok()) << store.status();
    Edit edit(store->get(), names_);
    fill(&edit);
    ASSERT_TRUE(edit.Commit().ok());
  }
  // The keys of a table, ascending.
  [[nodiscard]] std::vector<std::string> Keys(Table table) const {
    std::vector<std::string> keys;
    for (const auto& [place, value] : dump_) {
      if (place.first == static_cast<int>(table)) keys.push_back(place.second);
    }
    return keys;
  }
  template <typename Record>
  [[nodiscard]] Record Get(Table table, const std::string& key) const {
    Record record;
    EXPECT_TRUE(record.ParseFromString(dump_.at({static_cast<int>(table), key})));
    return record;
  }
  // Changes a record, and gives the edit that does it.
  template <typename Record>
  std::function<void(Edit*)> Changed(Table table, const std::string& key,
                                     const std::function<void(Record*)>& change) const {
    auto record = Get<Record>(table, key);
    change(&record);
    return [=](Edit* edit) { edit->Put(table, key, record.SerializeAsString()); };
  }
  // The pseudonym of the memory with this id.
  [[nodiscard]] std::string Pseudonym(const std::string& memory) const {
    for (const std::string& key : Keys(Table::kMemories)) {
      if (Get<storage::v1::MemoryRecord>(Table::kMemories, key).memory() == memory) return key;
    }
    ADD_FAILURE() << "no memory " << memory;
    return "";
  }
  static std::vector<std::string> Lines(const FsckReport& report) {
    std::vector<std::string> lines;
    for (const FsckProblem& problem : report.problems) lines.push_back(DescribeProblem(problem));
    return lines;
  }

  Dump dump_;
  Edit::Names names_;
};

TEST_F(FsckTest, FindsNothingInACleanDirectoryAndChangesNoByteOfIt) {
  const auto before = test_support::TreeState(directory_.path());
  uint64_t last = 0;
  uint64_t total = 0;
  FsckOptions options;
  options.progress = [&](uint64_t done, uint64_t all) {
    EXPECT_GE(done, last);
    EXPECT_LE(done, all);
    last = done;
    total = all;
  };
  const FsckReport report = Check(options);
  EXPECT_THAT(Lines(report), IsEmpty());
  EXPECT_EQ(test_support::TreeState(directory_.path()), before);
  EXPECT_EQ(last, total);
  EXPECT_EQ(report.tenants, 1U);
  EXPECT_EQ(report.memories, 2U);
  EXPECT_EQ(report.tokens, 11U + 4U);
  EXPECT_EQ(report.erasures, 3U);
  EXPECT_EQ(report.pending_erasures, 1U);
  EXPECT_EQ(report.certificates, 3U + 2U + 1U);  // of the first stage, of the second, of Certify
  std::map<std::string, uint64_t> records;
  for (const auto& [place, value] : dump_) {
    ++records[place.first == 0 ? "meta" : storage::ColumnFamilyNames().at(static_cast<size_t>(place.first))];
  }
  EXPECT_EQ(report.records, records);
  EXPECT_GT(report.key_slots, 0U);
}

// One kind of damage, and what the report must say of it.
struct Damage {
  std::string name;
  std::function<void(Edit*)> make;
  std::string table;
  std::string text;
};

TEST_F(FsckTest, NamesEveryKindOfDamageAndAllAtOnce) {
  const std::string cells = Pseudonym("cells");
  const std::string other = Pseudonym("other");
  const std::vector<std::string> certificates = Keys(Table::kCertificates);
  const std::vector<std::string> erasures = Keys(Table::kErasures);
  const std::vector<std::string> tokens = Keys(Table::kTokens);
  const auto token_of = [&tokens](const std::string& memory) {
    return *std::find_if(tokens.begin(), tokens.end(),
                         [&](const std::string& key) { return key.compare(0, 32, memory) == 0; });
  };
  const std::string tenant_key = std::string(kTenantPrefix) + certificates[0].substr(0, 32);
  const std::string stray(64, 'q');
  using storage::v1::CertificateRecord;
  using storage::v1::ErasureRecord;
  using storage::v1::StateRecord;
  using storage::v1::TokenRecord;
  // Each hits other records than the rest, so that all can be made at once.
  const std::vector<Damage> damages = {
      {"a token's value",
       Changed<TokenRecord>(Table::kTokens, token_of(cells),
                            [](auto* token) { (*token->mutable_value())[6] ^= 1; }),
       "tokens", "commitment"},
      {"a state that is not canonical",
       Changed<StateRecord>(Table::kStates, other, [](auto* state) { state->set_rho(state->rho() + 1e-9); }),
       "states", "do not match the stored digests"},
      {"a token of nobody's", [=](auto* edit) { edit->Put(Table::kTokens, stray, "x"); }, "tokens",
       "but not the memory"},
      {"a value that does not unseal",
       [&](auto* edit) { edit->PutRaw(Table::kRequests, Keys(Table::kRequests)[0], std::string(90, 'z')); },
       "requests", "slot"},
      {"a certificate that is missing",
       [&](auto* edit) { edit->Delete(Table::kCertificates, certificates[0]); }, "certificates",
       "the certificate is missing"},
      {"a payload of another form",
       Changed<CertificateRecord>(Table::kCertificates, certificates[3],
                                  [](auto* record) { record->mutable_payload()->back() = ' '; }),
       "certificates", "payload is not in the form"},
      {"a certificate that names another signing key",
       Changed<CertificateRecord>(Table::kCertificates, certificates[5],
                                  [](auto* record) { record->set_key_id(std::string(64, '0')); }),
       "certificates", "signing key"},
      {"an erasure without its entry", [&](auto* edit) { edit->Delete(Table::kErasures, erasures[2]); },
       "erasures", "not in the ledger"},
      {"an erasure that claims a memory which is there",
       Changed<ErasureRecord>(Table::kErasures, erasures[1],
                              [&](auto* record) { record->add_memories(other); }),
       "erasures", "is still there"},
      {"a tenant that has counted wrong",
       Changed<storage::v1::TenantRecord>(Table::kMeta, tenant_key,
                                          [](auto* tenant) { tenant->set_next_certificate(20); }),
       "certificates", "has counted to 19"},
      {"a record that nobody knows", [](auto* edit) { edit->Put(Table::kMeta, "what", "x"); }, "meta",
       "nobody knows"},
      {"a state of nobody's", [=](auto* edit) { edit->Put(Table::kStates, std::string(32, 'q'), "x"); },
       "states", "but not the memory"},
  };
  // With the vault, which notes how far the database has come.
  const std::string clean = directory_ / "clean";
  const auto copy_back = [&] {
    for (const char* name : {"data", "vault"}) {
      fs::remove_all(directory_ / name);
      fs::copy(clean + "/" + name, directory_ / name, fs::copy_options::recursive);
    }
  };
  fs::create_directory(clean);
  for (const char* name : {"data", "vault"}) {
    fs::copy(directory_ / name, clean + "/" + name, fs::copy_options::recursive);
  }
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.name);
    Write(damage.make);
    const FsckReport report = Check();
    bool found = false;
    for (const FsckProblem& problem : report.problems) {
      found |= problem.table == damage.table && problem.text.find(damage.text) != std::string::npos;
    }
    EXPECT_TRUE(found) << ::testing::PrintToString(Lines(report));
    EXPECT_THAT(Lines(report), Not(Contains(HasSubstr("acme"))));
    EXPECT_THAT(Lines(report), Not(Contains(HasSubstr("cells"))));
    copy_back();
  }
  EXPECT_THAT(Lines(Check()), IsEmpty());
  Write([&](Edit* edit) {
    for (const Damage& damage : damages) damage.make(edit);
  });
  const FsckReport all = Check();
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.name);
    bool found = false;
    for (const FsckProblem& problem : all.problems) {
      found |= problem.table == damage.table && problem.text.find(damage.text) != std::string::npos;
    }
    EXPECT_TRUE(found) << ::testing::PrintToString(Lines(all));
  }
}

TEST_F(FsckTest, NamesATokenThatACertificateSaysIsGone) {
  Open();
  Add(kOther, MakePoints("d", 1));
  const Dump with = DumpStore();
  Delete(kOther, {"d0"});
  const Dump without = DumpStore();
  Close();
  ASSERT_THAT(Lines(Check()), IsEmpty());
  // Back again, with the commitment that the certificate names, under the key of another token.
  Write([&](Edit* edit) {
    for (const auto& [place, value] : with) {
      if (place.first == static_cast<int>(Table::kTokens) && !without.contains(place)) {
        edit->Put(Table::kTokens, place.second, value);
      }
    }
  });
  EXPECT_THAT(Lines(Check()), Contains(HasSubstr("a token that it says is removed is still there")));
}

TEST_F(FsckTest, OnlySolvingFindsAStateThatIsConsistentButNotCanonical) {
  const std::string pseudonym = Pseudonym("other");
  const auto identity =
      DecodeMemory(Get<storage::v1::MemoryRecord>(Table::kMemories, pseudonym)).value().identity;
  HeldTokens tokens;
  for (const std::string& key : Keys(Table::kTokens)) {
    if (key.compare(0, sizeof(Digest), pseudonym) != 0) continue;
    tokens.push_back(DecodeToken(*identity, Get<storage::v1::TokenRecord>(Table::kTokens, key), 1).value());
  }
  SortTokens(&tokens);
  const auto state = Get<storage::v1::StateRecord>(Table::kStates, pseudonym);
  MemoryContent content = DecodeState(state, identity->config, tokens).value();
  content.rho = std::nextafter(content.rho, 0.0);
  const MemoryView wrong(identity, state.epoch(), std::move(content));
  Write([&](Edit* edit) { edit->Put(Table::kStates, pseudonym, EncodeState(wrong).SerializeAsString()); });
  FsckOptions options;
  options.solve = false;
  EXPECT_THAT(Lines(Check(options)), IsEmpty());
  options.solve = true;
  const std::vector<std::string> lines = Lines(Check(options));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], "states, memory " + ToHex(pseudonym) +
                          ": the stored state is not the canonical solution of its tokens");
}

TEST_F(FsckTest, NamesKeysThatTwoRecordsShare) {
  const std::string cells = Pseudonym("cells");
  const std::vector<std::string> tokens = Keys(Table::kTokens);
  std::vector<std::string> own;
  for (const std::string& key : tokens) {
    if (key.compare(0, 32, cells) == 0) own.push_back(key);
  }
  names_[{static_cast<int>(Table::kTokens), own[0]}] = names_.at({static_cast<int>(Table::kTokens), own[1]});
  Write([&](Edit* edit) {
    edit->Put(Table::kTokens, own[0], dump_.at({static_cast<int>(Table::kTokens), own[0]}));
  });
  EXPECT_THAT(Lines(Check()), Contains(HasSubstr("a key that is not its own")));
}

TEST_F(FsckTest, NamesAnotherSigningKeyThanTheServers) {
  FsckOptions options;
  options.server_key_ids = {std::string(64, 'e'), key_.Public().KeyId()};
  EXPECT_THAT(Lines(Check(options)), ElementsAre(HasSubstr("which signs checkpoints")));
  options.server_key_ids = {std::string(64, 'e')};
  EXPECT_THAT(Lines(Check(options)), Contains(HasSubstr("which signs certificates")));
}

TEST_F(FsckTest, NamesADatabaseThatIsOlderThanItsVault) {
  fs::copy(Data(), directory_ / "old", fs::copy_options::recursive);
  Open();
  Delete(kMemory, {"a5"});
  Close();
  fs::remove_all(Data());
  fs::copy(directory_ / "old", Data(), fs::copy_options::recursive);
  const std::vector<std::string> lines = Lines(Check());
  EXPECT_THAT(lines, Contains(HasSubstr("the database is an older copy")));
  // And the token whose key is gone, by its memory.
  EXPECT_THAT(lines, Contains(HasSubstr("tokens, memory " + ToHex(Pseudonym("cells")))));
}

TEST_F(FsckTest, NamesDamagedSlotsAndTableFiles) {
  Open();
  ASSERT_TRUE(service_->EraseBytes().ok());  // into table files
  Close();
  ASSERT_THAT(Lines(Check()), IsEmpty());
  const storage::KeyName token = names_.lower_bound({static_cast<int>(Table::kTokens), ""})->second;
  std::string keys = test_support::ReadWholeFile(directory_ / "vault/keys");
  keys[token.slot * 128 + 20] = static_cast<char>(keys[token.slot * 128 + 20] ^ 1);
  test_support::WriteWholeFile(directory_ / "vault/keys", keys);
  int damaged = 0;
  for (const auto& entry : fs::directory_iterator(Data() + "/records")) {
    if (entry.path().extension() != ".sst" || damaged == 2) continue;
    std::string bytes = test_support::ReadWholeFile(entry.path());
    if (bytes.find(std::string(kSecretKey)) != std::string::npos)
      continue;  // with the format, or nothing opens
    ++damaged;
    bytes[30] = static_cast<char>(bytes[30] ^ 1);
    test_support::WriteWholeFile(entry.path(), bytes);
  }
  ASSERT_EQ(damaged, 2);
  const std::vector<std::string> lines = Lines(Check());
  int files = 0;
  for (const std::string& line : lines) files += line.find(".sst of the table") != std::string::npos ? 1 : 0;
  EXPECT_EQ(files, 2) << ::testing::PrintToString(lines);
}

}  // namespace
}  // namespace expunge::core
