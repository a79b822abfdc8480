#include "storage/vault_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/fault_point.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "storage/directory.h"

namespace expunge::storage::vault {
namespace {

constexpr size_t kRunBytes = 8192 * kPlaceBytes;  // the most in one write: 1 MiB

constexpr uint64_t OffsetOf(Slot slot) { return slot * kPlaceBytes; }

absl::Status Create(const std::string& directory, const std::string& path, const SecretKey& master) {
  EXPUNGE_RETURN_IF_ERROR(PrepareDirectory(directory, true));
  Header header;
  const Digest random = RandomDigest();
  std::copy_n(random.begin(), header.id.size(), header.id.begin());
  EXPUNGE_RETURN_IF_ERROR(CreateDurably(path, EncodeHeader(header, master)));
  return SyncFolder(FolderOf(directory));
}

std::string PathIn(const std::string& directory) { return absl::StrCat(directory, "/keys"); }

absl::StatusOr<Descriptor> OpenDescriptor(const std::string& path, int access) {
  Descriptor descriptor(::open(path.c_str(), access | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (descriptor.ok()) return descriptor;
  if (errno != ENOENT) return SystemError(errno, "open", path);
  return absl::NotFoundError(
      absl::StrCat("the key vault ", path,
                   " is missing: without it the records cannot be read; restore it from its backup"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<File>> File::Open(const std::string& directory, const SecretKey& master,
                                                 bool may_create) {
  const std::string path = PathIn(directory);
  absl::StatusOr<Descriptor> descriptor = OpenDescriptor(path, O_RDWR);
  if (absl::IsNotFound(descriptor.status()) && may_create) {
    EXPUNGE_RETURN_IF_ERROR(Create(directory, path, master));
    descriptor = OpenDescriptor(path, O_RDWR);
  }
  EXPUNGE_RETURN_IF_ERROR(descriptor.status());
  auto file = std::unique_ptr<File>(new File(path, *std::move(descriptor)));
  EXPUNGE_RETURN_IF_ERROR(file->Load(master));
  return file;
}

absl::StatusOr<std::unique_ptr<File>> File::OpenForReading(const std::string& directory,
                                                           const SecretKey& master) {
  const std::string path = PathIn(directory);
  EXPUNGE_ASSIGN_OR_RETURN(Descriptor descriptor, OpenDescriptor(path, O_RDONLY));
  auto file = std::unique_ptr<File>(new File(path, std::move(descriptor)));
  EXPUNGE_RETURN_IF_ERROR(file->Load(master));
  return file;
}

absl::Status File::Load(const SecretKey& master) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return SystemError(errno, "examine", path_);
  if (!S_ISREG(status.st_mode)) {
    return MakeError(Reason::kStorageFailed, "",
                     absl::StrCat("the key vault ", path_, " is not a regular file"));
  }
  std::string place(kPlaceBytes, '\0');
  const ssize_t size = ReadAt(file_.get(), 0, place.data(), place.size());
  if (size < 0) return SystemError(errno, "read", path_);
  place.resize(static_cast<size_t>(size));
  EXPUNGE_ASSIGN_OR_RETURN(header_, DecodeHeader(place, master));
  slots_ = static_cast<uint64_t>(status.st_size) / kPlaceBytes - 1;
  return absl::OkStatus();
}

absl::StatusOr<SecretBytes> File::Read(Slot first, size_t count) const {
  SecretBytes places(count * kPlaceBytes);
  const ssize_t got = ReadAt(file_.get(), OffsetOf(first), places.data(), places.size());
  if (got < 0) return SystemError(errno, "read", path_);
  if (static_cast<size_t>(got) == places.size()) return places;
  return MakeError(Reason::kStorageCorrupt, "",
                   absl::StrCat("the key vault ends before slot ", first + count));
}

int File::Write(Slot first, absl::string_view places) {
  return WriteAt(file_.get(), OffsetOf(first), places);
}

int File::WriteHeader(const Header& header, const SecretKey& master) {
  return Write(0, EncodeHeader(header, master));
}

int File::Sync(bool grown) {
  ++syncs_;
  if (!grown && Mutated("vault.sync_overwritten")) return 0;
  return (grown ? ::fsync(file_.get()) : ::fdatasync(file_.get())) == 0 ? 0 : errno;
}

absl::Status SlotError(Slot slot, absl::string_view what) {
  return MakeError(Reason::kStorageCorrupt, "", absl::StrCat("slot ", slot, " of the key vault ", what));
}

absl::Span<const Slot> FirstRun(absl::Span<const Slot> slots) {
  size_t end = 1;
  while (end < slots.size() && end < kReadSlots && slots[end] == slots[end - 1] + 1) ++end;
  return slots.subspan(0, end);
}

SecretBytes* RunWriter::Next(Slot slot) {
  if (slot != next_ || run_.size() >= kRunBytes) Flush();
  if (run_.empty()) first_ = slot;
  next_ = slot + 1;
  return &run_;
}

int RunWriter::Finish() {
  Flush();
  return error_;
}

void RunWriter::Flush() {
  if (!run_.empty() && error_ == 0) error_ = file_->Write(first_, AsView(run_));
  run_.clear();
}

}  // namespace expunge::storage::vault
