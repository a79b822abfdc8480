// AdminService over its own listener: a real server in process, a real client on its socket.
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "expunge/v1/admin_service.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "server/core/build_info.h"
#include "tests/server/rpc/server_fixture.h"

namespace expunge::rpc {
namespace {

using testing::HasSubstr;

class AdminTest : public ServerTest {
 protected:
  std::unique_ptr<v1::AdminService::Stub> Admin(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::AdminService::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }
  void StartWithAdmin() {
    StartServer();
    admin_ = Admin(server_->admin_address());
  }
  grpc::Status Status(v1::AdminService::Stub* stub, v1::GetServerStatusResponse* response) {
    return Call(&v1::AdminService::Stub::GetServerStatus, stub, v1::GetServerStatusRequest(), response);
  }
  v1::GetServerStatusResponse Status() {
    v1::GetServerStatusResponse response;
    const auto status = Status(admin_.get(), &response);
    EXPECT_TRUE(status.ok()) << Describe(status) << status.error_message();
    return response;
  }
  grpc::Status BackUp(const std::string& database, const std::string& vault,
                      v1::CreateBackupResponse* response) {
    v1::CreateBackupRequest request;
    request.set_database_path(database);
    request.set_vault_path(vault);
    return Call(&v1::AdminService::Stub::CreateBackup, admin_.get(), request, response);
  }
  std::string BackUp(const std::string& database, const std::string& vault) {
    v1::CreateBackupResponse response;
    return Describe(BackUp(database, vault, &response));
  }
  // Starts the server and says with which error it refuses to.
  absl::Status StartFails() {
    const auto log = Log::Open({LogLevel::kInfo, directory_ / "log"});
    return Server::Start(options_, *log).status();
  }
  std::string LogText() { return test_support::ReadWholeFile(directory_ / "log"); }
  [[nodiscard]] std::string Socket() const { return directory_ / "data/admin.sock"; }
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
    return info.st_mode;
  }

