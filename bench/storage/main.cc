// storage_bench: what do durable, sealed operations cost, against the disk's own floor?
//
// A real service without its transport, over a real directory. "sync floor" is one synced write of 100 bytes
// to the same database; every other row is also given as a multiple of it. Syncs of the vault are counted by
// the vault; each operation adds one sync of the database.
//
// Exit status: 0 done; 1 an operation failed; 2 wrong usage, or a file that cannot be written.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "bench/results.h"
#include "certificate/key_keeper.h"
#include "server/core/service.h"
#include "storage/records.pb.h"
#include "storage/sealed_store.h"

namespace expunge::bench {
namespace {

using Seconds = std::chrono::duration<double>;
using SteadyClock = std::chrono::steady_clock;

constexpr uint32_t kDimension = 64;
constexpr char kMemory[] = "tenants/bench/memories/m";
constexpr char kFooter[] = R"(Examples:
  storage_bench                       a restart of 100,000 tokens, 1 GiB to erase: some minutes
  storage_bench --tokens 5000 --erase-mib 64
                                      half a minute
  storage_bench --directory /mnt/ssd  another disk)";

struct Arguments {
  int tokens = 100'000;
  int repetitions = 30;
  int erase_mib = 1024;
  std::string directory;  // empty: the system's for temporary files
  std::string out;
};

struct Row {
  std::string name;
  double median_ms = 0;
  double vault_syncs = -1;  // a call; below 0: not counted
  double sealing_ms = -1;   // of the median; below 0: not measured
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// The service, and what is measured of it.
class Bench {
 public:
  Bench(std::string directory, Arguments arguments)
      : directory_(std::move(directory)),
        arguments_(std::move(arguments)),
        keys_{certificate::KeyInFile(directory_ + "/signing_key.pem"),
              certificate::KeyInFile(directory_ + "/checkpoint_key.pem")} {}

