// expunge memory create|get|list|delete
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/erasure_options.h"
#include "client/cli/failure.h"
#include "client/cli/views.h"

namespace expunge::cli {
namespace {

struct CreateOptions {
  std::string id;
  uint32_t key_dimension = 0;
  uint32_t value_dimension = 0;
  std::string gamma;
  std::optional<uint32_t> min_support;
  std::optional<double> box_bound;
  std::optional<double> ridge;
  std::string request_id;
};

// "0.05" or "1/30"; the range is the service's to judge.
absl::StatusOr<double> ParseNumberOrFraction(const std::string& text) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('/', 1));
  double numerator = 0;
  double denominator = 1;
  const bool fraction = absl::StrContains(text, "/");
  if (!absl::SimpleAtod(parts.first, &numerator) ||
      (fraction && !absl::SimpleAtod(parts.second, &denominator))) {
    return UsageFailure("--gamma is not a number", "write 0.05 or a fraction such as 1/30");
  }
  return numerator / denominator;
}

absl::Status Create(Context* context, const CreateOptions& options) {
  v1::CreateMemoryRequest request;
  request.set_parent(context->TenantName());
  request.set_memory_id(options.id);
  v1::MemoryConfig* config = request.mutable_config();
  config->set_key_dimension(options.key_dimension);
  config->set_value_dimension(options.value_dimension);
  EXPUNGE_ASSIGN_OR_RETURN(const double gamma, ParseNumberOrFraction(options.gamma));
  config->set_gamma(gamma);
  if (options.min_support.has_value()) config->set_min_support(*options.min_support);
  if (options.box_bound.has_value()) config->set_box_bound(*options.box_bound);
  if (options.ridge.has_value()) config->set_ridge(*options.ridge);
  request.set_request_id(RequestId(options.request_id));
  const auto response = context->Client().CreateMemory(request);
  EXPUNGE_RETURN_IF_ERROR(WithRetryHint(response.status(), request.request_id()));
  Json json = MemoryJson(response->memory());
  json["request_id"] = request.request_id();
  context->Print(json, FormatFields(absl::StrCat("Created ", response->memory().name()),
                                    MemoryFields(response->memory())));
  return absl::OkStatus();
}

absl::Status Get(Context* context, const std::string& id, bool full) {
  v1::GetMemoryRequest request;
  request.set_name(context->MemoryName(id));
  request.set_view(full ? v1::MEMORY_VIEW_FULL : v1::MEMORY_VIEW_BASIC);
  EXPUNGE_ASSIGN_OR_RETURN(const v1::GetMemoryResponse response, context->Client().GetMemory(request));
  context->Print(MemoryJson(response.memory()),
                 FormatFields(response.memory().name(), MemoryFields(response.memory())));
  return absl::OkStatus();
}

absl::Status List(Context* context) {
  v1::ListMemoriesRequest request;
  request.set_parent(context->TenantName());
  EXPUNGE_ASSIGN_OR_RETURN(const std::vector<v1::Memory> memories, context->Client().ListMemories(request));
  Json json;
  json["memories"] = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const v1::Memory& memory : memories) {
    json["memories"].push_back(MemoryJson(memory));
    rows.push_back({memory.name(), absl::StrCat(memory.token_count()), absl::StrCat(memory.state().epoch()),
                    TimeText(memory.create_time())});
  }
  context->Print(json, absl::StrCat(FormatTable({"NAME", "TOKENS", "EPOCH", "CREATED"}, rows),
                                    Count(memories.size(), "memory"), " of ", context->TenantName(), "\n"));
  return absl::OkStatus();
}

absl::Status Delete(Context* context, const std::string& id, const ErasureOptions& options,
                    const std::string& out) {
  v1::DeleteMemoryRequest request;
  request.set_name(context->MemoryName(id));
  request.set_request_id(RequestId(options.request_id));
  request.set_validate_only(options.validate_only);
  EXPUNGE_RETURN_IF_ERROR(FillBasis(options, request.mutable_basis()));
  const auto response = context->Client().DeleteMemory(request);
  EXPUNGE_RETURN_IF_ERROR(WithRetryHint(response.status(), request.request_id()));
  Json json;
  json["memory"] = request.name();
  json["validated_only"] = options.validate_only;
  json["request_id"] = request.request_id();
  if (options.validate_only) {
    context->Print(json, absl::StrCat("Valid: would delete ", request.name(), "; nothing was changed\n"));
    return absl::OkStatus();
  }
  EXPUNGE_RETURN_IF_ERROR(SaveErasureCertificate(response->certificate(), out));
  json["certificate"] = CertificateJson(response->certificate());
  json["saved_to"] = out.empty() ? Json(nullptr) : Json(out);
  Fields fields = {{"certificate", response->certificate().name()}, {"request id", request.request_id()}};
  if (!out.empty()) fields.emplace_back("saved to", out);
  context->Print(json,
                 FormatFields(absl::StrCat("Deleted ", request.name(), " with all its tokens"), fields));
  return absl::OkStatus();
}

