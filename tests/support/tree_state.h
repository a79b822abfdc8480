// Everything that can be seen of a directory from outside: to show that something changed nothing in it.
#ifndef EXPUNGE_TESTS_SUPPORT_TREE_STATE_H_
#define EXPUNGE_TESTS_SUPPORT_TREE_STATE_H_

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>

#include "tests/support/files.h"

namespace expunge::test_support {

// For each path below `directory`, and for itself: mode, times of the last change of content and of the
// entry, and the bytes.
inline std::map<std::string, std::string> TreeState(const std::string& directory) {
  std::map<std::string, std::string> state;
  const auto add = [&state](const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return;
    std::string& text = state[path];
    for (const auto number : {static_cast<int64_t>(status.st_mode), static_cast<int64_t>(status.st_ino),
                              int64_t{status.st_mtim.tv_sec}, int64_t{status.st_mtim.tv_nsec},
                              int64_t{status.st_ctim.tv_sec}, int64_t{status.st_ctim.tv_nsec}}) {
      text += std::to_string(number) + " ";
    }
    if (S_ISREG(status.st_mode)) text += ReadWholeFile(path);
  };
  add(directory);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    add(entry.path().string());
  return state;
}

}  // namespace expunge::test_support

#endif  // EXPUNGE_TESTS_SUPPORT_TREE_STATE_H_
