#include "base/progress.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace expunge {
namespace {

TEST(ProgressTest, ShowsShareRateAndTimeLeft) {
  EXPECT_EQ(FormatProgress("importing", 250, 1000, absl::Seconds(5)),
            "importing [#######-----------------------]  250/1000   25 %  50/s  0:15 left");
}

TEST(ProgressTest, ShowsNoRateBeforeAnythingIsDone) {
  EXPECT_EQ(FormatProgress("importing", 0, 512, absl::Seconds(3)),
            "importing [------------------------------]   0/512    0 %");
}

TEST(ProgressTest, IsFullOnlyAtTheEnd) {
  EXPECT_EQ(FormatProgress("x", 999'999, 1'000'000, absl::ZeroDuration()),
            "x [#############################-]  999999/1000000   99 %");
  EXPECT_EQ(FormatProgress("x", 3, 3, absl::Seconds(1)),
            "x [##############################] 3/3  100 %  3/s  0:00 left");
  EXPECT_EQ(FormatProgress("x", 0, 0, absl::Seconds(1)), "x [##############################] 0/0  100 %");
}

TEST(ProgressTest, FormatsSecondsMinutesAndHours) {
  EXPECT_EQ(FormatSeconds(absl::Seconds(7.9)), "0:07");
  EXPECT_EQ(FormatSeconds(absl::Seconds(754)), "12:34");
  EXPECT_EQ(FormatSeconds(absl::Seconds(10931)), "3:02:11");
  EXPECT_EQ(FormatSeconds(absl::Seconds(-1)), "0:00");
}

// What a bar writes to a file, which is no terminal.
std::string Written(ProgressMode mode) {
  FILE* file = std::tmpfile();
  {
    Progress progress(mode, "reading", 2, file);
    progress.Show(0);
    progress.Show(2);
  }
  std::rewind(file);
  std::string text(1000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  EXPECT_EQ(std::fclose(file), 0);
  return text;
}

TEST(ProgressTest, IsSilentOffATerminalUnlessAskedFor) {
  EXPECT_EQ(Written(ProgressMode::kAuto), "");
  EXPECT_EQ(Written(ProgressMode::kNever), "");
  const std::string always = Written(ProgressMode::kAlways);
  EXPECT_EQ(always.rfind("reading [------------------------------] 0/2    0 %\nreading [####", 0), 0U)
      << always;
  EXPECT_EQ(always.find('\r'), std::string::npos);
  EXPECT_EQ(always.back(), '\n');
}

}  // namespace
}  // namespace expunge
