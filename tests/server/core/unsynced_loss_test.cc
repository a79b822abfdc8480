// The machine stops, and loses what was never synced: whatever was acknowledged is there, whatever was
// deleted is not, its keys and its bytes are gone where they were said to be, and a retry answers the same.
//
// EXPUNGE_POWER_FAILURES is how often the machine stops in the random test (60), EXPUNGE_SEED how it begins;
// EXPUNGE_EVERY_STEP=1: it stops at every step of the first start, and not at one of eight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/core/observed_sync.h"
#include "tests/server/core/service_fixture.h"
#include "tests/storage/unsynced_disk.h"
#include "tests/support/byte_search.h"
#include "tests/support/files.h"

namespace expunge::core {
namespace {

using test_support::Left;
using test_support::ReadWholeFile;
using test_support::UnsyncedDisk;

constexpr char kOther[] = "tenants/acme/memories/other";
constexpr size_t kPlaceBytes = 128;

int FromEnvironment(const char* name, int otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

void Overwrite(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
  ASSERT_EQ(ReadWholeFile(path), content);
}

// The vault's file as of a moment: as it was read, and as of its last sync.
struct VaultFile {
  std::string written;
  std::string synced;
};

// Of each place either what was written or what was synced; a part of what the file grew by.
std::string SomeOf(const VaultFile& vault, std::mt19937* random) {
  const size_t least = std::min(vault.written.size(), vault.synced.size());
  const size_t most = std::max(vault.written.size(), vault.synced.size());
  const size_t size = std::uniform_int_distribution<size_t>(least, most)(*random);
  std::string some;
  for (size_t at = 0; at < size; at += kPlaceBytes) {
    const std::string& from = (*random)() % 2 == 0 ? vault.written : vault.synced;
    std::string place = at < from.size() ? from.substr(at, kPlaceBytes) : std::string();
    place.resize(std::min(kPlaceBytes, size - at), '\0');
    some += place;
  }
  return some;
}

// A call that changes something, to be made again with the same request id.
struct Call {
  enum Kind { kAdd, kDelete, kPurge } kind = kAdd;
  std::string request_id;
  std::string memory;
  std::vector<Point> points;     // of an Add
  std::set<std::string> tokens;  // that come or go
  std::string subject;           // of a Purge
};

class UnsyncedLossTest : public ServiceTest {
 protected:
  UnsyncedLossTest()
      : disk_(directory_ / "data"),
        env_(rocksdb::NewCompositeEnv(std::make_shared<test_support::ObservedFileSystem>(&disk_))),
        vault_sync_(VaultPath(), [this] { return SyncVault(); }) {
    store_options_.env = env_.get();
  }
  void SetUp() override {}
  void TearDown() override { Close(); }

  [[nodiscard]] std::string VaultPath() const { return directory_ / "vault/keys"; }

  bool SyncVault() {
    if (!disk_.Step()) return false;
    synced_vault_ = ReadWholeFile(VaultPath());
    return true;
  }

  // Before the step with this number from now on; 0: never.
  void StopAt(uint64_t steps) {
    disk_.StopAt(steps, [this] { at_stop_ = ReadVault(); });
  }

  // The file is made under another name and synced before it gets its own: with the first place, the header.
  [[nodiscard]] VaultFile ReadVault() const {
    const std::string written = ReadWholeFile(VaultPath());
    return {written, synced_vault_.empty() ? written.substr(0, kPlaceBytes) : synced_vault_};
  }

  // The machine stops, if it has not, and starts with what is left.
  void Crash(Left left, std::mt19937* random) {
    if (!disk_.stopped()) at_stop_ = ReadVault();
    Close();
    disk_.Crash(left, random);
    std::string content = at_stop_.written;
    if (left == Left::kNothing) content = at_stop_.synced;
    if (left == Left::kSome) content = SomeOf(at_stop_, random);
    if (content.empty()) {
      std::filesystem::remove(VaultPath());
    } else {
      Overwrite(VaultPath(), content);
    }
    if (left != Left::kEverything) synced_vault_ = content;
  }

  UnsyncedDisk disk_;
  std::unique_ptr<rocksdb::Env> env_;
  std::string synced_vault_;
  VaultFile at_stop_;
  test_support::SyncObserver vault_sync_;
};

// ---- Random calls. ----

class RandomUnsyncedLossTest : public UnsyncedLossTest {
 protected:
  size_t Upto(size_t most) { return std::uniform_int_distribution<size_t>(0, most)(random_); }

  std::string AnyLiving() {
    auto living = living_.begin();
    std::advance(living, Upto(living_.size() - 1));
    return living->first;
  }

  Call RandomCall() {
    Call call;
    call.request_id = "request-" + std::to_string(++calls_);
    const size_t kind = living_.size() < 6 ? 0 : Upto(9);
    if (kind < 5 && living_.size() < 30) {
      call.memory = Upto(1) == 0 ? kMemory : kOther;
      for (size_t i = 0; i <= Upto(2); ++i) {
        const std::string id = "t" + std::to_string(calls_) + "-" + std::to_string(i);
        const std::string subject = "s" + std::to_string(Upto(5));
        call.points.push_back({id, {subject}, static_cast<double>(Upto(1000)) / 99, 0.5, 1});
        call.tokens.insert(id);
      }
    } else if (kind < 8) {
      call.kind = Call::kDelete;
      call.tokens.insert(AnyLiving());
      call.memory = living_.at(*call.tokens.begin()).memory;
    } else {
      call.kind = Call::kPurge;
      call.subject = living_.at(AnyLiving()).subject;
      for (const auto& [id, held] : living_) {
        if (held.subject == call.subject) call.tokens.insert(id);
      }
    }
    return call;
  }

  // The envelopes that were received, or the error.
  absl::StatusOr<std::vector<std::string>> CarryOut(const Call& call) {
    std::vector<std::string> envelopes;
    if (call.kind == Call::kAdd) {
      const auto added = service_->Add(AddRequestFor(call.memory, call.points, call.request_id));
      if (!added.ok()) return added.status();
    } else if (call.kind == Call::kDelete) {
      v1::DeleteRequest request;
      request.set_parent(call.memory);
      request.set_request_id(call.request_id);
      for (const std::string& id : call.tokens) request.add_token_ids(id);
      const auto deleted = service_->Delete(request);
      if (!deleted.ok()) return deleted.status();
      envelopes.push_back(deleted->certificate().envelope());
    } else {
      v1::PurgeRequest request;
      request.set_parent(kTenant);
      request.set_subject(call.subject);
      request.set_request_id(call.request_id);
      const auto purged = service_->Purge(request);
      if (!purged.ok()) return purged.status();
      for (const v1::Certificate& one : purged->certificates()) envelopes.push_back(one.envelope());
    }
    return envelopes;
  }

  // What is stored of a token.
  struct StoredToken {
    std::string place;  // of its key, in the vault
    std::string name;   // of its record
    std::string sealed;
    friend auto operator<=>(const StoredToken&, const StoredToken&) = default;
  };

  std::set<StoredToken> Stored() {
    const std::string vault = ReadWholeFile(VaultPath());
    std::set<StoredToken> stored;
    for (const auto& [place, value] : DumpRaw()) {
      if (static_cast<storage::Table>(place.first) != storage::Table::kTokens) continue;
      uint64_t slot = 0;
      for (size_t i = 16; i-- > 8;) slot = slot << 8 | static_cast<unsigned char>(value[i]);
      stored.insert({vault.substr(slot * kPlaceBytes, kPlaceBytes), place.second, value.substr(16)});
    }
    return stored;
  }

  // `call` was answered: from here on what it says must hold.
  void Acknowledge(const Call& call, const std::vector<std::string>& envelopes) {
    if (call.kind == Call::kAdd) {
      for (const Point& point : call.points) living_[point.id] = {call.memory, point.subjects.at(0)};
      return;
    }
    for (const std::string& id : call.tokens) living_.erase(id);
    answered_.emplace_back(call, envelopes);
    const auto now = Stored();
    for (const auto& one : before_) {
      if (now.count(one) == 0) gone_.push_back(one);
    }
  }

  // Calls until the machine stops, or there were enough; with erasures and restarts, or without.
  void CallUntilStopped(bool with_long_ones) {
    for (int i = 0; i < 40 && !disk_.stopped(); ++i) {
      if (with_long_ones && Upto(9) == 0) {
        const size_t deleted = gone_.size();
        const absl::Status erased = service_->EraseBytes();
        if (disk_.stopped()) return;
        ASSERT_TRUE(erased.ok()) << erased;
        erased_ = deleted;
      } else if (with_long_ones && Upto(14) == 0) {
        Close();
        const absl::Status opened = TryOpen();
        if (disk_.stopped()) return;
        ASSERT_TRUE(opened.ok()) << opened;
      } else {
        before_ = Stored();
        pending_ = RandomCall();
        const auto received = CarryOut(*pending_);
        if (disk_.stopped()) return;
        ASSERT_TRUE(received.ok()) << received.status();
        Acknowledge(*pending_, *received);
        pending_.reset();
      }
    }
  }

  std::set<std::string> Present() {
    std::set<std::string> present;
    for (const char* const memory : {kMemory, kOther}) {
      for (const v1::TokenInfo& token : Tokens(memory)) {
        present.insert(token.name().substr(token.name().rfind('/') + 1));
      }
    }
    return present;
  }

  std::set<std::string> Living() const {
    std::set<std::string> ids;
    for (const auto& [id, held] : living_) ids.insert(id);
    return ids;
  }

  // The call that was cut off has been carried out as a whole, or not at all.
  void CheckPresent() {
    std::set<std::string> old_ones = Living();
    std::set<std::string> new_ones = old_ones;
    if (pending_.has_value()) {
      for (const std::string& id : pending_->tokens) {
        if (pending_->kind == Call::kAdd) new_ones.insert(id);
        if (pending_->kind != Call::kAdd) new_ones.erase(id);
      }
    }
    const std::set<std::string> present = Present();
    if (pending_.has_value() && present == new_ones) ++carried_out_;
    EXPECT_THAT(present, ::testing::AnyOf(old_ones, new_ones));
  }

  void CheckGone() {
    const std::string vault = ReadWholeFile(VaultPath());
    for (size_t i = 0; i < gone_.size(); ++i) {
      EXPECT_EQ(vault.find(gone_[i].place.substr(8, 72)), std::string::npos) << "a destroyed key is back";
    }
    std::vector<test_support::Pattern> erased;
    for (size_t i = 0; i < erased_; ++i) {
      erased.push_back({"sealed", gone_[i].sealed});
      erased.push_back({"name", gone_[i].name});
    }
    EXPECT_THAT(test_support::SearchFiles(directory_ / "data", erased), ::testing::IsEmpty());
  }

  void CheckAnswers() {
    const size_t last = answered_.size() > 3 ? answered_.size() - 3 : 0;
    for (size_t i = 0; i < answered_.size(); ++i) {
      if (i < last && Upto(9) > 0) continue;
      const auto again = CarryOut(answered_[i].first);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(*again, answered_[i].second);
    }
  }

  void RetryPending() {
    if (!pending_.has_value()) return;
    const auto received = CarryOut(*pending_);
    ASSERT_TRUE(received.ok()) << received.status();
    Acknowledge(*pending_, *received);
    const auto again = CarryOut(*pending_);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, *received);
    pending_.reset();
  }

  // Starts after a crash; the machine may stop again while it starts.
  void Restart() {
    for (int again = 0;; ++again) {
      Crash(static_cast<Left>(Upto(2)), &random_);
      CheckGone();  // no start is needed for this
      if (again < 3 && Upto(2) == 0) StopAt(1 + Upto(40));
      const absl::Status opened = TryOpen();
      if (disk_.stopped()) {
        ++stopped_in_start_;
        continue;
      }
      ASSERT_TRUE(opened.ok()) << opened;
      StopAt(0);
      return;
    }
  }

  struct Held {
    std::string memory;
    std::string subject;
  };
  std::mt19937 random_;
  int calls_ = 0;
  int carried_out_ = 0;
  int stopped_in_start_ = 0;
  std::map<std::string, Held> living_;
  std::optional<Call> pending_;
  std::vector<std::pair<Call, std::vector<std::string>>> answered_;
  std::set<StoredToken> before_;  // Stored() before the latest call
  std::vector<StoredToken> gone_;
  size_t erased_ = 0;  // so many of gone_ are in no file
};

TEST_F(RandomUnsyncedLossTest, NothingAcknowledgedIsLostAndNothingDeletedReturns) {
  const int failures = FromEnvironment("EXPUNGE_POWER_FAILURES", 60);
  const int seed = FromEnvironment("EXPUNGE_SEED", 20260713);
  random_.seed(static_cast<uint32_t>(seed));
  Open();
  Create("cells");
  Create("other");
  int cut_off = 0;
  for (int failure = 0; failure < failures; ++failure) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", failure " + std::to_string(failure));
    const bool with_long_ones = failure % 3 == 0;
    StopAt(1 + Upto(with_long_ones ? 2000 : 40));
    CallUntilStopped(with_long_ones);
    cut_off += pending_.has_value() ? 1 : 0;
    Restart();
    ASSERT_FALSE(HasFatalFailure());
    CheckPresent();
    CheckGone();
    CheckAnswers();
    RetryPending();
    CheckPresent();
    CheckGone();
    if (HasFailure()) break;
  }
  std::printf(
      "%d calls, %d cut off, %d of them carried out; %zu keys destroyed, %zu tokens' bytes erased; "
      "%d times stopped in a start\n",
      calls_, cut_off, carried_out_, gone_.size(), erased_, stopped_in_start_);
  EXPECT_GT(cut_off, failures / 10);
  EXPECT_GT(carried_out_, 0);
  EXPECT_LT(carried_out_, cut_off);
  EXPECT_GT(erased_, 0U);
  EXPECT_GT(stopped_in_start_, 0);
}

