#include "storage/pkcs11_token.h"

#include <p11-kit/p11-kit.h>
#include <p11-kit/pkcs11.h>

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "storage/pkcs11_calls.h"

namespace expunge::storage {
namespace {

using pkcs11::Attribute;
using pkcs11::Bytes;
using pkcs11::Check;
using pkcs11::LabelAttribute;
using pkcs11::ModuleError;

constexpr size_t kTagBytes = 16;
constexpr CK_ULONG kKeyBytes = 32;

absl::Status CheckPinState(CK_FLAGS flags, const std::string& label) {
  if ((flags & CKF_USER_PIN_LOCKED) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the PIN of the token ", label, " is locked: unlock it with the token's own tool"));
  }
  if ((flags & CKF_USER_PIN_FINAL_TRY) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "wrong PINs were given to the token ", label,
        ", and one more would lock it: log in once with the token's own tool, so that it counts anew"));
  }
  return absl::OkStatus();
}

absl::Status LoginError(CK_RV code, const std::string& label) {
  switch (code) {
    case CKR_PIN_INCORRECT:
    case CKR_PIN_INVALID:
    case CKR_PIN_LEN_RANGE:
      return absl::PermissionDeniedError(
          absl::StrCat("the PIN is not that of the token ", label,
                       ": it was tried once; correct the file before the next start, as more wrong tries may "
                       "lock the token"));
    case CKR_PIN_LOCKED:
      return CheckPinState(CKF_USER_PIN_LOCKED, label);
    case CKR_PIN_EXPIRED:
    case CKR_USER_PIN_NOT_INITIALIZED:
      return absl::FailedPreconditionError(absl::StrCat("the PIN of the token ", label, " has ",
                                                        code == CKR_PIN_EXPIRED ? "expired" : "not been set",
                                                        ": set it with the token's own tool"));
    default:
      return ModuleError(code, "log in");
  }
}

// Whether C_Decrypt failed for a reason that has nothing to do with the key and the bytes.
bool IsFailure(CK_RV code) {
  switch (code) {
    case CKR_HOST_MEMORY:
    case CKR_ARGUMENTS_BAD:
    case CKR_BUFFER_TOO_SMALL:
    case CKR_CRYPTOKI_NOT_INITIALIZED:
    case CKR_DEVICE_ERROR:
    case CKR_DEVICE_MEMORY:
    case CKR_DEVICE_REMOVED:
    case CKR_OPERATION_NOT_INITIALIZED:
    case CKR_SESSION_CLOSED:
    case CKR_SESSION_HANDLE_INVALID:
    case CKR_TOKEN_NOT_PRESENT:
    case CKR_USER_NOT_LOGGED_IN:
      return true;
    default:
      return false;
  }
}

// Parameters of AES-GCM, which point into what they are made from.
class Gcm {
 public:
  Gcm(char* iv, size_t iv_bytes, absl::string_view associated) {
    parameters_.pIv = reinterpret_cast<CK_BYTE_PTR>(iv);
    parameters_.ulIvLen = iv_bytes;
    parameters_.ulIvBits = 8 * iv_bytes;  // some modules want it
    parameters_.pAAD = Bytes(associated);
    parameters_.ulAADLen = associated.size();
    parameters_.ulTagBits = 8 * kTagBytes;
  }
  [[nodiscard]] CK_MECHANISM_PTR mechanism() { return &mechanism_; }

 private:
  CK_GCM_PARAMS parameters_{};
  CK_MECHANISM mechanism_{CKM_AES_GCM, &parameters_, sizeof(parameters_)};
};

}  // namespace

absl::Status Pkcs11Token::Impl::Load(const std::string& path) {
  p11_kit_be_quiet();  // we say it ourselves
  module = p11_kit_module_load(path.c_str(), 0);
  if (module == nullptr) {
    const char* const reason = p11_kit_message();
    return absl::NotFoundError(absl::StrCat("the PKCS#11 module ", path, " cannot be loaded: ",
                                            reason == nullptr ? "it is no such library" : reason));
  }
  EXPUNGE_RETURN_IF_ERROR(Check(p11_kit_module_initialize(module), "be initialised (its module refuses)"));
  initialized = true;
  return absl::OkStatus();
}

