// The one form in which a private key is written. For use inside this folder only.
#ifndef EXPUNGE_CERTIFICATE_PRIVATE_PEM_H_
#define EXPUNGE_CERTIFICATE_PRIVATE_PEM_H_

#include <string>

struct evp_pkey_st;

namespace expunge::certificate {

// Unencrypted PKCS#8 PEM. The caller wipes it.
[[nodiscard]] std::string PrivatePem(struct evp_pkey_st* key);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_PRIVATE_PEM_H_
