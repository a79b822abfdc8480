// A disk that says to be as full as the test wants.
#ifndef EXPUNGE_TESTS_SUPPORT_FULL_FILE_SYSTEM_H_
#define EXPUNGE_TESTS_SUPPORT_FULL_FILE_SYSTEM_H_

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <cstdint>
#include <memory>
#include <string>

namespace expunge::test_support {

class FullFileSystem : public rocksdb::FileSystemWrapper {
 public:
  explicit FullFileSystem(const uint64_t* free)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), free_(free) {}
  const char* Name() const override { return "FullFileSystem"; }
  rocksdb::IOStatus GetFreeSpace(const std::string&, const rocksdb::IOOptions&, uint64_t* free,
                                 rocksdb::IODebugContext*) override {
    *free = *free_;
    return rocksdb::IOStatus::OK();
  }

 private:
  const uint64_t* free_;
};

// `free` outlives it.
inline std::unique_ptr<rocksdb::Env> MakeFullEnv(const uint64_t* free) {
  return rocksdb::NewCompositeEnv(std::make_shared<FullFileSystem>(free));
}

}  // namespace expunge::test_support

#endif  // EXPUNGE_TESTS_SUPPORT_FULL_FILE_SYSTEM_H_
