// Where the private key of one use is kept, and how the next key takes its place.
//
// A rotation: PrepareNext makes the next key, beside the active one, durably; then the service records
// durably that it is the active one from now on; then Promote destroys the old key and puts the next in its
// place. Whatever crashes, the record tells which of the two belongs there (server/core/keys.h).
#ifndef EXPUNGE_CERTIFICATE_KEY_KEEPER_H_
#define EXPUNGE_CERTIFICATE_KEY_KEEPER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "certificate/signer.h"

namespace expunge::certificate {

// A key that is destroyed is overwritten, synced, and only then removed: what a file system or a drive keeps
// of it elsewhere is beyond reach. Threads: one call at a time; what it returned, any number.
class KeyKeeper {
 public:
  using Key = std::shared_ptr<const Signer>;

  KeyKeeper() = default;
  virtual ~KeyKeeper() = default;
  KeyKeeper(const KeyKeeper&) = delete;
  KeyKeeper& operator=(const KeyKeeper&) = delete;

  // The active key; the one that was prepared. Returns: NotFound if there is none; PermissionDenied,
  // InvalidArgument, Unavailable for whatever else stands in the way. The messages say what to do.
  [[nodiscard]] virtual absl::StatusOr<Key> Load() = 0;
  [[nodiscard]] virtual absl::StatusOr<Key> LoadNext() = 0;
  // The active key, made if there is none. Returns: as Load.
  [[nodiscard]] virtual absl::StatusOr<Key> LoadOrCreate() = 0;

  // A new key, instead of one that was prepared before. Returns: Unavailable.
  [[nodiscard]] virtual absl::StatusOr<Key> PrepareNext() = 0;
  // The key that was prepared becomes the active one; the active one, if there is one, is destroyed.
  // REQUIRES: LoadNext would return one. Returns: Unavailable; then both steps may be half done, and calling
  // it again finishes them.
  [[nodiscard]] virtual absl::Status Promote() = 0;
  // Destroys the key that was prepared, if there is one. Returns: Unavailable.
  [[nodiscard]] virtual absl::Status DropNext() = 0;

  // For messages, such as "the key file /etc/expunge/signing_key.pem".
  [[nodiscard]] virtual std::string place() const = 0;
};

// Keeps the key in the file `path` (mode 0600; SigningKey::LoadOrCreate), and the next one in a file beside
// it, whose name ends in kNextKeySuffix.
[[nodiscard]] std::shared_ptr<KeyKeeper> KeyInFile(std::string path);
inline constexpr char kNextKeySuffix[] = ".next";

}  // namespace expunge::certificate

#endif  // EXPUNGE_CERTIFICATE_KEY_KEEPER_H_