absl::Status Pkcs11Token::Impl::FindToken(const std::string& label) {
  CK_ULONG count = 0;
  EXPUNGE_RETURN_IF_ERROR(Check(module->C_GetSlotList(CK_TRUE, nullptr, &count), "be listed"));
  std::vector<CK_SLOT_ID> slots(count);
  EXPUNGE_RETURN_IF_ERROR(Check(module->C_GetSlotList(CK_TRUE, slots.data(), &count), "be listed"));
  slots.resize(count);
  size_t found = 0;
  for (const CK_SLOT_ID candidate : slots) {
    CK_TOKEN_INFO info{};
    if (module->C_GetTokenInfo(candidate, &info) != CKR_OK) continue;  // another one may be unplugged
    const absl::string_view name(reinterpret_cast<const char*>(info.label),
                                 p11_kit_space_strlen(info.label, sizeof(info.label)));
    if ((info.flags & CKF_TOKEN_INITIALIZED) == 0 || name != label) continue;
    ++found;
    slot = candidate;
    token_flags = info.flags;
  }
  if (found == 1) return absl::OkStatus();
  if (found == 0) {
    return absl::NotFoundError(absl::StrCat("the PKCS#11 module has no token labelled ", label,
                                            ": plug it in, or correct its label in the options"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the PKCS#11 module has ", found, " tokens labelled ", label, ": leave one of them"));
}

absl::Status Pkcs11Token::Impl::Login(const std::string& label, absl::string_view pin, bool writable) {
  EXPUNGE_RETURN_IF_ERROR(CheckPinState(token_flags, label));
  const CK_FLAGS mode = CKF_SERIAL_SESSION | (writable ? CKF_RW_SESSION : 0UL);
  EXPUNGE_RETURN_IF_ERROR(
      Check(module->C_OpenSession(slot, mode, nullptr, nullptr, &session), "open a session"));
  const CK_RV code = module->C_Login(session, CKU_USER, Bytes(pin), pin.size());
  // Another part of this process may have logged in: the state is the process's.
  if (code == CKR_USER_ALREADY_LOGGED_IN) return absl::OkStatus();
  if (code != CKR_OK) return LoginError(code, label);
  logged_in = true;
  return absl::OkStatus();
}

absl::Status Pkcs11Token::Impl::CheckStays(CK_OBJECT_HANDLE key, const std::string& label) const {
  CK_BBOOL sensitive = CK_FALSE;
  CK_BBOOL extractable = CK_TRUE;
  std::array<CK_ATTRIBUTE, 2> attributes = {Attribute(CKA_SENSITIVE, &sensitive),
                                            Attribute(CKA_EXTRACTABLE, &extractable)};
  EXPUNGE_RETURN_IF_ERROR(
      Check(module->C_GetAttributeValue(session, key, attributes.data(), attributes.size()),
            "tell the attributes of its key"));
  if (sensitive == CK_TRUE && extractable == CK_FALSE) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the token's key ", label,
                   " can be read out of the token: make one that is sensitive and not extractable"));
}

absl::Status Pkcs11Token::Impl::CheckAttributes(CK_OBJECT_HANDLE key, const std::string& label) const {
  EXPUNGE_RETURN_IF_ERROR(CheckStays(key, label));
  CK_ULONG bytes = 0;
  CK_ATTRIBUTE attribute = Attribute(CKA_VALUE_LEN, &bytes);
  EXPUNGE_RETURN_IF_ERROR(
      Check(module->C_GetAttributeValue(session, key, &attribute, 1), "tell the attributes of its key"));
  if (bytes == kKeyBytes) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the token's key ", label, " has ", 8 * bytes, " bits, not 256"));
}

absl::StatusOr<std::vector<CK_OBJECT_HANDLE>> Pkcs11Token::Impl::Find(absl::Span<CK_ATTRIBUTE> wanted,
                                                                      size_t most) const {
  EXPUNGE_RETURN_IF_ERROR(
      Check(module->C_FindObjectsInit(session, wanted.data(), wanted.size()), "search its keys"));
  std::vector<CK_OBJECT_HANDLE> found(most);
  CK_ULONG count = 0;
  const CK_RV searched = module->C_FindObjects(session, found.data(), found.size(), &count);
  module->C_FindObjectsFinal(session);
  EXPUNGE_RETURN_IF_ERROR(Check(searched, "search its keys"));
  found.resize(count);
  return found;
}

absl::StatusOr<std::unique_ptr<Pkcs11Token>> Pkcs11Token::Open(const std::string& module,
                                                               const std::string& label,
                                                               absl::string_view pin, bool writable) {
  auto impl = std::make_unique<Impl>();
  EXPUNGE_RETURN_IF_ERROR(impl->Load(module));
  EXPUNGE_RETURN_IF_ERROR(impl->FindToken(label));
  EXPUNGE_RETURN_IF_ERROR(impl->Login(label, pin, writable));
  return std::unique_ptr<Pkcs11Token>(new Pkcs11Token(std::move(impl)));
}

Pkcs11Token::Pkcs11Token(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pkcs11Token::~Pkcs11Token() = default;

absl::StatusOr<std::optional<TokenKey>> Pkcs11Token::FindKey(const std::string& label) const {
  CK_OBJECT_CLASS secret = CKO_SECRET_KEY;
  CK_KEY_TYPE aes = CKK_AES;
  CK_BBOOL yes = CK_TRUE;
  std::array<CK_ATTRIBUTE, 4> wanted = {Attribute(CKA_CLASS, &secret), Attribute(CKA_KEY_TYPE, &aes),
                                        Attribute(CKA_TOKEN, &yes), LabelAttribute(label)};
  EXPUNGE_ASSIGN_OR_RETURN(const auto found, impl_->Find(absl::MakeSpan(wanted), 2));
  if (found.empty()) return std::nullopt;
  if (found.size() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("the token has more than one AES key labelled ", label, ": give them different labels"));
  }
  EXPUNGE_RETURN_IF_ERROR(impl_->CheckAttributes(found[0], label));
  return found[0];
}

absl::StatusOr<TokenKey> Pkcs11Token::GenerateKey(const std::string& label) const {
  CK_OBJECT_CLASS secret = CKO_SECRET_KEY;
  CK_KEY_TYPE aes = CKK_AES;
  CK_BBOOL yes = CK_TRUE;
  CK_BBOOL no = CK_FALSE;
  CK_ULONG bytes = kKeyBytes;
  std::array<CK_ATTRIBUTE, 12> wanted = {
      Attribute(CKA_CLASS, &secret),   Attribute(CKA_KEY_TYPE, &aes), Attribute(CKA_VALUE_LEN, &bytes),
      Attribute(CKA_TOKEN, &yes),      Attribute(CKA_PRIVATE, &yes),  Attribute(CKA_SENSITIVE, &yes),
      Attribute(CKA_EXTRACTABLE, &no), Attribute(CKA_ENCRYPT, &yes),  Attribute(CKA_DECRYPT, &yes),
      Attribute(CKA_WRAP, &no),        Attribute(CKA_UNWRAP, &no),    LabelAttribute(label)};
  CK_MECHANISM mechanism{CKM_AES_KEY_GEN, nullptr, 0};
  CK_OBJECT_HANDLE key = CK_INVALID_HANDLE;
  EXPUNGE_RETURN_IF_ERROR(
      Check(impl_->module->C_GenerateKey(impl_->session, &mechanism, wanted.data(), wanted.size(), &key),
            "make a key"));
  EXPUNGE_RETURN_IF_ERROR(impl_->CheckAttributes(key, label));
  return key;
}

absl::StatusOr<std::string> Pkcs11Token::Encrypt(TokenKey key, absl::string_view associated,
                                                 absl::string_view plaintext, std::string* iv) const {
  Gcm gcm(iv->data(), iv->size(), associated);
  CK_FUNCTION_LIST_PTR const module = impl_->module;
  EXPUNGE_RETURN_IF_ERROR(
      Check(module->C_EncryptInit(impl_->session, gcm.mechanism(), key), "begin to seal with AES-GCM"));
  std::string sealed(plaintext.size() + kTagBytes, '\0');
  CK_ULONG size = sealed.size();
  EXPUNGE_RETURN_IF_ERROR(Check(module->C_Encrypt(impl_->session, Bytes(plaintext), plaintext.size(),
                                                  reinterpret_cast<CK_BYTE_PTR>(sealed.data()), &size),
                                "seal with AES-GCM"));
  if (size == sealed.size()) return sealed;
  return MakeError(Reason::kStorageFailed, "",
                   absl::StrCat("the PKCS#11 token sealed ", plaintext.size(), " bytes as ", size,
                                ": that is not AES-GCM with a tag of 128 bits after the ciphertext"));
}

absl::StatusOr<std::optional<SecretBytes>> Pkcs11Token::Decrypt(TokenKey key, absl::string_view associated,
                                                                absl::string_view iv,
                                                                absl::string_view sealed) const {
  std::string own_iv(iv);
  Gcm gcm(own_iv.data(), own_iv.size(), associated);
  CK_FUNCTION_LIST_PTR const module = impl_->module;
  EXPUNGE_RETURN_IF_ERROR(
      Check(module->C_DecryptInit(impl_->session, gcm.mechanism(), key), "begin to unseal with AES-GCM"));
  // As large as the input: some modules want room for the tag, too.
  SecretBytes opened(sealed.size());
  CK_ULONG size = opened.size();
  const CK_RV code = module->C_Decrypt(impl_->session, Bytes(sealed), sealed.size(),
                                       reinterpret_cast<CK_BYTE_PTR>(opened.data()), &size);
  if (IsFailure(code)) return ModuleError(code, "unseal");
  if (code != CKR_OK || size + kTagBytes != sealed.size()) return std::nullopt;
  opened.resize(size);
  return opened;
}

}  // namespace expunge::storage
