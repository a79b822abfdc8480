// A program as a child process, with its output in files.
#ifndef EXPUNGE_TESTS_SERVER_RPC_CHILD_PROCESS_H_
#define EXPUNGE_TESTS_SERVER_RPC_CHILD_PROCESS_H_

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace expunge::rpc {

class ChildProcess {
 public:
  // Runs `arguments` (the first is the program), standard output and error going to `output`.
  ChildProcess(std::vector<std::string> arguments, const std::string& output) {
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    started_ = posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
  }
  ~ChildProcess() {
    if (!started_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void Signal(int signal) const { kill(pid_, signal); }

  // The exit code; -1 if it was killed, did not start, or does not end within a minute.
  [[nodiscard]] int Wait() {
    for (int i = 0; started_ && i < 6000; ++i) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        started_ = false;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return -1;
  }

 private:
  pid_t pid_ = 0;
  bool started_ = false;
};

}  // namespace expunge::rpc

#endif  // EXPUNGE_TESTS_SERVER_RPC_CHILD_PROCESS_H_
