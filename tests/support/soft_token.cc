#include "tests/support/soft_token.h"

#include <p11-kit/p11-kit.h>
#include <p11-kit/pkcs11.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

namespace expunge::test_support {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "SoftHSM: %s failed\n", what);
  std::abort();
}

CK_ATTRIBUTE Label(const std::string& label) {
  return {CKA_LABEL, const_cast<char*>(label.data()), label.size()};
}

std::vector<CK_OBJECT_HANDLE> Find(CK_FUNCTION_LIST_PTR module, CK_SESSION_HANDLE session,
                                   const std::string& label) {
  CK_ATTRIBUTE wanted = Label(label);
  Require(module->C_FindObjectsInit(session, &wanted, 1) == CKR_OK, "C_FindObjectsInit");
  std::vector<CK_OBJECT_HANDLE> found(16);
  CK_ULONG count = 0;
  Require(module->C_FindObjects(session, found.data(), found.size(), &count) == CKR_OK, "C_FindObjects");
  module->C_FindObjectsFinal(session);
  found.resize(count);
  return found;
}

CK_SLOT_ID SlotOf(CK_FUNCTION_LIST_PTR module, const std::string& token) {
  std::vector<CK_SLOT_ID> slots(32);
  CK_ULONG count = slots.size();
  Require(module->C_GetSlotList(CK_TRUE, slots.data(), &count) == CKR_OK, "C_GetSlotList");
  slots.resize(count);
  for (const CK_SLOT_ID slot : slots) {
    CK_TOKEN_INFO info{};
    Require(module->C_GetTokenInfo(slot, &info) == CKR_OK, "C_GetTokenInfo");
    const std::string name(reinterpret_cast<const char*>(info.label),
                           p11_kit_space_strlen(info.label, sizeof(info.label)));
    if (name == token) return slot;
  }
  Require(false, "finding the token");
  return 0;
}

// In a session that is logged in.
void With(const std::string& token,
          const std::function<void(CK_FUNCTION_LIST_PTR module, CK_SESSION_HANDLE session)>& work) {
  CK_FUNCTION_LIST_PTR const module = p11_kit_module_load(SoftToken::Module().c_str(), 0);
  Require(module != nullptr && p11_kit_module_initialize(module) == CKR_OK, "C_Initialize");
  CK_SESSION_HANDLE session = CK_INVALID_HANDLE;
  Require(module->C_OpenSession(SlotOf(module, token), CKF_SERIAL_SESSION | CKF_RW_SESSION, nullptr, nullptr,
                                &session) == CKR_OK,
          "C_OpenSession");
  std::string pin = kPin;
  Require(module->C_Login(session, CKU_USER, reinterpret_cast<CK_BYTE_PTR>(pin.data()), pin.size()) == CKR_OK,
          "C_Login");
  work(module, session);
  module->C_Logout(session);
  module->C_CloseSession(session);
  p11_kit_module_finalize(module);
  p11_kit_module_release(module);
}

}  // namespace

std::string SoftToken::Module() { return EXPUNGE_SOFTHSM_MODULE; }

bool SoftToken::Available() {
  if (std::filesystem::exists(Module())) return true;
  std::fprintf(stderr, "SoftHSM is not installed (package softhsm2)\n");
  return false;
}

SoftToken::SoftToken(const std::string& label) {
  std::filesystem::create_directory(directory_ / "tokens");
  const std::string configuration = directory_ / "softhsm2.conf";
  std::ofstream(configuration) << "directories.tokendir = " << (directory_ / "tokens")
                               << "\nobjectstore.backend = file\nlog.level = ERROR\n";
  ::setenv("SOFTHSM2_CONF", configuration.c_str(), 1);
  AddToken(label);
}

SoftToken::~SoftToken() { ::unsetenv("SOFTHSM2_CONF"); }

void SoftToken::AddToken(const std::string& label) const {
  const std::string command = "softhsm2-util --init-token --free --label '" + label + "' --pin " + kPin +
                              " --so-pin 31415926 >/dev/null";
  Require(std::system(command.c_str()) == 0, "softhsm2-util --init-token");
}

void SoftToken::PutKey(const std::string& token, const std::string& label, const std::string& bytes,
                       const TokenKeyOptions& options) const {
  With(token, [&](CK_FUNCTION_LIST_PTR module, CK_SESSION_HANDLE session) {
    CK_OBJECT_CLASS secret = CKO_SECRET_KEY;
    CK_KEY_TYPE aes = CKK_AES;
    CK_BBOOL yes = CK_TRUE;
    CK_BBOOL sensitive = options.sensitive ? CK_TRUE : CK_FALSE;
    CK_BBOOL extractable = options.extractable ? CK_TRUE : CK_FALSE;
    std::array<CK_ATTRIBUTE, 10> attributes = {
        CK_ATTRIBUTE{CKA_CLASS, &secret, sizeof(secret)},
        CK_ATTRIBUTE{CKA_KEY_TYPE, &aes, sizeof(aes)},
        CK_ATTRIBUTE{CKA_TOKEN, &yes, sizeof(yes)},
        CK_ATTRIBUTE{CKA_PRIVATE, &yes, sizeof(yes)},
        CK_ATTRIBUTE{CKA_SENSITIVE, &sensitive, sizeof(sensitive)},
        CK_ATTRIBUTE{CKA_EXTRACTABLE, &extractable, sizeof(extractable)},
        CK_ATTRIBUTE{CKA_ENCRYPT, &yes, sizeof(yes)},
        CK_ATTRIBUTE{CKA_DECRYPT, &yes, sizeof(yes)},
        CK_ATTRIBUTE{CKA_VALUE, const_cast<char*>(bytes.data()), bytes.size()},
        Label(label)};
    CK_OBJECT_HANDLE key = CK_INVALID_HANDLE;
    Require(module->C_CreateObject(session, attributes.data(), attributes.size(), &key) == CKR_OK,
            "C_CreateObject");
  });
}

size_t SoftToken::CountKeys(const std::string& token, const std::string& label) const {
  size_t count = 0;
  With(token, [&](CK_FUNCTION_LIST_PTR module, CK_SESSION_HANDLE session) {
    count = Find(module, session, label).size();
  });
  return count;
}

void SoftToken::DeleteKeys(const std::string& token, const std::string& label) const {
  With(token, [&](CK_FUNCTION_LIST_PTR module, CK_SESSION_HANDLE session) {
    for (const CK_OBJECT_HANDLE key : Find(module, session, label)) {
      Require(module->C_DestroyObject(session, key) == CKR_OK, "C_DestroyObject");
    }
  });
}

bool SoftToken::GivesOut(const std::string& token, const std::string& label) const {
  bool given = false;
  With(token, [&](CK_FUNCTION_LIST_PTR module, CK_SESSION_HANDLE session) {
    for (const CK_OBJECT_HANDLE key : Find(module, session, label)) {
      std::array<char, 64> value{};
      CK_ATTRIBUTE attribute{CKA_VALUE, value.data(), value.size()};
      given = given || module->C_GetAttributeValue(session, key, &attribute, 1) == CKR_OK;
      CK_MECHANISM mechanism{CKM_AES_KEY_WRAP, nullptr, 0};
      std::array<CK_BYTE, 64> wrapped{};
      CK_ULONG size = wrapped.size();
      given = given || module->C_WrapKey(session, &mechanism, key, key, wrapped.data(), &size) == CKR_OK;
    }
  });
  return given;
}

}  // namespace expunge::test_support
