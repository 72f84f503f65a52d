// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/textures/Cases.h"
#include "tests/golden/textures/Random.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace rubia::golden {

const char *nameOf(Shape shape) {
  constexpr const char *kNames[] = {"linear", "pitched", "1d",   "2d",   "3d",
                                    "a1d",    "a2d",     "cube", "acube"};
  return kNames[int(shape)];
}

namespace {

struct Format {
  const char *name;
  int code;
  unsigned bytes; // of a channel
  bool isFloat;
};
constexpr Format kFormats[] = {{"u8", 1, 1, false},    {"u16", 2, 2, false},  {"u32", 3, 4, false},
                               {"s8", 8, 1, false},    {"s16", 9, 2, false},  {"s32", 10, 4, false},
                               {"f16", 0x10, 2, true}, {"f32", 0x20, 4, true}};
const Format &formatOf(int code) {
  return *std::find_if(std::begin(kFormats), std::end(kFormats),
                       [&](const Format &format) { return format.code == code; });
}

const char *modeName(int mode) {
  constexpr const char *kNames[] = {"wrap", "clamp", "mirror", "border"};
  return kNames[mode];
}

// ---------- The list

unsigned dimensionsOf(Shape shape) {
  switch (shape) {
  case Shape::Linear:
  case Shape::D1:
  case Shape::Layered1:
    return 1;
  case Shape::Pitched:
  case Shape::D2:
  case Shape::Layered2:
    return 2;
  default:
    return 3;
  }
}
bool isLayered(Shape shape) {
  return shape == Shape::Layered1 || shape == Shape::Layered2 || shape == Shape::LayeredCube;
}

TextureCase base(Shape shape) {
  TextureCase c;
  c.shape = shape;
  c.width = 13;
  c.height = dimensionsOf(shape) >= 2 ? 8 : 0;
  c.depth = shape == Shape::D3 ? 5 : isLayered(shape) ? 3 : 0;
  if (shape == Shape::Linear)
    c.width = 100;
  if (shape == Shape::Cube || shape == Shape::LayeredCube) {
    c.width = c.height = 8;
    c.depth = shape == Shape::Cube ? 6 : 12;
  }
  return c;
}

constexpr unsigned kExactLevels = 0x20; // CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION

struct List {
  std::vector<TextureCase> all;

  void add(TextureCase c, const std::string &what = "") {
    const Format &format = formatOf(c.format);
    constexpr const char *kAsks[] = {"", ".fetch", ".level", ".grad", ".gather", ".query"};
    c.name = std::string(nameOf(c.shape)) + kAsks[int(c.ask)] + "." + format.name + "x" +
             std::to_string(c.channels) + (c.filter ? ".linear" : ".point") + "." +
             modeName(c.addressX);
    if (c.flags & 2)
      c.name += ".normalized";
    if (c.flags & 1)
      c.name += ".integers";
    if (c.flags & 16)
      c.name += ".srgb";
    if (c.offsets)
      c.name += ".offsets" + std::to_string(c.offsets);
    c.name += what;
    all.push_back(std::move(c));
  }

  void fetches() {
    for (const Format &format : kFormats)
      for (unsigned channels : {1u, 2u, 4u})
        for (unsigned flags : {0u, 1u}) {
          if (flags && (format.isFloat || format.bytes == 4))
            continue;
          TextureCase c = base(Shape::Linear);
          c.ask = Ask::Integer;
          c.format = format.code;
          c.channels = channels;
          c.flags = flags;
          add(c);
        }
    for (Shape shape :
         {Shape::D1, Shape::D2, Shape::D3, Shape::Layered1, Shape::Layered2, Shape::Pitched})
      for (int mode : {0, 1, 2, 3})
        for (int format : {3, 0x20}) {
          TextureCase c = base(shape);
          c.ask = Ask::Integer;
          c.format = format;
          c.flags = format == 3;
          c.addressX = c.addressY = c.addressZ = mode;
          add(c);
        }
  }

