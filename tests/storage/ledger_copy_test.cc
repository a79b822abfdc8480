// The copy of the deletion ledger: what was appended is read back, and damage is noticed wherever it is.
#include "storage/ledger_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "tests/support/documents.h"
#include "tests/support/files.h"

namespace expunge::storage {
namespace {

using ::testing::HasSubstr;

Digest Named(uint8_t name) {
  Digest digest{};
  digest.fill(name);
  return digest;
}

LedgerEntry EntryNumber(int number) {
  LedgerEntry entry{Named(static_cast<uint8_t>(number % 3)), {}};
  for (int i = 0; i <= number % 2; ++i) {
    entry.records.push_back({i == 0 ? Table::kCertificates : Table::kErasures,
                             "key-" + std::to_string(number) + "-" + std::to_string(i),
                             std::string(static_cast<size_t>(number) * 7 + 1, static_cast<char>(number))});
  }
  return entry;
}

std::string TextOf(const LedgerEntry& entry) {
  std::string text(AsView(entry.tenant));
  for (const LedgerRecord& record : entry.records) {
    AppendU64(static_cast<uint64_t>(record.table), &text);
    AppendField(record.key, &text);
    AppendField(record.value, &text);
  }
  return text;
}

std::string Counted(uint8_t first, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(first + i));
  return bytes;
}

// The example of docs/formats/ledger_copy.md, which tests/golden/make_ledger_copy.py makes.
std::string ExampleOfTheDocument() {
  return test_support::ExampleAfter(EXPUNGE_LEDGER_PAGE, "The file has 546 bytes:");
}

const Digest kExampleOwner = DigestFromBytes(Counted(0x00, 32)).value_or(Digest{});

std::vector<LedgerEntry> EntriesOfTheExample() {
  const std::string tenant = Counted(0x20, 32);
  const Digest handle = DigestFromBytes(tenant).value_or(Digest{});
  const std::string first = tenant + std::string("\0\0\0\0\0\0\0\1", 8);
  const std::string second = tenant + std::string("\0\0\0\0\0\0\0\2", 8);
  return {{handle,
           {{Table::kCertificates, first, Counted(0x80, 12)},
            {Table::kErasures, first, Counted(0x90, 10)},
            {Table::kRequests, tenant + Counted(0x40, 32), Counted(0xA0, 8)}}},
          {handle, {{Table::kCertificates, second, Counted(0xB0, 12)}}}};
}

class LedgerCopyTest : public ::testing::Test {
 protected:
  // The first `count` entries in a new file.
  void Make(int count) {
    auto copy = LedgerCopy::Open(path_, kOwner, [](const LedgerEntry&) { return true; });
    ASSERT_TRUE(copy.ok()) << copy.status();
    ends_.push_back(std::filesystem::file_size(path_));
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE((*copy)->Append(EntryNumber(i)).ok());
      ends_.push_back(std::filesystem::file_size(path_));
    }
  }

  // What a reader finds; in `*read`, how many entries, all of which must be those that Make wrote.
  absl::Status Read(int* read, const Digest& owner = kOwner) {
    *read = 0;
    return ReadLedgerCopy(path_, owner, [read](const LedgerEntry& entry) {
      EXPECT_EQ(TextOf(entry), TextOf(EntryNumber(*read)));
      ++*read;
      return true;
    });
  }

  void Write(const std::string& content) { std::ofstream(path_, std::ios::binary) << content; }

  static inline const Digest kOwner = Named(77);
  test_support::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "ledger";
  std::vector<uint64_t> ends_;  // of the header, and of each entry
};

