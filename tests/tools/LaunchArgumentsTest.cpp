// SPDX-License-Identifier: Apache-2.0
#include "tools/LaunchArguments.h"
#include <gtest/gtest.h>

using namespace rubia::tools;

static std::string bytesOf(llvm::StringRef text) {
  llvm::Expected<LaunchArgument> argument = parseLaunchArgument(text);
  if (!argument)
    return llvm::toString(argument.takeError());
  std::string hex;
  for (uint8_t byte : argument->bytes) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

TEST(LaunchArguments, ScalarsAreLittleEndianInTheirSize) {
  struct {
    const char *text, *bytes;
  } cases[] = {
      {"i8:-1", "ff"},
      {"u8:255", "ff"},
      {"i8:0xff", "ff"},
      {"i16:-2", "feff"},
      {"u16:65535", "ffff"},
      {"i32:-2147483648", "00000080"},
      {"u32:0xff", "ff000000"},
      {"i64:-1", "ffffffffffffffff"},
      {"u64:18446744073709551615", "ffffffffffffffff"},
      {"f16:1", "003c"},
      {"bf16:1", "803f"},
      {"f32:1.5", "0000c03f"},
      {"f32:-0", "00000080"},
      {"f64:0.1", "9a9999999999b93f"},
      {"bytes:00ff10", "00ff10"},
      {"zero:3", "000000"},
  };
  for (auto &c : cases)
    EXPECT_EQ(bytesOf(c.text), c.bytes) << c.text;
}

TEST(LaunchArguments, WrongOnesSayWhy) {
  struct {
    const char *text, *message;
  } cases[] = {
      {"u8:256", "argument 'u8:256': does not fit into 8 bits"},
      {"u8:-1", "argument 'u8:-1': does not fit into 8 bits"},
      {"i8:-129", "argument 'i8:-129': does not fit into 8 bits"},
      {"i32:", "argument 'i32:': '' is no integer"},
      {"i32:1x", "argument 'i32:1x': '1x' is no integer"},
      {"f32:one", "argument 'f32:one': 'one' is no number"},
      {"zero:", "argument 'zero:': expected zero:BYTES[:OUT] or zero:TYPE[SIZE,...][:OUT]"},
      {"zero:0", "argument 'zero:0': expected zero:BYTES[:OUT] or zero:TYPE[SIZE,...][:OUT]"},
      {"zero:f32[0]",
       "argument 'zero:f32[0]': expected zero:BYTES[:OUT] or zero:TYPE[SIZE,...][:OUT]"},
      {"buf:", "argument 'buf:': expected buf:IN[:OUT]"},
      {"bytes:0", "argument 'bytes:0': expected bytes:HEX, two digits a byte, or bytes:@FILE"},
      {"bytes:0g", "argument 'bytes:0g': expected bytes:HEX, two digits a byte, or bytes:@FILE"},
      {"i33:1", "argument 'i33:1': expected i8: u8: i16: u16: i32: u32: i64: u64: f16: bf16: f32: "
                "f64: buf: zero: or "
                "bytes:"},
      {"", "argument '': expected i8: u8: i16: u16: i32: u32: i64: u64: f16: bf16: f32: f64: buf: "
           "zero: or bytes:"},
  };
  for (auto &c : cases)
    EXPECT_EQ(bytesOf(c.text), c.message) << c.text;
}

TEST(LaunchArguments, BuffersKnowWhereTheyGo) {
  llvm::Expected<LaunchArgument> argument = parseLaunchArgument("zero:16:out.bin");
  ASSERT_TRUE(bool(argument));
  EXPECT_TRUE(argument->isBuffer);
  EXPECT_EQ(argument->output, "out.bin");
}

TEST(LaunchArguments, LinesAreSplitAsAShellDoes) {
  auto words = splitLine("--entry k  'buf:my file:o' \"a'b\" '' # comment");
  ASSERT_TRUE(bool(words));
  EXPECT_EQ(*words, (std::vector<std::string>{"--entry", "k", "buf:my file:o", "a'b", ""}));
  auto open = splitLine("'a");
  ASSERT_FALSE(bool(open));
  EXPECT_EQ(llvm::toString(open.takeError()), "missing '");
}