  // Every format by one mode, and every mode by one format.
  void filters() {
    for (Shape shape :
         {Shape::D1, Shape::D2, Shape::D3, Shape::Layered1, Shape::Layered2, Shape::Pitched})
      for (int filter : {0, 1})
        for (int mode : {0, 1, 2, 3})
          for (unsigned normalized : {0u, 2u}) {
            TextureCase c = base(shape);
            c.filter = filter;
            c.addressX = c.addressY = c.addressZ = mode;
            c.flags = normalized;
            add(c);
          }
    for (const Format &format : kFormats)
      for (unsigned channels : {1u, 2u, 4u})
        for (int filter : {0, 1})
          for (int mode : {1, 3}) {
            TextureCase c = base(Shape::D2);
            c.format = format.code;
            c.channels = channels;
            c.filter = filter;
            c.addressX = c.addressY = mode;
            if (filter == 0 && mode == 3 && !format.isFloat && format.bytes < 4)
              c.flags = 1;
            if ((filter == 1 && !format.isFloat && format.bytes == 4) ||
                (format.code == 0x20 && channels == 1)) // has been above
              continue;
            add(c);
          }
    for (const Format &format : kFormats)
      for (Shape shape : {Shape::D1, Shape::D3})
        for (int filter : {0, 1}) {
          TextureCase c = base(shape);
          c.format = format.code;
          c.filter = filter;
          c.flags = 2;
          if (filter == 1 && !format.isFloat && format.bytes == 4)
            continue;
          c.addressX = 0;
          add(c, ".mixed");
        }
    // Integers with a linear filter, which cannot be.
    for (int format : {1, 3, 10}) {
      TextureCase c = base(Shape::D2);
      c.format = format;
      c.filter = 1;
      c.flags = 1;
      add(c, ".refused");
    }
    for (unsigned channels : {1u, 4u})
      for (int filter : {0, 1}) {
        TextureCase c = base(Shape::D2);
        c.format = 1;
        c.channels = channels;
        c.filter = filter;
        c.flags = 16;
        add(c);
      }
    // Modes that differ by dimension.
    for (int filter : {0, 1}) {
      TextureCase c = base(Shape::D3);
      c.flags = 2;
      c.filter = filter;
      c.addressX = 3;
      c.addressY = 0;
      c.addressZ = 2;
      add(c, ".by.dimension");
    }
    // Sizes of other kinds: powers of two, one texel, large ones.
    const unsigned kSizes[][3] = {{1, 0, 0},     {4096, 0, 0}, {1, 1, 0},    {64, 64, 0},
                                  {300, 200, 0}, {2, 2, 2},    {16, 16, 16}, {37, 41, 23}};
    for (const auto &size : kSizes)
      for (unsigned normalized : {0u, 2u}) {
        TextureCase c = base(size[2] ? Shape::D3 : size[1] ? Shape::D2 : Shape::D1);
        c.width = size[0];
        c.height = size[1];
        c.depth = size[2];
        c.filter = 1;
        c.flags = normalized;
        c.addressX = normalized ? 0 : 1;
        add(c, "." + std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" +
                   std::to_string(size[2]));
      }
  }

  void gathers() {
    for (unsigned component = 0; component < 4; ++component)
      for (int format : {1, 3, 9, 0x10, 0x20}) {
        TextureCase c = base(Shape::D2);
        c.ask = Ask::Gather;
        c.format = format;
        c.channels = component == 0 ? 1 : 4;
        c.component = component;
        c.filter = component & 1 && format != 3;
        c.flags = component & 2 ? 2 : 0;
        c.addressX = component == 3 ? 3 : 1;
        add(c, "." + std::to_string(component));
      }
  }

  void levels() {
    for (Shape shape : {Shape::D1, Shape::D2, Shape::D3, Shape::Layered2, Shape::Cube})
      for (int filter : {0, 1})
        for (int mipmapFilter : {0, 1}) {
          TextureCase c = base(shape);
          c.ask = Ask::Level;
          c.filter = filter;
          c.mipmapFilter = mipmapFilter;
          c.flags = 2;
          c.levels = 3;
          c.maxLevel = 2;
          add(c, mipmapFilter ? ".mip.linear" : ".mip.point");
        }
    const struct {
      float bias, least, most;
    } kBounds[] = {{0.75f, 0, 3}, {-0.5f, 0.25f, 1.5f}, {0, 1, 9}, {0, 2, 1}, {20, 0, 3}};
    for (const auto &bounds : kBounds)
      for (Ask ask : {Ask::Level, Ask::Float}) {
        TextureCase c = base(Shape::D2);
        c.width = c.height = 16;
        c.ask = ask;
        c.filter = c.mipmapFilter = 1;
        c.flags = 2;
        c.levels = 4;
        c.levelBias = bounds.bias;
        c.minLevel = bounds.least;
        c.maxLevel = bounds.most;
        add(c, ".bounds" + std::to_string(&bounds - kBounds));
      }
    for (int format : {1, 2, 8, 9, 0x10}) {
      TextureCase c = base(Shape::D2);
      c.ask = Ask::Level;
      c.format = format;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 3;
      c.maxLevel = 2;
      add(c, ".mip.linear");
    }
  }

