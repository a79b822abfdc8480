// What the parts of Pkcs11Token share: its session, and how the module is called. For use by them alone.
#ifndef EXPUNGE_STORAGE_PKCS11_CALLS_H_
#define EXPUNGE_STORAGE_PKCS11_CALLS_H_

#include <p11-kit/p11-kit.h>
#include <p11-kit/pkcs11.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/error.h"
#include "storage/pkcs11_token.h"

namespace expunge::storage {
namespace pkcs11 {

inline absl::Status ModuleError(CK_RV code, absl::string_view doing) {
  return MakeError(
      Reason::kStorageFailed, "",
      absl::StrCat("the PKCS#11 token could not ", doing, ": ", p11_kit_strerror(code), " (", code, ")"));
}

inline absl::Status Check(CK_RV code, absl::string_view doing) {
  return code == CKR_OK ? absl::OkStatus() : ModuleError(code, doing);
}

// PKCS#11 takes no pointer to const, and writes to none of those that are passed here.
inline CK_BYTE_PTR Bytes(absl::string_view bytes) {
  return const_cast<CK_BYTE_PTR>(reinterpret_cast<const CK_BYTE*>(bytes.data()));  // NOLINT
}

template <typename T>
CK_ATTRIBUTE Attribute(CK_ATTRIBUTE_TYPE type, T* value) {
  return {type, value, sizeof(T)};
}

inline CK_ATTRIBUTE LabelAttribute(const std::string& label) {
  return {CKA_LABEL, Bytes(label), label.size()};
}

}  // namespace pkcs11

struct Pkcs11Token::Impl {
  Impl() = default;
  ~Impl() {
    if (logged_in) module->C_Logout(session);
    if (session != CK_INVALID_HANDLE) module->C_CloseSession(session);
    if (initialized) p11_kit_module_finalize(module);
    if (module != nullptr) p11_kit_module_release(module);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  absl::Status Load(const std::string& path);
  absl::Status FindToken(const std::string& label);
  absl::Status Login(const std::string& label, absl::string_view pin, bool writable);
  // Of the AES key.
  absl::Status CheckAttributes(CK_OBJECT_HANDLE key, const std::string& label) const;
  // FailedPrecondition if the key can leave the token.
  absl::Status CheckStays(CK_OBJECT_HANDLE key, const std::string& label) const;
  // The objects with these attributes, at most `most`.
  absl::StatusOr<std::vector<CK_OBJECT_HANDLE>> Find(absl::Span<CK_ATTRIBUTE> wanted, size_t most) const;

  CK_FUNCTION_LIST_PTR module = nullptr;
  CK_SLOT_ID slot = 0;
  CK_FLAGS token_flags = 0;
  CK_SESSION_HANDLE session = CK_INVALID_HANDLE;
  bool initialized = false;
  bool logged_in = false;
};

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_PKCS11_CALLS_H_
