// All that a program could have changed in a directory.
#ifndef EXPUNGE_TESTS_SUPPORT_DIRECTORY_STATE_H_
#define EXPUNGE_TESTS_SUPPORT_DIRECTORY_STATE_H_

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>

#include "tests/support/files.h"

namespace expunge::test_support {

struct FileState {
  std::string bytes;
  uint32_t mode = 0;
  uint64_t inode = 0;
  int64_t changed_ns = 0;  // last change of the content
  friend bool operator==(const FileState&, const FileState&) = default;
  // Without the content, which is long.
  friend std::ostream& operator<<(std::ostream& out, const FileState& file) {
    return out << file.bytes.size() << " bytes, mode " << std::oct << file.mode << std::dec << ", inode "
               << file.inode << ", changed " << file.changed_ns;
  }
};

// Every file and directory under `directory`, and itself, by path.
inline std::map<std::string, FileState> StateOf(const std::string& directory) {
  std::map<std::string, FileState> state;
  const auto add = [&state](const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return;
    FileState& file = state[path];
    file.mode = status.st_mode;
    file.inode = status.st_ino;
    file.changed_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    if (S_ISREG(status.st_mode)) file.bytes = ReadWholeFile(path);
  };
  add(directory);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    add(entry.path().string());
  return state;
}

}  // namespace expunge::test_support

#endif  // EXPUNGE_TESTS_SUPPORT_DIRECTORY_STATE_H_
