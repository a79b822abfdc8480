#include "server/rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <initializer_list>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/core/service.h"
#include "server/rpc/address.h"
#include "server/rpc/admin_address.h"
#include "server/rpc/dispatcher.h"
#include "server/rpc/services.h"
#include "server/rpc/signing_keys.h"
#include "server/rpc/store_options.h"
#include "storage/sealed_store.h"

namespace expunge::rpc {
namespace {

constexpr uint64_t kMinMessageBytes = 1024;
constexpr uint64_t kMaxMessageBytes = uint64_t{1} << 30;  // protobuf ends at 2 GiB
constexpr size_t kMaxWorkerThreads = 1024;
constexpr std::chrono::milliseconds kMaxReadoutBatchDelay{100};
constexpr size_t kStreamThreads = 2;
constexpr size_t kAdminThreads = 2;
constexpr size_t kAdminQueue = 16;
constexpr uint64_t kAdminMessageBytes = uint64_t{64} << 10;

absl::Status ValidateOptions(const ServerOptions& options) {
  if (options.data_dir.empty()) return absl::InvalidArgumentError("no data directory: give --data-dir");
  EXPUNGE_ASSIGN_OR_RETURN(const Address address, ParseAddress(options.address));
  if (!IsLoopbackHost(address.host) && !options.allow_remote_plaintext) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the address ", options.address,
        " can be reached from other machines, and this version speaks plain text only: listen on 127.0.0.1 "
        "behind a tunnel or proxy, or give --allow-remote-plaintext on a network that you trust"));
  }
  if (options.max_message_bytes < kMinMessageBytes || options.max_message_bytes > kMaxMessageBytes) {
    return absl::InvalidArgumentError("--max-message-bytes must be 1024 to 1073741824");
  }
  if (options.max_queued == 0) return absl::InvalidArgumentError("--max-queued must be at least 1");
  if (options.max_streams == 0) return absl::InvalidArgumentError("--max-streams must be at least 1");
  if (options.worker_threads > kMaxWorkerThreads) {
    return absl::InvalidArgumentError("--worker-threads must be at most 1024");
  }
  if (options.readout.threads > kMaxWorkerThreads) {
    return absl::InvalidArgumentError("--readout-threads must be at most 1024");
  }
  if (options.readout_batch_delay < std::chrono::microseconds(0) ||
      options.readout_batch_delay > kMaxReadoutBatchDelay) {
    return absl::InvalidArgumentError("--readout-batch-delay must be 0 or a time of at most 100ms");
  }
  return absl::OkStatus();
}

absl::Status MakeDataDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  const int error = errno;
  struct stat info {};
  if (error == EEXIST && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the data directory ", path,
                                             " can be neither found nor made (error ", error,
                                             "): make its parent, or choose another --data-dir"));
}

absl::StatusOr<std::unique_ptr<core::Service>> OpenService(const ServerOptions& options, Clock clock) {
  // A device that is asked for and not there is found out before anything is touched.
  if (options.readout.backend == attention::BackendChoice::kCuda) {
    EXPUNGE_RETURN_IF_ERROR(attention::MakeReadoutEngine(options.readout).status());
  }
  EXPUNGE_ASSIGN_OR_RETURN(const storage::SealedStoreOptions store_options, StoreOptionsFor(options));
  EXPUNGE_RETURN_IF_ERROR(MakeDataDirectory(options.data_dir));
  // The store first: it locks the directory, so that two servers never make a key for it at once.
  EXPUNGE_ASSIGN_OR_RETURN(auto store, storage::SealedStore::Open(store_options));
  EXPUNGE_ASSIGN_OR_RETURN(auto keys, SigningKeysFor(options));
  core::ServiceOptions core_options;
  core_options.max_tokens_per_memory = options.max_tokens_per_memory;
  core_options.max_live_solver_bytes = options.max_live_solver_bytes;
  core_options.readout = options.readout;
  core_options.readout_batch_delay = options.readout_batch_delay;
  core_options.recover_by_solving = options.recover_by_solving;
  core_options.ledger_copy_file = options.ledger_copy_file;
  core_options.erase_bytes_within = options.erase_bytes_within;
  core_options.backups_kept_for = options.backups_kept_for;
  core_options.log = {options.log_origin, options.checkpoint_copy_file};
  core_options.log_directory = options.data_dir + "/log";
  auto service = core::Service::Open(std::move(store), std::move(keys), std::move(clock), core_options);
  if (!service.ok()) {
    return absl::Status(service.status().code(),
                        absl::StrCat(service.status().message(), "; the data directory ", options.data_dir,
                                     " is as it was: keep a copy, and restore a backup if it is damaged"));
  }
  return service;
}

