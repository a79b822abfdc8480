// The part of Pkcs11Token that has to do with Ed25519 keys.
#include <p11-kit/pkcs11.h>

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "storage/pkcs11_calls.h"
#include "storage/pkcs11_token.h"

namespace expunge::storage {
namespace {

using pkcs11::Attribute;
using pkcs11::Bytes;
using pkcs11::Check;
using pkcs11::LabelAttribute;

constexpr size_t kRawKeyBytes = 32;
constexpr size_t kSignatureBytes = 64;
constexpr size_t kIdBytes = 16;
constexpr size_t kMostObjects = 16;

// The curve's name in CKA_EC_PARAMS, DER: the object identifier 1.3.101.112, and as PKCS#11 3.0 names it.
constexpr char kCurveId[] = "\x06\x03\x2b\x65\x70";
constexpr char kCurveName[] =
    "\x13\x0c"
    "edwards25519";

CK_ATTRIBUTE BytesAttribute(CK_ATTRIBUTE_TYPE type, absl::string_view bytes) {
  return {type, Bytes(bytes), bytes.size()};
}

// Modules give the point bare, or as OCTET STRING or BIT STRING in DER.
std::optional<std::string> RawPoint(absl::string_view point) {
  for (const absl::string_view header :
       {absl::string_view("\x04\x20", 2), absl::string_view("\x03\x21\x00", 3)}) {
    if (point.size() == header.size() + kRawKeyBytes && absl::StartsWith(point, header)) {
      point.remove_prefix(header.size());
      break;
    }
  }
  if (point.size() != kRawKeyBytes) return std::nullopt;
  return std::string(point);
}

absl::StatusOr<std::string> ReadAttribute(CK_FUNCTION_LIST_PTR module, CK_SESSION_HANDLE session,
                                          CK_OBJECT_HANDLE object, CK_ATTRIBUTE_TYPE type) {
  std::array<char, 256> value{};
  CK_ATTRIBUTE attribute{type, value.data(), value.size()};
  EXPUNGE_RETURN_IF_ERROR(Check(module->C_GetAttributeValue(session, object, &attribute, 1),
                                "tell the attributes of its signing key"));
  return std::string(value.data(), attribute.ulValueLen);
}

// The objects of a pair: of this class, with this label or id.
class PairQuery {
 public:
  PairQuery(CK_OBJECT_CLASS object_class, CK_ATTRIBUTE also) : class_(object_class), also_(also) {}
  [[nodiscard]] absl::Span<CK_ATTRIBUTE> wanted() {
    wanted_ = {Attribute(CKA_CLASS, &class_), Attribute(CKA_KEY_TYPE, &type_), Attribute(CKA_TOKEN, &yes_),
               also_};
    return absl::MakeSpan(wanted_);
  }

 private:
  CK_OBJECT_CLASS class_;
  CK_KEY_TYPE type_ = CKK_EC_EDWARDS;
  CK_BBOOL yes_ = CK_TRUE;
  CK_ATTRIBUTE also_;
  std::array<CK_ATTRIBUTE, 4> wanted_{};
};

}  // namespace

absl::StatusOr<std::optional<Pkcs11Token::SigningPair>> Pkcs11Token::FindSigningPair(
    const std::string& label) const {
  PairQuery privates(CKO_PRIVATE_KEY, LabelAttribute(label));
  EXPUNGE_ASSIGN_OR_RETURN(const auto found, impl_->Find(privates.wanted(), 2));
  if (found.empty()) return std::nullopt;
  if (found.size() > 1) {
    return absl::FailedPreconditionError(absl::StrCat("the token has more than one Ed25519 key labelled ",
                                                      label, ": give them different labels"));
  }
  EXPUNGE_RETURN_IF_ERROR(impl_->CheckStays(found[0], label));
  SigningPair pair;
  pair.private_key = found[0];
  EXPUNGE_ASSIGN_OR_RETURN(pair.id, ReadAttribute(impl_->module, impl_->session, found[0], CKA_ID));
  PairQuery publics(CKO_PUBLIC_KEY, BytesAttribute(CKA_ID, pair.id));
  EXPUNGE_ASSIGN_OR_RETURN(const auto halves, impl_->Find(publics.wanted(), 2));
  if (halves.size() == 1) {
    EXPUNGE_ASSIGN_OR_RETURN(const std::string point,
                             ReadAttribute(impl_->module, impl_->session, halves[0], CKA_EC_POINT));
    std::optional<std::string> raw = RawPoint(point);
    if (raw.has_value()) {
      pair.public_key = *std::move(raw);
      return pair;
    }
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the token has not one public key, of Ed25519, with the same CKA_ID as its private key ",
                   label, ": put it there, too"));
}

