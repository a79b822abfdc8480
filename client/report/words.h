// What a certificate's codes and numbers are called on the page.
#ifndef EXPUNGE_CLIENT_REPORT_WORDS_H_
#define EXPUNGE_CLIENT_REPORT_WORDS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace expunge::report {

// The string that a field holds. REQUIRES: it is one.
[[nodiscard]] const std::string& Text(const nlohmann::json& field);
// A count's number. REQUIRES: it is one.
[[nodiscard]] uint64_t CountOf(const nlohmann::json& field);

// "28 May 2026, 20:26:40 UTC"; `text` as it is if it is no time.
[[nodiscard]] std::string TimeWords(absl::string_view text);
[[nodiscard]] std::string TimeWords(absl::Time time);
// "1 token", "12 tokens", "3 memories".
[[nodiscard]] std::string Tokens(uint64_t count);
[[nodiscard]] std::string Memories(uint64_t count);
// "250,000".
[[nodiscard]] std::string WithCommas(uint64_t number);
// "about 0.25", from a hex-float; "infinite".
[[nodiscard]] std::string About(const nlohmann::json& bound);
// Whether a digest is all zero, which stands for none.
[[nodiscard]] bool IsZero(const nlohmann::json& digest);

// What kind of certificate: a heading, such as "All data of one data subject was erased".
[[nodiscard]] std::string KindHeading(const nlohmann::json& predicate);
// What happened, in one or two sentences.
[[nodiscard]] std::string Summary(const nlohmann::json& predicate);
// How far the erasure of the bytes has come, in one sentence; empty for a certificate of state.
[[nodiscard]] std::string StageWords(const nlohmann::json& predicate);

// What a claim of a verification is about: "Signature", for "signature".
[[nodiscard]] std::string ClaimTitle(absl::string_view claim);
// "Holds", "REFUSED", "Not checked".
[[nodiscard]] std::string OutcomeWords(absl::string_view outcome);

}  // namespace expunge::report

#endif  // EXPUNGE_CLIENT_REPORT_WORDS_H_
