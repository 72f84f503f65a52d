// SPDX-License-Identifier: Apache-2.0
#include "tools/launch/Elements.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace rubia::tools;
using namespace llvm;

template <class T> static std::vector<uint8_t> bytesOf(std::initializer_list<T> values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

static std::string printed(const char *shape, const std::vector<uint8_t> &bytes) {
  std::string text;
  raw_string_ostream os(text);
  printElements(os, *parseShape(shape), bytes);
  return text;
}

TEST(Elements, ShapesAreReadAndWritten) {
  EXPECT_EQ(parseShape("f32[4,8]")->text(), "f32[4,8]");
  EXPECT_EQ(parseShape("f32[4,8]")->bytes(), 128u);
  for (const char *wrong :
       {"f32", "f33[4]", "f32[]", "f32[0]", "f32[4", "f32[1099511627777]", "u8[1048577,1048576]"})
    EXPECT_FALSE(parseShape(wrong)) << wrong;
}

TEST(Elements, ArePrintedByRows) {
  EXPECT_EQ(printed("f32[2,2]", bytesOf<float>({1.5f, -2, NAN, INFINITY})), "1.5 -2\nnan inf\n");
  EXPECT_EQ(printed("i8[3]", {0xff, 0, 5}), "-1 0 5\n");
  EXPECT_EQ(printed("u64[1]", bytesOf<uint64_t>({UINT64_MAX})), "18446744073709551615\n");
  EXPECT_EQ(printed("f16[2]", {0x00, 0x3c, 0x00, 0xc0}), "1 -2\n");
  EXPECT_EQ(printed("bf16[1]", {0x80, 0x3f}), "1\n");
}

static std::string compared(const char *shape, const std::vector<uint8_t> &found,
                            const std::vector<uint8_t> &expected, Tolerance tolerance = {}) {
  return compareElements(*parseShape(shape), found, expected, tolerance);
}

TEST(Elements, DifferBeyondTheToleranceOnly) {
  EXPECT_EQ(compared("f32[2]", bytesOf<float>({1, 1.000001f}), bytesOf<float>({1, 1})), "");
  EXPECT_EQ(compared("f32[3]", bytesOf<float>({1, 2, 3}), bytesOf<float>({1, 2.5f, 3.25f})),
            "2 of 3 elements differ; the worst is [1]: 2, expected 2.5");
  EXPECT_EQ(
      compared("f32[2,2]", bytesOf<float>({1, 2, 3, 4}), bytesOf<float>({1, 2, 3, 5}), {0.3, 0}),
      "");
  EXPECT_EQ(compared("f32[2,2]", bytesOf<float>({1, 2, 3, 4}), bytesOf<float>({1, 2, 3, 5})),
            "1 of 4 elements differ; the worst is [1,1]: 4, expected 5");
}

TEST(Elements, NaNsAreEqualAndInfinitiesAreNotNearAnything) {
  const float otherNan = std::nanf("1");
  EXPECT_EQ(compared("f32[1]", bytesOf<float>({NAN}), bytesOf<float>({-otherNan})), "");
  EXPECT_NE(compared("f32[1]", bytesOf<float>({NAN}), bytesOf<float>({0}), {1, 1}), "");
  EXPECT_NE(compared("f32[1]", bytesOf<float>({INFINITY}), bytesOf<float>({3e38f}), {1, 1}), "");
  EXPECT_EQ(compared("f32[1]", bytesOf<float>({0.f}), bytesOf<float>({-0.f}), {0, 0}), "");
}

TEST(Elements, IntegersMustBeEqual) {
  EXPECT_NE(compared("i32[1]", bytesOf<int>({1000000}), bytesOf<int>({1000001}), {1, 1}), "");
  EXPECT_NE(
      compared("u64[1]", bytesOf<uint64_t>({UINT64_MAX}), bytesOf<uint64_t>({UINT64_MAX - 1})), "");
}

TEST(Elements, NumpysFilesComeBack) {
  for (const char *text : {"f32[2,3]", "i64[5]", "u8[1]", "f16[2,1,2]"}) {
    const Shape shape = *parseShape(text);
    std::vector<uint8_t> data(shape.bytes(), 7);
    Expected<std::string> file = writeNpy(shape, data);
    ASSERT_TRUE(bool(file));
    EXPECT_EQ((file->size() - data.size()) % 64, 0u);
    Expected<NpyFile> read = readNpy(arrayRefFromStringRef(*file));
    ASSERT_TRUE(bool(read)) << toString(read.takeError());
    EXPECT_EQ(read->shape, shape);
    EXPECT_EQ(read->data, ArrayRef<uint8_t>(data));
    for (size_t cut = 0; cut < file->size(); ++cut) {
      Expected<NpyFile> part = readNpy(arrayRefFromStringRef(StringRef(*file).take_front(cut)));
      EXPECT_FALSE(bool(part)) << cut;
      consumeError(part.takeError());
    }
  }
  EXPECT_NE(toString(writeNpy(*parseShape("bf16[1]"), {}).takeError()), "");
}

TEST(Elements, OtherOrdersAndTypesOfNumpyAreRefused) {
  const Shape shape = *parseShape("f32[2,2]");
  const std::string good = cantFail(writeNpy(shape, std::vector<uint8_t>(16)));
  auto changed = [&](StringRef from, StringRef to) {
    std::string file = good;
    file.replace(file.find(from), from.size(), to);
    return toString(readNpy(arrayRefFromStringRef(file)).takeError());
  };
  EXPECT_NE(changed("'<f4'", "'>f4'").find("elements of type '>f4'"), std::string::npos);
  EXPECT_NE(changed("False", "True ").find("Fortran"), std::string::npos);
  EXPECT_NE(changed("(2, 2)", "(2, 9)").find("larger than the file"), std::string::npos);
}
