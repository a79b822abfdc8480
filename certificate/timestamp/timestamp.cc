#include "certificate/timestamp/timestamp.h"

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/pkcs7.h>
#include <openssl/ts.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <memory>

#include "base/bytes.h"
#include "base/hash.h"

namespace expunge::certificate {
namespace {

constexpr size_t kNonceBytes = 16;
constexpr int kMostAuthorities = 64;

template <auto kFree>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
template <typename T, auto kFree>
using Handle = std::unique_ptr<T, Freer<kFree>>;

using Response = Handle<TS_RESP, TS_RESP_free>;
using Request = Handle<TS_REQ, TS_REQ_free>;
using Store = Handle<X509_STORE, X509_STORE_free>;
using Bio = Handle<BIO, BIO_free>;
using Certificate = Handle<X509, X509_free>;

// Failures here mean that memory is gone: nothing sensible is left to do.
void Require(bool ok) {
  if (ok) return;
  std::fputs("fatal: OpenSSL failed to build a time-stamp query\n", stderr);
  std::abort();
}

struct Text {
  absl::string_view name;
  absl::string_view sentence;
};
constexpr Text kTexts[] = {
    {"OK", "The authority signs that it saw this at the time that it states."},
    {"NOT_A_RESPONSE", "The file is not the response of a time-stamping authority."},
    {"REFUSED", "The authority granted no time-stamp."},
    {"OTHER_MESSAGE", "The time-stamp is of something else."},
    {"OTHER_QUERY", "The time-stamp answers another query."},
    {"BAD_CA", "The file of trusted authorities has no certificate in PEM."},
    {"UNTRUSTED", "The time-stamp is not signed by a time-stamping certificate of a trusted authority."},
};
static_assert(std::size(kTexts) == static_cast<size_t>(TimestampReason::kUntrusted) + 1);

const unsigned char* Start(absl::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

// All of the bytes, or nothing.
Response ParseResponse(absl::string_view bytes) {
  if (bytes.empty() || bytes.size() > kMaxTimestampBytes) return nullptr;
  const unsigned char* at = Start(bytes);
  Response response(d2i_TS_RESP(nullptr, &at, static_cast<long>(bytes.size())));
  return at == Start(bytes) + bytes.size() ? std::move(response) : nullptr;
}

bool StampsSha256(TS_TST_INFO* info, const Digest& digest) {
  TS_MSG_IMPRINT* const imprint = TS_TST_INFO_get_msg_imprint(info);
  const X509_ALGOR* const algorithm = TS_MSG_IMPRINT_get_algo(imprint);
  const ASN1_OCTET_STRING* const stamped = TS_MSG_IMPRINT_get_msg(imprint);
  const absl::string_view bytes(reinterpret_cast<const char*>(ASN1_STRING_get0_data(stamped)),
                                static_cast<size_t>(ASN1_STRING_length(stamped)));
  return OBJ_obj2nid(algorithm->algorithm) == NID_sha256 && bytes == AsView(digest);
}

bool AnswersQuery(TS_TST_INFO* info, absl::string_view query) {
  const unsigned char* at = Start(query);
  const Request request(d2i_TS_REQ(nullptr, &at, static_cast<long>(query.size())));
  if (request == nullptr) return false;
  const ASN1_INTEGER* const asked = TS_REQ_get_nonce(request.get());
  const ASN1_INTEGER* const answered = TS_TST_INFO_get_nonce(info);
  if (asked == nullptr || answered == nullptr) return asked == answered;
  return ASN1_INTEGER_cmp(asked, answered) == 0;
}

// Nobody's signature is looked at.
TimestampReason Read(const Response& response, absl::string_view message, absl::string_view query,
                     absl::Time* time) {
  if (response == nullptr) return TimestampReason::kNotAResponse;
  const long status = ASN1_INTEGER_get(TS_STATUS_INFO_get0_status(TS_RESP_get_status_info(response.get())));
  if (status != TS_STATUS_GRANTED && status != TS_STATUS_GRANTED_WITH_MODS) return TimestampReason::kRefused;
  TS_TST_INFO* const info = TS_RESP_get_tst_info(response.get());
  std::tm stamped{};
  if (info == nullptr || ASN1_TIME_to_tm(TS_TST_INFO_get_time(info), &stamped) != 1) {
    return TimestampReason::kNotAResponse;
  }
  *time = absl::FromTM(stamped, absl::UTCTimeZone());
  if (!StampsSha256(info, Sha256(message))) return TimestampReason::kOtherMessage;
  if (!query.empty() && !AnswersQuery(info, query)) return TimestampReason::kOtherQuery;
  return TimestampReason::kOk;
}

// The certificates of the file, each trusted as it is, and in whose time `time` lies. nullptr: there are
// none.
Store TrustedStore(absl::string_view pem, absl::Time time) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Store store(X509_STORE_new());
  if (bio == nullptr || store == nullptr) return nullptr;
  int count = 0;
  while (count < kMostAuthorities) {
    const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (certificate == nullptr) break;
    if (X509_STORE_add_cert(store.get(), certificate.get()) != 1) return nullptr;
    ++count;
  }
  X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store.get()), absl::ToTimeT(time));
  return count > 0 ? std::move(store) : nullptr;
}

