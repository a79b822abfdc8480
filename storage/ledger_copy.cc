#include "storage/ledger_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/fault_point.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace expunge::storage {
namespace {

constexpr absl::string_view kMagic = "EXPLEDGR";
constexpr uint64_t kVersion = 1;
constexpr size_t kHeaderBytes = 48;  // magic, version, owner
constexpr size_t kHeadBytes = 16;    // of an entry: length, check of the length
constexpr size_t kCheckBytes = sizeof(Digest);
// No entry comes near: two certificates of 250,000 tokens.
constexpr uint64_t kMostBytes = uint64_t{1} << 31;

std::string Header(const Digest& owner) {
  std::string header(kMagic);
  AppendU64(kVersion, &header);
  return absl::StrCat(header, AsView(owner));
}

// The length of a body, with a check of its own: a damaged length must not look like the end of the file.
std::string Head(uint64_t length, const Digest& check_before) {
  std::string head;
  AppendU64(length, &head);
  const Digest check = Sha256(absl::StrCat("head", AsView(check_before), head));
  return absl::StrCat(head, AsView(check).substr(0, kHeadBytes - head.size()));
}

Digest CheckOf(absl::string_view head, absl::string_view body, const Digest& check_before) {
  Sha256Stream stream;
  stream.Update(AsView(check_before));
  stream.Update(head);
  stream.Update(body);
  return stream.Finish();
}

std::string EncodeBody(const LedgerEntry& entry) {
  std::string body(AsView(entry.tenant));
  AppendU64(entry.records.size(), &body);
  for (const LedgerRecord& record : entry.records) {
    AppendU64(static_cast<uint64_t>(record.table), &body);
    AppendField(record.key, &body);
    AppendField(record.value, &body);
  }
  return body;
}

// Takes a part off the front of `*bytes`; nullopt if they end before it does.
std::optional<absl::string_view> TakePart(uint64_t size, absl::string_view* bytes) {
  if (bytes->size() < size) return std::nullopt;
  const absl::string_view part = bytes->substr(0, size);
  bytes->remove_prefix(size);
  return part;
}

std::optional<uint64_t> TakeNumber(absl::string_view* bytes) {
  const auto part = TakePart(sizeof(uint64_t), bytes);
  return part.has_value() ? std::optional(ReadU64(*part)) : std::nullopt;
}

std::optional<absl::string_view> TakeField(absl::string_view* bytes) {
  const auto size = TakeNumber(bytes);
  return size.has_value() ? TakePart(*size, bytes) : std::nullopt;
}

std::optional<LedgerEntry> DecodeBody(absl::string_view body) {
  const auto tenant = TakePart(sizeof(Digest), &body);
  const auto count = TakeNumber(&body);
  if (!tenant.has_value() || !count.has_value()) return std::nullopt;
  LedgerEntry entry;
  std::copy(tenant->begin(), tenant->end(), entry.tenant.begin());
  for (uint64_t i = 0; i < *count; ++i) {
    const auto table = TakeNumber(&body);
    const auto key = TakeField(&body);
    const auto value = TakeField(&body);
    if (!value.has_value() || *table > static_cast<uint64_t>(kLastTable)) return std::nullopt;
    entry.records.push_back({static_cast<Table>(*table), std::string(*key), std::string(*value)});
  }
  return body.empty() ? std::optional(std::move(entry)) : std::nullopt;
}

// Where the entries that count end, and the check of the last.
struct End {
  uint64_t offset = 0;
  Digest check{};
};

// Reads a file from its beginning.
class Reader {
 public:
  Reader(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  absl::Status ReadHeader(const Digest& owner);
  // Every entry that is complete.
  absl::StatusOr<End> ReadEntries(const VisitLedgerEntry& visit);

 private:
  absl::StatusOr<std::string> Read(uint64_t offset, uint64_t bytes) const;
  // nullopt at the end, or where the last entry is cut short.
  absl::StatusOr<std::optional<LedgerEntry>> ReadEntry();
  absl::StatusOr<bool> OnlyZerosFrom(uint64_t offset) const;
  [[nodiscard]] absl::Status Damaged() const {
    return MakeError(Reason::kStorageCorrupt, "",
                     absl::StrCat("entry ", number_ + 1, " of the ledger copy ", path_, " is damaged"));
  }

  const std::string path_;
  const int descriptor_;
  uint64_t size_ = 0;
  uint64_t number_ = 0;  // of entries read
  End end_;
};

absl::StatusOr<std::string> Reader::Read(uint64_t offset, uint64_t bytes) const {
  std::string content(bytes, '\0');
  const ssize_t got = ReadAt(descriptor_, offset, content.data(), content.size());
  if (got < 0) return SystemError(errno, "read", path_);
  content.resize(static_cast<size_t>(got));
  return content;
}

absl::Status Reader::ReadHeader(const Digest& owner) {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return SystemError(errno, "examine", path_);
  size_ = static_cast<uint64_t>(status.st_size);
  EXPUNGE_ASSIGN_OR_RETURN(const std::string header, Read(0, kHeaderBytes));
  if (header == Header(owner)) {
    end_ = {kHeaderBytes, Sha256(header)};
    return absl::OkStatus();
  }
  if (!S_ISREG(status.st_mode) || header.size() < kHeaderBytes || header.compare(0, 8, std::string(kMagic))) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, " is not a copy of a deletion ledger: name another file"));
  }
  if (const uint64_t version = ReadU64(absl::string_view(header).substr(8)); version > kVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the ledger copy ", path_, " has format ", version,
                                                      ", and this program knows format ", kVersion));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the ledger copy ", path_, " belongs to another data directory, or its header is damaged"));
}

