// expunged: the server program. Everything it does is in the library; here are the process's own affairs:
// arguments, file modes, signals, exit code.
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fault_point.h"
#include "server/rpc/fsck_command.h"
#include "server/rpc/log.h"
#include "server/rpc/options.h"
#include "server/rpc/port_file.h"
#include "server/rpc/server.h"

namespace expunge::rpc {
namespace {

// Waits for SIGTERM or SIGINT. Before Armed() the process holds nothing that must be closed in order
// (start-up only reads, or writes what survives a crash), so a signal ends it at once rather than after a
// long recovery.
class StopSignal {
 public:
  // REQUIRES: no other thread yet, for they inherit the mask.
  StopSignal() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::thread([this, signals] {
      int signal = 0;
      sigwait(&signals, &signal);
      if (!armed_) _exit(EXIT_SUCCESS);
      received_.set_value();
    }).detach();
  }

  void Arm() { armed_ = true; }
  void Wait() { received_.get_future().wait(); }

 private:
  std::atomic<bool> armed_ = false;
  std::promise<void> received_;
};

// A core dump would be a copy of every memory on the disk. Nobody but root may read the memory of the running
// process either.
void ForbidCoreDumps() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0);
}

int Fail(Log* log, const absl::Status& status) {
  const std::string code = absl::StatusCodeToString(status.code());
  LogFields fields;
  fields.code = code;
  log->Write(LogLevel::kError, "start failed", fields);
  std::cerr << "expunged: cannot start: " << status.message() << std::endl;
  return absl::IsInvalidArgument(status) ? kUsageError : EXIT_FAILURE;
}

int Serve(const ProgramOptions& options, StopSignal* stop) {
  auto log = Log::Open(options.log);
  if (!log.ok()) {
    std::cerr << "expunged: " << log.status().message() << std::endl;
    return EXIT_FAILURE;
  }
  if (kHasFaultPoints) {
    (*log)->Write(LogLevel::kWarning, "built with fault points: the environment can make this program fail");
  }
  RouteGrpcLog(*log, options.log.level == LogLevel::kDebug);
  if (!options.port_file.empty()) unlink(options.port_file.c_str());  // of an earlier run
  auto server = Server::Start(options.server, *log);
  if (!server.ok()) return Fail(log->get(), server.status());
  (*log)->Write(LogLevel::kInfo, absl::StrCat("readouts ", (*server)->readouts()));
  (*log)->Write(LogLevel::kInfo, absl::StrCat("serving on port ", (*server)->port()));
  if (!(*server)->admin_address().empty()) {
    (*log)->Write(LogLevel::kInfo, absl::StrCat("administration on ", (*server)->admin_address()));
  }
  if (!options.port_file.empty()) {
    const absl::Status written = WritePortFile(options.port_file, (*server)->port());
    if (!written.ok()) return Fail(log->get(), written);
  }
  stop->Arm();
  stop->Wait();
  (*log)->Write(LogLevel::kInfo, "stopping");
  (*server)->Stop();
  if (!options.port_file.empty()) unlink(options.port_file.c_str());
  (*log)->Write(LogLevel::kInfo, "stopped");
  return EXIT_SUCCESS;
}

int Main(int argc, char** argv) {
  umask(077);
  ForbidCoreDumps();
  std::signal(SIGPIPE, SIG_IGN);
  const ParseOutcome outcome = ParseProgramOptions(argc, argv);
  std::cout << outcome.output << std::flush;
  std::cerr << outcome.error;
  if (!outcome.options.has_value()) return outcome.exit_code;
  if (outcome.options->command == Command::kFsck) {
    return RunFsck(outcome.options->server, outcome.options->fsck, std::cout, stderr);
  }
  if (outcome.options->command == Command::kRestore) {
    return RunRestore(outcome.options->server, outcome.options->restore, std::cout, std::cerr);
  }
  static StopSignal stop;  // its thread may outlive main
  return Serve(*outcome.options, &stop);
}

}  // namespace
}  // namespace expunge::rpc

int main(int argc, char** argv) { return expunge::rpc::Main(argc, argv); }