absl::StatusOr<Pkcs11Token::SigningPair> Pkcs11Token::GenerateSigningPair(const std::string& label) const {
  const std::string id(AsView(RandomDigest()).substr(0, kIdBytes));
  CK_BBOOL yes = CK_TRUE;
  CK_BBOOL no = CK_FALSE;
  CK_RV made = CKR_OK;
  for (const absl::string_view curve : {absl::string_view(kCurveId), absl::string_view(kCurveName)}) {
    std::array<CK_ATTRIBUTE, 6> of_public = {
        BytesAttribute(CKA_EC_PARAMS, curve), Attribute(CKA_TOKEN, &yes), Attribute(CKA_PRIVATE, &no),
        Attribute(CKA_VERIFY, &yes),          BytesAttribute(CKA_ID, id), LabelAttribute(label)};
    std::array<CK_ATTRIBUTE, 7> of_private = {
        Attribute(CKA_TOKEN, &yes), Attribute(CKA_PRIVATE, &yes),    Attribute(CKA_SENSITIVE, &yes),
        Attribute(CKA_SIGN, &yes),  Attribute(CKA_EXTRACTABLE, &no), BytesAttribute(CKA_ID, id),
        LabelAttribute(label)};
    CK_MECHANISM mechanism{CKM_EC_EDWARDS_KEY_PAIR_GEN, nullptr, 0};
    CK_OBJECT_HANDLE public_key = CK_INVALID_HANDLE;
    CK_OBJECT_HANDLE private_key = CK_INVALID_HANDLE;
    made = impl_->module->C_GenerateKeyPair(impl_->session, &mechanism, of_public.data(), of_public.size(),
                                            of_private.data(), of_private.size(), &public_key, &private_key);
    if (made == CKR_OK) break;
  }
  EXPUNGE_RETURN_IF_ERROR(Check(made, "make an Ed25519 key"));
  EXPUNGE_ASSIGN_OR_RETURN(std::optional<SigningPair> pair, FindSigningPair(label));
  if (pair.has_value() && pair->id == id) return *std::move(pair);
  return MakeError(Reason::kStorageFailed, "", "the PKCS#11 token does not find the key that it has made");
}

absl::Status Pkcs11Token::DestroySigningPairs(const std::string& label, absl::string_view but) const {
  for (const CK_OBJECT_CLASS object_class : {CKO_PRIVATE_KEY, CKO_PUBLIC_KEY}) {
    PairQuery query(object_class, LabelAttribute(label));
    EXPUNGE_ASSIGN_OR_RETURN(const auto found, impl_->Find(query.wanted(), kMostObjects));
    for (const CK_OBJECT_HANDLE object : found) {
      EXPUNGE_ASSIGN_OR_RETURN(const std::string id,
                               ReadAttribute(impl_->module, impl_->session, object, CKA_ID));
      if (!but.empty() && id == but) continue;
      EXPUNGE_RETURN_IF_ERROR(
          Check(impl_->module->C_DestroyObject(impl_->session, object), "destroy an old signing key"));
    }
  }
  return absl::OkStatus();
}

absl::Status Pkcs11Token::RelabelSigningPair(const SigningPair& pair, const std::string& label) const {
  // The private key last: it is what is searched by its label.
  for (const CK_OBJECT_CLASS object_class : {CKO_PUBLIC_KEY, CKO_PRIVATE_KEY}) {
    PairQuery query(object_class, BytesAttribute(CKA_ID, pair.id));
    EXPUNGE_ASSIGN_OR_RETURN(const auto found, impl_->Find(query.wanted(), kMostObjects));
    for (const CK_OBJECT_HANDLE object : found) {
      CK_ATTRIBUTE attribute = LabelAttribute(label);
      EXPUNGE_RETURN_IF_ERROR(Check(impl_->module->C_SetAttributeValue(impl_->session, object, &attribute, 1),
                                    "rename a signing key"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Pkcs11Token::Sign(TokenKey private_key, absl::string_view message) const {
  CK_MECHANISM mechanism{CKM_EDDSA, nullptr, 0};
  CK_FUNCTION_LIST_PTR const module = impl_->module;
  EXPUNGE_RETURN_IF_ERROR(
      Check(module->C_SignInit(impl_->session, &mechanism, private_key), "begin to sign with Ed25519"));
  std::string signature(kSignatureBytes, '\0');
  CK_ULONG size = signature.size();
  EXPUNGE_RETURN_IF_ERROR(Check(module->C_Sign(impl_->session, Bytes(message), message.size(),
                                               reinterpret_cast<CK_BYTE_PTR>(signature.data()), &size),
                                "sign with Ed25519"));
  signature.resize(size);
  return signature;
}

}  // namespace expunge::storage
