#include "certificate/log/note.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/certificate/fixtures.h"
#include "tests/certificate/log/log_fixtures.h"

namespace expunge::certificate {
namespace {

using testing::FixedSigner;
using testing::SignerFor;
using testing::TestKey;

// The example with which the format is documented (golang.org/x/mod/sumdb/note), key and all.
constexpr absl::string_view kPeterKey = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
constexpr absl::string_view kPeterText =
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n";
constexpr absl::string_view kPeterSignature =
    "\xE2\x80\x94 PeterNeumann "
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

std::string PeterNote() { return absl::StrCat(kPeterText, "\n", kPeterSignature); }
NoteKey Peter() { return *NoteKey::Parse(kPeterKey); }

TEST(NoteKeyTest, ReadsAndWritesThePublishedKey) {
  EXPECT_EQ(Peter().name(), "PeterNeumann");
  EXPECT_EQ(ToHex(Peter().hash()), "c74f20a3");
  EXPECT_EQ(Peter().ToText(), kPeterKey);
}

TEST(NoteKeyTest, RefusesEveryOtherForm) {
  for (const std::string& text : {
           std::string(),
           std::string("PeterNeumann"),
           std::string("PeterNeumann+c74f20a3"),
           absl::StrReplaceAll(kPeterKey, {{"c74f20a3", "c74f20a4"}}),
           absl::StrReplaceAll(kPeterKey, {{"c74f20a3", "C74F20A3"}}),
           absl::StrReplaceAll(kPeterKey, {{"c74f20a3", "74f20a3"}}),
           absl::StrReplaceAll(kPeterKey, {{"PeterNeumann", "peterNeumann"}}),
           absl::StrReplaceAll(kPeterKey, {{"PeterNeumann", ""}}),
           absl::StrReplaceAll(kPeterKey, {{"+ARpc", "+AhpC"}}),
           absl::StrCat(kPeterKey, "\n"),
           absl::StrCat(" ", kPeterKey),
           absl::StrCat(kPeterKey, "="),
           // Of 34 bytes, and of another type, each with its right hash.
           std::string("PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY=="),
           std::string("PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"),
       }) {
    EXPECT_TRUE(absl::IsInvalidArgument(NoteKey::Parse(text).status())) << text;
  }
}

TEST(NoteKeyTest, RefusesNamesThatAreNone) {
  const PublicKey key = TestKey().Public();
  for (const char* name : {"", "a b", "a+b", "a\tb", "a\nb", "\xC2\xA0",
                           "a\xE2\x80\x89"
                           "b",
                           "\xE3\x80\x80", "\xff", "\xE2\x80"}) {
    EXPECT_FALSE(NoteKey::Create(name, key).ok()) << name;
  }
  EXPECT_TRUE(NoteKey::Create("log.example/\xC3\xBC", key).ok());
}

TEST(SignNoteTest, MakesThePublishedNote) {
  // The seed of the published private key.
  const std::string seed = FromBase64("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz")->substr(1);
  const SigningKey key = *SigningKey::FromPem(testing::PrivatePemOfSeed(ToHex(seed)));
  const NoteSigner signer = SignerFor("PeterNeumann", key);
  EXPECT_EQ(signer.key.ToText(), kPeterKey);
  EXPECT_EQ(SignNote(kPeterText, {&signer, 1}).value(), PeterNote());
}

TEST(SignNoteTest, RefusesWhatIsNoText) {
  const NoteSigner signer = FixedSigner();
  for (const char* text : {"", "no line end", "tab\t\n", "\x7f\xff\n", "\r\n"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(SignNote(text, {&signer, 1}).status())) << text;
  }
}

TEST(SignNoteTest, GivesOutNoSignatureThatDoesNotVerify) {
  NoteSigner signer = FixedSigner();
  signer.sign = [](absl::string_view) -> absl::StatusOr<std::string> { return std::string(64, 'x'); };
  EXPECT_TRUE(absl::IsInternal(SignNote("text\n", {&signer, 1}).status()));
  signer.sign = [](absl::string_view) -> absl::StatusOr<std::string> {
    return absl::UnavailableError("the token is not there");
  };
  EXPECT_TRUE(absl::IsUnavailable(SignNote("text\n", {&signer, 1}).status()));
}

TEST(OpenNoteTest, OpensThePublishedNote) {
  const std::vector<NoteKey> keys = {FixedSigner().key, Peter()};
  const OpenedNote opened = OpenNote(PeterNote(), keys);
  EXPECT_EQ(opened.reason, LogReason::kOk);
  EXPECT_EQ(opened.text, kPeterText);
  EXPECT_EQ(opened.signed_by, std::vector<size_t>{1});
}

TEST(OpenNoteTest, RefusesEveryFlippedBitAndEveryTruncation) {
  const std::vector<NoteKey> keys = {Peter()};
  const std::string note = PeterNote();
  for (size_t bit = 0; bit < 8 * note.size(); ++bit) {
    std::string flipped = note;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(OpenNote(flipped, keys).reason, LogReason::kOk) << bit;
  }
  for (size_t length = 0; length < note.size(); ++length) {
    EXPECT_NE(OpenNote(note.substr(0, length), keys).reason, LogReason::kOk) << length;
  }
}

TEST(OpenNoteTest, GivesTheReason) {
  const std::vector<NoteKey> keys = {Peter()};
  const auto reason = [&keys](absl::string_view note) { return OpenNote(note, keys).reason; };
  EXPECT_EQ(reason(""), LogReason::kEmpty);
  EXPECT_EQ(reason(std::string(kMaxNoteBytes + 1, '\n')), LogReason::kTooLarge);
  EXPECT_EQ(reason(absl::StrCat("\t", PeterNote())), LogReason::kNotText);
  EXPECT_EQ(reason(absl::StrCat("\xff", PeterNote())), LogReason::kNotText);
  EXPECT_EQ(reason(absl::StrCat("\r", PeterNote())), LogReason::kNotText);
  EXPECT_EQ(reason(kPeterText), LogReason::kNotANote);
  EXPECT_EQ(reason(absl::StrCat(kPeterText, "\n")), LogReason::kNotANote);
  EXPECT_EQ(reason(absl::StrCat(PeterNote(), "no signature\n")), LogReason::kNotANote);
  EXPECT_EQ(reason(absl::StrCat(PeterNote(), "\n")), LogReason::kNotANote);
  EXPECT_EQ(reason(absl::StrCat(PeterNote(), "\xE2\x80\x94 a+b AAAAAAA=\n")), LogReason::kNotANote);
  EXPECT_EQ(reason(absl::StrCat(PeterNote(), "\xE2\x80\x94 short AAAAAA==\n")), LogReason::kNotANote);
  EXPECT_EQ(reason(absl::StrCat("Another text.\n\n", kPeterSignature)), LogReason::kBadSignature);
  EXPECT_EQ(OpenNote(PeterNote(), {}).reason, LogReason::kUnknownLogKey);
  const std::vector<NoteKey> others = {*NoteKey::Create("Another", Peter().key()),
                                       *NoteKey::Create("PeterNeumann", TestKey().Public())};
  EXPECT_EQ(OpenNote(PeterNote(), others).reason, LogReason::kUnknownLogKey);
}

TEST(OpenNoteTest, IgnoresSignaturesOfOthersUpToTheLimit) {
  const std::vector<NoteKey> keys = {Peter()};
  std::string note = absl::StrCat(kPeterText, "\n");
  for (size_t i = 1; i < kMaxNoteSignatures; ++i) {
    absl::StrAppend(&note, "\xE2\x80\x94 witness", i, " AAAAAAA=\n");
  }
  EXPECT_EQ(OpenNote(absl::StrCat(note, kPeterSignature), keys).reason, LogReason::kOk);
  absl::StrAppend(&note, "\xE2\x80\x94 witness AAAAAAA=\n", kPeterSignature);
  EXPECT_EQ(OpenNote(note, keys).reason, LogReason::kTooManySignatures);
}

TEST(OpenNoteTest, IsCondemnedByOneBadSignatureOfAKnownKey) {
  const std::vector<NoteSigner> signers = {FixedSigner(), SignerFor("second", TestKey())};
  const std::vector<NoteKey> keys = {signers[0].key, signers[1].key};
  const std::string note = SignNote("text\n", signers).value();
  EXPECT_EQ(OpenNote(note, keys).signed_by, (std::vector<size_t>{0, 1}));
  // The same signature under the other name.
  const std::string first = SignNote("other\n", {signers.data(), 1}).value();
  const std::string line = first.substr(first.find("\n\n") + 2);
  EXPECT_EQ(OpenNote(absl::StrCat(note, line), keys).reason, LogReason::kBadSignature);
  EXPECT_EQ(OpenNote(absl::StrCat(note, line), {keys.data() + 1, 1}).reason, LogReason::kOk);
}

TEST(OpenNoteTest, SplitsAtTheLastEmptyLine) {
  const NoteSigner signer = FixedSigner();
  const std::string note = SignNote("one\n\ntwo\n\n\n", {&signer, 1}).value();
  EXPECT_EQ(OpenNote(note, {&signer.key, 1}).text, "one\n\ntwo\n\n\n");
}

}  // namespace
}  // namespace expunge::certificate
