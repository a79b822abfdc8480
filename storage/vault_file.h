// The key vault's file: opened or made, read and written by places (vault_format.h). Knows no policy.
#ifndef EXPUNGE_STORAGE_VAULT_FILE_H_
#define EXPUNGE_STORAGE_VAULT_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/durable_file.h"
#include "base/secret.h"
#include "storage/key_vault.h"
#include "storage/vault_format.h"

namespace expunge::storage::vault {

// Threads: reads at any time; of writes, syncs and Grow one at a time.
class File {
 public:
  // As KeyVault::Open.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<File>> Open(const std::string& directory,
                                                                  const SecretKey& master, bool may_create);
  // As KeyVault::OpenForReading.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<File>> OpenForReading(const std::string& directory,
                                                                            const SecretKey& master);

  // As the header was when the file was opened.
  [[nodiscard]] const Header& header() const { return header_; }
  // Whole places after the header. A last one that is cut short was never synced, and doesn't count.
  [[nodiscard]] uint64_t slots() const { return slots_; }

  // The places of `count` slots from `first` on; 0 is the header's. Returns: DataLoss if the file has become
  // shorter; kStorageFailed.
  [[nodiscard]] absl::StatusOr<SecretBytes> Read(Slot first, size_t count) const;

  // Writes whole places from `first` on; 0 is the header's. Returns 0, or the value of errno.
  [[nodiscard]] int Write(Slot first, absl::string_view places);
  [[nodiscard]] int WriteHeader(const Header& header, const SecretKey& master);
  // Makes everything written durable; with `grown`, the file's size too.
  [[nodiscard]] int Sync(bool grown);
  [[nodiscard]] uint64_t syncs() const { return syncs_; }
  // To be called once places beyond the end are durable.
  void Grow(uint64_t slots) { slots_ = slots; }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  File(std::string path, Descriptor descriptor) : path_(std::move(path)), file_(std::move(descriptor)) {}
  absl::Status Load(const SecretKey& master);

  const std::string path_;
  const Descriptor file_;
  Header header_;
  std::atomic<uint64_t> slots_ = 0;
  std::atomic<uint64_t> syncs_ = 0;
};

// What has one of these slots at fault.
[[nodiscard]] absl::Status SlotError(Slot slot, absl::string_view what);

inline constexpr size_t kReadSlots = 8192;  // slots read at a time: 1 MiB
// The beginning of `slots`, ascending, that lies together in the file and may be read at once.
[[nodiscard]] absl::Span<const Slot> FirstRun(absl::Span<const Slot> slots);
// One of the places that File::Read gave.
[[nodiscard]] inline absl::string_view PlaceAt(const SecretBytes& places, size_t index) {
  return AsView(places).substr(index * kPlaceBytes, kPlaceBytes);
}

// Collects places in ascending order and writes neighbours together.
class RunWriter {
 public:
  explicit RunWriter(File* file) : file_(file) {}
  // Where the place of `slot` must be appended before the next call.
  [[nodiscard]] SecretBytes* Next(Slot slot);
  // Writes what is left. Returns 0, or errno of the first write that failed; none follows that.
  [[nodiscard]] int Finish();

 private:
  void Flush();

  File* file_;
  Slot first_ = 0;
  Slot next_ = 0;
  SecretBytes run_;
  int error_ = 0;
};

}  // namespace expunge::storage::vault

#endif  // EXPUNGE_STORAGE_VAULT_FILE_H_
