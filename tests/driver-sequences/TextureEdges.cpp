// SPDX-License-Identifier: Apache-2.0
// What textures give where a rule ends: dimensions of one texel, colours of the border that a
// format has not, zeros with a sign, and texels without a weight that are no numbers.
#include "tests/driver-sequences/TextureLab.h"

using namespace rubia::runtime::cuda;

namespace sequences {
namespace {

// A dimension of one texel has its mode, and so has one that levels shrink to a texel.
SEQUENCE(modes_of_dimensions_of_one_texel) {
  TextureLab lab;
  const std::vector<uint32_t> words = {bitsOf(1), bitsOf(2), bitsOf(3), bitsOf(4)};
  const struct {
    const char *what, *kernel;
    Array3DDescriptor shape;
    unsigned levels;
  } kShapes[] = {{"one row", "d2", {4, 1, 0, kFormatFloat, 1, 0}, 0},
                 {"no rows", "d1", {4, 0, 0, kFormatFloat, 1, 0}, 0},
                 {"no rows as two dimensions", "d2", {4, 0, 0, kFormatFloat, 1, 0}, 0},
                 {"one column", "d2", {1, 4, 0, kFormatFloat, 1, 0}, 0},
                 {"one slice", "d3", {4, 4, 1, kFormatFloat, 1, 0}, 0},
                 {"one row of slices", "d3", {4, 1, 4, kFormatFloat, 1, 0}, 0},
                 {"layers of one row", "layer2", {4, 1, 2, kFormatFloat, 1, kArrayLayered}, 0},
                 {"layers without rows", "layer1", {4, 0, 2, kFormatFloat, 1, kArrayLayered}, 0},
                 {"levels of one row", "level", {4, 1, 0, kFormatFloat, 1, 0}, 3},
                 {"levels of two rows", "level", {4, 2, 0, kFormatFloat, 1, 0}, 3},
                 {"levels of volumes", "d3", {4, 2, 2, kFormatFloat, 1, 0}, 3}};
  for (const auto &[what, kernel, shape, levels] : kShapes) {
    const Filled filled(shape, words, 4, levels);
    for (int filter : {0, 1}) {
      for (const auto &[mode, modes] :
           {std::pair("border of y", Asked(kClamp, kBorder, kClamp, filter)),
            std::pair("border of z", Asked(kClamp, kClamp, kBorder, filter)),
            std::pair("border", Asked(kBorder, kBorder, kBorder, filter)),
            std::pair("wrap", Asked(kWrap, kWrap, kWrap, filter, kNormalizedCoordinates)),
            std::pair("mirror of y",
                      Asked(kClamp, kMirror, kClamp, filter, kNormalizedCoordinates))}) {
        say("%s, %s, filter %d", what, mode, filter);
        const ObjectHandle object = texture(filled, modes);
        const bool isVolume = shape.depth && !(shape.flags & kArrayLayered);
        for (float y : {0.25f, 1.75f, -0.5f})
          for (float z : levels     ? std::initializer_list<float>{0, 1, 2}
                         : isVolume ? std::initializer_list<float>{0.25f, 1.75f, -0.5f}
                                    : std::initializer_list<float>{0})
            lab.sample("", kernel, object, 0.4f, y, z);
        quiet("cuTexObjectDestroy", object);
      }
    }
  }
}

// Modes that are none, of dimensions that there are not.
SEQUENCE(unknown_modes_of_dimensions_that_are_not_there) {
  TextureLab lab;
  const std::vector<uint32_t> words = {bitsOf(1)};
  const Array3DDescriptor kShapes[] = {{4, 0, 0, kFormatFloat, 1, 0},
                                       {4, 1, 0, kFormatFloat, 1, 0},
                                       {4, 4, 0, kFormatFloat, 1, 0},
                                       {4, 4, 1, kFormatFloat, 1, 0},
                                       {4, 4, 4, kFormatFloat, 1, 0},
                                       {4, 0, 2, kFormatFloat, 1, kArrayLayered},
                                       {4, 4, 2, kFormatFloat, 1, kArrayLayered},
                                       {4, 4, 6, kFormatFloat, 1, kArrayCubemap}};
  for (const Array3DDescriptor &shape : kShapes) {
    const Filled filled(shape, words, 4);
    for (int dimension = 0; dimension < 3; ++dimension) {
      Asked asked(kClamp, kClamp, kClamp);
      asked.addressMode[dimension] = 4;
      const TextureDescriptor &descriptor = asked;
      ObjectHandle object = 0;
      const int status = quiet("cuTexObjectCreate", &object, &filled.resource, &descriptor,
                               static_cast<const ViewDescriptor *>(nullptr));
      say("%zu x %zu x %zu, flags %u, mode %d unknown: %d", size_t(shape.width),
          size_t(shape.height), size_t(shape.depth), shape.flags, dimension, status);
    }
  }
}

// What a format makes of the border's colour.
SEQUENCE(colours_of_the_border) {
  TextureLab lab;
  const struct {
    const char *what;
    int format;
    unsigned bytes, flags;
  } kFormats[] = {{"u8", kFormatU8, 1, 0},
                  {"u16", kFormatU16, 2, 0},
                  {"s8", kFormatS8, 1, 0},
                  {"s16", kFormatS16, 2, 0},
                  {"half", kFormatHalf, 2, 0},
                  {"f32", kFormatFloat, 4, 0},
                  {"sRGB", kFormatU8, 1, kStandardRgb},
                  {"u8 as integers", kFormatU8, 1, kReadAsInteger},
                  {"s8 as integers", kFormatS8, 1, kReadAsInteger},
                  {"u16 as integers", kFormatU16, 2, kReadAsInteger},
                  {"s16 as integers", kFormatS16, 2, kReadAsInteger},
                  {"u32", kFormatU32, 4, kReadAsInteger},
                  {"s32", kFormatS32, 4, kReadAsInteger}};
  const float kColors[][4] = {
      {0.1f, 0.3f, 0.7f, 0.9f},
      {kNaN, -kNaN, kInfinity, -kInfinity},
      {-0.0f, 1e-40f, 1.5f, -1.5f},
      {0.5f / 255, 1.5f / 255, 2.5f / 255, 254.5f / 255},
      {0.5f / 127, -0.5f / 127, 1.5f / 127, -1.5f / 127},
      {0.5f / 32767, -0.5f / 32767, 1.5f / 65535, -1.5f / 32767},
      {1.00048828125f, -1.00048828125f, 1.00146484375f, -1.00146484375f}, // between halves
      {65519, 65520, -1e6f, 6.1e-5f},
      {2.9e-8f, 3e-8f, -2.9802322e-8f, 1e-6f}, // the least halves
      {-127.5f / 128, -1.0f, -128.0f / 127, 0.999999f}};
  const std::vector<uint32_t> words = {0x3c003c00};
  for (const auto &[what, format, bytes, flags] : kFormats) {
    const Filled filled({4, 4, 0, format, 4, 0}, words, 4 * bytes);
    for (const float (&color)[4] : kColors) {
      for (int filter : {0, 1}) {
        if (filter && flags & kReadAsInteger && bytes == 4)
          continue;
        const Asked asked = Asked(kBorder, kBorder, kBorder, filter, flags)
                                .withBorder(color[0], color[1], color[2], color[3]);
        const ObjectHandle object = texture(filled, asked);
        say("%s of %g %g %g %g, filter %d", what, double(color[0]), double(color[1]),
            double(color[2]), double(color[3]), filter);
        lab.sample("outside", "d2", object, -2, 1.5f);
        if (filter)
          lab.sample("half", "d2", object, 0, 1.5f);
        quiet("cuTexObjectDestroy", object);
      }
    }
  }
}

// Zeros of either sign, and texels without a weight.
SEQUENCE(zeros_and_texels_without_a_weight) {
  TextureLab lab;
  const struct {
    const char *what;
    std::vector<uint32_t> words;
  } kContents[] = {{"negative zeros", {bitsOf(-0.0f)}},
                   {"zeros of both signs", {bitsOf(-0.0f), bitsOf(0.0f)}},
                   {"an infinite one", {bitsOf(1), bitsOf(kInfinity), bitsOf(2), bitsOf(3)}},
                   {"a NaN", {bitsOf(1), 0x7fc12345, bitsOf(2), bitsOf(3)}},
                   {"a signalling NaN", {0xffa12345, bitsOf(1), bitsOf(2), bitsOf(3)}},
                   {"opposite infinities", {bitsOf(kInfinity), bitsOf(-kInfinity)}},
                   {"denormals", {1, 3, 0x80000001, 0x007fffff}},
                   {"the least normals", {0x00800000, 0x01000000, 0x80800000, 0x01800000}},
                   {"the largest", {0x7f7fffff, 0x7f7fffff, 0xff7fffff, 0x7f7fffff}}};
  const Array3DDescriptor kShapes[] = {{4, 0, 0, kFormatFloat, 1, 0},
                                       {4, 4, 0, kFormatFloat, 1, 0},
                                       {4, 4, 4, kFormatFloat, 1, 0},
                                       {4, 4, 2, kFormatFloat, 1, kArrayLayered},
                                       {4, 4, 0, kFormatFloat, 4, 0}};
  const char *const kKernels[] = {"d1", "d2", "d3", "layer2", "d2"};
  for (const auto &[what, words] : kContents) {
    for (size_t i = 0; i < std::size(kShapes); ++i) {
      const Array3DDescriptor &shape = kShapes[i];
      const Filled filled(shape, words, 4 * shape.channels);
      for (int mode : {kClamp, kBorder}) {
        const Asked asked = Asked(mode, mode, mode, 1).withBorder(-0.0f, kNaN, kInfinity, 0);
        say("%s, %s, %u channels, mode %d", what, kKernels[i], shape.channels, mode);
        const ObjectHandle object = texture(filled, asked);
        lab.sample("in the middle of a texel", kKernels[i], object, 0.5f, 0.5f, 0.5f);
        lab.sample("in the middle of the next", kKernels[i], object, 1.5f, 0.5f, 0.5f);
        lab.sample("between two", kKernels[i], object, 1, 0.5f, 0.5f);
        lab.sample("between four", kKernels[i], object, 1.25f, 1.25f, 1.25f);
        lab.sample("at the edge", kKernels[i], object, 0.25f, 0.5f, 0.5f);
        lab.sample("in the last texel", kKernels[i], object, 3.5f, 3.5f, 3.5f);
        quiet("cuTexObjectDestroy", object);
      }
    }
  }
}

// The same of halves, whose sums are rounded.
SEQUENCE(halves_that_are_no_numbers) {
  TextureLab lab;
  const struct {
    const char *what;
    std::vector<uint32_t> words;
  } kContents[] = {
      {"negative zeros", {0x80008000}}, {"infinite", {0x7c003c00}}, {"NaN", {0x7e013c00}},
      {"signalling", {0x3c00fd01}},     {"denormal", {0x00010003}}, {"the largest", {0x7bff7bff}}};
  for (const auto &[what, words] : kContents) {
    for (unsigned channels : {1u, 2u, 4u}) {
      const Filled filled({4, 4, 0, kFormatHalf, channels, 0}, words, 2 * channels);
      for (int filter : {0, 1}) {
        const ObjectHandle object = texture(filled, Asked(kClamp, kClamp, kClamp, filter));
        say("%s, %u channels, filter %d", what, channels, filter);
        lab.sample("in the middle of a texel", "d2", object, 0.5f, 0.5f);
        lab.sample("in the middle of the next", "d2", object, 1.5f, 0.5f);
        lab.sample("between", "d2", object, 1.25f, 1.25f);
        quiet("cuTexObjectDestroy", object);
      }
    }
  }
}

// Gradients that are no numbers, and levels, with texels that tell their level.
SEQUENCE(details_that_are_no_numbers) {
  TextureLab lab;
  const std::vector<uint32_t> words = {0x3f800000};
  const Filled filled({8, 8, 0, kFormatFloat, 1, 0}, words, 4, 4);
  for (unsigned anisotropy : {0u, 16u}) {
    for (int filter : {0, 1}) {
      const ObjectHandle object =
          texture(filled, Asked(kClamp, kClamp, kClamp, filter, kNormalizedCoordinates)
                              .withLevels(filter, 3, anisotropy));
      for (float detail : {0.0f, -0.0f, 1e-40f, 1e-30f, 0.1f, 1e30f, kInfinity, -kInfinity, kNaN}) {
        say("anisotropy %u, filter %d", anisotropy, filter);
        for (const char *kernel : {"gradient", "firstGradient", "lastGradient"})
          lab.sample(kernel, kernel, object, 0.5f, 0.5f, detail);
        lab.sample("level", "level", object, 0.5f, 0.5f, detail);
      }
      quiet("cuTexObjectDestroy", object);
    }
  }
}

// Directions that lead nowhere, or on many faces, or far away.
SEQUENCE(directions_of_a_cube_map) {
  TextureLab lab;
  std::vector<uint32_t> words(6 * 64);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = bitsOf(float(i));
  const Filled filled({8, 8, 6, kFormatFloat, 1, kArrayCubemap}, words, 4);
  constexpr float kLeast = 0x1p-149f, kNormal = 0x1p-126f, kFar = 0x1p127f,
                  kMost = std::numeric_limits<float>::max();
  const float kDirections[][3] = {{0, 0, 0},
                                  {-0.0f, -0.0f, -0.0f},
                                  {0, 0, kLeast},
                                  {kLeast, 0, 0},
                                  {-kLeast, kLeast, 0},
                                  {kLeast, 3 * kLeast, 4 * kLeast},
                                  {kNormal / 2, -kNormal / 2, kNormal / 2},
                                  {kNormal / 2, 0, kNormal},
                                  {kNormal / 4, kNormal, kNormal / 2},
                                  {-kFar, kFar / 2, kFar / 4},
                                  {kMost, kMost / 3, 1},
                                  {0x1p126f, 0x1p125f, 0x1p124f},
                                  {0x1.8p125f, 0x1p125f, -0x1p124f},
                                  {kInfinity, 1, 2},
                                  {1, -kInfinity, 2},
                                  {1, 2, kInfinity},
                                  {kInfinity, kInfinity, 1},
                                  {-kInfinity, kInfinity, -kInfinity},
                                  {kNaN, 1, 2},
                                  {2, kNaN, 1},
                                  {1, 2, kNaN},
                                  {kNaN, kNaN, 1},
                                  {1, kNaN, kNaN},
                                  {kNaN, 0.5f, kNaN},
                                  {kNaN, kNaN, kNaN},
                                  {-kNaN, -kNaN, -kNaN},
                                  {kNaN, kInfinity, 0},
                                  {kInfinity, kNaN, 0},
                                  {0, kNaN, -kInfinity},
                                  {1, 1, 1},
                                  {-1, -1, -1},
                                  {1, 1, 0},
                                  {1, 0, 1},
                                  {0, -1, 1}};
  for (int filter : {0, 1}) {
    for (unsigned flags : {0u, unsigned(kSeamlessCubemap)}) {
      const ObjectHandle object =
          texture(filled, Asked(kClamp, kClamp, kClamp, filter, flags | kNormalizedCoordinates));
      say("filter %d, flags %x", filter, flags);
      for (const float (&to)[3] : kDirections)
        lab.sample("", "cube", object, to[0], to[1], to[2]);
      quiet("cuTexObjectDestroy", object);
    }
  }
}

// What a linear filter takes beyond the edge of a face, where it does not go across.
SEQUENCE(edges_of_faces) {
  TextureLab lab;
  std::vector<uint32_t> floats, bytes;
  for (unsigned i = 0; i < 12 * 16; ++i) {
    floats.push_back(bitsOf(float(i * i % 97) - 40));
    bytes.push_back(0x9e3779b9 * (i + 1));
  }
  const struct {
    const char *what, *kernel;
    Array3DDescriptor shape;
    unsigned texelBytes, levels, flags, anisotropy;
  } kCases[] = {
      {"f32", "cube", {4, 4, 6, kFormatFloat, 1, kArrayCubemap}, 4, 0, 0, 0},
      {"u8", "cube", {4, 4, 6, kFormatU8, 4, kArrayCubemap}, 4, 0, 0, 0},
      {"seamless", "cube", {4, 4, 6, kFormatFloat, 1, kArrayCubemap}, 4, 0, kSeamlessCubemap, 0},
      {"layers",
       "layerCube",
       {4, 4, 12, kFormatFloat, 1, kArrayCubemap | kArrayLayered},
       4,
       0,
       0,
       0},
      {"one texel", "cube", {1, 1, 6, kFormatFloat, 1, kArrayCubemap}, 4, 0, 0, 0},
      {"levels", "cubeGradient", {4, 4, 6, kFormatFloat, 1, kArrayCubemap}, 4, 3, 0, 0},
      {"anisotropy", "cubeGradient", {4, 4, 6, kFormatFloat, 1, kArrayCubemap}, 4, 3, 0, 8}};
  const float kDirections[][3] = {{1, 0.97f, 0.3f},     {1, -0.9f, -0.2f},   {1, 0.1f, 0.95f},
                                  {-1, 0.9f, 0.93f},    {0.85f, 1, 0.1f},    {-0.99f, 1, -0.8f},
                                  {0.2f, -1, 0.77f},    {0.76f, -0.74f, 1},  {-0.4f, -0.98f, 1},
                                  {0.999f, 0.3f, -1},   {-0.6f, 0.999f, -1}, {0.1f, -0.2f, 1},
                                  {0.875f, -0.875f, 1}, {1, 1, 1},           {-1, -1, -1}};
  const struct {
    const char *what;
    int x, y;
    unsigned flags;
  } kModes[] = {{"clamp", kClamp, kClamp, kNormalizedCoordinates},
                {"wrap", kWrap, kWrap, kNormalizedCoordinates},
                {"mirror", kMirror, kMirror, kNormalizedCoordinates},
                {"border", kBorder, kBorder, kNormalizedCoordinates},
                {"wrap, border", kWrap, kBorder, kNormalizedCoordinates},
                {"mirror, wrap", kMirror, kWrap, kNormalizedCoordinates},
                {"border, clamp", kBorder, kClamp, kNormalizedCoordinates},
                {"wrap without the flag", kWrap, kWrap, 0},
                {"border without the flag", kBorder, kBorder, 0}};
  for (const auto &[what, kernel, shape, texelBytes, levels, flags, anisotropy] : kCases) {
    const bool isFloat = shape.format == kFormatFloat;
    const Filled filled(shape, isFloat ? floats : bytes, texelBytes, levels);
    for (const auto &[mode, x, y, flag] : kModes) {
      for (int filter : {kPoint, kLinear}) {
        if (filter == kPoint && !levels && shape.format != kFormatFloat)
          continue;
        const Asked asked =
            Asked(x, y, kBorder, filter, flags | flag).withLevels(kLinear, 2, anisotropy);
        const ObjectHandle object = texture(filled, asked);
        say("%s, %s, filter %d", what, mode, filter);
        for (const float (&to)[3] : kDirections) {
          const Gradients gradients = {{0.02f, 0.4f, -0.3f}, {0.1f, -0.05f, 0.07f}};
          lab.sample("", kernel, object, to[0], to[1], to[2], gradients);
        }
        quiet("cuTexObjectDestroy", object);
      }
    }
  }
}

} // namespace
} // namespace sequences
