// One flipped bit, or a cut, at sampled places of every file of a data directory; or the file removed. A
// start refuses, or a call reports damage, or everything is served as it was. Nothing is ever served that was
// not stored, and nothing that was acknowledged is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/server/core/service_fixture.h"

namespace expunge::core {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

constexpr uint32_t kSeed = 20261130;
constexpr size_t kFlips = 24;  // a file
constexpr size_t kCuts = 12;
constexpr char kOther[] = "tenants/acme/memories/other";

// What kind of file it is, by its name.
std::string KindOf(const fs::path& file) {
  const std::string name = file.filename().string();
  for (const char* kind : {"MANIFEST", "OPTIONS", "LOG"}) {
    if (absl::StartsWith(name, kind)) return kind;
  }
  return file.extension() == ".sst" || file.extension() == ".log" ? file.extension().string() : name;
}

// Where the records of a log or a MANIFEST begin: RocksDB gives both one form, blocks of 32 KiB with records
// of checksum (4 bytes), length (2, little-endian), type (1) and content. A cut there leaves no half record.
std::vector<uintmax_t> RecordsOf(const std::string& bytes) {
  constexpr size_t kBlock = 32768;
  constexpr size_t kHeader = 7;
  std::vector<uintmax_t> begins;
  for (size_t at = 0; at + kHeader <= bytes.size();) {
    const size_t left = kBlock - at % kBlock;
    if (left < kHeader) {
      at += left;
      continue;
    }
    begins.push_back(at);
    at +=
        kHeader + static_cast<unsigned char>(bytes[at + 4]) + 256 * static_cast<unsigned char>(bytes[at + 5]);
  }
  return begins;
}

// A service on a directory, as the server makes it: with all files in it.
struct Opened {
  absl::Status status;
  std::unique_ptr<Service> service;
};

Opened OpenAll(const std::string& data) {
  auto store = storage::SealedStore::Open({data + "/db", "", "", {}});
  if (!store.ok()) return {store.status(), nullptr};
  auto service = Service::Open(*std::move(store),
                               {certificate::KeyInFile(data + "/signing_key.pem"),
                                certificate::KeyInFile(data + "/checkpoint_key.pem")},
                               [] { return absl::FromUnixSeconds(1'780'000'000); });
  if (!service.ok()) return {service.status(), nullptr};
  return {absl::OkStatus(), *std::move(service)};
}

// Collects answers; keeps the first error.
class Answers {
 public:
  template <typename Response>
  void Take(const absl::StatusOr<Response>& response) {
    if (!response.ok()) {
      if (status_.ok()) status_ = response.status();
      return;
    }
    text_ += response->SerializeAsString();
  }
  [[nodiscard]] absl::StatusOr<std::string> Result() const {
    if (!status_.ok()) return status_;
    return text_;
  }

 private:
  absl::Status status_;
  std::string text_;
};

template <typename Request>
Request Named(const std::string& name) {
  Request request;
  request.set_name(name);
  return request;
}

template <typename Request>
Request Under(const std::string& parent) {
  Request request;
  request.set_parent(parent);
  return request;
}

// All that a client can see.
absl::StatusOr<std::string> View(Service& service) {
  Answers answers;
  const auto memories = service.ListMemories(Under<v1::ListMemoriesRequest>(kTenant));
  answers.Take(memories);
  if (!memories.ok()) return memories.status();
  for (const v1::Memory& memory : memories->memories()) {
    auto get = Named<v1::GetMemoryRequest>(memory.name());
    get.set_view(v1::MEMORY_VIEW_FULL);
    answers.Take(service.GetMemory(get));
    auto list = Under<v1::ListTokensRequest>(memory.name());
    list.set_page_size(1000);
    answers.Take(service.ListTokens(list));
    if (memory.token_count() == 0) continue;
    auto read = Named<v1::ReadRequest>(memory.name());
    *read.mutable_queries() = Pack({0.5, -0.25, 1, 1, -3, 2}, kKeyDimension);
    answers.Take(service.Read(read));
  }
  auto certificates = Under<v1::ListCertificatesRequest>(kTenant);
  certificates.set_page_size(1000);
  answers.Take(service.ListCertificates(certificates));
  answers.Take(service.ListSigningKeys({}));
  auto status = service.GetErasureStatus(Under<v1::GetErasureStatusRequest>(kTenant));
  if (status.ok()) status->clear_oldest_age();  // by another clock
  answers.Take(status);
  return answers.Result();
}

v1::DeleteRequest DeleteOf(const std::string& memory, const std::string& id) {
  auto request = Under<v1::DeleteRequest>(memory);
  request.add_token_ids(id);
  request.set_request_id("delete-" + id);
  return request;
}

// What changes the directory, one after the other; each has a request id, so that a retry gets its answer.
const std::vector<std::function<absl::StatusOr<std::string>(Service&)>>& Changes() {
  const auto text = [](const auto& response) -> absl::StatusOr<std::string> {
    if (!response.ok()) return response.status();
    return response->SerializeAsString();
  };
  const auto create = [text](const std::string& id) {
    return [text, id](Service& service) {
      auto request = Under<v1::CreateMemoryRequest>(kTenant);
      request.set_memory_id(id);
      request.set_request_id("create-" + id);
      *request.mutable_config() = SmallConfig();
      return text(service.CreateMemory(request));
    };
  };
  const auto add = [text](const std::string& memory, const std::string& prefix, int count) {
    return [=](Service& service) {
      return text(service.Add(AddRequestFor(memory, MakePoints(prefix, count), "add-" + prefix)));
    };
  };
  const auto remove = [text](const std::string& memory, const std::string& id) {
    return [=](Service& service) { return text(service.Delete(DeleteOf(memory, id))); };
  };
  const auto certify = [text](const std::string& memory) {
    return [=](Service& service) {
      auto request = Named<v1::CertifyRequest>(memory);
      request.set_request_id("certify-" + memory.substr(memory.rfind('/') + 1));
      return text(service.Certify(request));
    };
  };
  static const auto& changes = *new std::vector<std::function<absl::StatusOr<std::string>(Service&)>>{
      create("cells"), add(kMemory, "a", 12), remove(kMemory, "a3"),
      // From here on after a restart: the ones before lie in tables then, these in the log.
      create("other"), add(kOther, "b", 7), certify(kMemory), remove(kOther, "b1"),
      // From here on the vault sees nothing.
      add(kMemory, "c", 3), add(kOther, "d", 2), certify(kOther)};
  return changes;
}
constexpr size_t kBeforeRestart = 3;
constexpr size_t kWithLastDelete = 7;

class DamageTest : public ::testing::Test {
 protected:
  enum class Outcome { kRefused, kReported, kRight, kRolledBack, kWrong };

  // A directory in which the first `count` changes were made.
  void Make(size_t count) {
    changes_ = count;
    data_ = directory_ / "data";
    fs::create_directory(data_);
    for (size_t done = 0; done < count;) {
      const Opened opened = OpenAll(data_);
      ASSERT_TRUE(opened.status.ok()) << opened.status;
      const size_t until = done < kBeforeRestart ? kBeforeRestart : count;
      for (; done < until; ++done) {
        const auto answer = Changes()[done](*opened.service);
        ASSERT_TRUE(answer.ok()) << answer.status();
        views_.push_back(View(*opened.service).value_or(""));
        answers_.push_back(*answer);
      }
      if (until == kBeforeRestart) {
        ASSERT_TRUE(opened.service->EraseBytes().ok());
      }
      views_.back() = View(*opened.service).value_or("");
    }
    for (const std::string& view : views_) ASSERT_FALSE(view.empty());
  }

  [[nodiscard]] std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(data_)) {
      if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), data_));
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  // A fresh copy, in which `damage` is done to `file`; then a start, and every call.
  template <typename Damage>
  Outcome Try(const fs::path& file, const Damage& damage) {
    const fs::path copy = directory_ / "copy";
    fs::remove_all(copy);
    fs::copy(data_, copy, fs::copy_options::recursive);
    damage(copy / file);
    const Opened opened = OpenAll(copy.string());
    if (!opened.status.ok()) return Error(file, opened.status, Outcome::kRefused);
    const absl::StatusOr<std::string> view = View(*opened.service);
    if (!view.ok()) return Error(file, view.status(), Outcome::kReported);
    if (*view == views_.back()) return Retries(file, *opened.service);
    const auto earlier = std::find(views_.begin(), views_.end(), *view);
    if (earlier == views_.end()) return Outcome::kWrong;
    return Outcome::kRolledBack;
  }

  // Retries get the answers of then.
  Outcome Retries(const fs::path& file, Service& service) {
    for (size_t i = 0; i < changes_; ++i) {
      const absl::StatusOr<std::string> answer = Changes()[i](service);
      if (!answer.ok()) {
        const Reason reason = GetReason(answer.status()).value_or(Reason::kInternal);
        if (reason != Reason::kStorageCorrupt && reason != Reason::kStorageFailed) return Outcome::kWrong;
        return Error(file, answer.status(), Outcome::kReported);
      }
      if (*answer != expected_[i]) return Outcome::kWrong;
    }
    return Outcome::kRight;
  }

  // What retries get from the undamaged directory: without the receipts of tokens that are gone.
  void NoteRetries() {
    const fs::path copy = directory_ / "whole";
    fs::copy(data_, copy, fs::copy_options::recursive);
    const Opened opened = OpenAll(copy.string());
    ASSERT_TRUE(opened.status.ok()) << opened.status;
    EXPECT_EQ(View(*opened.service).value_or(""), views_.back());
    for (size_t i = 0; i < changes_; ++i) expected_.push_back(Changes()[i](*opened.service).value_or(""));
    EXPECT_EQ(expected_.back(), answers_.back());
  }

  // A damage that is told must be told as one, with the part that has it.
  Outcome Error(const fs::path& file, const absl::Status& status, Outcome outcome) {
    messages_[KindOf(file)].insert(std::string(status.message()));
    EXPECT_THAT(status.code(), AnyOf(absl::StatusCode::kDataLoss, absl::StatusCode::kFailedPrecondition,
                                     absl::StatusCode::kInvalidArgument, absl::StatusCode::kNotFound,
                                     absl::StatusCode::kUnavailable))
        << file << ": " << status;
    EXPECT_THAT(std::string(status.message()),
                AnyOf(HasSubstr("database"), HasSubstr("vault"), HasSubstr("master key"), HasSubstr("table"),
                      HasSubstr("signing_key.pem"), HasSubstr("checkpoint_key.pem"), HasSubstr("signing key"),
                      HasSubstr("record"), HasSubstr("certificate")))
        << file;
    return outcome;
  }

  void Count(const fs::path& file, const std::string& how, Outcome outcome) {
    ++counts_[KindOf(file)][outcome];
    EXPECT_NE(outcome, Outcome::kWrong) << file << " " << how;
    if (outcome == Outcome::kRolledBack) rolled_back_.insert(KindOf(file));
  }

  void TryAll() {
    NoteRetries();
    for (const fs::path& file : Files()) {
      const uintmax_t size = fs::file_size(data_ / file);
      if (size == 0) ++counts_[KindOf(file)][Outcome::kRight];
      for (const uintmax_t at : Sample(size, kFlips)) Flip(file, at, size);
      std::vector<uintmax_t> cuts = Sample(size, kCuts);
      if (KindOf(file) == ".log" || KindOf(file) == "MANIFEST") {
        const std::vector<uintmax_t> records = RecordsOf(test_support::ReadWholeFile(data_ / file));
        EXPECT_GT(records.size(), 1U) << file;
        cuts.insert(cuts.end(), records.begin(), records.end());
      }
      for (const uintmax_t left : cuts) Cut(file, left, size);
      Count(file, "removed", Try(file, [](const fs::path& path) { fs::remove(path); }));
    }
    Print();
  }

  // Some place in each of `count` parts of equal length; every place of a small file.
  std::vector<uintmax_t> Sample(uintmax_t size, uintmax_t count) {
    std::vector<uintmax_t> places;
    const uintmax_t parts = std::min(size, count);
    for (uintmax_t i = 0; i < parts; ++i) {
      const uintmax_t begin = i * size / parts;
      places.push_back(begin + generator_() % ((i + 1) * size / parts - begin));
    }
    return places;
  }

  void Flip(const fs::path& file, uintmax_t at, uintmax_t size) {
    const auto bit = generator_() % 8;
    const auto flip = [=](const fs::path& path) {
      std::fstream stream(path, std::ios::binary | std::ios::in | std::ios::out);
      stream.seekg(static_cast<std::streamoff>(at));
      const int byte = stream.get();
      stream.seekp(static_cast<std::streamoff>(at));
      stream.put(static_cast<char>(byte ^ 1 << bit));
    };
    Count(file, absl::StrCat("bit ", bit, " of byte ", at, " of ", size), Try(file, flip));
  }

  void Cut(const fs::path& file, uintmax_t left, uintmax_t size) {
    Count(file, absl::StrCat("cut to ", left, " of ", size),
          Try(file, [left](const fs::path& path) { fs::resize_file(path, left); }));
  }

  void Print() {
    std::printf("%-16s %8s %8s %8s %8s\n", "file", "refused", "reported", "right", "back");
    for (auto& [kind, count] : counts_) {
      std::printf("%-16s %8zu %8zu %8zu %8zu\n", kind.c_str(), count[Outcome::kRefused],
                  count[Outcome::kReported], count[Outcome::kRight], count[Outcome::kRolledBack]);
      for (const std::string& message : messages_[kind]) std::printf("    %.220s\n", message.c_str());
    }
    std::printf("seed %u\n", kSeed);
  }

  // Every kind of file was there, and damage to those that carry something was noticed.
  void ExpectAllKinds() {
    std::set<std::string> noticed;
    std::set<std::string> kinds;
    for (auto& [kind, count] : counts_) {
      kinds.insert(kind);
      if (count[Outcome::kRefused] + count[Outcome::kReported] > 0) noticed.insert(kind);
    }
    EXPECT_THAT(kinds,
                IsSupersetOf({".log", ".sst", "CURRENT", "IDENTITY", "LOCK", "LOG", "MANIFEST", "OPTIONS",
                              "checkpoint_key.pem", "keys", "lock", "master.key", "signing_key.pem"}));
    EXPECT_THAT(noticed, IsSupersetOf({".log", ".sst", "CURRENT", "MANIFEST", "keys", "master.key",
                                       "signing_key.pem"}));
  }

  test_support::TemporaryDirectory directory_;
  std::mt19937 generator_{kSeed};
  std::string data_;
  size_t changes_ = 0;
  std::vector<std::string> views_;     // after each change
  std::vector<std::string> answers_;   // of each change
  std::vector<std::string> expected_;  // of its retry
  std::map<std::string, std::map<Outcome, size_t>> counts_;
  std::map<std::string, std::set<std::string>> messages_;
  std::set<std::string> rolled_back_;  // kinds of files
};

TEST_F(DamageTest, AfterADeletionNoDamageIsServedAndNothingIsLostUnnoticed) {
  ASSERT_NO_FATAL_FAILURE(Make(kWithLastDelete));
  TryAll();
  ExpectAllKinds();
  EXPECT_THAT(rolled_back_, IsEmpty());
}

// The vault notes every change, if only without a sync: a cut in the log is not taken for a crash.
TEST_F(DamageTest, AfterAdditionsNothingIsLostUnnoticedEither) {
  ASSERT_NO_FATAL_FAILURE(Make(Changes().size()));
  TryAll();
  ExpectAllKinds();
  EXPECT_THAT(rolled_back_, IsEmpty());
}

}  // namespace
}  // namespace expunge::core
