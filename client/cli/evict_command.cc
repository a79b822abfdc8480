// expunge evict
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/erasure_options.h"
#include "client/cli/failure.h"
#include "client/cli/views.h"

namespace expunge::cli {
namespace {

struct EvictOptions {
  std::string memory;
  std::vector<std::string> tokens;
  uint64_t count = 0;
  bool all_reserve = false;
  std::string out;
  ErasureOptions erasure;
};

absl::Status Evict(Context* context, const EvictOptions& options) {
  v1::EvictRequest request;
  request.set_parent(context->MemoryName(options.memory));
  for (const std::string& token : options.tokens) request.add_token_ids(token);
  request.set_count(options.count);
  request.set_all_reserve(options.all_reserve);
  request.set_request_id(RequestId(options.erasure.request_id));
  request.set_validate_only(options.erasure.validate_only);
  EXPUNGE_RETURN_IF_ERROR(FillBasis(options.erasure, request.mutable_basis()));
  const auto response = context->Client().Evict(request);
  EXPUNGE_RETURN_IF_ERROR(WithRetryHint(response.status(), request.request_id()));
  const std::string count = Count(response->evicted_count(), "token");
  Json json;
  json["memory"] = request.parent();
  json["validated_only"] = options.erasure.validate_only;
  json["evicted"] = response->evicted_count();
  json["request_id"] = request.request_id();
  if (options.erasure.validate_only) {
    context->Print(json, absl::StrCat("Valid: would drop ", count, " from the reserve of ", request.parent(),
                                      "; nothing was changed\n"));
    return absl::OkStatus();
  }
  EXPUNGE_RETURN_IF_ERROR(SaveErasureCertificate(response->certificate(), options.out));
  json["state"] = StateJson(response->state());
  json["certificate"] = CertificateJson(response->certificate());
  json["saved_to"] = options.out.empty() ? Json(nullptr) : Json(options.out);
  Fields fields = {{"state", StateText(response->state())},
                   {"certificate", response->certificate().name()},
                   {"request id", request.request_id()}};
  if (!options.out.empty()) fields.emplace_back("saved to", options.out);
  context->Print(
      json, FormatFields(absl::StrCat("Dropped ", count, " from the reserve of ", request.parent()), fields));
  return absl::OkStatus();
}

}  // namespace

void AddEvictCommand(CLI::App* app, Context* context) {
  auto options = std::make_shared<EvictOptions>();
  CLI::App* command = app->add_subcommand(
      "evict", "Drop tokens that carry no weight from the reserve of a memory, and certify it");
  command->add_option("MEMORY", options->memory, "Its name, short or full")->required();
  CLI::Option_group* what = command->add_option_group("what goes");
  what->add_option("--token", options->tokens, "Ids of the tokens");
  what->add_option("--count", options->count, "So many: those that are furthest from carrying weight")
      ->check(CLI::PositiveNumber);
  what->add_flag("--all", options->all_reserve, "All that can go");
  what->require_option(1);
  AddErasureOptions(command, &options->erasure);
  command->add_option("--out", options->out, "Save the certificate here, byte for byte");
  command->footer(
      "No weight and no answer changes in a bit. Afterwards certificates of the memory compare it with one "
      "to\nwhich only the tokens that it holds were added; whether the dropped ones would still carry no "
      "weight,\nexpunge cert get shows.\n\n"
      "Examples:\n"
      "  expunge evict cancer --all --validate-only\n"
      "  expunge evict cancer --count 100 --out evicted.json");
  command->callback([=] { context->action = [=] { return Evict(context, *options); }; });
}

}  // namespace expunge::cli
