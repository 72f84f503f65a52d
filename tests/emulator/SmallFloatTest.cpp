// SPDX-License-Identifier: Apache-2.0
// The small float formats: known codes of the specifications, and encoding against a search of all
// codes for the nearest value.
#include "emulator/lib/machine/SmallFloat.h"

#include <gtest/gtest.h>

namespace rubia::emulator::test {

using namespace baseline;

namespace {
struct Named {
  const char *name;
  SmallFormat format;
};
constexpr Named kFormats[] = {{"e4m3", kE4m3},         {"e4m3fnuz", kE4m3Fnuz}, {"e5m2", kE5m2},
                              {"e5m2fnuz", kE5m2Fnuz}, {"e2m3", kE2m3},         {"e3m2", kE3m2},
                              {"e2m1", kE2m1}};

bool finite(SmallFormat format, unsigned code) { return std::isfinite(decodeSmall(format, code)); }

/// The nearest finite code of a positive value; among two, the even one.
unsigned nearest(SmallFormat format, double value) {
  unsigned best = 0;
  for (unsigned code = 0; code <= format.largest(); ++code) {
    double distance = std::fabs(decodeSmall(format, code) - value);
    double least = std::fabs(decodeSmall(format, best) - value);
    if (distance < least || (distance == least && code % 2 == 0))
      best = code;
  }
  return best;
}
} // namespace

TEST(SmallFloat, DecodesTheCodesOfTheSpecifications) {
  struct {
    SmallFormat format;
    unsigned code;
    float value;
  } static constexpr kCases[] = {
      {kE4m3, 0x7e, 448},
      {kE4m3, 0x01, 0x1p-9f},
      {kE4m3, 0x08, 0x1p-6f},
      {kE4m3, 0xb8, -1},
      {kE4m3Fnuz, 0x7f, 240},
      {kE4m3Fnuz, 0x01, 0x1p-10f},
      {kE4m3Fnuz, 0x40, 1},
      {kE5m2, 0x7b, 57344},
      {kE5m2, 0x01, 0x1p-16f},
      {kE5m2, 0x7c, INFINITY},
      {kE5m2, 0xfc, -INFINITY},
      {kE5m2Fnuz, 0x7f, 57344},
      {kE5m2Fnuz, 0x01, 0x1p-17f},
      {kE5m2Fnuz, 0x40, 1},
      {kE2m3, 0x1f, 7.5f},
      {kE2m3, 0x01, 0.125f},
      {kE3m2, 0x1f, 28},
      {kE3m2, 0x01, 0.0625f},
      {kE2m1, 0x7, 6},
      {kE2m1, 0x1, 0.5f},
      {kE2m1, 0xf, -6},
  };
  for (const auto &c : kCases)
    EXPECT_EQ(decodeSmall(c.format, c.code), c.value) << std::hex << c.code;
  for (unsigned code : {0x7f, 0xff})
    EXPECT_TRUE(std::isnan(decodeSmall(kE4m3, code)));
  for (unsigned code : {0x7d, 0x7e, 0x7f, 0xff})
    EXPECT_TRUE(std::isnan(decodeSmall(kE5m2, code)));
  EXPECT_TRUE(std::isnan(decodeSmall(kE4m3Fnuz, 0x80)));
  EXPECT_TRUE(std::isnan(decodeSmall(kE5m2Fnuz, 0x80)));
  EXPECT_TRUE(std::signbit(decodeSmall(kE4m3, 0x80)));
  EXPECT_EQ(decodeScale(127), 1);
  EXPECT_EQ(decodeScale(0), 0x1p-127);
  EXPECT_TRUE(std::isnan(decodeScale(255)));
}

TEST(SmallFloat, EncodesWhatItDecodes) {
  for (const Named &f : kFormats)
    for (unsigned code = 0; code < 1u << f.format.width(); ++code) {
      float value = decodeSmall(f.format, code);
      if (!std::isnan(value))
        EXPECT_EQ(encodeSmall(f.format, value, false), code) << f.name;
      else if (!std::signbit(value))
        EXPECT_TRUE(std::isnan(decodeSmall(f.format, encodeSmall(f.format, value, false))));
    }
}

TEST(SmallFloat, RoundsToTheNearest) {
  for (const Named &f : kFormats)
    for (unsigned code = 0; code < f.format.largest(); ++code) {
      double low = decodeSmall(f.format, code), high = decodeSmall(f.format, code + 1);
      for (double part : {0x1p-30, 0.25, 0.5 - 0x1p-20, 0.5, 0.5 + 0x1p-20, 0.9}) {
        double value = low + (high - low) * part;
        EXPECT_EQ(encodeSmall(f.format, value, false), nearest(f.format, value)) << f.name;
        unsigned negative = encodeSmall(f.format, -value, false);
        EXPECT_EQ(decodeSmall(f.format, negative),
                  -decodeSmall(f.format, nearest(f.format, value)));
      }
    }
}

TEST(SmallFloat, Overflow) {
  for (const Named &f : kFormats) {
    const double largest = decodeSmall(f.format, f.format.largest());
    const double below = decodeSmall(f.format, f.format.largest() - 1);
    const double beyond = largest + (largest - below) * 0.51;
    for (double value : {beyond, beyond * 4, double(INFINITY)}) {
      EXPECT_EQ(encodeSmall(f.format, value, true), f.format.largest()) << f.name;
      EXPECT_EQ(finite(f.format, encodeSmall(f.format, value, false)),
                f.format.specials == SmallFormat::kAllFinite)
          << f.name;
    }
  }
  EXPECT_EQ(encodeSmall(kE5m2, -1e9, false), 0xfc);
  EXPECT_EQ(encodeSmall(kE4m3, -1e9, false), 0xff);
  EXPECT_EQ(encodeSmall(kE4m3Fnuz, -1e9, false), 0x80);
  EXPECT_EQ(encodeSmall(kE4m3Fnuz, -1e9, true), 0xff);
  EXPECT_EQ(encodeSmall(kE4m3Fnuz, -1e-9, true), 0); // no -0
  EXPECT_EQ(encodeSmall(kE4m3, -1e-9, true), 0x80);
}

TEST(SmallFloat, StochasticRounding) {
  for (const Named &f : kFormats) {
    const double low = decodeSmall(f.format, 3), step = decodeSmall(f.format, 4) - low;
    auto encode = [&](double value, uint32_t random) {
      return unsigned(encodeSmallStochastic(f.format, value, random, true));
    };
    EXPECT_EQ(encode(low, 0xffffffff), 3u) << f.name; // exact: no rounding
    EXPECT_EQ(encode(low + step / 4, 0xbfffffff), 3u);
    EXPECT_EQ(encode(low + step / 4, 0xc0000000), 4u);
    EXPECT_EQ(encode(low + step * 3 / 4, 0x3fffffff), 3u);
    EXPECT_EQ(encode(low + step * 3 / 4, 0x40000000), 4u);
    EXPECT_EQ(encode(-low - step * 3 / 4, 0x40000000), 4u | f.format.sign());
  }
}

} // namespace rubia::emulator::test