  std::unique_ptr<v1::AdminService::Stub> admin_;
};

TEST_F(AdminTest, ListensOnASocketInTheDataDirectoryThatOnlyItsOwnerReaches) {
  StartWithAdmin();
  EXPECT_EQ(server_->admin_address(), "unix:" + Socket());
  EXPECT_EQ(ModeOf(Socket()), S_IFSOCK | 0600U);
  EXPECT_EQ(ModeOf(directory_ / "data"), S_IFDIR | 0700U);
  EXPECT_EQ(Status().version(), core::SoftwareVersion());
  StopServer();
  EXPECT_FALSE(std::filesystem::exists(Socket()));
}

TEST_F(AdminTest, StatusCountsWhatIsHeldAndWhatWaits) {
  StartWithAdmin();
  EXPECT_EQ(Status().tenant_count(), 0U);
  CreateMemory("a");
  CreateMemory("b");
  Add("a", 0, 5);
  Add("b", 5, 2);
  const auto before = Status();
  EXPECT_EQ(before.commit(), core::SoftwareCommit());
  EXPECT_TRUE(before.writable());
  EXPECT_EQ(before.tenant_count(), 1U);
  EXPECT_EQ(before.memory_count(), 2U);
  EXPECT_EQ(before.token_count(), 7U);
  EXPECT_EQ(before.pending_erasure_count(), 0U);
  EXPECT_FALSE(before.has_oldest_erasure_age());
  EXPECT_EQ(before.last_erasure_error(), "");
  EXPECT_GT(before.database_free_bytes(), 0U);
  EXPECT_GT(before.vault_free_bytes(), 0U);
  EXPECT_FALSE(before.backup_running());
  EXPECT_NE(before.readouts().backend(), v1::READOUT_BACKEND_UNSPECIFIED);
  EXPECT_EQ(before.readouts().counts_size(), 4);
  v1::DeleteRequest request;
  request.set_parent(MemoryName("a"));
  request.add_token_ids("t1");
  v1::DeleteResponse response;
  ASSERT_TRUE(Call(&v1::UnlearningService::Stub::Delete, unlearning_.get(), request, &response).ok());
  const auto after = Status();
  EXPECT_EQ(after.token_count(), 6U);
  EXPECT_EQ(after.pending_erasure_count(), 1U);
  ASSERT_TRUE(after.has_oldest_erasure_age());
  EXPECT_LT(after.oldest_erasure_age().seconds(), 60);
}

TEST_F(AdminTest, IsNotServedWhereEverybodyCalls) {
  StartWithAdmin();
  const auto stub = v1::AdminService::NewStub(channel_);
  v1::GetServerStatusResponse response;
  EXPECT_EQ(Status(stub.get(), &response).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  // And the other way round.
  const auto memories = v1::MemoryService::NewStub(
      grpc::CreateChannel(server_->admin_address(), grpc::InsecureChannelCredentials()));
  v1::ListMemoriesRequest list;
  list.set_parent(kTenant);
  v1::ListMemoriesResponse listed;
  EXPECT_EQ(Call(&v1::MemoryService::Stub::ListMemories, memories.get(), list, &listed).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(AdminTest, ListensWhereTheOptionSays) {
  options_.admin_address = "unix:" + (directory_ / "elsewhere.sock");
  StartWithAdmin();
  EXPECT_EQ(ModeOf(directory_ / "elsewhere.sock"), S_IFSOCK | 0600U);
  EXPECT_FALSE(std::filesystem::exists(Socket()));
  EXPECT_EQ(Status().memory_count(), 0U);
  EXPECT_EQ(LogText().find("every user"), std::string::npos);
  options_.admin_address = "127.0.0.1:0";
  StartWithAdmin();
  EXPECT_THAT(server_->admin_address(), testing::MatchesRegex("127\\.0\\.0\\.1:[1-9][0-9]*"));
  EXPECT_EQ(Status().memory_count(), 0U);
  EXPECT_THAT(LogText(), HasSubstr("every user of this machine"));
  options_.admin_address = "none";
  StartServer();
  EXPECT_EQ(server_->admin_address(), "");
  EXPECT_FALSE(std::filesystem::exists(Socket()));
}

TEST_F(AdminTest, RefusesToStartOnAnAddressBeyondThisMachineWhateverElseIsAllowed) {
  options_.admin_address = "0.0.0.0:0";
  options_.allow_remote_plaintext = true;
  const absl::Status refused = StartFails();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("--admin-address"));
  EXPECT_FALSE(std::filesystem::exists(options_.data_dir)) << "nothing was opened";
}

TEST_F(AdminTest, ASocketOfACrashedServerIsReplacedAndThatOfALiveOneIsNot) {
  StartServer();
  std::filesystem::rename(Socket(), directory_ / "kept");
  StopServer();
  std::filesystem::rename(directory_ / "kept", Socket());  // as SIGKILL leaves it
  StartWithAdmin();
  EXPECT_EQ(ModeOf(Socket()), S_IFSOCK | 0600U);
  EXPECT_TRUE(Status().writable());
  options_.data_dir = directory_ / "other";
  options_.admin_address = "unix:" + Socket();
  const absl::Status refused = StartFails();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("is taken"));
  EXPECT_TRUE(Status().writable()) << "the first one's socket is as it was";
}

TEST_F(AdminTest, AFileInTheWayIsNotRemoved) {
  std::filesystem::create_directory(directory_ / "data");
  std::ofstream(Socket()) << "precious";
  EXPECT_THAT(StartFails().message(), HasSubstr("something else"));
  EXPECT_EQ(test_support::ReadWholeFile(Socket()), "precious");
  options_.admin_address = "unix:" + (directory_ / "no/such/folder.sock");
  EXPECT_THAT(StartFails().message(), HasSubstr("check that its folder exists"));
}

TEST_F(AdminTest, ATooLongPathIsAnErrorOnlyWhereItWasAskedFor) {
  const std::string longest = directory_ / std::string(107 - directory_.path().size() - 1, 'l');
  options_.admin_address = "unix:" + longest;
  StartWithAdmin();
  EXPECT_TRUE(Status().writable()) << "107 bytes";
  StopServer();
  options_.admin_address += "l";
  const absl::Status refused = StartFails();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("--admin-address"));
  // A deep data directory serves, without administration.
  options_.admin_address = "";
  options_.data_dir = longest;
  StartServer();
  EXPECT_EQ(server_->admin_address(), "");
  CreateMemory("deep");
  EXPECT_THAT(LogText(), testing::AllOf(HasSubstr("no administration"), HasSubstr("--admin-address")));
}

TEST_F(AdminTest, ABackupIsTwoHalvesWhoseNumbersAreThoseOfTheAnswer) {
  StartWithAdmin();
  CreateMemory("a");
  Add("a", 0, 9);
  v1::CreateBackupResponse response;
  const absl::Time before = absl::Now();
  const auto status = BackUp(directory_ / "b1", directory_ / "b2/", &response);
  ASSERT_TRUE(status.ok()) << Describe(status) << status.error_message();
  EXPECT_LT(absl::AbsDuration(absl::FromUnixSeconds(response.create_time().seconds()) - before),
            absl::Seconds(60));
  uint64_t files = 0;
  uint64_t bytes = 0;
  for (const auto& [half, name] : {std::pair("database", "b1"), std::pair("vault", "b2")}) {
    EXPECT_EQ(ModeOf(directory_ / name), S_IFDIR | 0700U);
    EXPECT_EQ(ModeOf(directory_ / name + "/backup.json"), S_IFREG | 0600U);
    const auto manifest =
        nlohmann::json::parse(test_support::ReadWholeFile(directory_ / name + "/backup.json"));
    EXPECT_EQ(manifest["half"], half);
    EXPECT_EQ(manifest["backup_id"], response.backup_id());
    EXPECT_EQ(manifest["sequence"], response.sequence());
    for (const auto& file : manifest["files"]) {
      ++files;
      bytes += file["size"].get<uint64_t>();
    }
  }
  EXPECT_EQ(response.file_count(), files);
  EXPECT_EQ(response.total_bytes(), bytes);
  EXPECT_EQ(response.backup_id().size(), 32U);
  Add("a", 9, 1);  // and it goes on
}

TEST_F(AdminTest, BadPathsAreRefusedByFieldAndLeaveNothing) {
  StartWithAdmin();
  std::filesystem::create_directory(directory_ / "taken");
  std::filesystem::create_symlink(directory_ / "data/db", directory_ / "link");
  std::filesystem::create_symlink(directory_ / "nowhere", directory_ / "dangling");
  std::ofstream(directory_ / "file") << "x";
  const std::string good = directory_ / "good";
  const std::string good2 = directory_ / "good2";
  const std::string db = directory_ / "data/db";
  const std::string vault = directory_ / "data/vault";
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "INVALID_ARGUMENT FIELD_MISSING "},
      {"relative", "INVALID_ARGUMENT PATH_INVALID "},
      {"./relative", "INVALID_ARGUMENT PATH_INVALID "},
      {"/", "INVALID_ARGUMENT PATH_INVALID "},
      {good + "/..", "INVALID_ARGUMENT PATH_INVALID "},
      {good + "/.", "INVALID_ARGUMENT PATH_INVALID "},
      {directory_ / std::string("a\0b", 3), "INVALID_ARGUMENT PATH_INVALID "},
      {directory_ / "no/folder", "INVALID_ARGUMENT PATH_INVALID "},
      {directory_ / "file/x", "INVALID_ARGUMENT PATH_INVALID "},
      {directory_ / std::string(300, 'n') + "/x", "INVALID_ARGUMENT PATH_INVALID "},
      {db + "/x", "INVALID_ARGUMENT PATH_INVALID "},
      {vault + "/x", "INVALID_ARGUMENT PATH_INVALID "},
      {directory_ / "link/x", "INVALID_ARGUMENT PATH_INVALID "},
      {directory_ / "data/../data/db/x", "INVALID_ARGUMENT PATH_INVALID "},
      {db, "ALREADY_EXISTS PATH_EXISTS "},
      {directory_ / "taken", "ALREADY_EXISTS PATH_EXISTS "},
      {directory_ / "taken/", "ALREADY_EXISTS PATH_EXISTS "},
      {directory_ / "dangling", "ALREADY_EXISTS PATH_EXISTS "},
      {directory_ / "file", "ALREADY_EXISTS PATH_EXISTS "}};
  for (const auto& [path, error] : wrong) {
    EXPECT_EQ(BackUp(path, good), error + "database_path") << path;
    EXPECT_EQ(BackUp(good, path), error + "vault_path") << path;
  }
  EXPECT_EQ(BackUp(good, good), "INVALID_ARGUMENT PATH_INVALID vault_path");
  EXPECT_EQ(BackUp(good, good + "/"), "INVALID_ARGUMENT PATH_INVALID vault_path");
  for (const auto& path : {good, good2, directory_ / "nowhere", db + "/x", vault + "/x"}) {
    EXPECT_FALSE(std::filesystem::exists(path)) << path;
  }
  EXPECT_EQ(BackUp(directory_ / std::string(300, 'n'), good), "UNAVAILABLE BACKUP_FAILED")
      << "a name that the file system refuses";
  EXPECT_FALSE(std::filesystem::exists(good));
  EXPECT_TRUE(Status().writable());
  EXPECT_EQ(BackUp(good, good2), "OK");
}

