// A disk that is full, or breaks, at any step of a change: a clear error, nothing half done, and after a
// restart with a working disk the old state or the new one; a retry of the request completes it.
//
// EXPUNGE_EVERY_STEP=1: every step of an erasure of bytes, too, not one of 37.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/core/observed_sync.h"
#include "tests/server/core/service_fixture.h"
#include "tests/storage/observed_file_system.h"
#include "tests/support/byte_search.h"
#include "tests/support/files.h"

namespace expunge::core {
namespace {

namespace fs = std::filesystem;
using test_support::DiskStep;
using test_support::ReadWholeFile;

enum class Failure {
  kFull,    // from some step on nothing more can be made or appended
  kBreaks,  // one step fails, and the later ones succeed
};

// Threads: any number at once.
class FailingDisk : public test_support::DiskObserver {
 public:
  // Fails at the step with this number from now on; 0: never.
  void FailAt(int step, Failure failure) {
    failure_ = failure;
    steps_ = 0;
    fail_at_ = step;
  }
  [[nodiscard]] int steps() const { return steps_; }
  [[nodiscard]] bool failed() const { return fail_at_ > 0 && steps_ >= fail_at_; }

  rocksdb::IOStatus Before(DiskStep step, const std::string& /*path*/) override {
    const int number = ++steps_;
    if (fail_at_ == 0 || number < fail_at_) return rocksdb::IOStatus::OK();
    if (failure_ == Failure::kBreaks) {
      return number == fail_at_ ? rocksdb::IOStatus::IOError("injected") : rocksdb::IOStatus::OK();
    }
    const bool grows = step == DiskStep::kCreate || step == DiskStep::kAppend || number == fail_at_;
    return grows ? rocksdb::IOStatus::NoSpace("injected") : rocksdb::IOStatus::OK();
  }

 private:
  Failure failure_ = Failure::kFull;
  std::atomic<int> steps_ = 0;
  std::atomic<int> fail_at_ = 0;
};

class FailingDiskTest : public ServiceTest {
 protected:
  FailingDiskTest()
      : env_(rocksdb::NewCompositeEnv(std::make_shared<test_support::ObservedFileSystem>(&disk_))) {
    store_options_.env = env_.get();
  }
  void SetUp() override {
    Open();
    Create("cells");
    Add(kMemory, MakePoints("a", 8));
    Close();
    KeepCopy();
  }
  void TearDown() override { Close(); }

  // What Restore brings back. REQUIRES: closed.
  void KeepCopy() {
    fs::remove_all(directory_ / "copy");
    fs::create_directory(directory_ / "copy");
    for (const char* const part : {"data", "vault", "master.key"}) {
      fs::copy(directory_ / part, directory_ / "copy/" + part, fs::copy_options::recursive);
    }
  }
  void Restore() {
    Close();
    for (const char* const part : {"data", "vault", "master.key"}) {
      fs::remove_all(directory_ / part);
      fs::copy(directory_ / "copy/" + part, directory_ / part, fs::copy_options::recursive);
    }
  }

  absl::Status TryAdd() {
    return service_->Add(AddRequestFor(kMemory, MakePoints("b", 3), "add-1")).status();
  }
  absl::StatusOr<std::string> TryDelete() {
    v1::DeleteRequest request;
    request.set_parent(kMemory);
    request.set_request_id("delete-1");
    request.add_token_ids("a2");
    request.add_token_ids("a5");
    const auto response = service_->Delete(request);
    if (!response.ok()) return response.status();
    return response->certificate().envelope();
  }

  // Nothing of a change that failed is seen, and no other is begun.
  void ExpectReadOnly(uint64_t tokens) {
    EXPECT_EQ(Full(kMemory).token_count(), tokens);
    EXPECT_EQ(Certificates().size(), 0U);
    EXPECT_FALSE(store_->writable());
    const absl::Status refused =
        service_->Add(AddRequestFor(kMemory, MakePoints("other", 1), "other-1")).status();
    EXPECT_EQ(GetReason(refused), Reason::kStorageFailed) << refused;
    EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  }