DispatcherOptions MakeDispatcherOptions(const ServerOptions& options) {
  DispatcherOptions made;
  made.worker_threads =
      options.worker_threads > 0 ? options.worker_threads : std::max(1U, std::thread::hardware_concurrency());
  made.max_queued = options.max_queued;
  made.max_message_bytes = options.max_message_bytes;
  made.stream_threads = kStreamThreads;
  made.max_streams = options.max_streams;
  made.access.allow_remote_plaintext = options.allow_remote_plaintext;
  return made;
}

// Threads of its own, so that administration waits for no other call, and a status not for a backup. Plain
// text from another machine is refused, whatever the options say.
DispatcherOptions AdminDispatcherOptions() {
  DispatcherOptions made;
  made.worker_threads = kAdminThreads;
  made.max_queued = kAdminQueue;
  made.max_message_bytes = kAdminMessageBytes;
  return made;
}

std::string DescribeReadouts(core::Service* service, attention::BackendChoice choice) {
  const auto status = service->GetServerStatus({});
  if (!status.ok()) return "";
  const bool cuda = status->readouts().backend() == v1::READOUT_BACKEND_CUDA;
  const bool automatic = choice == attention::BackendChoice::kAuto;
  return absl::StrCat(cuda ? "on the CUDA device" : "on the CPU",
                      automatic ? " (--readout=auto): " : " (--readout): ", status->readouts().device());
}

// nullopt: none.
absl::StatusOr<std::optional<AdminAddress>> ChooseAdminAddress(const ServerOptions& options, Log* log) {
  if (options.admin_address == kNoAdmin) return std::nullopt;
  if (!options.admin_address.empty()) return ParseAdminAddress(options.admin_address);
  auto standard = DefaultAdminAddress(options.data_dir);
  if (standard.ok()) return standard;
  log->Write(LogLevel::kWarning, absl::StrCat("no administration: ", standard.status().message()));
  return std::nullopt;
}

struct NamedService {
  grpc::Service* service;
  const char* name;
};

// Null if it cannot.
std::unique_ptr<grpc::Server> StartListening(const std::string& address, uint64_t max_message_bytes,
                                             std::initializer_list<NamedService> services, int* port) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  // Without this a second server would share the port silently.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(static_cast<int>(max_message_bytes + max_message_bytes / 8));
  // gRPC unpacks a message before it compares its size with the limit: a megabyte could become a gigabyte.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), port);
  for (const NamedService& one : services) builder.RegisterService(one.service);
  auto server = builder.BuildAndStart();
  if (server == nullptr || *port == 0) return nullptr;
  for (const NamedService& one : services) {
    server->GetHealthCheckService()->SetServingStatus(one.name, true);
  }
  return server;
}

}  // namespace

struct Server::Impl {
  Impl(const ServerOptions& server_options, std::shared_ptr<Log> server_log,
       std::unique_ptr<core::Service> opened)
      : options(server_options),
        log(std::move(server_log)),
        service(std::move(opened)),
        dispatcher(service.get(), log, MakeDispatcherOptions(options)),
        admin_dispatcher(service.get(), log, AdminDispatcherOptions()),
        memory_handlers(&dispatcher),
        unlearning_handlers(&dispatcher),
        admin_handlers(&admin_dispatcher),
        readouts(DescribeReadouts(service.get(), options.readout.backend)) {}

  absl::Status Listen();
  absl::Status ListenForAdmin(const AdminAddress& address);
  void Stop();

