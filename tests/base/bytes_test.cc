#include "base/bytes.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace expunge {
namespace {

using std::string_literals::operator""s;

TEST(BytesTest, DigestNeedsExactly32Bytes) {
  for (const size_t size : {0U, 1U, 31U, 33U, 64U})
    EXPECT_FALSE(DigestFromBytes(std::string(size, 'x')).has_value());
  const std::string bytes = "0123456789abcdef0123456789ABCDEF";
  const auto digest = DigestFromBytes(bytes);
  ASSERT_TRUE(digest.has_value());
  EXPECT_EQ(AsView(*digest), bytes);
}

TEST(HexTest, RoundTripsEveryByte) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  const std::string hex = ToHex(all);
  EXPECT_EQ(hex.substr(0, 6), "000102");
  EXPECT_EQ(hex.substr(hex.size() - 6), "fdfeff");
  EXPECT_EQ(FromHex(hex), all);
}

TEST(HexTest, RefusesWhatItWouldNotWrite) {
  for (const std::string& text : {"0"s, "0A"s, "0g"s, " 00"s, "00 "s, "0x00"s, "00\0"s}) {
    EXPECT_FALSE(FromHex(text).has_value()) << text;
  }
  EXPECT_EQ(FromHex(""), "");
}

TEST(Base64Test, MatchesRfc4648Vectors) {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"},
                                                         {"\xfb\xff"s, "+/8="}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(ToBase64(bytes), text);
    EXPECT_EQ(FromBase64(text), bytes);
  }
}

TEST(Base64Test, RefusesEveryOtherEncoding) {
  for (const std::string& text : {"Zg"s, "Zg="s, "Zg==="s, "Zh=="s, "Zm9="s, " Zg=="s, "Zg==\n"s, "Z g=="s,
                                  "-_8="s, "=Zg="s, "Zg.."s, "Zg==Zg=="s, "Zm9v\0"s, "===="s, "Z"s}) {
    EXPECT_FALSE(FromBase64(text).has_value()) << text;
  }
}

TEST(Base64Test, OneChangedCharacterNeverDecodesToTheSameBytes) {
  const std::string bytes = "foob";
  const std::string text = ToBase64(bytes);
  for (size_t at = 0; at < text.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = text;
      changed[at] = static_cast<char>(value);
      if (changed == text) continue;
      const auto decoded = FromBase64(changed);
      EXPECT_NE(decoded, bytes) << "position " << at << ", byte " << value;
      if (decoded.has_value()) {
        EXPECT_EQ(ToBase64(*decoded), changed);
      }
    }
  }
}

TEST(AppendTest, IsLittleEndian) {
  std::string out;
  AppendU32(0x01020304, &out);
  EXPECT_EQ(ToHex(out), "04030201");
  out.clear();
  AppendU64(0x0102030405060708, &out);
  EXPECT_EQ(ToHex(out), "0807060504030201");
  EXPECT_EQ(ReadU64(out + "more"), 0x0102030405060708u);
  out.clear();
  AppendDouble(1.0, &out);
  EXPECT_EQ(ToHex(out), "000000000000f03f");
  out.clear();
  AppendDouble(-std::numeric_limits<double>::denorm_min(), &out);
  EXPECT_EQ(ToHex(out), "0100000000000080");
}

TEST(AppendTest, FieldsCannotBeShiftedIntoEachOther) {
  const auto encode = [](const std::string& first, const std::string& second) {
    std::string out;
    AppendField(first, &out);
    AppendField(second, &out);
    return out;
  };
  EXPECT_NE(encode("ab", "c"), encode("a", "bc"));
  EXPECT_NE(encode("", "abc"), encode("abc", ""));
  EXPECT_EQ(ToHex(encode("ab", "")), "020000000000000061620000000000000000");
}

}  // namespace
}  // namespace expunge
