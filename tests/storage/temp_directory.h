// A directory that lasts as long as the object.
#ifndef EXPUNGE_TESTS_STORAGE_TEMP_DIRECTORY_H_
#define EXPUNGE_TESTS_STORAGE_TEMP_DIRECTORY_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace expunge::testing {

class TempDirectory {
 public:
  TempDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "expunge-XXXXXX").string();
    path_ = ::mkdtemp(path.data());
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  [[nodiscard]] std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace expunge::testing

#endif  // EXPUNGE_TESTS_STORAGE_TEMP_DIRECTORY_H_