  void gradients() {
    for (unsigned anisotropy : {0u, 1u, 2u, 4u, 8u, 16u})
      for (unsigned scale : {1u, 4u}) {
        TextureCase c = base(Shape::D2);
        c.width = c.height = 64;
        c.ask = Ask::Gradient;
        c.filter = c.mipmapFilter = 1;
        c.flags = 2 | 0x20;
        c.levels = 7;
        c.maxLevel = 6;
        c.maxAnisotropy = anisotropy;
        c.scale = scale;
        add(c, ".aniso" + std::to_string(anisotropy) + "." + std::to_string(scale));
      }
    for (Shape shape : {Shape::D1, Shape::D3, Shape::Layered2}) {
      TextureCase c = base(shape);
      c.ask = Ask::Gradient;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 3;
      c.maxLevel = 2;
      c.scale = 2;
      add(c, ".mip");
    }
  }

  void cubes() {
    for (Shape shape : {Shape::Cube, Shape::LayeredCube})
      for (int filter : {0, 1})
        for (unsigned flags : {0u, 2u, 0x42u})
          for (int format : {1, 0x20}) {
            TextureCase c = base(shape);
            c.filter = filter;
            c.flags = flags;
            c.format = format;
            add(c, flags & 0x40 ? ".seamless" : "");
          }
  }

  // Offsets of texels, by turns those of kOffsets.
  void offsets() {
    auto next = [this](TextureCase c) {
      c.offsets = 1 + all.size() % 2;
      add(c);
    };
    for (Shape shape :
         {Shape::D1, Shape::D2, Shape::D3, Shape::Layered1, Shape::Layered2, Shape::Pitched}) {
      for (int filter : {0, 1})
        for (int mode : {0, 1, 2, 3})
          for (unsigned normalized : {0u, 2u}) {
            if (!normalized && mode != 1 && mode != 3)
              continue;
            TextureCase c = base(shape);
            c.filter = filter;
            c.addressX = c.addressY = c.addressZ = mode;
            c.flags = normalized;
            next(c);
          }
      TextureCase c = base(shape);
      c.ask = Ask::Integer;
      next(c);
      c = base(shape);
      c.ask = Ask::Level;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 3;
      c.maxLevel = 2;
      if (shape != Shape::Pitched)
        next(c);
    }
    TextureCase linear = base(Shape::Linear);
    linear.ask = Ask::Integer;
    next(linear);
    for (int mode : {0, 1, 2, 3}) {
      TextureCase c = base(Shape::D2);
      c.ask = Ask::Gather;
      c.flags = 2;
      c.addressX = c.addressY = mode;
      next(c);
    }
    TextureCase grad = base(Shape::D2);
    grad.ask = Ask::Gradient;
    grad.filter = grad.mipmapFilter = 1;
    grad.flags = 2;
    grad.levels = 3;
    grad.maxLevel = 2;
    next(grad);
  }

  void moreGradients() {
    for (Shape shape : {Shape::Layered1, Shape::Cube, Shape::LayeredCube, Shape::D2, Shape::D3})
      for (int mipmapFilter : {0, 1}) {
        TextureCase c = base(shape);
        c.ask = Ask::Gradient;
        c.filter = 1;
        c.mipmapFilter = mipmapFilter;
        c.flags = 2;
        c.levels = 3;
        c.maxLevel = 2;
        c.scale = 2;
        add(c, mipmapFilter ? ".again" : ".nearest");
      }
    for (unsigned anisotropy : {3u, 4u, 16u}) {
      TextureCase c = base(Shape::D2);
      c.width = 128;
      c.height = 32;
      c.ask = Ask::Gradient;
      c.format = 1;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 6;
      c.maxLevel = 5;
      c.maxAnisotropy = anisotropy;
      c.scale = 8;
      c.addressX = c.addressY = 0;
      add(c, ".oblong" + std::to_string(anisotropy));
    }
    // Anisotropy where the instruction has no gradients.
    for (Ask ask : {Ask::Float, Ask::Level}) {
      TextureCase c = base(Shape::D2);
      c.ask = ask;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 3;
      c.maxLevel = 2;
      c.maxAnisotropy = 16;
      add(c, ".aniso16");
    }
  }