  // Runs `change` with the disk failing at its first step, then at its second, until no step is left. Each
  // time, checks what is seen then, and after a restart; `retry` completes the change.
  void FailAtEveryStep(Failure failure, const std::function<absl::Status()>& change, uint64_t before,
                       uint64_t after, const std::function<void()>& retry) {
    int old_ones = 0;
    int new_ones = 0;
    for (int step = 1;; ++step) {
      SCOPED_TRACE(step);
      Restore();
      Open();
      const std::string old_fingerprint = Full(kMemory).fingerprint();
      disk_.FailAt(step, failure);
      const absl::Status status = change();
      if (!disk_.failed()) {
        EXPECT_TRUE(status.ok()) << status;
        break;
      }
      EXPECT_EQ(GetReason(status), Reason::kStorageFailed) << status;
      ExpectReadOnly(before);
      disk_.FailAt(0, failure);
      Open();
      // A write whose sync failed may be there as a whole.
      const v1::Memory memory = Full(kMemory);
      const bool done = memory.token_count() == after;
      (done ? new_ones : old_ones) += 1;
      EXPECT_EQ(memory.fingerprint() == old_fingerprint, !done);
      retry();
      EXPECT_EQ(Full(kMemory).token_count(), after);
      ASSERT_FALSE(HasFailure());
    }
    std::printf("failed at %d steps: %d times the old state, %d times the new one\n", old_ones + new_ones,
                old_ones, new_ones);
    EXPECT_GT(old_ones, 0);
  }

  FailingDisk disk_;
  std::unique_ptr<rocksdb::Env> env_;
};

class FailingStepTest : public FailingDiskTest, public ::testing::WithParamInterface<Failure> {};

TEST_P(FailingStepTest, AnAddIsDoneOrNotAndARetryCompletesIt) {
  FailAtEveryStep(
      GetParam(), [this] { return TryAdd(); }, 8, 11, [this] { EXPECT_EQ(TryAdd(), absl::OkStatus()); });
}

TEST_P(FailingStepTest, ADeleteIsDoneOrNotAndARetryCompletesIt) {
  const auto retry = [this] {
    const auto envelope = TryDelete();
    ASSERT_TRUE(envelope.ok()) << envelope.status();
    EXPECT_EQ(TryDelete().value(), *envelope);
    const std::vector<v1::Certificate> listed = Certificates();
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].envelope(), *envelope);
    EXPECT_FALSE(VerifiedPayload(listed[0]).empty());
  };
  FailAtEveryStep(
      GetParam(), [this] { return TryDelete().status(); }, 8, 6, retry);
}

// No second certificate while the bytes may be there; after a restart the erasure is done.
TEST_P(FailingStepTest, AnErasureOfBytesIsNotCertifiedAndIsDoneAfterARestart) {
  Open();
  std::vector<test_support::Pattern> gone;
  for (const auto& [place, value] : DumpRaw()) gone.push_back({place.second, value});
  ASSERT_TRUE(TryDelete().ok());
  const Dump now = DumpRaw();
  std::erase_if(gone, [&now](const test_support::Pattern& one) {
    for (const auto& [place, value] : now) {
      if (value == one.bytes) return true;
    }
    return false;
  });
  EXPECT_GE(gone.size(), 3U);  // two tokens and the state
  Close();
  KeepCopy();
  const int stride = std::getenv("EXPUNGE_EVERY_STEP") == nullptr ? 37 : 1;
  int failed = 0;
  for (int step = 1;; step += stride) {
    SCOPED_TRACE(step);
    Restore();
    Open();
    disk_.FailAt(step, GetParam());
    const absl::Status status = service_->EraseBytes();
    if (!disk_.failed()) {
      EXPECT_TRUE(status.ok()) << status;
      break;
    }
    ++failed;
    EXPECT_EQ(Full(kMemory).token_count(), 6U);
    // Some steps may fail without harm, such as the deletion of a file that is tried again.
    const size_t certified = Certificates().size() - 1;
    EXPECT_EQ(certified, status.ok() ? 1U : 0U) << status;
    if (status.ok()) {
      EXPECT_THAT(SearchFiles(directory_ / "data", gone), ::testing::IsEmpty());
    } else {
      EXPECT_EQ(GetReason(status), Reason::kStorageFailed) << status;
    }
    disk_.FailAt(0, GetParam());
    Open();
    EXPECT_EQ(service_->EraseBytes(), absl::OkStatus());
    EXPECT_EQ(Certificates().size(), 2U);
    EXPECT_THAT(SearchFiles(directory_ / "data", gone), ::testing::IsEmpty());
    ASSERT_FALSE(HasFailure());
  }
  std::printf("failed at %d steps of %d\n", failed, disk_.steps());
  EXPECT_GT(failed, 8);
}

