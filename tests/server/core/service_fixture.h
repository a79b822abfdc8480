// A real service over a real store in a temporary directory, and short ways to call it.
#ifndef EXPUNGE_TESTS_SERVER_CORE_SERVICE_FIXTURE_H_
#define EXPUNGE_TESTS_SERVER_CORE_SERVICE_FIXTURE_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "certificate/key_keeper.h"
#include "certificate/signing_key.h"
#include "server/core/service.h"
#include "storage/records.pb.h"
#include "storage/sealed_store.h"
#include "tests/support/files.h"

namespace expunge::core {

inline constexpr char kTenant[] = "tenants/acme";
inline constexpr char kMemory[] = "tenants/acme/memories/cells";
inline constexpr uint32_t kKeyDimension = 2;
inline constexpr uint32_t kValueDimension = 1;

// Everything in the database, by table and key.
using Dump = std::map<std::pair<int, std::string>, std::string>;

// A token at (x, y) with one value, about its subjects.
struct Point {
  std::string id;
  std::vector<std::string> subjects;
  double x = 0;
  double y = 0;
  double value = 0;
};

// `count` points with fixed pseudo-random coordinates, ids prefix0, prefix1, ..., each its own subject.
std::vector<Point> MakePoints(const std::string& prefix, int count);

v1::MemoryConfig SmallConfig();
v1::PackedVectors Pack(const std::vector<double>& elements, uint32_t columns);
v1::AddRequest AddRequestFor(const std::string& memory, const std::vector<Point>& points,
                             const std::string& request_id = "");

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest();
  void SetUp() override { Open(); }

  // Opens, or closes and opens again, as a restart does.
  void Open() {
    absl::Status status = TryOpen();
    ASSERT_TRUE(status.ok()) << status;
  }
  absl::Status TryOpen();
  void Close() { service_.reset(); }

  void Create(const std::string& memory_id, const v1::MemoryConfig& config = SmallConfig());
  v1::AddResponse Add(const std::string& memory, const std::vector<Point>& points,
                      const std::string& request_id = "");
  v1::DeleteResponse Delete(const std::string& memory, const std::vector<std::string>& ids,
                            const std::string& request_id = "");
  v1::Memory Full(const std::string& memory);
  std::vector<v1::TokenInfo> Tokens(const std::string& memory);
  // The ids of its tokens.
  std::set<std::string> Ids(const std::string& memory);
  // All certificates of a tenant that are released, oldest first.
  std::vector<v1::Certificate> Certificates(const std::string& tenant = kTenant);
  // Makes a backup in `name`-database and `name`-vault.
  void BackUp(const std::string& name = "backup");

  // Closes, and copies database and vault to `to`; or puts those in `from` in the place of the present ones.
  void CopyData(const std::string& to);
  void PutInPlace(const std::string& from);

  // In the clear, and as it is stored.
  [[nodiscard]] Dump DumpStore() const;
  [[nodiscard]] Dump DumpRaw() const;
  // The payload of a certificate's envelope, verified with the service's key.
  [[nodiscard]] std::string VerifiedPayload(const v1::Certificate& certificate) const;

  test_support::TemporaryDirectory directory_;
  // What the service signs with: certificates with the first.
  [[nodiscard]] SigningKeys Keys() const;

  std::string key_file_ = directory_ / "certificate_key.pem";
  std::string checkpoint_key_file_ = directory_ / "checkpoint_key.pem";
  // What the files have at first.
  certificate::SigningKey key_;
  certificate::SigningKey checkpoint_key_;
  absl::Time now_;
  absl::Duration clock_step_;  // how far the clock goes on after each look at it
  ServiceOptions options_;
  storage::StoreOptions store_options_;
  std::shared_ptr<storage::MasterKeyProvider> master_key_;  // null: a file
  std::unique_ptr<Service> service_;
  storage::SealedStore* store_ = nullptr;  // the service's
};

// A certificate, or all that an answer has, as it is for ever: without the proofs of inclusion, which are of
// the log as it is now.
[[nodiscard]] std::string Lasting(v1::Certificate certificate);
[[nodiscard]] std::string Lasting(v1::DeleteResponse response);
[[nodiscard]] std::string Lasting(v1::PurgeResponse response);

// What the canonical state determines: without the epoch, and without the proven bounds, which depend on how
// they were found.
storage::v1::StateRecord CanonicalPart(storage::v1::StateRecord state);

// Expects an error with this reason and field.
::testing::AssertionResult Fails(const absl::Status& status, Reason reason, const std::string& field);

}  // namespace expunge::core

#endif  // EXPUNGE_TESTS_SERVER_CORE_SERVICE_FIXTURE_H_