  void seams() {
    for (int mipmapFilter : {0, 1}) {
      TextureCase c = base(Shape::Cube);
      c.ask = Ask::Level;
      c.filter = 1;
      c.mipmapFilter = mipmapFilter;
      c.flags = 0x42;
      c.levels = 3;
      c.maxLevel = 2;
      add(c, mipmapFilter ? ".seamless.mip" : ".seamless.nearest");
    }
    for (int format : {2, 8, 0x10})
      for (unsigned channels : {1u, 4u}) {
        TextureCase c = base(Shape::Cube);
        c.format = format;
        c.channels = channels;
        c.filter = 1;
        c.flags = 0x42;
        add(c, ".seamless");
      }
    TextureCase one = base(Shape::Cube);
    one.width = one.height = 1;
    one.filter = 1;
    one.flags = 0x42;
    add(one, ".seamless.1x1");
  }

  void standardRgb() {
    for (int mode : {1, 3})
      for (Shape shape : {Shape::D1, Shape::D2, Shape::D3}) {
        TextureCase c = base(shape);
        c.format = 1;
        c.channels = shape == Shape::D3 ? 1 : 4;
        c.filter = c.mipmapFilter = 1;
        c.flags = 0x12;
        c.addressX = c.addressY = c.addressZ = mode;
        if (shape == Shape::D2) {
          c.ask = Ask::Level;
          c.levels = 3;
          c.maxLevel = 2;
        }
        add(c);
      }
  }

  // 32-bit integers, which a linear filter cannot blend.
  void wideIntegers() {
    for (Shape shape : {Shape::D1, Shape::D2, Shape::D3})
      for (int format : {3, 10})
        for (unsigned flags : {0u, 3u}) {
          TextureCase c = base(shape);
          c.format = format;
          c.filter = 1;
          c.flags = flags;
          add(c, ".wide");
        }
  }

  // Samples of ellipses on the faces of cube maps.
  void anisotropicCubes() {
    auto next = [this](Shape shape, unsigned anisotropy, auto change) {
      TextureCase c = base(shape);
      c.width = c.height = 64;
      c.ask = Ask::Gradient;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2 | kExactLevels;
      c.levels = 7;
      c.maxLevel = 6;
      c.maxAnisotropy = anisotropy;
      c.scale = 4;
      change(c);
      add(c, std::string(c.mipmapFilter ? ".mip" : ".nearest") +
                 (c.flags & kExactLevels ? "" : ".rising") + (c.flags & 0x40 ? ".seamless" : "") +
                 ".aniso" + std::to_string(anisotropy));
    };
    for (Shape shape : {Shape::Cube, Shape::LayeredCube})
      for (unsigned anisotropy : {2u, 4u, 16u})
        for (int filter : {0, 1})
          next(shape, anisotropy, [&](TextureCase &c) { c.filter = filter; });
    for (unsigned anisotropy : {4u, 16u}) {
      next(Shape::Cube, anisotropy, [](TextureCase &c) { c.flags = 2; });
      next(Shape::Cube, anisotropy, [](TextureCase &c) { c.mipmapFilter = 0; });
      next(Shape::Cube, anisotropy, [](TextureCase &c) { c.flags |= 0x40; });
      next(Shape::Cube, anisotropy, [](TextureCase &c) { c.format = 1; });
    }
  }

  // A bias of the level of detail, with gradients.
  void biases() {
    for (float bias : {0.75f, -1.3f, 20.0f})
      for (unsigned anisotropy : {0u, 2u, 16u})
        for (int mipmapFilter : {0, 1}) {
          TextureCase c = base(Shape::D2);
          c.width = c.height = 64;
          c.ask = Ask::Gradient;
          c.filter = 1;
          c.mipmapFilter = mipmapFilter;
          c.flags = 2;
          c.levels = 7;
          c.minLevel = 0.25f;
          c.maxLevel = 5.5f;
          c.levelBias = bias;
          c.maxAnisotropy = anisotropy;
          c.scale = 4;
          add(c, (mipmapFilter ? ".mip.bias" : ".nearest.bias") + std::to_string(int(bias * 10)) +
                     ".aniso" + std::to_string(anisotropy));
        }
    for (Shape shape : {Shape::D1, Shape::D3, Shape::Cube})
      for (Ask ask : {Ask::Level, Ask::Gradient}) {
        TextureCase c = base(shape);
        c.ask = ask;
        c.filter = c.mipmapFilter = 1;
        c.flags = 2;
        c.levels = 3;
        c.maxLevel = 2;
        c.levelBias = 0.3f;
        add(c, ".bias3");
      }
  }

