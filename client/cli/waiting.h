// A sign of life on standard error while one long call is on its way.
#ifndef EXPUNGE_CLIENT_CLI_WAITING_H_
#define EXPUNGE_CLIENT_CLI_WAITING_H_

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

namespace expunge::cli {

// Draws "making the backup  0:07" on `stream`, over itself, until the object goes and takes the line with it.
// Draws nothing where `stream` is no terminal.
class Waiting {
 public:
  Waiting(std::string label, FILE* stream);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void Draw();

  const std::string label_;
  FILE* const stream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread drawer_;
};

}  // namespace expunge::cli

#endif  // EXPUNGE_CLIENT_CLI_WAITING_H_