absl::StatusOr<bool> Reader::OnlyZerosFrom(uint64_t offset) const {
  constexpr uint64_t kStep = uint64_t{1} << 20;
  for (; offset < size_; offset += kStep) {
    EXPUNGE_ASSIGN_OR_RETURN(const std::string part, Read(offset, std::min(kStep, size_ - offset)));
    if (part.find_first_not_of('\0') != std::string::npos) return false;
  }
  return true;
}

absl::StatusOr<std::optional<LedgerEntry>> Reader::ReadEntry() {
  const std::optional<LedgerEntry> none;
  const uint64_t left = size_ - end_.offset;
  if (left < kHeadBytes) return none;
  EXPUNGE_ASSIGN_OR_RETURN(const std::string head, Read(end_.offset, kHeadBytes));
  const uint64_t length = ReadU64(head);
  if (head != Head(length, end_.check) || length > kMostBytes) {
    // Some file systems make a file longer before they write what is in it.
    EXPUNGE_ASSIGN_OR_RETURN(const bool unwritten, OnlyZerosFrom(end_.offset));
    if (unwritten) return none;
    return Damaged();
  }
  if (left < kHeadBytes + length + kCheckBytes) return none;
  EXPUNGE_ASSIGN_OR_RETURN(const std::string body, Read(end_.offset + kHeadBytes, length));
  EXPUNGE_ASSIGN_OR_RETURN(const std::string stored, Read(end_.offset + kHeadBytes + length, kCheckBytes));
  const Digest check = CheckOf(head, body, end_.check);
  std::optional<LedgerEntry> entry = DecodeBody(body);
  if (AsView(check) != stored || !entry.has_value()) return Damaged();
  end_ = {end_.offset + kHeadBytes + length + kCheckBytes, check};
  ++number_;
  return entry;
}

absl::StatusOr<End> Reader::ReadEntries(const VisitLedgerEntry& visit) {
  bool wanted = true;
  for (;;) {
    EXPUNGE_ASSIGN_OR_RETURN(const std::optional<LedgerEntry> entry, ReadEntry());
    if (!entry.has_value()) return end_;
    wanted = wanted && visit(*entry);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<LedgerCopy>> LedgerCopy::Open(const std::string& path, const Digest& owner,
                                                             const VisitLedgerEntry& visit) {
  const auto open = [&path] { return Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY)); };
  Descriptor descriptor = open();
  if (!descriptor.ok() && errno == ENOENT) {
    EXPUNGE_RETURN_IF_ERROR(CreateDurably(path, Header(owner)));
    descriptor = open();
  }
  if (!descriptor.ok()) return SystemError(errno, "open", path);
  Reader reader(path, descriptor.get());
  EXPUNGE_RETURN_IF_ERROR(reader.ReadHeader(owner));
  EXPUNGE_ASSIGN_OR_RETURN(const End end, reader.ReadEntries(visit));
  if (::ftruncate(descriptor.get(), static_cast<off_t>(end.offset)) != 0 || ::fsync(descriptor.get()) != 0) {
    return SystemError(errno, "cut", path);
  }
  std::unique_ptr<LedgerCopy> copy(new LedgerCopy(path, std::move(descriptor)));
  copy->end_ = end.offset;
  copy->last_check_ = end.check;
  return copy;
}

absl::Status LedgerCopy::Append(const LedgerEntry& entry) {
  const std::lock_guard lock(mutex_);
  if (!writable_) {
    return MakeError(Reason::kStorageFailed, "",
                     absl::StrCat("an earlier write to the ledger copy ", path_,
                                  " failed: see to its disk, then restart the server"));
  }
  const std::string body = EncodeBody(entry);
  const std::string head = Head(body.size(), last_check_);
  const Digest check = CheckOf(head, body, last_check_);
  const std::string bytes = absl::StrCat(head, body, AsView(check));
  int error = WriteAt(file_.get(), end_, bytes);
  CrashPoint("ledger_copy.written");
  if (error == 0 && ::fdatasync(file_.get()) != 0) error = errno;
  if (error != 0) {
    writable_ = false;
    return SystemError(error, "write", path_);
  }
  CrashPoint("ledger_copy.synced");
  end_ += bytes.size();
  last_check_ = check;
  return absl::OkStatus();
}

absl::Status ReadLedgerCopy(const std::string& path, const Digest& owner, const VisitLedgerEntry& visit) {
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!descriptor.ok() && errno == ENOENT) {
    return absl::NotFoundError(absl::StrCat("there is no ledger copy ", path));
  }
  if (!descriptor.ok()) return SystemError(errno, "open", path);
  Reader reader(path, descriptor.get());
  EXPUNGE_RETURN_IF_ERROR(reader.ReadHeader(owner));
  return reader.ReadEntries(visit).status();
}

}  // namespace expunge::storage
