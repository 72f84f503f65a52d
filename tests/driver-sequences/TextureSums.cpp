// SPDX-License-Identifier: Apache-2.0
// How sums of texels are rounded, between texels and between levels, and which level of detail the
// gradients of a cube map choose.
#include "tests/driver-sequences/TextureLab.h"

using namespace rubia::runtime::cuda;

namespace sequences {
namespace {

/// Words that look random.
class Drawn {
public:
  explicit Drawn(uint32_t seed) : number(seed) {}
  uint32_t word() { return number = number * 1664525 + 1013904223; }
  /// Of [-1, 1).
  float part() { return float(int32_t(word())) * 0x1p-31f; }

private:
  uint32_t number;
};
constexpr uint32_t kNumbersOfHalves = 0xbbffbbff; // below 1, in each half of a word

// Halves and quarters of the last place, of denormals, of the least normals, and of others.
SEQUENCE(sums_of_halves_between_two) {
  TextureLab lab;
  const struct {
    const char *what;
    std::vector<uint32_t> words; // a texel, and the next one: four channels each
  } kContents[] = {
      {"denormals beside 0", {0x00030001, 0x00070005, 0, 0}},
      {"negative ones", {0x80038001, 0x80078005, 0, 0}},
      {"denormals", {0x00020001, 0x00040003, 0x00030002, 0x00050004}},
      {"of both signs", {0x80020001, 0x00048003, 0x00058006, 0x800b000a}},
      {"about the least normal", {0x040003ff, 0x07ff0401, 0x04010400, 0x08000403}},
      {"above it", {0x08010800, 0x0bff0802, 0x08020801, 0x0c010805}},
      {"about 1", {0x3c013c00, 0xbc013bff, 0x3c023c01, 0xbc023c00}},
      {"the largest", {0x7bfe7bff, 0xfbff7bff, 0x7bff7bff, 0xfbfe7bfe}},
  };
  for (const auto &[what, words] : kContents) {
    const Filled filled({4, 4, 0, kFormatHalf, 4, 0}, words, 8);
    const ObjectHandle object = texture(filled, Asked(kWrap, kClamp, kClamp, kLinear));
    say("%s", what);
    for (float x : {1.0f, 0.75f, 1.25f, 1.125f, 0.5f + 1.0f / 256, 1.5f - 1.0f / 256})
      for (float y : {0.5f, 1.0f})
        lab.sample("", "d2", object, x, y);
    quiet("cuTexObjectDestroy", object);
  }
}

// A point filter takes a texel of each of two levels.
SEQUENCE(points_between_levels) {
  TextureLab lab;
  const struct {
    const char *what;
    int format;
    unsigned bytes, flags;
  } kFormats[] = {{"u8", kFormatU8, 1, 0},     {"s8", kFormatS8, 1, 0},
                  {"u16", kFormatU16, 2, 0},   {"s16", kFormatS16, 2, 0},
                  {"half", kFormatHalf, 2, 0}, {"sRGB", kFormatU8, 1, kStandardRgb}};
  for (const auto &[what, format, bytes, flags] : kFormats) {
    std::vector<uint32_t> words(64);
    Drawn drawn(12345);
    for (uint32_t &word : words)
      word = format == kFormatHalf ? drawn.word() & kNumbersOfHalves : drawn.word();
    const Filled filled({8, 8, 0, format, 4, 0}, words, 4 * bytes, 3);
    for (int filter : {kPoint, kLinear}) {
      const ObjectHandle object =
          texture(filled, Asked(kClamp, kClamp, kClamp, filter, flags | kNormalizedCoordinates)
                              .withLevels(kLinear, 2));
      say("%s, filter %d", what, filter);
      for (float level : {0.0f, 1.0f / 256, 0.125f, 0.25f, 0.5f, 0.503f, 0.75f, 1.0f, 1.5f, 1.996f})
        for (float x : {0.2f, 0.6f})
          lab.sample("", "level", object, x, 0.7f, level);
      quiet("cuTexObjectDestroy", object);
    }
  }
}

// Small numbers beside large ones.
SEQUENCE(sums_of_halves_of_many_sizes) {
  TextureLab lab;
  Drawn drawn(7);
  std::vector<uint32_t> words(1024);
  for (uint32_t &word : words)
    word = drawn.word() & kNumbersOfHalves;
  const struct {
    const char *what, *kernel;
    Array3DDescriptor shape;
    unsigned levels, flags, anisotropy;
    int mode;
  } kCases[] = {{"a row", "d1", {8, 0, 0, kFormatHalf, 4, 0}, 0, 0, 0, kWrap},
                {"a row with a border", "d1", {8, 0, 0, kFormatHalf, 4, 0}, 0, 0, 0, kBorder},
                {"two dimensions", "d2", {8, 8, 0, kFormatHalf, 4, 0}, 0, 0, 0, kMirror},
                {"one channel", "d2", {8, 8, 0, kFormatHalf, 1, 0}, 0, 0, 0, kMirror},
                {"with a border", "d2", {8, 8, 0, kFormatHalf, 4, 0}, 0, 0, 0, kBorder},
                {"three dimensions", "d3", {8, 8, 8, kFormatHalf, 4, 0}, 0, 0, 0, kWrap},
                {"layers", "layer2", {8, 8, 2, kFormatHalf, 4, kArrayLayered}, 0, 0, 0, kWrap},
                {"levels", "level", {8, 8, 0, kFormatHalf, 4, 0}, 4, 0, 0, kWrap},
                {"volumes of levels", "d3", {8, 8, 8, kFormatHalf, 4, 0}, 4, 0, 0, kWrap},
                {"anisotropy", "gradients", {8, 8, 0, kFormatHalf, 4, 0}, 4, 0, 8, kWrap},
                {"a cube map", "cube", {8, 8, 6, kFormatHalf, 4, kArrayCubemap}, 0, 0, 0, kClamp},
                {"a seamless one",
                 "cube",
                 {8, 8, 6, kFormatHalf, 4, kArrayCubemap},
                 0,
                 kSeamlessCubemap,
                 0,
                 kClamp}};
  for (const auto &[what, kernel, shape, levels, flags, anisotropy, mode] : kCases) {
    const Filled filled(shape, words, 2 * shape.channels, levels);
    const ObjectHandle object =
        texture(filled, Asked(mode, mode, mode, kLinear, flags | kNormalizedCoordinates)
                            .withBorder(1.5f, -0.001f, 3e-5f, -70000)
                            .withLevels(kLinear, 3, anisotropy));
    say("%s", what);
    for (int i = 0; i < 50; ++i) {
      float at[3] = {};
      for (float &part : at)
        part = drawn.part();
      if (*kernel == 'l')
        at[2] = 1.5f * at[2] + 1.5f;
      const Gradients gradients = {{0.3f * drawn.part(), 0.3f * drawn.part(), 0},
                                   {0.1f * drawn.part(), 0.1f * drawn.part(), 0}};
      lab.sample("", kernel, object, at[0], at[1], at[2], gradients);
    }
    quiet("cuTexObjectDestroy", object);
  }
  // Large numbers without a weight, and with the least one.
  const std::vector<uint32_t> pairs = {0x00013555, 0x7bff0401, 0x3c01, 0x12347800};
  const Filled filled({4, 4, 0, kFormatHalf, 1, 0}, pairs, 2);
  const ObjectHandle object = texture(filled, Asked(kClamp, kClamp, kClamp, kLinear));
  say("without a weight");
  for (float x : {0.5f, 0.51f, 1.5f, 2.5f, 3.5f, 3.49f})
    for (float y : {0.5f, 0.504f, 1.5f, 2.5f, 3.5f})
      lab.sample("", "d2", object, x, y);
  quiet("cuTexObjectDestroy", object);
}

// A filter between levels has a point filter's texels blended, and where there is only one too.
SEQUENCE(points_of_one_level) {
  TextureLab lab;
  const struct {
    const char *what;
    int format;
    unsigned bytes, flags;
    std::vector<uint32_t> words; // a texel
  } kFormats[] = {
      {"s8", kFormatS8, 1, 0, {0x7f218056}},
      {"half", kFormatHalf, 2, 0, {0x7e013555, 0xfd010003}},
      {"f32", kFormatFloat, 4, 0, {0x00000123, 0x7fc12345, 0x3f812345, 0x80000000}},
      {"sRGB", kFormatU8, 1, kStandardRgb, {0x12345678}},
      {"s16 as integers", kFormatS16, 2, kReadAsInteger, {0x7fff8000, 0x12348765}},
  };
  for (const auto &[what, format, bytes, flags, words] : kFormats) {
    for (unsigned levels : {0u, 2u}) {
      const Filled filled({8, 8, 0, format, 4, 0}, words, 4 * bytes, levels);
      for (int between : {kPoint, kLinear})
        for (unsigned anisotropy : {0u, 4u}) {
          const ObjectHandle object =
              texture(filled, Asked(kClamp, kClamp, kClamp, kPoint, flags | kNormalizedCoordinates)
                                  .withLevels(between, 1, anisotropy));
          say("%s, %u levels, filter %d, anisotropy %u", what, levels, between, anisotropy);
          lab.sample("plain", "d2", object, 0.3f, 0.6f);
          lab.sample("level", "level", object, 0.3f, 0.6f, 0);
          lab.sample("gradient", "gradients", object, 0.3f, 0.6f, 0,
                     {{0.125f, 0.125f, 0}, {0.0625f, 0.125f, 0}});
          lab.sample("wide", "gradients", object, 0.3f, 0.6f, 0,
                     {{0.5f, 0.01f, 0}, {0.0625f, 0.125f, 0}});
          quiet("cuTexObjectDestroy", object);
        }
    }
  }
}

// Gathers of what a linear filter would blend.
SEQUENCE(gathers_with_a_filter) {
  TextureLab lab;
  const struct {
    const char *what;
    int format;
    unsigned bytes, flags;
    std::vector<uint32_t> words; // texels of two channels
  } kFormats[] = {
      {"s8", kFormatS8, 1, 0, {0x7f218056, 0x03fe8101}},
      {"half", kFormatHalf, 2, 0, {0x7e013555, 0xfd010003, 0x80008001, 0xfc003c00}},
      {"f32", kFormatFloat, 4, 0, {1, 0x00000123, 2, 0x7fc12345, 3, 0x80000000, 4, 0x80000123}},
      {"sRGB", kFormatU8, 1, kStandardRgb, {0x12345678, 0x9abcdef0}},
  };
  for (const auto &[what, format, bytes, flags, words] : kFormats) {
    const Filled filled({4, 4, 0, format, 2, kArrayGather}, words, 2 * bytes);
    for (int filter : {kPoint, kLinear})
      for (float green : {-0.75f, 0.375f}) {
        const ObjectHandle object = texture(
            filled,
            Asked(kBorder, kBorder, kBorder, filter, flags).withBorder(0.1f, green, 0.2f, 0.3f));
        say("%s, filter %d, border %g", what, filter, double(green));
        for (float x : {0.3f, 1.5f, 2.5f})
          lab.sample("", "gather", object, x, 1.25f);
        quiet("cuTexObjectDestroy", object);
      }
  }
}

// A gather knows one level.
SEQUENCE(gathers_of_levels) {
  TextureLab lab;
  const std::vector<uint32_t> words = {bitsOf(1), bitsOf(2), bitsOf(3), bitsOf(4)};
  const Filled filled({8, 8, 0, kFormatFloat, 1, kArrayGather}, words, 4, 3);
  for (int between : {kPoint, kLinear})
    for (unsigned anisotropy : {0u, 4u})
      for (float least : {0.0f, 1.0f, 1.4f})
        for (float bias : {0.0f, 1.0f}) {
          Asked asked(kClamp, kClamp, kClamp, kLinear, kNormalizedCoordinates);
          asked.withLevels(between, 2, anisotropy);
          asked.minLevel = least;
          asked.levelBias = bias;
          const ObjectHandle object = texture(filled, asked);
          say("between %d, anisotropy %u, least %g, bias %g", between, anisotropy, double(least),
              double(bias));
          lab.sample("gather", "gather", object, 0.3f, 0.6f);
          lab.sample("plain", "d2", object, 0.3f, 0.6f);
          quiet("cuTexObjectDestroy", object);
        }
}

// From which weight on the next level counts, with a bias that is and that is not of 256ths.
SEQUENCE(weights_of_levels_with_a_bias) {
  TextureLab lab;
  std::vector<uint32_t> words(64);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = bitsOf(float(i * i));
  const Filled filled({8, 8, 0, kFormatFloat, 1, 0}, words, 4, 3);
  for (unsigned anisotropy : {2u, 4u, 16u})
    for (float bias : {0.0f, 0.4f, -0.4f, 0.8f, -0.5f, 0.1f, 1.0f, 0x1p-9f}) {
      Asked asked(kClamp, kClamp, kClamp, kPoint, kNormalizedCoordinates);
      asked.withLevels(kLinear, 2, anisotropy);
      asked.levelBias = bias;
      const ObjectHandle object = texture(filled, asked);
      say("anisotropy %u, bias %g", anisotropy, double(bias));
      const float whole = float(int(bias * 256)) / 256;
      for (int weight : {44, 57, 65, 127})
        lab.sample("level", "level", object, 0.3f, 0.6f, 1 + float(weight) / 256 - whole);
      quiet("cuTexObjectDestroy", object);
    }
}

// The least normal numbers, and borders of f16 that are NaN.
SEQUENCE(single_texels_that_are_odd) {
  TextureLab lab;
  const std::vector<uint32_t> words = {0x00800001, 0x81570bc9, 0x80f0e03f, 0x7f7fffff};
  for (unsigned anisotropy : {0u, 4u}) {
    const Filled filled({8, 8, 0, kFormatFloat, 4, kArrayGather}, words, 16);
    for (int filter : {kPoint, kLinear}) {
      const ObjectHandle object =
          texture(filled, Asked(kClamp, kClamp, kClamp, filter).withLevels(kPoint, 0, anisotropy));
      say("anisotropy %u, filter %d", anisotropy, filter);
      lab.sample("gather", "gather", object, 3.5f, 2.5f);
      lab.sample("plain", "d2", object, 3.5f, 2.5f);
      quiet("cuTexObjectDestroy", object);
    }
  }
  const Filled halves({8, 8, 0, kFormatHalf, 4, 0}, {0x3c003c00}, 8);
  for (int filter : {kPoint, kLinear}) {
    const ObjectHandle object = texture(
        halves, Asked(kBorder, kBorder, kBorder, filter)
                    .withBorder(std::bit_cast<float>(0xffa2d0cf), std::bit_cast<float>(0x7f800123),
                                std::bit_cast<float>(0xffc01fff), kInfinity));
    say("borders, filter %d", filter);
    lab.sample("", "d2", object, -2, 1.5f);
    quiet("cuTexObjectDestroy", object);
  }
}

// Whether coordinates are fractions where there are levels.
SEQUENCE(coordinates_of_levels) {
  TextureLab lab;
  std::vector<uint32_t> words(64);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = bitsOf(float(i));
  const ViewDescriptor kFirst = {22, 8, 8, 0, 0, 0, 0, 0, {}}; // one level of f32
  const struct {
    unsigned levels;
    const ViewDescriptor *view;
  } kCases[] = {{0, nullptr}, {1, nullptr}, {2, nullptr}, {2, &kFirst}};
  for (const auto &[levels, view] : kCases) {
    const Filled filled({8, 8, 0, kFormatFloat, 1, 0}, words, 4, levels);
    for (int filter : {kPoint, kLinear})
      for (int between : {kPoint, kLinear})
        for (unsigned flags : {0u, unsigned(kNormalizedCoordinates)}) {
          const ObjectHandle object = texture(
              filled, Asked(kClamp, kClamp, kClamp, filter, flags).withLevels(between, 1), view);
          say("%u levels%s, filter %d, between %d, flags %u", levels, view ? " seen as one" : "",
              filter, between, flags);
          lab.sample("plain", "d2", object, 0.7f, 0.3f);
          lab.sample("far", "d2", object, 3.7f, 2.3f);
          lab.sample("level", "level", object, 0.7f, 0.3f, 0);
          lab.sample("gradient", "gradients", object, 0.7f, 0.3f, 0,
                     {{0.125f, 0.125f, 0}, {0.0625f, 0.125f, 0}});
          quiet("cuTexObjectDestroy", object);
        }
  }
}

constexpr float kDirections[][3] = {{1, 0.1f, 0.2f},   {-1, 0.3f, -0.2f},   {0.1f, 1, 0.2f},
                                    {0.3f, -1, -0.1f}, {0.1f, 0.2f, 1},     {-0.3f, 0.2f, -1},
                                    {1, 0.97f, 0.1f},  {-0.98f, 0.97f, -1}, {1, 1, 1},
                                    {kNaN, 0.5f, 1},   {1, kNaN, kNaN},     {kInfinity, 1, 1},
                                    {0, 0, 0}};

// Parts of gradients that are no numbers, or lead far away.
SEQUENCE(gradients_of_a_cube_map_that_are_no_numbers) {
  TextureLab lab;
  const Filled filled({64, 64, 6, kFormatFloat, 1, kArrayCubemap}, {0x3f800000}, 4, 7);
  for (unsigned anisotropy : {0u, 8u}) {
    const ObjectHandle object =
        texture(filled, Asked(kClamp, kClamp, kClamp, kLinear, kNormalizedCoordinates)
                            .withLevels(kLinear, 6, anisotropy));
    for (const float (&to)[3] : kDirections)
      for (float odd : {kNaN, kInfinity, 1e30f, -0.0f}) {
        say("anisotropy %u, %g", anisotropy, double(odd));
        for (int part = 0; part < 3; ++part)
          for (bool isByY : {false, true}) {
            Gradients gradients = {{0.05f, 0.02f, 0.03f}, {0.01f, 0.04f, -0.02f}};
            (isByY ? gradients.byY : gradients.byX)[part] = odd;
            lab.sample("", "cubeGradient", object, to[0], to[1], to[2], gradients);
          }
        const Gradients all = {{odd, odd, odd}, {odd, odd, odd}};
        lab.sample("all", "cubeGradient", object, to[0], to[1], to[2], all);
      }
    quiet("cuTexObjectDestroy", object);
  }
}

// Gradients that lead across edges, across corners, and to the opposite face.
SEQUENCE(gradients_of_a_cube_map_that_leave_a_face) {
  TextureLab lab;
  const Filled filled({64, 64, 6, kFormatFloat, 1, kArrayCubemap}, {0x3f800000}, 4, 7);
  const ObjectHandle object = texture(
      filled,
      Asked(kClamp, kClamp, kClamp, kLinear, kNormalizedCoordinates).withLevels(kLinear, 6));
  Drawn drawn(1);
  for (int i = 0; i < 200; ++i) {
    float to[3] = {};
    for (float &part : to)
      part = drawn.part();
    if (i % 2) // near a corner
      for (float &part : to)
        part = part < 0 ? part * 0.2f - 0.8f : part * 0.2f + 0.8f;
    Gradients gradients;
    const float size = i % 8 < 2 ? 0.05f : i % 8 < 4 ? 0.3f : i % 8 < 6 ? 1.0f : 3.0f;
    for (float *gradient : {gradients.byX, gradients.byY})
      for (int part = 0; part < 3; ++part)
        gradient[part] = size * drawn.part();
    for (float &part : gradients.byY) // so the other one decides
      part *= 0.125f;
    lab.sample("", "cubeGradient", object, to[0], to[1], to[2], gradients);
  }
  quiet("cuTexObjectDestroy", object);
}

} // namespace
} // namespace sequences
