// The reserve, on a disk that says to be as full as the test wants.
#include "storage/disk_reserve.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>

#include "base/error.h"
#include "tests/support/files.h"
#include "tests/support/full_file_system.h"

namespace expunge::storage {
namespace {

constexpr uint64_t kReserve = 1 << 20;

class DiskReserveTest : public ::testing::Test {
 protected:
  [[nodiscard]] bool Held() const {
    std::error_code absent;
    return std::filesystem::file_size(file_, absent) == kReserve;
  }
  bool Admits(uint64_t bytes, bool erases) {
    const absl::Status status = reserve_.Admit(bytes, erases);
    EXPECT_TRUE(status.ok() || GetReason(status) == Reason::kDiskFull) << status;
    return status.ok();
  }

  test_support::TemporaryDirectory directory_;
  const std::string file_ = directory_ / "reserve";
  uint64_t free_ = 10 * kReserve;
  const std::unique_ptr<rocksdb::Env> env_ = test_support::MakeFullEnv(&free_);
  DiskReserve reserve_{file_, kReserve, env_.get()};
};

TEST_F(DiskReserveTest, ItIsMadeOfBlocksWhereThereIsAmpleRoomAlone) {
  free_ = 2 * kReserve - 1;
  reserve_.Prepare();
  EXPECT_FALSE(std::filesystem::exists(file_));
  free_ = 2 * kReserve;
  reserve_.Prepare();
  EXPECT_TRUE(Held());
}

TEST_F(DiskReserveTest, OtherChangesAreRefusedBelowHalfOfItAndErasuresNever) {
  reserve_.Prepare();
  free_ = kReserve / 2 + 100;
  EXPECT_TRUE(Admits(100, false));
  EXPECT_FALSE(Admits(101, false));
  EXPECT_TRUE(Held());
  EXPECT_TRUE(Admits(101, true));
  EXPECT_FALSE(Held()) << "given up";
  free_ = 0;
  EXPECT_TRUE(Admits(kReserve, true));
  EXPECT_FALSE(Admits(0, false));
}

TEST_F(DiskReserveTest, ItIsMadeAgainOnceThereIsRoom) {
  reserve_.Prepare();
  free_ = 0;
  EXPECT_TRUE(Admits(1, true));
  EXPECT_FALSE(Held());
  free_ = 2 * kReserve - 1;
  EXPECT_TRUE(Admits(1, false));
  EXPECT_FALSE(Held());
  free_ = 2 * kReserve;
  EXPECT_TRUE(Admits(1, false));
  EXPECT_TRUE(Held());
}

TEST_F(DiskReserveTest, AStartOnAFullDiskGivesItUpAndOneOfAnotherSizeGoes) {
  reserve_.Prepare();
  ASSERT_TRUE(Held());
  free_ = kReserve / 2 - 1;
  DiskReserve(file_, kReserve, env_.get()).Prepare();
  EXPECT_FALSE(std::filesystem::exists(file_));
  free_ = 10 * kReserve;
  reserve_.Prepare();
  ASSERT_TRUE(Held());
  DiskReserve(file_, 0, env_.get()).Prepare();
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(DiskReserveTest, WithoutAReserveEverythingIsAdmitted) {
  DiskReserve none(file_, 0, env_.get());
  free_ = 0;
  EXPECT_TRUE(none.Admit(std::numeric_limits<uint32_t>::max(), false).ok());
}

TEST_F(DiskReserveTest, RoomIsMadeOnlyWhereItIsMissing) {
  reserve_.Prepare();
  free_ = 5000;
  reserve_.MakeRoom(5000);
  EXPECT_TRUE(Held());
  reserve_.MakeRoom(5001);
  EXPECT_FALSE(Held());
}

}  // namespace
}  // namespace expunge::storage
