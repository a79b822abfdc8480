#include "certificate/bundle/bundle_lines.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "certificate/forms.h"
#include "certificate/hex_double.h"
#include "certificate/json_text.h"

namespace expunge::certificate {
namespace {

using nlohmann::json;

constexpr JsonLimits kLimits{.max_depth = 2, .max_separators = 512};
constexpr size_t kMaxIdBytes = 128;
constexpr size_t kMaxSubjects = 64;
constexpr size_t kMaxSubjectBytes = 256;
constexpr uint32_t kMaxMinSupport = uint32_t{1} << 31;

struct Field {
  const char* name;
  bool (*has_form)(const json&);
};

bool HasFields(const json& line, absl::Span<const Field> fields) {
  if (!line.is_object() || line.size() != fields.size()) return false;
  return std::all_of(fields.begin(), fields.end(), [&line](const Field& field) {
    const auto found = line.find(field.name);
    return found != line.end() && field.has_form(*found);
  });
}

const std::string& TextOf(const json& value) { return value.get_ref<const std::string&>(); }

// A finite double, and not -0.
std::optional<double> FiniteOf(const json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  const std::optional<double> number = text == nullptr ? std::nullopt : ParseHexDouble(*text);
  if (!number.has_value() || !std::isfinite(*number) || (*number == 0 && std::signbit(*number))) {
    return std::nullopt;
  }
  return number;
}
bool IsFinite(const json& value) { return FiniteOf(value).has_value(); }
bool IsWeight(const json& value) { return FiniteOf(value).value_or(-1) >= 0; }

bool IsName(const json& value, size_t max_bytes, absl::string_view punctuation) {
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr || text->empty() || text->size() > max_bytes) return false;
  return std::all_of(text->begin(), text->end(), [punctuation](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           punctuation.find(c) != absl::string_view::npos;
  });
}
bool IsId(const json& value) { return IsName(value, kMaxIdBytes, "._~-"); }
bool IsSubject(const json& value) { return IsName(value, kMaxSubjectBytes, "._~@:+-"); }
bool IsSubjects(const json& value) {
  if (!value.is_array() || value.empty() || value.size() > kMaxSubjects) return false;
  if (!std::all_of(value.begin(), value.end(), &IsSubject)) return false;
  return std::adjacent_find(value.begin(), value.end(), [](const json& a, const json& b) {
           return TextOf(a) >= TextOf(b);
         }) == value.end();
}

bool IsVector(const json& value) { return value.is_string(); }
bool IsFormat(const json& value) { return value == std::string(kBundleFormat); }
bool IsScope(const json& value) { return value == "FULL_HISTORY" || value == "RETAINED_SET"; }
bool IsDimension(const json& value) {
  return IsPositiveCount(value) && CountOf(value) <= kMaxBundleDimension;
}

bool ParseBoxBound(const std::string& text, MemoryParameters* parameters) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "2/(2*s-1), s=")) {
    uint32_t s = 0;
    if (!absl::SimpleAtoi(rest, &s) || absl::StrCat(s) != rest || s == 0 || s > kMaxMinSupport) return false;
    parameters->min_support = s;
    return true;
  }
  const std::optional<double> value = ParseHexDouble(text);
  if (!value.has_value() || !(*value > 0) || !std::isfinite(*value)) return false;
  parameters->box_value = *value;
  return true;
}
bool IsBoxBound(const json& value) {
  MemoryParameters ignored;
  return IsText(value) && ParseBoxBound(TextOf(value), &ignored);
}

// Little-endian doubles, finite and never -0.
bool ReadVector(const std::string& text, uint32_t dimension, std::vector<double>* vector) {
  const std::optional<std::string> bytes = FromBase64(text);
  if (!bytes.has_value() || bytes->size() != 8 * size_t{dimension}) return false;
  vector->reserve(dimension);
  for (absl::string_view rest = *bytes; !rest.empty(); rest.remove_prefix(8)) {
    const double element = std::bit_cast<double>(ReadU64(rest));
    if (!std::isfinite(element) || (element == 0 && std::signbit(element))) return false;
    vector->push_back(element);
  }
  return true;
}

}  // namespace