  const ServerOptions options;
  const std::shared_ptr<Log> log;
  std::unique_ptr<core::Service> service;
  Dispatcher dispatcher;
  Dispatcher admin_dispatcher;
  MemoryServiceHandlers memory_handlers;
  UnlearningServiceHandlers unlearning_handlers;
  AdminServiceHandlers admin_handlers;
  const std::string readouts;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<grpc::Server> admin_server;
  int port = 0;
  std::string admin_address;
};

absl::Status Server::Impl::Listen() {
  server = StartListening(options.address, options.max_message_bytes,
                          {{&memory_handlers, v1::MemoryService::service_full_name()},
                           {&unlearning_handlers, v1::UnlearningService::service_full_name()}},
                          &port);
  if (server != nullptr) return absl::OkStatus();
  EXPUNGE_ASSIGN_OR_RETURN(const Address address, ParseAddress(options.address));
  const std::string explanation = ExplainBindFailure(address);
  return absl::UnavailableError(explanation.empty() ? "the server could not start to listen: try again"
                                                    : explanation);
}

absl::Status Server::Impl::ListenForAdmin(const AdminAddress& address) {
  if (!address.socket.empty()) EXPUNGE_RETURN_IF_ERROR(RemoveStaleSocket(address.socket));
  int admin_port = 0;
  admin_server = StartListening(address.listen, kAdminMessageBytes,
                                {{&admin_handlers, v1::AdminService::service_full_name()}}, &admin_port);
  if (!address.socket.empty()) {
    if (admin_server == nullptr || chmod(address.socket.c_str(), S_IRUSR | S_IWUSR) != 0) {
      return absl::UnavailableError(absl::StrCat("the socket ", address.socket,
                                                 " cannot be made: check that its folder exists and is "
                                                 "writable, or choose another --admin-address"));
    }
    admin_address = absl::StrCat("unix:", address.socket);
    return absl::OkStatus();
  }
  if (admin_server == nullptr) {
    EXPUNGE_ASSIGN_OR_RETURN(const Address place, ParseAddress(address.listen));
    return absl::UnavailableError(
        absl::StrCat("administration cannot listen: ", ExplainBindFailure(place, "--admin-address")));
  }
  admin_address = absl::StrCat(address.listen.substr(0, address.listen.rfind(':')), ":", admin_port);
  log->Write(LogLevel::kWarning,
             "administration is on a port, which every user of this machine can reach: a Unix socket is not");
  return absl::OkStatus();
}

void Server::Impl::Stop() {
  if (service == nullptr) return;
  dispatcher.RefuseNewCalls();
  admin_dispatcher.RefuseNewCalls();
  const auto deadline = absl::ToChronoTime(absl::Now() + options.drain);
  for (const auto* one : {&server, &admin_server}) {
    if (*one != nullptr) (*one)->GetHealthCheckService()->SetServingStatus(false);
  }
  for (const auto* one : {&server, &admin_server}) {
    if (*one != nullptr) (*one)->Shutdown(deadline);
  }
  dispatcher.Join();
  admin_dispatcher.Join();
  server.reset();
  admin_server.reset();
  service.reset();
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { Stop(); }

int Server::port() const { return impl_->port; }

const std::string& Server::readouts() const { return impl_->readouts; }

const std::string& Server::admin_address() const { return impl_->admin_address; }

void Server::Stop() { impl_->Stop(); }

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options, std::shared_ptr<Log> log,
                                                      Clock clock) {
  EXPUNGE_RETURN_IF_ERROR(ValidateOptions(options));
  EXPUNGE_ASSIGN_OR_RETURN(const auto admin_address, ChooseAdminAddress(options, log.get()));
  EXPUNGE_ASSIGN_OR_RETURN(auto service, OpenService(options, std::move(clock)));
  auto server = std::unique_ptr<Server>(
      new Server(std::make_unique<Impl>(options, std::move(log), std::move(service))));
  if (admin_address.has_value()) {
    EXPUNGE_RETURN_IF_ERROR(server->impl_->ListenForAdmin(*admin_address));
  }
  EXPUNGE_RETURN_IF_ERROR(server->impl_->Listen());
  return server;
}

}  // namespace expunge::rpc