  // How weights between levels rise with each ratio of axes, and bounds that are no 256ths.
  void rises() {
    for (unsigned anisotropy : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 12u, 14u, 16u}) {
      TextureCase c = base(Shape::D2);
      c.width = c.height = 64;
      c.ask = Ask::Gradient;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 7;
      c.maxLevel = 6;
      c.maxAnisotropy = anisotropy;
      c.scale = 4;
      add(c, ".rising" + std::to_string(anisotropy));
    }
    const struct {
      float bias, least, most;
    } kBounds[] = {{20, 0, 10}, {-20, 0, 10}, {0, 1.303f, 3.699f}, {0.303f, -1, 20}};
    for (const auto &bounds : kBounds) {
      TextureCase c = base(Shape::D1);
      c.width = 1024;
      c.ask = Ask::Level;
      c.filter = c.mipmapFilter = 1;
      c.flags = 2;
      c.levels = 11;
      c.levelBias = bounds.bias;
      c.minLevel = bounds.least;
      c.maxLevel = bounds.most;
      add(c, ".bounds" + std::to_string(&bounds - kBounds));
    }
  }

  // What a texture tells of its levels, those that there are not too.
  void queries() {
    for (Shape shape : {Shape::D1, Shape::D2, Shape::D3, Shape::Layered1, Shape::Layered2,
                        Shape::Cube, Shape::LayeredCube})
      for (unsigned levels : {0u, 1u, 3u}) {
        TextureCase c = base(shape);
        c.ask = Ask::Query;
        c.flags = 2;
        c.levels = levels;
        c.maxLevel = 9;
        add(c, ".levels" + std::to_string(levels));
      }
  }
};

} // namespace

const std::vector<TextureCase> &textureCases(unsigned recording) {
  static const std::vector<TextureCase> first = [] {
    List list;
    list.fetches();
    list.filters();
    list.gathers();
    list.levels();
    list.gradients();
    list.cubes();
    return list.all;
  }();
  static const std::vector<TextureCase> second = [] {
    List list;
    list.offsets();
    list.moreGradients();
    list.seams();
    list.standardRgb();
    list.wideIntegers();
    return list.all;
  }();
  static const std::vector<TextureCase> third = [] {
    List list;
    list.anisotropicCubes();
    list.biases();
    list.rises();
    list.queries();
    return list.all;
  }();
  return recording == 0 ? first : recording == 1 ? second : third;
}

// ---------- Contents

unsigned texelBytes(const TextureCase &c) { return formatOf(c.format).bytes * c.channels; }

static uint16_t halfOf(int eighths) { // exact: |eighths| < 2048
  if (eighths == 0)
    return 0;
  const unsigned sign = eighths < 0 ? 0x8000 : 0, magnitude = unsigned(std::abs(eighths));
  const int exponent = std::bit_width(magnitude) - 1;
  return uint16_t(sign | (unsigned(exponent - 3 + 15) << 10) |
                  ((magnitude << (10 - exponent)) & 0x3ff));
}

std::vector<uint8_t> texelsOf(const TextureCase &c, unsigned level) {
  auto shrunk = [&](unsigned size) { return std::max(size >> level, 1u); };
  const bool isDeep = c.shape == Shape::D3;
  const size_t texels = size_t(shrunk(c.width)) * shrunk(c.height) *
                        (isDeep ? shrunk(c.depth) : std::max(c.depth, 1u));
  const Format &format = formatOf(c.format);
  Random random(c.name + "/" + std::to_string(level));
  std::vector<uint8_t> bytes(texels * texelBytes(c));
  for (size_t i = 0; i < texels * c.channels; ++i) {
    uint32_t bits = random.next() >> 8;
    if (format.code == 0x20) // of 12 bits, with the level
      bits = std::bit_cast<uint32_t>(float(int(bits % 4096) - 1024) * 0.125f + float(level));
    else if (format.code == 0x10)
      bits = halfOf(int(bits % 4095) - 2047);
    else if (bits % 16 == 0) // often what is on the edge
      bits = bits & 16 ? ~0u : 0x80808080u;
    memcpy(&bytes[i * format.bytes], &bits, format.bytes);
  }
  return bytes;
}

