#include "client/verify/receipts.h"

#include <bit>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "certificate/commitment.h"

namespace expunge::verify {
namespace {

using nlohmann::json;

constexpr absl::string_view kBadReceipt = "BAD_RECEIPT";

std::optional<Digest> DigestField(const json& line, const char* name) {
  const auto found = line.find(name);
  const auto* text = found == line.end() ? nullptr : found->get_ptr<const std::string*>();
  const std::optional<std::string> bytes = text == nullptr ? std::nullopt : FromHex(*text);
  return bytes.has_value() ? DigestFromBytes(*bytes) : std::nullopt;
}

std::optional<std::vector<double>> VectorField(const json& line, const char* name) {
  const auto* text = line[name].get_ptr<const std::string*>();
  const std::optional<std::string> bytes = text == nullptr ? std::nullopt : FromBase64(*text);
  if (!bytes.has_value() || bytes->size() % 8 != 0) return std::nullopt;
  std::vector<double> vector;
  for (absl::string_view rest = *bytes; !rest.empty(); rest.remove_prefix(8)) {
    vector.push_back(std::bit_cast<double>(ReadU64(rest)) + 0.0);  // -0 becomes +0
  }
  return vector;
}

std::optional<std::vector<std::string>> SubjectsField(const json& line) {
  const json& field = line["subjects"];
  if (!field.is_array()) return std::nullopt;
  std::vector<std::string> subjects;
  for (const json& subject : field) {
    if (!subject.is_string()) return std::nullopt;
    subjects.push_back(subject.get<std::string>());
  }
  return subjects;
}

struct Line {
  std::string token;
  Digest salt{};
  Digest commitment{};
  bool opened = false;  // with its token
  bool opens = false;   // and that is the one
};

// nullopt: no receipt.
std::optional<Line> ParseLine(absl::string_view text) {
  const json object = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || !object.contains("token") || !object["token"].is_string()) return std::nullopt;
  const std::optional<Digest> salt = DigestField(object, "salt");
  const std::optional<Digest> commitment = DigestField(object, "commitment");
  if (!salt.has_value() || !commitment.has_value()) return std::nullopt;
  Line line{object["token"].get<std::string>(), *salt, *commitment};
  if (object.size() == 3) return line;
  const bool full =
      object.size() == 6 && object.contains("subjects") && object.contains("key") && object.contains("value");
  if (!full) return std::nullopt;
  const auto subjects = SubjectsField(object);
  const auto key = VectorField(object, "key");
  const auto value = VectorField(object, "value");
  if (!subjects.has_value() || !key.has_value() || !value.has_value()) return std::nullopt;
  line.opened = true;
  line.opens = certificate::TokenCommitment(*salt, line.token, *subjects, *key, *value) == *commitment;
  return line;
}

}  // namespace

Verdict Receipts::Read(absl::string_view text) {
  size_t number = 0;
  size_t opened = 0;
  if (absl::EndsWith(text, "\n")) text.remove_suffix(1);
  for (const absl::string_view part : absl::StrSplit(text, '\n')) {
    ++number;
    std::optional<Line> line = ParseLine(part);
    if (!line.has_value()) return Failed(kBadReceipt, absl::StrCat("line ", number, " is no receipt"));
    if (line->opened && !line->opens) {
      return Failed(kBadReceipt, absl::StrCat("the token of line ", number, " does not open its commitment"));
    }
    if (line->opened) {
      ++opened;
      opened_.insert(line->commitment);
    }
    commitments_.insert(line->commitment);
    by_token_[std::move(line->token)] = {line->salt, line->commitment};
  }
  return Ok(absl::StrCat(commitments_.size(), " receipts, ", opened, " of them opened with their tokens"));
}

Receipts::Named Receipts::NamedIn(absl::Span<const Digest> commitments) const {
  Named named;
  for (const Digest& commitment : commitments) {
    if (opened_.count(commitment) != 0) {
      ++named.opened;
    } else if (commitments_.count(commitment) != 0) {
      ++named.unopened;
    }
  }
  return named;
}

Verdict Receipts::Open(const certificate::AuditBundle& bundle) {
  std::set<Digest> opened;
  for (const certificate::BundleToken& token : bundle.tokens) {
    const std::string name = absl::StrCat(bundle.memory, "/tokens/", token.id);
    const auto receipt = by_token_.find(name);
    if (receipt == by_token_.end()) continue;
    const Digest commitment =
        certificate::TokenCommitment(receipt->second.salt, name, token.subjects, token.key, token.value);
    if (commitment != receipt->second.commitment || commitment != token.commitment) {
      return Failed(kBadReceipt, "a receipt does not open the commitment of its token in the bundle");
    }
    opened.insert(commitment);
  }
  if (opened.empty()) return NotChecked("NO_RECEIPT", "no receipt is of a token of the bundle");
  const size_t count = opened.size();
  opened_.merge(std::move(opened));
  return Ok(absl::StrCat(count, " receipts open the commitments of the bundle's tokens"));
}

}  // namespace expunge::verify