  absl::Status Run() {
    EXPUNGE_RETURN_IF_ERROR(Open());
    EXPUNGE_RETURN_IF_ERROR(Create());
    EXPUNGE_RETURN_IF_ERROR(SyncFloor());
    EXPUNGE_RETURN_IF_ERROR(Measure("Add of 1 token", arguments_.repetitions, [this] { return Add(1); }));
    EXPUNGE_RETURN_IF_ERROR(MeasureSealing(1, kRecordsOfAdd));
    EXPUNGE_RETURN_IF_ERROR(
        Measure("Add of 100 tokens", arguments_.repetitions, [this] { return Add(100); }));
    EXPUNGE_RETURN_IF_ERROR(MeasureSealing(100, kRecordsOfAdd));
    sealing_share_ = rows_.back().sealing_ms / rows_.back().median_ms;
    EXPUNGE_RETURN_IF_ERROR(
        Measure("Delete of 1 token", arguments_.repetitions, [this] { return Delete(1); }));
    EXPUNGE_RETURN_IF_ERROR(MeasureSealing(0, kRecordsOfDelete));
    EXPUNGE_RETURN_IF_ERROR(Measure("Delete of 100 tokens", std::min(5, arguments_.repetitions / 2),
                                    [this] { return Delete(100); }));
    while (next_ - first_ + 10'000 <= arguments_.tokens) {
      EXPUNGE_RETURN_IF_ERROR(Measure("Add of 10,000 tokens", 1, [this] { return Add(10'000); }));
      if (rows_.back().name != rows_[rows_.size() - 2].name) {
        EXPUNGE_RETURN_IF_ERROR(MeasureSealing(10'000, kRecordsOfAdd));
      }
    }
    EXPUNGE_RETURN_IF_ERROR(Measure("Purge of 1 subject with 1 token", 5, [this] { return Purge(); }));
    bytes_before_ = DatabaseBytes();
    EXPUNGE_RETURN_IF_ERROR(
        Measure("byte purge of the whole database", 1, [this] { return service_->EraseBytes(); }));
    bytes_after_ = DatabaseBytes();
    service_.reset();
    const std::string restart = absl::StrCat("restart with ", next_ - first_, " tokens");
    EXPUNGE_RETURN_IF_ERROR(Measure(restart, 1, [this] { return Open(); }));
    return EraseLarge();
  }

  void Print() const {
    std::printf("%-36s %12s %10s %12s %10s\n", "", "median ms", "x floor", "vault syncs", "sealing");
    for (const Row& row : rows_) {
      std::printf("%-36s %12.3f %10.1f", row.name.c_str(), row.median_ms,
                  row.median_ms / rows_.front().median_ms);
      if (row.vault_syncs >= 0) std::printf(" %12.2f", row.vault_syncs);
      if (row.sealing_ms >= 0) std::printf(" %8.1f %%", 100 * row.sealing_ms / row.median_ms);
      std::printf("\n");
    }
    std::printf("\nSealing is %.1f %% of an Add of 100 tokens (d = %u).\n", 100 * sealing_share_, kDimension);
    std::printf("Database before and after the byte purge: %.1f and %.1f MiB; vectors alone: %.1f MiB.\n",
                bytes_before_ / kMiB, bytes_after_ / kMiB, VectorBytes() / kMiB);
    std::printf("While %d MiB were erased down to half, the database had at most %.0f MiB; after it, %.0f.\n",
                arguments_.erase_mib, large_peak_ / kMiB, large_after_ / kMiB);
  }

  [[nodiscard]] std::string Json() const {
    nlohmann::json json;
    for (const Row& row : rows_) {
      json["rows"].push_back({{"name", row.name},
                              {"median_ms", row.median_ms},
                              {"vault_syncs", row.vault_syncs},
                              {"sealing_ms", row.sealing_ms}});
    }
    json["sealing_share_of_add_100"] = sealing_share_;
    json["erase_peak_bytes"] = large_peak_;
    json["erase_after_bytes"] = large_after_;
    json["database_bytes_before_purge"] = bytes_before_;
    json["database_bytes_after_purge"] = bytes_after_;
    json["vector_bytes"] = VectorBytes();
    return json.dump(2) + "\n";
  }

 private:
  static constexpr double kMiB = 1 << 20;
  // Beside the tokens: the memory, its state, the tenant; and a certificate and an entry of the ledger.
  static constexpr int kRecordsOfAdd = 3;
  static constexpr int kRecordsOfDelete = 5;

  absl::Status Open() {
    EXPUNGE_ASSIGN_OR_RETURN(auto store, storage::SealedStore::Open({directory_ + "/db", "", "", {}}));
    store_ = store.get();
    core::ServiceOptions options;
    options.recover_by_solving = false;
    EXPUNGE_ASSIGN_OR_RETURN(service_, core::Service::Open(std::move(store), keys_, SystemClock(), options));
    return absl::OkStatus();
  }

  absl::Status Create() {
    v1::CreateMemoryRequest request;
    request.set_parent("tenants/bench");
    request.set_memory_id("m");
    request.mutable_config()->set_key_dimension(kDimension);
    request.mutable_config()->set_value_dimension(kDimension);
    request.mutable_config()->set_gamma(0.5 / kDimension);
    request.mutable_config()->set_min_support(11);
    return service_->CreateMemory(request).status();
  }

  absl::Status Measure(const std::string& name, int repetitions, const std::function<absl::Status()>& call) {
    std::vector<double> times;
    const bool restarts = service_ == nullptr;  // then there is no vault yet
    const uint64_t syncs = restarts ? 0 : store_->vault().usage().syncs;
    for (int i = 0; i < repetitions; ++i) {
      const auto start = SteadyClock::now();
      EXPUNGE_RETURN_IF_ERROR(call());
      times.push_back(Seconds(SteadyClock::now() - start).count() * 1e3);
    }
    const double counted = static_cast<double>(store_->vault().usage().syncs - syncs) / repetitions;
    rows_.push_back({name, Median(times), restarts ? -1 : counted});
    return absl::OkStatus();
  }

  absl::Status SyncFloor() {
    int count = 0;
    return Measure("sync floor: 100 bytes", 200, [&] {
      storage::Transaction transaction;
      transaction.Put(storage::Table::kRequests, absl::StrCat("bench", count++ % 10), std::string(100, 'x'));
      return store_->database().Commit(std::move(transaction));
    });
  }

  std::vector<double> Vectors(int count) {
    std::normal_distribution<double> normal;
    std::vector<double> elements(static_cast<size_t>(count) * kDimension);
    for (double& element : elements) element = normal(random_);
    return elements;
  }

  static v1::PackedVectors Packed(const std::vector<double>& elements, int count) {
    v1::PackedVectors packed;
    packed.set_dtype(v1::DTYPE_FLOAT64);
    packed.set_rows(static_cast<uint32_t>(count));
    packed.set_columns(kDimension);
    packed.set_data(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(double));
    return packed;
  }

  absl::Status Add(int count) {
    v1::AddRequest request;
    request.set_parent(kMemory);
    for (int i = 0; i < count; ++i) {
      v1::NewToken* token = request.add_tokens();
      token->set_token_id(absl::StrCat("t", next_));
      token->add_subjects(absl::StrCat("s", next_++));
    }
    *request.mutable_keys() = Packed(Vectors(count), count);
    *request.mutable_values() = Packed(Vectors(count), count);
    return service_->Add(request).status();
  }

  absl::Status Delete(int count) {
    v1::DeleteRequest request;
    request.set_parent(kMemory);
    for (int i = 0; i < count; ++i) request.add_token_ids(absl::StrCat("t", first_++));
    return service_->Delete(request).status();
  }

  absl::Status Purge() {
    v1::PurgeRequest request;
    request.set_parent("tenants/bench");
    request.set_subject(absl::StrCat("s", first_++));
    return service_->Purge(request).status();
  }

  // What taking keys for `tokens` from the vault, and sealing their records and `others` costs, alone: of the
  // operation measured last.
  absl::Status MeasureSealing(int tokens, int others) {
    std::vector<double> times;
    storage::v1::TokenRecord record;
    record.set_key(std::string(static_cast<size_t>(kDimension) * 8, 'k'));
    record.set_value(std::string(static_cast<size_t>(kDimension) * 8, 'v'));
    record.set_salt(std::string(200, 's'));
    const std::string record_key(64, 'k');
    EXPUNGE_ASSIGN_OR_RETURN(const auto tenant, store_->vault().Take(storage::kMasterSlot, 1));
    for (int repetition = 0; repetition < arguments_.repetitions; ++repetition) {
      const auto start = SteadyClock::now();
      EXPUNGE_ASSIGN_OR_RETURN(const auto slots,
                               store_->vault().Take(tenant.front(), static_cast<size_t>(tokens)));
      EXPUNGE_ASSIGN_OR_RETURN(const auto keys, store_->vault().Keys(tenant.front(), slots));
      for (size_t i = 0; i < keys.size(); ++i) {
        sealed_bytes_ += storage::SealedStore::SealMessageWith(keys[i], storage::Table::kTokens, record_key,
                                                               {tenant.front(), slots[i]}, record)
                             .size();
      }
      for (int i = 0; i < others; ++i) {
        EXPUNGE_ASSIGN_OR_RETURN(const std::string sealed,
                                 store_->SealMessage(storage::Table::kStates, record_key,
                                                     {storage::kMasterSlot, tenant.front()}, record));
        sealed_bytes_ += sealed.size();
      }
      times.push_back(Seconds(SteadyClock::now() - start).count() * 1e3);
    }
    rows_.back().sealing_ms = Median(times);
    return absl::OkStatus();
  }

  // Erases half of a large store. The records are random, and nobody's.
  absl::Status EraseLarge() {
    constexpr int kRecordsOfMiB = 256;
    std::string value((size_t{1} << 20) / kRecordsOfMiB, '\0');
    const auto key = [](int record) { return absl::StrCat("large ", record); };
    for (int mib = 0; mib < arguments_.erase_mib; ++mib) {
      storage::Transaction transaction;
      for (int i = 0; i < kRecordsOfMiB; ++i) {
        for (size_t at = 0; at + sizeof(uint64_t) <= value.size(); at += sizeof(uint64_t)) {
          const uint64_t random = random_();
          std::memcpy(value.data() + at, &random, sizeof(random));
        }
        transaction.Put(storage::Table::kRequests, key(mib * kRecordsOfMiB + i), value);
      }
      EXPUNGE_RETURN_IF_ERROR(store_->database().Commit(std::move(transaction)));
    }
    storage::Transaction deleted;
    for (int i = 0; i < arguments_.erase_mib * kRecordsOfMiB; i += 2) {
      deleted.Delete(storage::Table::kRequests, key(i));
    }
    EXPUNGE_RETURN_IF_ERROR(store_->database().Commit(std::move(deleted)));
    std::atomic<bool> done = false;
    std::thread watch([&] {
      while (!done) {
        large_peak_ = std::max(large_peak_, DatabaseBytes());
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    });
    absl::Status status =
        Measure(absl::StrCat("byte purge of ", arguments_.erase_mib, " MiB, half of them deleted"), 1,
                [this] { return store_->database().EraseDeletedBytes(); });
    done = true;
    watch.join();
    large_after_ = DatabaseBytes();
    return status;
  }

  [[nodiscard]] double VectorBytes() const { return static_cast<double>(next_ - first_) * kDimension * 16; }

  [[nodiscard]] double DatabaseBytes() const {
    double bytes = 0;
    std::error_code gone;  // files come and go
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      const auto size = entry.is_regular_file(gone) ? entry.file_size(gone) : 0;
      if (!gone) bytes += static_cast<double>(size);
    }
    return bytes;
  }

  const std::string directory_;
  const Arguments arguments_;
  const core::SigningKeys keys_;
  std::mt19937_64 random_{1};
  std::unique_ptr<core::Service> service_;
  storage::SealedStore* store_ = nullptr;
  int first_ = 0;  // the first token that is still there
  int next_ = 0;
  std::vector<Row> rows_;
  double sealing_share_ = 0;
  size_t sealed_bytes_ = 0;
  double large_peak_ = 0;
  double large_after_ = 0;
  double bytes_before_ = 0;
  double bytes_after_ = 0;
};

int Main(int argc, char** argv) {
  CLI::App app("What durable, sealed operations cost.", "storage_bench");
  app.footer(kFooter);
  Arguments arguments;
  app.add_option("--tokens", arguments.tokens, "Of the memory at the restart")
      ->check(CLI::Range(1000, 100'000))
      ->capture_default_str();
  app.add_option("--repetitions", arguments.repetitions, "Of each small operation")
      ->check(CLI::Range(4, 1000))
      ->capture_default_str();
  app.add_option("--erase-mib", arguments.erase_mib, "The size of the store that is erased from")
      ->check(CLI::Range(16, 1 << 20))
      ->capture_default_str();
  app.add_option("--directory", arguments.directory, "Where the data is put, and removed again");
  app.add_option("--out", arguments.out, "The JSON file [out/storage.json]");
  CLI11_PARSE(app, argc, argv);
  const std::filesystem::path base = arguments.directory.empty() ? std::filesystem::temp_directory_path()
                                                                 : std::filesystem::path(arguments.directory);
  std::string directory = (base / "storage_bench.XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) {
    std::cerr << "storage_bench: cannot make a directory in " << base << "; give --directory\n";
    return 2;
  }
  absl::Status status;
  std::string json;
  {
    Bench bench(directory, arguments);
    status = bench.Run();
    if (status.ok()) bench.Print();
    if (status.ok()) json = bench.Json();
  }
  std::filesystem::remove_all(directory);
  if (!status.ok()) {
    std::cerr << "storage_bench: " << status << "\n";
    return 1;
  }
  const auto written = WriteResults(arguments.out, "storage", json);
  if (!written.ok()) {
    std::cerr << "storage_bench: " << written.status().message() << "\n";
    return 2;
  }
  std::cout << "Results: " << *written << "\n";
  return 0;
}

}  // namespace
}  // namespace expunge::bench

int main(int argc, char** argv) {
  try {
    return expunge::bench::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "storage_bench: %s\n", error.what());
    return 1;
  }
}
