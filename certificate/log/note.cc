#include "certificate/log/note.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "certificate/log/text_lines.h"

namespace expunge::certificate {
namespace {

constexpr size_t kHashBytes = 4;
constexpr char kEd25519 = 1;  // the type of the signature, in hash and vkey
// An em dash and a space, in UTF-8.
constexpr absl::string_view kSignaturePrefix = "\xE2\x80\x94 ";

// Spaces of Unicode, beyond those of ASCII.
constexpr std::array<absl::string_view, 18> kSpaces = {
    "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82",
    "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88",
    "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F"};
constexpr absl::string_view kIdeographicSpace = "\xE3\x80\x80";

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20; }

bool IsKeyName(absl::string_view name) {
  if (name.empty() || !IsUtf8(name)) return false;
  const bool plain =
      std::none_of(name.begin(), name.end(), [](char c) { return IsControl(c) || c == ' ' || c == '+'; });
  // In valid UTF-8, the bytes of one character are found nowhere but at it.
  const auto has = [name](absl::string_view space) { return name.find(space) != absl::string_view::npos; };
  return plain && std::none_of(kSpaces.begin(), kSpaces.end(), has) && !has(kIdeographicSpace);
}

bool IsNoteText(absl::string_view text) {
  return IsUtf8(text) &&
         std::none_of(text.begin(), text.end(), [](char c) { return IsControl(c) && c != '\n'; });
}

std::string HashOf(absl::string_view name, const PublicKey& key) {
  const Digest digest = Sha256(absl::StrCat(name, "\n", std::string(1, kEd25519), key.Raw()));
  const absl::string_view hash = AsView(digest).substr(0, kHashBytes);
  return {hash.data(), hash.size()};
}

struct SignatureLine {
  absl::string_view name;
  std::string hash;
  std::string signature;
};

std::optional<SignatureLine> ParseSignatureLine(absl::string_view line) {
  if (line.substr(0, kSignaturePrefix.size()) != kSignaturePrefix) return std::nullopt;
  line.remove_prefix(kSignaturePrefix.size());
  const size_t space = line.find(' ');
  if (space == absl::string_view::npos || !IsKeyName(line.substr(0, space))) return std::nullopt;
  const std::optional<std::string> bytes = FromBase64(line.substr(space + 1));
  if (!bytes.has_value() || bytes->size() <= kHashBytes) return std::nullopt;
  return SignatureLine{line.substr(0, space), bytes->substr(0, kHashBytes), bytes->substr(kHashBytes)};
}

// kOk, or why not, and then `*lines` is of no use.
LogReason ParseSignatures(absl::string_view text, std::vector<SignatureLine>* lines) {
  while (!text.empty()) {
    if (lines->size() == kMaxNoteSignatures) return LogReason::kTooManySignatures;
    const std::optional<absl::string_view> line = TakeLine(&text);
    if (!line.has_value()) return LogReason::kNotANote;
    std::optional<SignatureLine> signature = ParseSignatureLine(*line);
    if (!signature.has_value()) return LogReason::kNotANote;
    lines->push_back(*std::move(signature));
  }
  return lines->empty() ? LogReason::kNotANote : LogReason::kOk;
}

// Which keys signed `text`, by all lines.
LogReason CheckSignatures(absl::string_view text, absl::Span<const SignatureLine> lines,
                          absl::Span<const NoteKey> keys, std::set<size_t>* signed_by) {
  for (const SignatureLine& line : lines) {
    bool known = false;
    bool verified = false;
    // Two keys with one name and one hash can be made: either may be meant.
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].name() != line.name || keys[i].hash() != line.hash) continue;
      known = true;
      if (!keys[i].key().Verify(text, line.signature)) continue;
      verified = true;
      signed_by->insert(i);
    }
    if (known && !verified) return LogReason::kBadSignature;
  }
  return signed_by->empty() ? LogReason::kUnknownLogKey : LogReason::kOk;
}

}  // namespace

absl::StatusOr<NoteKey> NoteKey::Create(absl::string_view name, PublicKey key) {
  if (!IsKeyName(name)) {
    return absl::InvalidArgumentError("the name of a note's key is UTF-8 text without spaces and \"+\"");
  }
  std::string hash = HashOf(name, key);
  return NoteKey(std::string(name), std::move(hash), std::move(key));
}

absl::StatusOr<NoteKey> NoteKey::Parse(absl::string_view vkey) {
  const absl::Status malformed = absl::InvalidArgumentError("not a vkey of an Ed25519 key (name+hash+key)");
  if (vkey.size() > kMaxNoteBytes) return malformed;
  const size_t first = vkey.find('+');
  if (first == absl::string_view::npos) return malformed;
  const size_t second = vkey.find('+', first + 1);
  if (second == absl::string_view::npos) return malformed;
  const std::optional<std::string> bytes = FromBase64(vkey.substr(second + 1));
  if (!bytes.has_value() || bytes->empty() || bytes->front() != kEd25519) return malformed;
  absl::StatusOr<PublicKey> key = PublicKey::FromRaw(absl::string_view(*bytes).substr(1));
  if (!key.ok()) return malformed;
  EXPUNGE_ASSIGN_OR_RETURN(NoteKey parsed, Create(vkey.substr(0, first), *std::move(key)));
  if (parsed.ToText() != vkey) return malformed;
  return parsed;
}

std::string NoteKey::ToText() const {
  return absl::StrCat(name_, "+", ToHex(hash_), "+",
                      ToBase64(absl::StrCat(std::string(1, kEd25519), key_.Raw())));
}

absl::StatusOr<std::string> SignNote(absl::string_view text, absl::Span<const NoteSigner> signers) {
  if (text.empty() || text.back() != '\n' || !IsNoteText(text)) {
    return absl::InvalidArgumentError(
        "the text of a note is UTF-8 in whole lines, without control characters");
  }
  std::string note = absl::StrCat(text, "\n");
  for (const NoteSigner& signer : signers) {
    EXPUNGE_ASSIGN_OR_RETURN(const std::string signature, signer.sign(text));
    if (!signer.key.key().Verify(text, signature)) {
      return absl::InternalError("a signature of a note does not verify");
    }
    absl::StrAppend(&note, kSignaturePrefix, signer.key.name(), " ",
                    ToBase64(absl::StrCat(signer.key.hash(), signature)), "\n");
  }
  return note;
}

OpenedNote OpenNote(absl::string_view note, absl::Span<const NoteKey> keys) {
  const auto refused = [](LogReason reason) { return OpenedNote{reason, "", {}}; };
  if (note.empty()) return refused(LogReason::kEmpty);
  if (note.size() > kMaxNoteBytes) return refused(LogReason::kTooLarge);
  if (!IsNoteText(note)) return refused(LogReason::kNotText);
  const size_t split = note.rfind("\n\n");
  if (split == absl::string_view::npos) return refused(LogReason::kNotANote);
  const absl::string_view text = note.substr(0, split + 1);

  std::vector<SignatureLine> lines;
  std::set<size_t> signed_by;
  LogReason reason = ParseSignatures(note.substr(split + 2), &lines);
  if (reason == LogReason::kOk) reason = CheckSignatures(text, lines, keys, &signed_by);
  if (reason != LogReason::kOk) return refused(reason);
  return {LogReason::kOk, std::string(text), {signed_by.begin(), signed_by.end()}};
}

}  // namespace expunge::certificate
