// SPDX-License-Identifier: Apache-2.0
#include "input/Printable.h"
#include <gtest/gtest.h>

using rubia::input::printable;

TEST(InputPrintable, KeepsTextInAnyScript) {
  for (const char *text : {"", "plain text\n\tindented", "Grüße, 你好, привет, 🙂", "\\x1b"})
    EXPECT_EQ(printable(text), text);
}

TEST(InputPrintable, WritesOutWhatTerminalsObey) {
  EXPECT_EQ(printable("\x1b[2J\x07\r\x7f"), "\\x1b[2J\\x07\\x0d\\x7f");
  EXPECT_EQ(printable(llvm::StringRef("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\u{9b}2J"); // a control sequence's beginning in one character
  EXPECT_EQ(printable("\u202ecod"), "\\u{202e}cod");
  EXPECT_EQ(printable("\u200bx\ufeff"), "\\u{200b}x\\u{feff}");
}

TEST(InputPrintable, WritesOutBytesThatAreNoText) {
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "\\x9b2J");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                   // '/' in too many bytes
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");          // half of a pair
  EXPECT_EQ(printable("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80"); // beyond Unicode
}

TEST(InputPrintable, AStreamDividesNoCharacter) {
  std::string text;
  llvm::raw_string_ostream to(text);
  {
    rubia::input::PrintableStream stream(to);
    stream << "gr\xc3";
    stream << "\xbc\n\x1b";
    EXPECT_EQ(text, "grü\n");
  }
  EXPECT_EQ(text, "grü\n\\x1b");
}
