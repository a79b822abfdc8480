// Every reason that the program gives is in the documentation.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "certificate/envelope.h"
#include "certificate/key_chain.h"
#include "certificate/log/log_reason.h"
#include "tests/support/files.h"

namespace expunge::verify {
namespace {

std::string Documentation() {
  std::string text;
  for (const char* page : {"certificate.md", "log.md", "keys.md"}) {
    text += test_support::ReadWholeFile(absl::StrCat(EXPUNGE_SOURCE_DIR, "/docs/formats/", page));
  }
  return text;
}

// What the sources hand to Failed, NotChecked and LeftOpen as text, or name as a constant.
std::set<std::string> ReasonsInSources() {
  std::set<std::string> reasons;
  const std::regex call(
      "(?:Failed|NotChecked|LeftOpen)\\([^;\"]*\"([A-Z_]+)\"|k[A-Z][A-Za-z]+ = \"([A-Z_]+)\"");
  for (const auto& item : std::filesystem::directory_iterator(EXPUNGE_SOURCE_DIR "/client/verify")) {
    if (item.path().extension() != ".cc") continue;
    const std::string source = test_support::ReadWholeFile(item.path());
    for (std::sregex_iterator found(source.begin(), source.end(), call), end; found != end; ++found) {
      reasons.insert((*found)[1].matched ? (*found)[1].str() : (*found)[2].str());
    }
  }
  return reasons;
}

TEST(DocumentedReasonsTest, IncludeEveryReasonOfTheProgram) {
  std::set<std::string> reasons = ReasonsInSources();
  EXPECT_GT(reasons.size(), 25U);
  using certificate::KeyChainReason;
  using certificate::KeyWindowReason;
  using certificate::LogReason;
  using certificate::VerifyReason;
  for (int i = 0; i <= static_cast<int>(LogReason::kRootMismatch); ++i) {
    const auto reason = static_cast<LogReason>(i);
    // Shown as NOT_IN_LOG; and of a function that the program doesn't call.
    if (reason == LogReason::kRootMismatch || reason == LogReason::kWrongSizes) continue;
    reasons.emplace(LogReasonName(reason));
  }
  for (int i = 0; i <= static_cast<int>(VerifyReason::kMalformedStatement); ++i) {
    reasons.emplace(VerifyReasonName(static_cast<VerifyReason>(i)));
  }
  for (int i = 0; i <= static_cast<int>(KeyChainReason::kUnpinned); ++i) {
    reasons.emplace(KeyChainReasonName(static_cast<KeyChainReason>(i)));
  }
  for (int i = 0; i <= static_cast<int>(KeyWindowReason::kBeyondEnd); ++i) {
    reasons.emplace(KeyWindowReasonName(static_cast<KeyWindowReason>(i)));
  }
  const std::string text = Documentation();
  for (const std::string& reason : reasons) {
    EXPECT_TRUE(absl::StrContains(text, absl::StrCat("`", reason, "`"))) << reason;
  }
}

}  // namespace
}  // namespace expunge::verify
