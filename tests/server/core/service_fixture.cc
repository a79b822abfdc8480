#include "tests/server/core/service_fixture.h"

#include <filesystem>
#include <random>

#include "certificate/envelope.h"
#include "server/core/vectors.h"

namespace expunge::core {

std::vector<Point> MakePoints(const std::string& prefix, int count) {
  constexpr uint32_t kSeed = 20260713;
  std::mt19937 generator(kSeed);
  std::uniform_real_distribution<double> coordinate(-2, 2);
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) {
    const std::string id = prefix + std::to_string(i);
    const double x = coordinate(generator);
    const double y = coordinate(generator);
    points.push_back({id, {"subject-" + id}, x, y, coordinate(generator)});
  }
  return points;
}

v1::MemoryConfig SmallConfig() {
  v1::MemoryConfig config;
  config.set_key_dimension(kKeyDimension);
  config.set_value_dimension(kValueDimension);
  config.set_gamma(0.75);
  config.set_min_support(4);
  return config;
}

v1::PackedVectors Pack(const std::vector<double>& elements, uint32_t columns) {
  v1::PackedVectors packed;
  packed.set_data(PackDoubles(elements));
  packed.set_dtype(v1::DTYPE_FLOAT64);
  packed.set_rows(static_cast<uint32_t>(elements.size() / columns));
  packed.set_columns(columns);
  return packed;
}

v1::AddRequest AddRequestFor(const std::string& memory, const std::vector<Point>& points,
                             const std::string& request_id) {
  v1::AddRequest request;
  request.set_parent(memory);
  request.set_request_id(request_id);
  std::vector<double> keys;
  std::vector<double> values;
  for (const Point& point : points) {
    v1::NewToken* token = request.add_tokens();
    token->set_token_id(point.id);
    for (const std::string& subject : point.subjects) token->add_subjects(subject);
    keys.insert(keys.end(), {point.x, point.y});
    values.push_back(point.value);
  }
  *request.mutable_keys() = Pack(keys, kKeyDimension);
  *request.mutable_values() = Pack(values, kValueDimension);
  return request;
}

ServiceTest::ServiceTest()
    : key_(certificate::SigningKey::LoadOrCreate(key_file_).value()),
      checkpoint_key_(certificate::SigningKey::LoadOrCreate(checkpoint_key_file_).value()),
      now_(absl::FromUnixMillis(1'780'000'000'250)) {}

SigningKeys ServiceTest::Keys() const {
  return {certificate::KeyInFile(key_file_), certificate::KeyInFile(checkpoint_key_file_)};
}

absl::Status ServiceTest::TryOpen() {
  Close();
  auto store = storage::SealedStore::Open({directory_ / "data", "", "", store_options_, master_key_});
  if (!store.ok()) return store.status();
  store_ = store->get();
  auto service = Service::Open(
      *std::move(store), Keys(),
      [this] {
        const absl::Time now = now_;
        if (clock_step_ != absl::ZeroDuration()) now_ += clock_step_;
        return now;
      },
      options_);
  if (!service.ok()) return service.status();
  service_ = *std::move(service);
  return absl::OkStatus();
}

void ServiceTest::Create(const std::string& memory_id, const v1::MemoryConfig& config) {
  v1::CreateMemoryRequest request;
  request.set_parent(kTenant);
  request.set_memory_id(memory_id);
  *request.mutable_config() = config;
  const auto response = service_->CreateMemory(request);
  ASSERT_TRUE(response.ok()) << response.status();
}

v1::AddResponse ServiceTest::Add(const std::string& memory, const std::vector<Point>& points,
                                 const std::string& request_id) {
  const auto response = service_->Add(AddRequestFor(memory, points, request_id));
  EXPECT_TRUE(response.ok()) << response.status();
  return response.ok() ? *response : v1::AddResponse();
}

v1::DeleteResponse ServiceTest::Delete(const std::string& memory, const std::vector<std::string>& ids,
                                       const std::string& request_id) {
  v1::DeleteRequest request;
  request.set_parent(memory);
  request.set_request_id(request_id);
  for (const std::string& id : ids) request.add_token_ids(id);
  const auto response = service_->Delete(request);
  EXPECT_TRUE(response.ok()) << response.status();
  return response.ok() ? *response : v1::DeleteResponse();
}

v1::Memory ServiceTest::Full(const std::string& memory) {
  v1::GetMemoryRequest request;
  request.set_name(memory);
  request.set_view(v1::MEMORY_VIEW_FULL);
  const auto response = service_->GetMemory(request);
  EXPECT_TRUE(response.ok()) << response.status();
  return response.ok() ? response->memory() : v1::Memory();
}

