#include "client/report/words.h"

#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "certificate/hex_double.h"

namespace expunge::report {
namespace {

using nlohmann::json;
using Pair = std::pair<absl::string_view, absl::string_view>;

constexpr std::array<Pair, 16> kClaimTitles = {{{"signature", "Signature"},
                                                {"statement", "Statement"},
                                                {"key", "Key in its time"},
                                                {"log", "Transparency log"},
                                                {"transition", "Removed, and nothing else"},
                                                {"chain", "Chain of certificates"},
                                                {"completion", "Two stages agree"},
                                                {"receipt", "Receipt"},
                                                {"bundle", "Audit bundle"},
                                                {"keys", "Published keys"},
                                                {"oldCheckpoint", "Earlier checkpoint"},
                                                {"receipts", "Receipts"},
                                                {"receiptsOfBundle", "Receipts of the bundle"},
                                                {"digests", "Digests of the bundle"},
                                                {"solution", "Solved again from nothing"},
                                                {"bundleTied", "Bundle and certificates"}}};

}  // namespace

const std::string& Text(const json& field) { return field.get_ref<const std::string&>(); }

uint64_t CountOf(const json& field) {
  uint64_t number = 0;
  return absl::SimpleAtoi(Text(field), &number) ? number : 0;
}

std::string TimeWords(absl::Time time) {
  // The day of the month without a leading zero.
  return absl::StrCat(absl::ToCivilDay(time, absl::UTCTimeZone()).day(),
                      absl::FormatTime(" %B %Y, %H:%M:%S UTC", time, absl::UTCTimeZone()));
}

std::string TimeWords(absl::string_view text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime("%Y-%m-%d%ET%H:%M:%SZ", text, &time, &error)) return std::string(text);
  return TimeWords(time);
}

std::string WithCommas(uint64_t number) {
  std::string digits = absl::StrCat(number);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string Tokens(uint64_t count) {
  return absl::StrCat(WithCommas(count), count == 1 ? " token" : " tokens");
}

std::string Memories(uint64_t count) {
  return absl::StrCat(WithCommas(count), count == 1 ? " memory" : " memories");
}

std::string About(const json& bound) {
  const double value = certificate::ParseHexDouble(Text(bound)).value_or(0);
  return std::isinf(value) ? "infinite" : absl::StrFormat("about %.3g", value);
}

bool IsZero(const json& digest) { return Text(digest).find_first_not_of('0') == std::string::npos; }

std::string KindHeading(const json& predicate) {
  const std::string& kind = Text(predicate["kind"]);
  if (kind == "PURGE") return "All data of one data subject was erased";
  if (kind == "DELETION") return "Named records were erased";
  if (kind == "MEMORY_DELETION") return "A whole memory was erased";
  if (kind == "SELECTION") return "Records without weight were dropped";
  return "The state of a memory was certified";
}

std::string Summary(const json& predicate) {
  const std::string& kind = Text(predicate["kind"]);
  if (kind == "STATE") {
    return absl::StrCat("At the time of issue the memory held ",
                        Tokens(CountOf(predicate["after"]["tokenCount"])), ", in the state described below.");
  }
  const uint64_t count = CountOf(predicate["removedCount"]);
  const std::string removed = absl::StrCat(Tokens(count), count == 1 ? " was" : " were");
  if (kind == "MEMORY_DELETION")
    return absl::StrCat("The memory was removed, and with it ", removed, " erased.");
  if (kind == "SELECTION") {
    return absl::StrCat(removed,
                        " dropped from the memory. None of them carried any weight: no answer changed.");
  }
  std::string text = absl::StrCat(removed, " removed from the memory. What remains is, bit for bit, ");
  absl::StrAppend(&text, Text(predicate["exactness"]["scope"]) == "FULL_HISTORY"
                             ? "as if they had never been there."
                             : "as if the tokens that remain were the only ones that were ever there.");
  if (kind == "PURGE") {
    absl::StrAppend(&text,
                    " These are all tokens of this memory that named the data subject of the request.");
  }
  return text;
}

std::string StageWords(const json& predicate) {
  const auto erasure = predicate.find("erasure");
  if (erasure == predicate.end()) return "";
  if (Text((*erasure)["stage"]) == "PHYSICALLY_PURGED") {
    return absl::StrCat(
        "Second stage: the keys are destroyed, and by ", TimeWords(Text((*erasure)["purged"])),
        " every database file that held the sealed bytes was rewritten or removed. This completes "
        "certificate no. ",
        Text(predicate["completes"]["sequence"]), " of this memory.");
  }
  return "First stage: the keys are destroyed. What was sealed under them cannot be read, but its sealed "
         "bytes may "
         "remain in files until a second certificate says that these were rewritten.";
}

std::string ClaimTitle(absl::string_view claim) {
  for (const auto& [name, title] : kClaimTitles) {
    if (claim == name) return std::string(title);
  }
  return std::string(claim);
}

std::string OutcomeWords(absl::string_view outcome) {
  if (outcome == "OK") return "Holds";
  return outcome == "FAILED" ? "REFUSED" : "Not checked";
}

}  // namespace expunge::report
