// SoftHSM: a PKCS#11 module in software, with tokens in a temporary directory.
#ifndef EXPUNGE_TESTS_SUPPORT_SOFT_TOKEN_H_
#define EXPUNGE_TESTS_SUPPORT_SOFT_TOKEN_H_

#include <cstddef>
#include <string>

#include "tests/support/files.h"

namespace expunge::test_support {

inline constexpr char kPin[] = "271828";

// What a key object says of itself.
struct TokenKeyOptions {
  bool sensitive = true;
  bool extractable = false;
};

// One at a time in a process: SoftHSM finds its tokens by an environment variable.
class SoftToken {
 public:
  // False, with the reason on standard error, where SoftHSM is not installed: the test must skip.
  [[nodiscard]] static bool Available();
  // The path of the module.
  [[nodiscard]] static std::string Module();

  // One token, with this label and kPin.
  explicit SoftToken(const std::string& label);
  ~SoftToken();
  SoftToken(const SoftToken&) = delete;
  SoftToken& operator=(const SoftToken&) = delete;

  // One token more.
  void AddToken(const std::string& label) const;

  // AES keys in a token, by label.
  void PutKey(const std::string& token, const std::string& label, const std::string& bytes,
              const TokenKeyOptions& options = {}) const;
  [[nodiscard]] size_t CountKeys(const std::string& token, const std::string& label) const;
  void DeleteKeys(const std::string& token, const std::string& label) const;
  // Whether the token gives out the bytes of a key, or lets it be wrapped.
  [[nodiscard]] bool GivesOut(const std::string& token, const std::string& label) const;

  // Where its files are.
  [[nodiscard]] const std::string& path() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
};

}  // namespace expunge::test_support

#endif  // EXPUNGE_TESTS_SUPPORT_SOFT_TOKEN_H_
