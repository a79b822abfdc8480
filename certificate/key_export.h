// Public keys in a form that other tools read. (As PEM: PublicKey::ToPem; as a vkey: log/note.h.)
#ifndef EXPUNGE_CERTIFICATE_KEY_EXPORT_H_
#define EXPUNGE_CERTIFICATE_KEY_EXPORT_H_

#include <string>

#include "certificate/key_set.h"

namespace expunge::certificate {

// A JSON Web Key Set (RFC 7517) of all keys of the set: OKP keys (RFC 8037) with `kid` the key's id, `nbf`
// and, of retired ones, `exp` in seconds since 1970, and `expunge_use` the use. One line, no white space.
[[nodiscard]] std::string JwksFile(const KeySet& set);

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_KEY_EXPORT_H_
