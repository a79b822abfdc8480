#include "base/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace expunge {
namespace {

TEST(PrintableTest, TextStaysAsItIs) {
  EXPECT_EQ(Printable(""), "");
  for (const char* text : {"certificate-1.json ~!", "Zürich 日本 🙂", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(Printable(text), text);
    EXPECT_TRUE(IsUtf8(text));
  }
}

TEST(PrintableTest, NothingSteersATerminalOrStartsALine) {
  EXPECT_EQ(Printable("a\nok.json: VERIFIED\r\t"), "a\\x0aok.json: VERIFIED\\x0d\\x09");
  EXPECT_EQ(Printable("\x1b[2J\x7f"), "\\x1b[2J\\x7f");
  EXPECT_EQ(Printable(std::string("\0", 1)), "\\x00");
  EXPECT_EQ(Printable("\xc2\x9b"), "\\xc2\\x9b") << "CSI as one character";
  EXPECT_EQ(Printable("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "right to left";
  EXPECT_EQ(Printable("\xe2\x80\x8b"), "\\xe2\\x80\\x8b") << "zero width";
  EXPECT_EQ(PrintableLines("a\n\x1b\n"), "a\n\\x1b\n");
}

TEST(PrintableTest, WhatIsNotUtf8IsShownByteByByte) {
  for (const char* bytes : {"\x80", "\xff", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                            "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xc3("}) {
    EXPECT_FALSE(IsUtf8(bytes));
    EXPECT_EQ(Printable(bytes).substr(0, 2), "\\x");
  }
  EXPECT_EQ(Printable("a\xffz"), "a\\xffz");
  EXPECT_EQ(Printable("\xc3("), "\\xc3(");
}

}  // namespace
}  // namespace expunge