void AddCreate(CLI::App* group, Context* context) {
  auto options = std::make_shared<CreateOptions>();
  CLI::App* command = group->add_subcommand("create", "Create an empty memory");
  command->add_option("MEMORY", options->id, "Its name: 1 to 128 of A-Z a-z 0-9 . _ ~ -")->required();
  command->add_option("--key-dimension", options->key_dimension, "Elements of a key, 1 to 4096")->required();
  command->add_option("--value-dimension", options->value_dimension, "Elements of a value, 1 to 4096")
      ->required();
  command
      ->add_option("--gamma", options->gamma,
                   "Kernel width: k(x,y) = exp(-gamma |x-y|^2); a number or a fraction (1/30)")
      ->required();
  CLI::Option_group* box = command->add_option_group("box", "The bound C of the weights");
  box->add_option("--min-support", options->min_support,
                  "At least this many tokens carry weight: C = 2/(2s-1)");
  box->add_option("--box-bound", options->box_bound, "C itself, 0 < C <= 1");
  box->require_option(1);
  command->add_option("--ridge", options->ridge, "Added to the kernel's diagonal, 1e-8 to 1 (default: 1e-6)");
  command->add_option("--request-id", options->request_id, "Makes the call repeatable (default: random)");
  command->footer(
      "All of it is fixed for the life of the memory.\n\n"
      "Examples:\n"
      "  expunge memory create cancer --key-dimension 30 --value-dimension 2 --gamma 1/30 --min-support 50\n"
      "  expunge memory create small --key-dimension 3 --value-dimension 1 --gamma 0.5 --box-bound 0.1");
  command->callback([=] { context->action = [=] { return Create(context, *options); }; });
}

void AddGet(CLI::App* group, Context* context) {
  auto id = std::make_shared<std::string>();
  auto full = std::make_shared<bool>(false);
  CLI::App* command = group->add_subcommand("get", "Describe a memory");
  command->add_option("MEMORY", *id, "Its name, short or full")->required();
  command->add_flag("--full", *full,
                    "With partition, proof and fingerprint (costs time in proportion to the tokens)");
  command->footer(
      "Examples:\n"
      "  expunge memory get cancer\n"
      "  expunge memory get cancer --full --output json");
  command->callback([=] { context->action = [=] { return Get(context, *id, *full); }; });
}

void AddDelete(CLI::App* group, Context* context) {
  auto id = std::make_shared<std::string>();
  auto options = std::make_shared<ErasureOptions>();
  auto out = std::make_shared<std::string>();
  CLI::App* command = group->add_subcommand("delete", "Remove a memory with all its tokens, and certify it");
  command->add_option("MEMORY", *id, "Its name, short or full")->required();
  AddErasureOptions(command, options.get());
  command->add_option("--out", *out, "Save the certificate here, byte for byte");
  command->footer(
      "Examples:\n"
      "  expunge memory delete cancer --validate-only\n"
      "  expunge memory delete cancer --legal-basis 'GDPR Art. 5(1)(e)' --out cancer-gone.json");
  command->callback([=] { context->action = [=] { return Delete(context, *id, *options, *out); }; });
}

}  // namespace

void AddMemoryCommands(CLI::App* app, Context* context) {
  CLI::App* group = app->add_subcommand("memory", "Create, describe, list and delete memories");
  group->require_subcommand(1);
  AddCreate(group, context);
  AddGet(group, context);
  CLI::App* list = group->add_subcommand("list", "List the memories of the tenant");
  list->footer(
      "Examples:\n"
      "  expunge memory list\n"
      "  expunge --tenant clinic memory list --output json");
  list->callback([=] { context->action = [=] { return List(context); }; });
  AddDelete(group, context);
  group->footer(
      "Examples:\n"
      "  expunge memory create cancer --key-dimension 30 --value-dimension 2 --gamma 1/30 --min-support 50\n"
      "  expunge memory list\n"
      "  expunge memory get cancer --full");
}

}  // namespace expunge::cli
