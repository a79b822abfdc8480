#include "base/fault_point.h"

#ifdef EXPUNGE_FAULT_POINTS

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>

namespace expunge {
namespace {

std::string Setting(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets variables
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A name, and how often it is to be passed.
struct Place {
  std::string name;
  int passes = 1;
};

Place ParsePlace(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {text, 1};
  return {text.substr(0, colon), std::atoi(text.c_str() + colon + 1)};
}

void Trace(const std::string& name) {
  static const std::string& file = *new std::string(Setting("EXPUNGE_CRASH_TRACE"));
  if (file.empty()) return;
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string line = name + "\n";
  if (descriptor < 0 || ::write(descriptor, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    std::abort();
  ::close(descriptor);
}

}  // namespace

void CrashPoint(const char* name) {
  static const Place& place = *new Place(ParsePlace(Setting("EXPUNGE_CRASH_AT")));
  static std::atomic<int> passed = 0;
  Trace(name);
  if (place.name == name && ++passed == place.passes) std::raise(SIGKILL);
}

bool Mutated(const char* name) {
  static const std::string& mutations = *new std::string("," + Setting("EXPUNGE_MUTATION") + ",");
  return mutations.find(std::string(",") + name + ",") != std::string::npos;
}

}  // namespace expunge

#endif  // EXPUNGE_FAULT_POINTS
