#include "certificate/log/checkpoint.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/certificate/fixtures.h"
#include "tests/certificate/log/log_fixtures.h"

namespace expunge::certificate {
namespace {

using testing::FixedDigest;
using testing::FixedKeys;
using testing::FixedSigner;
using testing::kOrigin;
using testing::SignerFor;
using testing::TestKey;

// The text of the specification's example.
constexpr absl::string_view kPublished =
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";

TEST(CheckpointTest, ReadsAndWritesThePublishedText) {
  const auto checkpoint = ParseCheckpointText(kPublished);
  ASSERT_TRUE(checkpoint.has_value());
  EXPECT_EQ(checkpoint->origin, "example.com/behind-the-sofa");
  EXPECT_EQ(checkpoint->tree.size, 20852163);
  EXPECT_EQ(CheckpointText(*checkpoint), kPublished);
}

TEST(CheckpointTest, PassesOverExtensionLines) {
  const auto checkpoint = ParseCheckpointText(absl::StrCat(kPublished, "more\nand more\n"));
  ASSERT_TRUE(checkpoint.has_value());
  EXPECT_EQ(CheckpointText(*checkpoint), kPublished);
}

TEST(CheckpointTest, RefusesEveryOtherForm) {
  const std::string root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";
  for (const std::string& text : {
           std::string(),
           std::string("\n"),
           std::string("origin\n"),
           std::string("origin\n1\n"),
           absl::StrCat("origin\n1\n", root),
           absl::StrCat("\n1\n", root, "\n"),
           absl::StrCat("origin\n\n", root, "\n"),
           absl::StrCat("origin\n01\n", root, "\n"),
           absl::StrCat("origin\n+1\n", root, "\n"),
           absl::StrCat("origin\n-1\n", root, "\n"),
           absl::StrCat("origin\n 1\n", root, "\n"),
           absl::StrCat("origin\n1 \n", root, "\n"),
           absl::StrCat("origin\n0x1\n", root, "\n"),
           absl::StrCat("origin\n18446744073709551616\n", root, "\n"),
           absl::StrCat("origin\n1\n", root.substr(0, 43), "\n"),
           absl::StrCat("origin\n1\n", root, "=\n"),
           std::string("origin\n1\nAAAA\n"),
           absl::StrCat("origin\n1\n", root, "\n\n"),
           absl::StrCat("origin\n1\n", root, "\nextension"),
           absl::StrCat("origin\n1\n", root, "\n\nextension\n"),
       }) {
    EXPECT_FALSE(ParseCheckpointText(text).has_value()) << text;
  }
}

TEST(CheckpointTest, IsOpenedAsItWasSigned) {
  const NoteSigner signer = FixedSigner();
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
    const TreeHead tree{size, FixedDigest("root")};
    const std::string note = SignCheckpoint(tree, signer).value();
    EXPECT_EQ(note, SignCheckpoint(tree, signer).value());
    const OpenedCheckpoint opened = OpenCheckpoint(note, {&signer.key, 1});
    EXPECT_EQ(opened.reason, LogReason::kOk);
    EXPECT_EQ(opened.checkpoint, (Checkpoint{std::string(kOrigin), tree}));
  }
}

TEST(CheckpointTest, IsRefusedIfAnotherLogsKeySigned) {
  const NoteSigner other = SignerFor("log.example/other", TestKey());
  const std::string text = CheckpointText({std::string(kOrigin), {3, FixedDigest("root")}});
  const std::string note = SignNote(text, {&other, 1}).value();
  EXPECT_EQ(OpenCheckpoint(note, {&other.key, 1}).reason, LogReason::kWrongOrigin);
  EXPECT_EQ(OpenCheckpoint(note, FixedKeys()).reason, LogReason::kUnknownLogKey);
}

TEST(CheckpointTest, IsRefusedIfTheSignedTextIsNone) {
  const NoteSigner signer = FixedSigner();
  const std::string note = SignNote("not a checkpoint\n", {&signer, 1}).value();
  EXPECT_EQ(OpenCheckpoint(note, {&signer.key, 1}).reason, LogReason::kNotACheckpoint);
}

}  // namespace
}  // namespace expunge::certificate