// ---- Every step. ----

// With the deleted records in tables, and their keys at the tables' ends, which the MANIFEST names.
TEST_F(UnsyncedLossTest, BytesThatWereErasedStayGone) {
  std::mt19937 random(1);
  Open();
  Create("cells");
  Add(kMemory, MakePoints("a", 6));
  std::vector<test_support::Pattern> tokens;
  for (const auto& [place, value] : DumpRaw()) {
    if (static_cast<storage::Table>(place.first) != storage::Table::kTokens) continue;
    tokens.push_back({"name", place.second});
    tokens.push_back({"sealed", value.substr(16)});
  }
  EXPECT_EQ(tokens.size(), 12U);
  Delete(kMemory, {"a0"});
  ASSERT_TRUE(service_->EraseBytes().ok());
  Delete(kMemory, {"a1", "a2", "a3", "a4", "a5"});
  Crash(Left::kNothing, &random);
  EXPECT_FALSE(test_support::SearchFiles(directory_ / "data", tokens).empty()) << "the control finds them";
  Open();
  ASSERT_TRUE(service_->EraseBytes().ok());
  Crash(Left::kNothing, &random);
  EXPECT_THAT(test_support::SearchFiles(directory_ / "data", tokens), ::testing::IsEmpty());
  Open();
  EXPECT_EQ(Full(kMemory).token_count(), 0U);
}

TEST_F(UnsyncedLossTest, TheFirstStartOfAllCanStopAtAnyStep) {
  const uint64_t stride = FromEnvironment("EXPUNGE_EVERY_STEP", 0) == 0 ? 8 : 1;
  std::mt19937 random(1);
  for (const Left left : {Left::kNothing, Left::kSome, Left::kEverything}) {
    uint64_t step = 1 + random() % stride;
    for (bool stopped = true; stopped; step += stride) {
      SCOPED_TRACE(step);
      for (const char* const part : {"data", "vault", "master.key"}) {
        std::filesystem::remove_all(directory_ / part);
      }
      synced_vault_.clear();
      disk_.TakeUp();
      StopAt(step);
      const absl::Status opened = TryOpen();
      stopped = disk_.stopped();
      EXPECT_TRUE(stopped || opened.ok()) << opened;
      Crash(left, &random);
      Open();
      ASSERT_FALSE(HasFailure());
      Create("cells");
      Add(kMemory, MakePoints("a", 3));
      EXPECT_EQ(Full(kMemory).token_count(), 3U);
      Close();
    }
    EXPECT_GT(step, 30U);
  }
}

}  // namespace
}  // namespace expunge::core
