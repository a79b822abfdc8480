// expunge tokens
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/bytes.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/views.h"

namespace expunge::cli {
namespace {

constexpr uint32_t kPageSize = 1000;
constexpr size_t kShownCommitment = 16;

absl::Status ListTokens(Context* context, const std::string& memory, const std::string& subject) {
  v1::ListTokensRequest request;
  request.set_parent(context->MemoryName(memory));
  request.set_page_size(kPageSize);
  request.set_subject(subject);
  EXPUNGE_ASSIGN_OR_RETURN(const client::TokenListing listing, context->Client().ListTokens(request));
  Json json;
  json["memory"] = request.parent();
  json["state"] = StateJson(listing.state);
  json["tokens"] = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const v1::TokenInfo& token : listing.tokens) {
    json["tokens"].push_back(TokenJson(token));
    rows.push_back({token.name().substr(token.name().rfind('/') + 1), ClassName(token.token_class()),
                    absl::StrFormat("%.6g", token.weight()), absl::StrJoin(token.subjects(), ","),
                    ToHex(token.commitment()).substr(0, kShownCommitment)});
  }
  context->Print(
      json, absl::StrCat(FormatTable({"TOKEN", "CLASS", "WEIGHT", "SUBJECTS", "COMMITMENT (START)"}, rows),
                         Count(listing.tokens.size(), "token"), " of ", request.parent(), ", ",
                         StateText(listing.state), "\n"));
  return absl::OkStatus();
}

}  // namespace

void AddTokensCommand(CLI::App* app, Context* context) {
  auto memory = std::make_shared<std::string>();
  auto subject = std::make_shared<std::string>();
  CLI::App* command = app->add_subcommand("tokens", "List the tokens of a memory: class, weight, subjects");
  command->add_option("MEMORY", *memory, "Its name, short or full")->required();
  command->add_option("--subject", *subject, "Only tokens that name this subject");
  command->footer(
      "Keys and values are not shown; the service hands them out to nobody. --output json has the whole "
      "commitments.\n\n"
      "Examples:\n"
      "  expunge tokens cancer\n"
      "  expunge tokens cancer --subject patient-007 --output json");
  command->callback([=] { context->action = [=] { return ListTokens(context, *memory, *subject); }; });
}

}  // namespace expunge::cli