TEST_F(LedgerCopyTest, EntriesAreReadBackInOrderAndAppendedToAfterReopening) {
  Make(3);
  std::vector<std::string> seen;
  {
    auto copy = LedgerCopy::Open(path_, kOwner, [&seen](const LedgerEntry& entry) {
      seen.push_back(TextOf(entry));
      return true;
    });
    ASSERT_TRUE(copy.ok()) << copy.status();
    ASSERT_EQ(seen.size(), 3u);
    ASSERT_TRUE((*copy)->Append(EntryNumber(3)).ok());
  }
  int read = 0;
  EXPECT_TRUE(Read(&read).ok());
  EXPECT_EQ(read, 4);
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(LedgerCopyTest, AFlippedByteIsRefusedWhereverItIs) {
  Make(4);
  const std::string content = test_support::ReadWholeFile(path_);
  for (size_t at = 0; at < content.size(); at += 2) {
    std::string flipped = content;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    Write(flipped);
    int read = 0;
    EXPECT_FALSE(Read(&read).ok()) << "byte " << at;
    EXPECT_FALSE(LedgerCopy::Open(path_, kOwner, [](const LedgerEntry&) { return true; }).ok())
        << "byte " << at;
    EXPECT_EQ(test_support::ReadWholeFile(path_), flipped) << "a damaged file is not changed";
  }
}

TEST_F(LedgerCopyTest, AnEntryThatIsCutShortDoesNotCountAndMakesRoom) {
  Make(4);
  const std::string content = test_support::ReadWholeFile(path_);
  for (size_t size = ends_.front(); size < content.size(); size += 7) {
    const auto whole =
        static_cast<int>(std::upper_bound(ends_.begin(), ends_.end(), size) - ends_.begin() - 1);
    Write(content.substr(0, size));
    int read = 0;
    EXPECT_TRUE(Read(&read).ok()) << size;
    EXPECT_EQ(read, whole) << size;
    {
      auto copy = LedgerCopy::Open(path_, kOwner, [](const LedgerEntry&) { return true; });
      ASSERT_TRUE(copy.ok()) << size << " " << copy.status();
      ASSERT_TRUE((*copy)->Append(EntryNumber(whole)).ok());
    }
    EXPECT_EQ(test_support::ReadWholeFile(path_),
              content.substr(0, ends_.at(static_cast<size_t>(whole) + 1)));
  }
}

TEST_F(LedgerCopyTest, ATailThatWasNeverWrittenIsZerosAndDoesNotCount) {
  Make(2);
  const std::string content = test_support::ReadWholeFile(path_);
  Write(content + std::string(1000, '\0'));
  int read = 0;
  EXPECT_TRUE(Read(&read).ok());
  EXPECT_EQ(read, 2);
  Write(content + std::string(1000, '\0') + "x");
  EXPECT_TRUE(absl::IsDataLoss(Read(&read)));
}

TEST_F(LedgerCopyTest, AnEntryThatIsTakenOutIsNoticed) {
  Make(4);
  const std::string content = test_support::ReadWholeFile(path_);
  Write(content.substr(0, ends_[1]) + content.substr(ends_[2]));
  int read = 0;
  const absl::Status status = Read(&read);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("entry 2"));
}

TEST_F(LedgerCopyTest, AnotherStoresFileAndOtherFilesAreRefusedAndKept) {
  Make(1);
  int read = 0;
  EXPECT_TRUE(absl::IsFailedPrecondition(Read(&read, Named(78))));
  Write("a shopping list, longer than a header of forty-eight bytes");
  EXPECT_TRUE(absl::IsFailedPrecondition(Read(&read)));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      LedgerCopy::Open(path_, kOwner, [](const LedgerEntry&) { return true; }).status()));
  EXPECT_THAT(test_support::ReadWholeFile(path_), HasSubstr("shopping"));
}

TEST_F(LedgerCopyTest, TheExampleOfTheDocumentIsRead) {
  const std::string example = ExampleOfTheDocument();
  ASSERT_EQ(example.size(), 546U);
  Write(example);
  std::vector<std::string> seen;
  const absl::Status status = ReadLedgerCopy(path_, kExampleOwner, [&seen](const LedgerEntry& entry) {
    seen.push_back(TextOf(entry));
    return true;
  });
  EXPECT_TRUE(status.ok()) << status;
  std::vector<std::string> expected;
  for (const LedgerEntry& entry : EntriesOfTheExample()) expected.push_back(TextOf(entry));
  EXPECT_EQ(seen, expected);
}

TEST_F(LedgerCopyTest, WhatIsWrittenIsTheExampleOfTheDocument) {
  auto copy = LedgerCopy::Open(path_, kExampleOwner, [](const LedgerEntry&) { return true; });
  ASSERT_TRUE(copy.ok()) << copy.status();
  for (const LedgerEntry& entry : EntriesOfTheExample()) ASSERT_TRUE((*copy)->Append(entry).ok());
  EXPECT_EQ(ToHex(test_support::ReadWholeFile(path_)), ToHex(ExampleOfTheDocument()));
}

TEST_F(LedgerCopyTest, AReaderMakesNoFile) {
  int read = 0;
  EXPECT_TRUE(absl::IsNotFound(Read(&read)));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(LedgerCopyTest, AfterAWriteThatFailsNothingMoreIsTaken) {
  Make(1);
  auto copy = LedgerCopy::Open(path_, kOwner, [](const LedgerEntry&) { return true; });
  ASSERT_TRUE(copy.ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full{ends_.back() + 10, before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const absl::Status failed = (*copy)->Append(EntryNumber(1));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(GetReason(failed), Reason::kStorageFailed) << failed;
  EXPECT_FALSE((*copy)->writable());
  EXPECT_EQ(GetReason((*copy)->Append(EntryNumber(1))), Reason::kStorageFailed);
  int read = 0;
  EXPECT_TRUE(Read(&read).ok());
  EXPECT_EQ(read, 1);
}

}  // namespace
}  // namespace expunge::storage