INSTANTIATE_TEST_SUITE_P(Failures, FailingStepTest, ::testing::Values(Failure::kFull, Failure::kBreaks),
                         [](const auto& failure) { return failure.index == 0 ? "Full" : "Breaks"; });

// ---- The vault. ----

// The vault's file breaks after the deletion is durable: its keys may be there, so no certificate is released
// before a restart has destroyed them.
class FailingVaultTest : public FailingDiskTest {
 protected:
  // The certificate stays withheld until a restart, whose retry returns it.
  void ExpectWithheldUntilRestart(const std::function<void()>& repair) {
    const absl::Status failed = TryDelete().status();
    EXPECT_EQ(GetReason(failed), Reason::kStorageFailed) << failed;
    EXPECT_EQ(Full(kMemory).token_count(), 6U) << "the deletion itself is durable, and seen";
    EXPECT_EQ(Certificates().size(), 0U);
    v1::GetCertificateRequest get;
    get.set_name(std::string(kTenant) + "/certificates/000000000001");
    EXPECT_FALSE(service_->GetCertificate(get).ok());
    EXPECT_FALSE(TryDelete().ok()) << "a retry would release it";
    EXPECT_FALSE(TryAdd().ok());
    EXPECT_FALSE(service_->EraseBytes().ok());
    repair();
    const std::string before = ReadWholeFile(directory_ / "copy/vault/keys");
    Open();
    const auto envelope = TryDelete();
    ASSERT_TRUE(envelope.ok()) << envelope.status();
    const std::vector<v1::Certificate> listed = Certificates();
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].envelope(), *envelope);
    EXPECT_FALSE(VerifiedPayload(listed[0]).empty());
    ExpectDestroyed(before);
  }

  // The keys of the two tokens and of the state before: no place of theirs is as it was.
  void ExpectDestroyed(const std::string& before) {
    const std::string now = ReadWholeFile(directory_ / "vault/keys");
    for (const uint64_t slot : doomed_) {
      EXPECT_EQ(now.find(before.substr(slot * 128 + 8, 72)), std::string::npos) << slot;
    }
  }

  // The slots of everything that the deletion is to destroy, found by a deletion that succeeds.
  void FindDoomed() {
    Open();
    std::map<std::pair<int, std::string>, std::string> before = DumpRaw();
    ASSERT_TRUE(TryDelete().ok());
    const Dump after = DumpRaw();
    for (const auto& [place, value] : before) {
      const auto table = static_cast<storage::Table>(place.first);
      if (table != storage::Table::kTokens && table != storage::Table::kStates) continue;
      const auto found = after.find(place);
      if (found == after.end() || found->second != value) doomed_.push_back(SlotOf(value));
    }
    EXPECT_EQ(doomed_.size(), 3U);
    Restore();
    Open();
  }

  static uint64_t SlotOf(const std::string& value) {
    uint64_t slot = 0;
    for (size_t i = 16; i-- > 8;) slot = slot << 8 | static_cast<unsigned char>(value[i]);
    return slot;
  }

  // The process's descriptor of the vault's file.
  [[nodiscard]] int Descriptor() const {
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      const fs::path target = fs::read_symlink(entry.path(), error);
      if (!error && target == fs::canonical(directory_ / "vault/keys")) {
        return std::atoi(entry.path().filename().c_str());
      }
    }
    return -1;
  }

  std::vector<uint64_t> doomed_;
};

TEST_F(FailingVaultTest, AWriteThatFailsWithholdsTheCertificate) {
  FindDoomed();
  const int vault = Descriptor();
  ASSERT_GE(vault, 0);
  // The same file, as if the system had remounted it read-only: it can be read, and no longer written.
  const int read_only = ::open((directory_ / "vault/keys").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(read_only, 0);
  ASSERT_EQ(::dup3(read_only, vault, O_CLOEXEC), vault);
  ::close(read_only);
  ExpectWithheldUntilRestart([] {});
}

TEST_F(FailingVaultTest, ASyncThatFailsWithholdsTheCertificate) {
  FindDoomed();
  bool broken = true;
  const test_support::SyncObserver observer(directory_ / "vault/keys", [&broken] { return !broken; });
  ExpectWithheldUntilRestart([&broken] { broken = false; });
}

}  // namespace
}  // namespace expunge::core