// ---------- Coordinates

namespace {

float coordinate(Random &random, unsigned index, unsigned size, bool isNormalized) {
  const float texels = float(size), unit = isNormalized ? 1 / texels : 1;
  if (index < 64) {
    const float kSpecial[] = {0.0f,
                              -0.0f,
                              std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(),
                              1e10f,
                              -1e10f,
                              1e-40f,
                              texels * unit,
                              (texels - 0.5f) * unit,
                              std::nextafter(texels * unit, 0.0f),
                              0.5f * unit,
                              -0.5f * unit,
                              1e6f * unit,
                              -1e6f * unit,
                              3e9f};
    return kSpecial[random.below(16)];
  }
  const float at = (random.unit() * 2.5f - 0.75f) * texels;
  switch (index % 4) {
  case 0: // between the steps of weights
    return std::floor(at * 512) / 512 * unit;
  case 1:
    return (random.unit() * 1.25f - 0.125f) * texels * unit;
  case 2:
    return std::floor(at * 2) / 2 * unit;
  default:
    return at * unit;
  }
}

int32_t integerCoordinate(Random &random, unsigned index, unsigned size) {
  if (index < 16)
    return index % 4 == 0   ? INT32_MIN
           : index % 4 == 1 ? INT32_MAX
           : index % 4 == 2 ? -1
                            : int(size);
  return int32_t(random.below(size + 7)) - 3;
}

} // namespace

std::vector<uint32_t> coordinatesOf(const TextureCase &c) {
  Random random(c.name + "/coordinates");
  std::vector<uint32_t> words(4 * kTextureCoordinates);
  const bool isCube = c.shape == Shape::Cube || c.shape == Shape::LayeredCube;
  for (unsigned i = 0; i < kTextureCoordinates; ++i) {
    uint32_t *at = &words[4 * i];
    if (isLayered(c.shape))
      *at++ = random.below(c.shape == Shape::LayeredCube ? c.depth / 6 + 1 : c.depth + 2);
    const unsigned sizes[] = {c.width, c.height, c.depth};
    for (unsigned d = 0; d < dimensionsOf(c.shape); ++d, ++at) {
      if (isCube) { // a direction, sometimes along an edge
        float value = random.unit() * 2 - 1;
        if (i % 8 == 7)
          value = float(int(random.below(3)) - 1);
        *at = std::bit_cast<uint32_t>(value);
      } else if (c.ask == Ask::Integer) {
        *at = uint32_t(integerCoordinate(random, i, sizes[d]));
      } else {
        *at = std::bit_cast<uint32_t>(coordinate(random, i, sizes[d], c.flags & 2));
      }
    }
  }
  return words;
}

std::vector<uint32_t> detailsOf(const TextureCase &c) {
  Random random(c.name + "/details");
  std::vector<uint32_t> words(8 * kTextureCoordinates);
  for (unsigned i = 0; i < kTextureCoordinates; ++i) {
    uint32_t *at = &words[8 * i];
    if (c.ask == Ask::Level) {
      float level = random.unit() * (float(c.levels) + 1) - 0.75f;
      if (c.levels > 10) // beyond what bounds bring back
        level = random.unit() * 64 - 32;
      if (i % 4 == 1)
        level = std::floor(level * 2) / 2;
      else if (i % 4 == 2)
        level = std::floor(level * 512) / 512;
      if (i % 64 == 3)
        level = i % 128 == 3 ? std::numeric_limits<float>::quiet_NaN()
                             : std::numeric_limits<float>::infinity();
      at[0] = std::bit_cast<uint32_t>(level);
    } else if (c.ask == Ask::Query) {
      at[0] = i % 8 == 7 ? random.next() : random.below(20) - 4;
    } else if (c.ask == Ask::Gradient) {
      for (unsigned k = 0; k < 8; ++k) {
        const float step = std::exp2(random.unit() * 5 - 3) * float(c.scale);
        const float sign = random.next() & 1 ? -1.0f : 1.0f;
        at[k] = std::bit_cast<uint32_t>(i % 16 == 0 ? 0.0f : sign * step / float(c.width));
      }
    }
  }
  return words;
}

} // namespace rubia::golden