std::vector<v1::TokenInfo> ServiceTest::Tokens(const std::string& memory) {
  v1::ListTokensRequest request;
  request.set_parent(memory);
  request.set_page_size(1000);
  const auto response = service_->ListTokens(request);
  EXPECT_TRUE(response.ok()) << response.status();
  if (!response.ok()) return {};
  return {response->tokens().begin(), response->tokens().end()};
}

std::set<std::string> ServiceTest::Ids(const std::string& memory) {
  std::set<std::string> ids;
  for (const v1::TokenInfo& token : Tokens(memory)) {
    ids.insert(token.name().substr(token.name().rfind('/') + 1));
  }
  return ids;
}

std::vector<v1::Certificate> ServiceTest::Certificates(const std::string& tenant) {
  std::vector<v1::Certificate> all;
  v1::ListCertificatesRequest request;
  request.set_parent(tenant);
  request.set_page_size(1000);
  do {
    const auto page = service_->ListCertificates(request);
    EXPECT_TRUE(page.ok()) << page.status();
    if (!page.ok()) break;
    all.insert(all.end(), page->certificates().begin(), page->certificates().end());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return all;
}

void ServiceTest::BackUp(const std::string& name) {
  v1::CreateBackupRequest request;
  request.set_database_path(directory_ / (name + "-database"));
  request.set_vault_path(directory_ / (name + "-vault"));
  const auto made = service_->CreateBackup(request);
  ASSERT_TRUE(made.ok()) << made.status();
}

void ServiceTest::CopyData(const std::string& to) {
  Close();
  std::filesystem::create_directories(directory_ / to);
  for (const char* name : {"data", "vault"}) {
    std::filesystem::copy(directory_ / name, directory_ / to + "/" + name,
                          std::filesystem::copy_options::recursive);
  }
}

void ServiceTest::PutInPlace(const std::string& from) {
  for (const char* name : {"data", "vault"}) {
    std::filesystem::remove_all(directory_ / name);
    std::filesystem::rename(directory_ / from + "/" + name, directory_ / name);
  }
}

Dump ServiceTest::DumpStore() const {
  Dump dump;
  for (auto& [place, value] : DumpRaw()) {
    if (place.second == "format") {
      dump[place] = value;
      continue;
    }
    const auto opened = store_->Get(static_cast<storage::Table>(place.first), place.second);
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (opened.ok()) dump[place] = std::string(opened->bytes.data(), opened->bytes.size());
  }
  return dump;
}

Dump ServiceTest::DumpRaw() const {
  Dump dump;
  for (int table = 0; table <= static_cast<int>(storage::kLastTable); ++table) {
    const absl::Status status =
        store_->database().Scan(static_cast<storage::Table>(table), "", "",
                                [&dump, table](absl::string_view key, absl::string_view value) {
                                  dump[{table, std::string(key)}] = std::string(value);
                                  return true;
                                });
    EXPECT_TRUE(status.ok()) << status;
  }
  return dump;
}

std::string ServiceTest::VerifiedPayload(const v1::Certificate& certificate) const {
  const certificate::PublicKey key = key_.Public();
  const certificate::VerifyResult result =
      certificate::VerifyEnvelope(certificate.envelope(), absl::MakeConstSpan(&key, 1));
  EXPECT_EQ(result.reason, certificate::VerifyReason::kOk)
      << std::string(certificate::VerifyReasonName(result.reason));
  return result.payload;
}

std::string Lasting(v1::Certificate certificate) {
  certificate.clear_log_proof();
  return certificate.SerializeAsString();
}

std::string Lasting(v1::DeleteResponse response) {
  response.mutable_certificate()->clear_log_proof();
  return response.SerializeAsString();
}

std::string Lasting(v1::PurgeResponse response) {
  for (v1::Certificate& certificate : *response.mutable_certificates()) certificate.clear_log_proof();
  return response.SerializeAsString();
}

storage::v1::StateRecord CanonicalPart(storage::v1::StateRecord state) {
  state.clear_epoch();
  storage::v1::ProofRecord exact;
  exact.set_strict(state.proof().strict());
  exact.set_ties(state.proof().ties());
  *state.mutable_proof() = exact;
  return state;
}

::testing::AssertionResult Fails(const absl::Status& status, Reason reason, const std::string& field) {
  if (status.code() == ReasonCode(reason) && GetReason(status) == reason && GetField(status) == field) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "got " << status << " with the field \"" << GetField(status) << "\"; expected "
         << std::string(ReasonName(reason)) << " for \"" << field << "\"";
}

}  // namespace expunge::core