std::string SignerName(TS_RESP* response) {
  PKCS7* const token = TS_RESP_get_token(response);
  STACK_OF(X509)* const signers = PKCS7_get0_signers(token, nullptr, 0);
  if (signers == nullptr) return "";
  std::string name;
  const Bio bio(BIO_new(BIO_s_mem()));
  if (sk_X509_num(signers) > 0 && bio != nullptr &&
      X509_NAME_print_ex(bio.get(), X509_get_subject_name(sk_X509_value(signers, 0)), 0, XN_FLAG_ONELINE) >=
          0) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    name.assign(data, static_cast<size_t>(size));
  }
  sk_X509_free(signers);
  return name;
}

bool SignatureVerifies(TS_RESP* response, const Digest& digest, Store store) {
  const Handle<TS_VERIFY_CTX, TS_VERIFY_CTX_free> context(TS_VERIFY_CTX_new());
  if (context == nullptr) return false;
  TS_VERIFY_CTX_set_flags(context.get(), TS_VFY_VERSION | TS_VFY_IMPRINT | TS_VFY_SIGNATURE);
  // The context frees what it is given.
  auto* const imprint = static_cast<unsigned char*>(OPENSSL_memdup(digest.data(), digest.size()));
  if (imprint == nullptr) return false;
  TS_VERIFY_CTX_set_imprint(context.get(), imprint, static_cast<long>(digest.size()));
  TS_VERIFY_CTX_set_store(context.get(), store.release());
  return TS_RESP_verify_response(context.get(), response) == 1;
}

}  // namespace

std::string MakeTimestampQuery(absl::string_view message) {
  const Request request(TS_REQ_new());
  const Handle<TS_MSG_IMPRINT, TS_MSG_IMPRINT_free> imprint(TS_MSG_IMPRINT_new());
  const Handle<X509_ALGOR, X509_ALGOR_free> algorithm(X509_ALGOR_new());
  Require(request != nullptr && imprint != nullptr && algorithm != nullptr &&
          X509_ALGOR_set0(algorithm.get(), OBJ_nid2obj(NID_sha256), V_ASN1_NULL, nullptr) == 1);
  Digest digest = Sha256(message);
  Require(TS_MSG_IMPRINT_set_algo(imprint.get(), algorithm.get()) == 1 &&
          TS_MSG_IMPRINT_set_msg(imprint.get(), digest.data(), static_cast<int>(digest.size())) == 1);
  const Digest random = RandomDigest();
  const Handle<BIGNUM, BN_free> number(BN_bin2bn(random.data(), kNonceBytes, nullptr));
  Require(number != nullptr);
  const Handle<ASN1_INTEGER, ASN1_INTEGER_free> nonce(BN_to_ASN1_INTEGER(number.get(), nullptr));
  Require(nonce != nullptr && TS_REQ_set_version(request.get(), 1) == 1 &&
          TS_REQ_set_msg_imprint(request.get(), imprint.get()) == 1 &&
          TS_REQ_set_nonce(request.get(), nonce.get()) == 1 && TS_REQ_set_cert_req(request.get(), 1) == 1);
  unsigned char* der = nullptr;
  const int size = i2d_TS_REQ(request.get(), &der);
  Require(size > 0);
  std::string query(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return query;
}

absl::string_view TimestampReasonName(TimestampReason reason) {
  return kTexts[static_cast<size_t>(reason)].name;
}

absl::string_view TimestampReasonText(TimestampReason reason) {
  return kTexts[static_cast<size_t>(reason)].sentence;
}

Timestamp ReadTimestamp(absl::string_view message, absl::string_view response, absl::string_view query) {
  Timestamp stamp;
  stamp.reason = Read(ParseResponse(response), message, query, &stamp.time);
  return stamp;
}

Timestamp VerifyTimestamp(absl::string_view message, absl::string_view response, absl::string_view ca_pem) {
  Timestamp stamp;
  const Response parsed = ParseResponse(response);
  stamp.reason = Read(parsed, message, "", &stamp.time);
  if (stamp.reason != TimestampReason::kOk) return stamp;
  Store store = TrustedStore(ca_pem, stamp.time);
  if (store == nullptr) {
    stamp.reason = TimestampReason::kBadCa;
  } else if (!SignatureVerifies(parsed.get(), Sha256(message), std::move(store))) {
    stamp.reason = TimestampReason::kUntrusted;
  } else {
    stamp.authority = SignerName(parsed.get());
  }
  return stamp;
}

}  // namespace expunge::certificate