std::optional<json> ParseBundleLine(absl::string_view line) {
  std::optional<json> value = ParseJson(line, kLimits);
  if (!value.has_value()) return std::nullopt;
  // Keys sorted, ASCII, no white space, no key twice.
  if (value->dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace) != line)
    return std::nullopt;
  return value;
}

bool ReadHeader(const json& line, AuditBundle* bundle) {
  if (!HasFields(line, {{"auditKey", &IsDigest},
                        {"boxBound", &IsBoxBound},
                        {"created", &IsTime},
                        {"entriesRoot", &IsDigest},
                        {"epoch", &IsCount},
                        {"fingerprint", &IsDigest},
                        {"format", &IsFormat},
                        {"gamma", &IsPositiveFinite},
                        {"keyDimension", &IsDimension},
                        {"memory", &IsText},
                        {"memoryPseudonym", &IsDigest},
                        {"rho", &IsFinite},
                        {"ridge", &IsPositiveFinite},
                        {"scope", &IsScope},
                        {"stateDigest", &IsDigest},
                        {"tokenCount", &IsCount},
                        {"tokenRoot", &IsDigest},
                        {"valueDimension", &IsDimension}})) {
    return false;
  }
  const auto digest = [&line](const char* name) { return *DigestFromBytes(*FromHex(TextOf(line[name]))); };
  bundle->audit_key = digest("auditKey");
  bundle->entries_root = digest("entriesRoot");
  bundle->fingerprint = digest("fingerprint");
  bundle->memory_pseudonym = digest("memoryPseudonym");
  bundle->state_digest = digest("stateDigest");
  bundle->token_root = digest("tokenRoot");
  bundle->box_bound = TextOf(line["boxBound"]);
  bundle->memory = TextOf(line["memory"]);
  bundle->scope = TextOf(line["scope"]);
  bundle->epoch = CountOf(line["epoch"]);
  bundle->token_count = CountOf(line["tokenCount"]);
  bundle->rho = *FiniteOf(line["rho"]);
  MemoryParameters& parameters = bundle->parameters;
  parameters.gamma = *FiniteOf(line["gamma"]);
  parameters.ridge = *FiniteOf(line["ridge"]);
  parameters.key_dimension = static_cast<uint32_t>(CountOf(line["keyDimension"]));
  parameters.value_dimension = static_cast<uint32_t>(CountOf(line["valueDimension"]));
  return ParseBoxBound(bundle->box_bound, &parameters) &&
         absl::ParseTime("%Y-%m-%dT%H:%M:%SZ", TextOf(line["created"]), &bundle->created, nullptr);
}

bool ReadToken(const json& line, const MemoryParameters& parameters, BundleToken* token) {
  if (!HasFields(line, {{"class", &IsClass},
                        {"commitment", &IsDigest},
                        {"id", &IsId},
                        {"key", &IsVector},
                        {"subjects", &IsSubjects},
                        {"value", &IsVector},
                        {"weight", &IsWeight}})) {
    return false;
  }
  token->id = TextOf(line["id"]);
  token->commitment = *DigestFromBytes(*FromHex(TextOf(line["commitment"])));
  for (const json& subject : line["subjects"]) token->subjects.push_back(TextOf(subject));
  token->token_class = TextOf(line["class"]).front();
  token->weight = *FiniteOf(line["weight"]);
  if (token->token_class == 'R' && token->weight != 0) return false;
  return ReadVector(TextOf(line["key"]), parameters.key_dimension, &token->key) &&
         ReadVector(TextOf(line["value"]), parameters.value_dimension, &token->value);
}

bool ReadEnd(const json& line, BundleEnd* end) {
  if (!HasFields(line, {{"sha256", &IsDigest}, {"tokens", &IsCount}})) return false;
  end->sha256 = *DigestFromBytes(*FromHex(TextOf(line["sha256"])));
  end->tokens = CountOf(line["tokens"]);
  return true;
}

}  // namespace expunge::certificate
