// The master key, under which the vault's tenant keys lie: 32 bytes from a provider.
//
// Two providers: a file that holds the key (below), and a file that holds it sealed under a key which a
// PKCS#11 token keeps (token_master_key.h).
#ifndef EXPUNGE_STORAGE_MASTER_KEY_H_
#define EXPUNGE_STORAGE_MASTER_KEY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/secret.h"

namespace expunge::storage {

// Threads: one call at a time.
class MasterKeyProvider {
 public:
  MasterKeyProvider() = default;
  virtual ~MasterKeyProvider() = default;
  MasterKeyProvider(const MasterKeyProvider&) = delete;
  MasterKeyProvider& operator=(const MasterKeyProvider&) = delete;

  // The key, the same each time; made, durably, if there is none and `may_create` says so.
  // Returns: NotFound if there is none, and it may not be made; other errors as the provider says. The
  // messages are for the operator, and have nothing secret. After an error no existing key or file is
  // changed.
  [[nodiscard]] virtual absl::StatusOr<SecretKey> Load(bool may_create) = 0;

  // What certificates say of it, after "sealed under a key of the tenant, and that under ": printable ASCII,
  // no full stop.
  [[nodiscard]] virtual std::string custody() const = 0;
};

// Reads the file (32 bytes in lower-case hexadecimal, and a line feed), or makes it if it is absent and
// `may_create` says so: mode 0600, all at once, synced with its directory before the key is used.
// Returns: NotFound (absent, and it may not be made: the message says that without the key the data cannot be
// read); PermissionDenied if it is no regular file, belongs to neither this process's user nor root, or
// others may read it; InvalidArgument if its content has another form; Unavailable (kStorageFailed) as the
// system reports. No message has content of the file.
[[nodiscard]] absl::StatusOr<SecretKey> LoadMasterKey(const std::string& path, bool may_create);

// LoadMasterKey as a provider.
[[nodiscard]] std::unique_ptr<MasterKeyProvider> MasterKeyInFile(std::string path);

// What the file beside it is called in which a token keeps the key: this, after the name of the other.
inline constexpr char kSealedMasterKeySuffix[] = ".p11";

}  // namespace expunge::storage

#endif  // EXPUNGE_STORAGE_MASTER_KEY_H_
