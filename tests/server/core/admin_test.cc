// Backups and the status, without the transport.
#include <filesystem>
#include <fstream>
#include <memory>

#include "server/core/times.h"
#include "storage/backup.h"
#include "tests/server/core/service_fixture.h"
#include "tests/storage/failing_env.h"

namespace expunge::core {
namespace {

class AdminTest : public ServiceTest {
 protected:
  v1::GetServerStatusResponse Status() {
    auto status = service_->GetServerStatus({});
    EXPECT_TRUE(status.ok()) << status.status();
    return *std::move(status);
  }
  absl::StatusOr<v1::CreateBackupResponse> BackUp() {
    v1::CreateBackupRequest request;
    request.set_database_path(directory_ / "records");
    request.set_vault_path(directory_ / "keys");
    return service_->CreateBackup(request);
  }
};

TEST_F(AdminTest, ABackupBearsTheTimeOfTheServicesClockAndVerifies) {
  Create("cells");
  Add(kMemory, MakePoints("a", 20));
  now_ += absl::Hours(3);
  const auto made = BackUp();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->create_time().SerializeAsString(), TimestampProto(now_).SerializeAsString());
  EXPECT_EQ(made->sequence(), store_->database().sequence());
  const auto verified = storage::VerifyBackup({directory_ / "records", directory_ / "keys"});
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_EQ(verified->id, made->backup_id());
  EXPECT_EQ(verified->bytes, made->total_bytes());
}

TEST_F(AdminTest, TheStatusTellsThatChangesAreRefusedAndSoDoesABackup) {
  testing::Faults faults;
  const std::unique_ptr<rocksdb::Env> env = testing::MakeFailingEnv(&faults);
  store_options_.env = env.get();
  Open();
  Create("cells");
  EXPECT_TRUE(Status().writable());
  faults.sync = true;
  EXPECT_TRUE(
      Fails(service_->Add(AddRequestFor(kMemory, MakePoints("a", 1))).status(), Reason::kStorageFailed, ""));
  EXPECT_FALSE(Status().writable());
  EXPECT_EQ(Status().memory_count(), 1U);
  EXPECT_TRUE(Fails(BackUp().status(), Reason::kStorageFailed, "")) << "the store's fault, not the place's";
  EXPECT_FALSE(std::filesystem::exists(directory_ / "records"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "keys"));
  Close();  // before the environment goes
}

TEST_F(AdminTest, TheStatusTellsWhyBytesAreNotErasedUntilTheyAre) {
  Create("cells");
  Add(kMemory, MakePoints("a", 3));
  Delete(kMemory, {"a1"});
  const std::string stray = directory_ / "data/records/stray";
  std::ofstream(stray) << "nobody knows what this is";
  EXPECT_FALSE(service_->EraseBytes().ok());
  EXPECT_NE(Status().last_erasure_error(), "");
  EXPECT_EQ(Status().pending_erasure_count(), 1U);
  std::filesystem::remove(stray);
  const absl::Status erased = service_->EraseBytes();
  EXPECT_TRUE(erased.ok()) << erased;
  EXPECT_EQ(Status().last_erasure_error(), "");
  EXPECT_EQ(Status().pending_erasure_count(), 0U);
  EXPECT_FALSE(Status().has_oldest_erasure_age());
}

}  // namespace
}  // namespace expunge::core