TEST_F(AdminTest, ASecondBackupAtOnceIsRefusedWhileTheStatusTellsOfTheFirst) {
  StartWithAdmin();
  clock_.Close();
  std::string first;
  std::thread call([&] { first = BackUp(directory_ / "b1", directory_ / "b2"); });
  clock_.WaitForArrival();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(BackUp(directory_ / "b3", directory_ / "b4"), "FAILED_PRECONDITION BACKUP_RUNNING");
    EXPECT_TRUE(Status().backup_running());
  }
  clock_.Open();
  call.join();
  EXPECT_EQ(first, "OK");
  EXPECT_FALSE(Status().backup_running());
  EXPECT_FALSE(std::filesystem::exists(directory_ / "b3"));
  EXPECT_EQ(BackUp(directory_ / "b3", directory_ / "b4"), "OK");
}

TEST_F(AdminTest, ADeadlineThatHasPassedBeginsNoBackup) {
  StartWithAdmin();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() - std::chrono::seconds(1));
  v1::CreateBackupRequest request;
  request.set_database_path(directory_ / "b1");
  request.set_vault_path(directory_ / "b2");
  v1::CreateBackupResponse response;
  EXPECT_EQ(admin_->CreateBackup(&context, request, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(Status().writable());
  EXPECT_FALSE(std::filesystem::exists(directory_ / "b1"));
}

TEST_F(AdminTest, AStopWaitsForTheBackupThatHasBegun) {
  StartWithAdmin();
  CreateMemory("a");
  options_.drain = absl::Milliseconds(100);
  StartWithAdmin();
  clock_.Close();
  std::thread call([&] { BackUp(directory_ / "b1", directory_ / "b2"); });
  clock_.WaitForArrival();
  std::thread stop([&] { StopServer(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "b1/backup.json"));
  clock_.Open();
  stop.join();
  call.join();
  EXPECT_TRUE(std::filesystem::exists(directory_ / "b1/backup.json"));
  EXPECT_TRUE(std::filesystem::exists(directory_ / "b2/backup.json"));
}

}  // namespace
}  // namespace expunge::rpc
