// expunge log proof
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/failure.h"
#include "client/cli/files.h"

namespace expunge::cli {
namespace {

struct ProofOptions {
  std::string name;
  std::optional<uint64_t> index;
  std::optional<uint64_t> old_size;
  std::string out;
  std::string checkpoint;
};

Json ProofJson(const v1::GetLogProofResponse& proof, const ProofOptions& options) {
  Json json;
  json["log_size"] = proof.log_size();
  json["checkpoint"] = proof.checkpoint();
  const bool has_leaf = !proof.leaf().empty();
  json["leaf_index"] = has_leaf ? Json(proof.leaf_index()) : Json(nullptr);
  json["leaf"] = has_leaf ? Json(ToHex(proof.leaf())) : Json(nullptr);
  json["log_proof"] = has_leaf ? Json(proof.log_proof()) : Json(nullptr);
  json["old_size"] = options.old_size.has_value() ? Json(*options.old_size) : Json(nullptr);
  json["consistency_hashes"] = Json::array();
  for (const auto& hash : proof.consistency_hashes()) json["consistency_hashes"].push_back(ToHex(hash));
  json["saved_to"] = options.out.empty() ? Json(nullptr) : Json(options.out);
  json["checkpoint_saved_to"] = options.checkpoint.empty() ? Json(nullptr) : Json(options.checkpoint);
  return json;
}

std::string ProofText(const v1::GetLogProofResponse& proof, const ProofOptions& options) {
  Fields fields = {{"log size", absl::StrCat(proof.log_size())}};
  if (!proof.leaf().empty()) {
    fields.emplace_back("leaf", absl::StrCat(proof.leaf_index(), " of 0 to ", proof.log_size() - 1));
    fields.emplace_back("leaf bytes", ToHex(proof.leaf()));
  }
  if (options.old_size.has_value()) {
    fields.emplace_back("goes on from", absl::StrCat("the log of size ", *options.old_size));
    for (const auto& hash : proof.consistency_hashes()) fields.emplace_back("consistency", ToHex(hash));
  }
  if (!options.out.empty()) fields.emplace_back("proof saved to", options.out);
  if (!options.checkpoint.empty()) fields.emplace_back("checkpoint saved to", options.checkpoint);
  return absl::StrCat(FormatFields("The transparency log", fields), "\n",
                      proof.log_proof().empty() ? proof.checkpoint() : proof.log_proof());
}

absl::Status GetProof(Context* context, const ProofOptions& options) {
  if (!options.name.empty() && options.index.has_value()) {
    return UsageFailure("a certificate and a leaf?", "give a NAME or --index, not both");
  }
  if (!options.out.empty() && options.name.empty() && !options.index.has_value()) {
    return UsageFailure("a proof of what?", "give a NAME or --index; --checkpoint-out saves the checkpoint");
  }
  v1::GetLogProofRequest request;
  if (!options.name.empty()) request.set_name(context->CertificateName(options.name));
  if (options.index.has_value()) request.set_leaf_index(*options.index);
  if (options.old_size.has_value()) request.set_old_size(*options.old_size);
  EXPUNGE_ASSIGN_OR_RETURN(const v1::GetLogProofResponse proof, context->Client().GetLogProof(request));
  if (!options.out.empty()) EXPUNGE_RETURN_IF_ERROR(WriteFile(options.out, proof.log_proof(), 0644));
  if (!options.checkpoint.empty()) {
    EXPUNGE_RETURN_IF_ERROR(WriteFile(options.checkpoint, proof.checkpoint(), 0644));
  }
  context->Print(ProofJson(proof, options), ProofText(proof, options));
  return absl::OkStatus();
}

}  // namespace

void AddLogProofCommand(CLI::App* group, Context* context) {
  auto options = std::make_shared<ProofOptions>();
  CLI::App* command = group->add_subcommand(
      "proof", "Show the log's checkpoint, that a certificate is in it, and that it has only grown");
  command->add_option("NAME", options->name, "A certificate, short or full name");
  command->add_option("--index", options->index, "A leaf by its place instead, from 0");
  command->add_option("--old-size", options->old_size,
                      "Also the hashes that show that the log of this size is the beginning of today's");
  command->add_option("--out", options->out, "Save the proof here (C2SP tlog-proof)");
  command->add_option("--checkpoint-out", options->checkpoint, "Save the checkpoint here, a signed note");
  command->footer(
      "Keep a checkpoint elsewhere: expunge-verify --old-checkpoint then shows whether the log of later goes "
      "on from it.\n\n"
      "Examples:\n"
      "  expunge log proof --checkpoint-out checkpoint-2026-05\n"
      "  expunge log proof 000000000001 --out purged.tlog-proof\n"
      "  expunge log proof --old-size 1200 --output json");
  command->callback([=] { context->action = [=] { return GetProof(context, *options); }; });
}

}  // namespace expunge::cli
