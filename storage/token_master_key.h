// The master key from a PKCS#11 token.
//
// The token holds an AES-256 key that it doesn't give out. The master key lies in a file beside the data,
// sealed under that key (AES-256-GCM, in the token), and is unsealed by it at each start: from then on it is
// in the memory of the process, as one from a file is. Whoever has the disk alone, without token and PIN,
// has nothing. The PIN comes from a file: arguments and environment are seen by others.
#ifndef EXPUNGE_STORAGE_TOKEN_MASTER_KEY_H_
#define EXPUNGE_STORAGE_TOKEN_MASTER_KEY_H_

#include <memory>
#include <string>

#include "storage/master_key.h"

namespace expunge::storage {

struct TokenMasterKeyOptions {
  std::string module;    // the PKCS#11 library; a name without a folder: where p11-kit looks for modules
  std::string token;     // label of the token
  std::string key;       // label of the AES key in it
  std::string pin_file;  // private as a master key is; a line feed at the end doesn't belong to the PIN
  std::string sealed_file;
};

// Load makes the sealed file, and the token's key if there is none of that label, and opens what it sealed
// before the file gets its name. It returns: NotFound if the sealed file is absent and may not be made, or
// the module, the token, the token's key, or the file with the PIN is absent; PermissionDenied for a wrong
// PIN, which is never tried twice, and for files that others may read; FailedPrecondition if the token's key
// does not open the file (it is another's), can be read out of the token, or is one of two; DataLoss
// (kStorageCorrupt), InvalidArgument if the file is damaged, or none of these; Unavailable (kStorageFailed)
// for what module and system report.
[[nodiscard]] std::unique_ptr<MasterKeyProvider> MasterKeyOnToken(TokenMasterKeyOptions options);

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_TOKEN_MASTER_KEY_H_
