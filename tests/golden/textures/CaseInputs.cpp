// SPDX-License-Identifier: Apache-2.0
// Texels and coordinates of the cases (Cases.h), which follow from their names.
#include "tests/golden/textures/CaseShapes.h"
#include "tests/golden/textures/Random.h"
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace rubia::golden {

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
    if (c.isWide && format.code == 0x20) // below 1
      bits = random.below(2) << 31 | (126 - random.below(24)) << 23 | (bits & 0x7fffff);
    else if (c.isWide && format.code == 0x10)
      bits &= 0xbbff;
    else if (format.code == 0x20) // of 12 bits, with the level
      bits = std::bit_cast<uint32_t>(float(int(bits % 4096) - 1024) * 0.125f + float(level));
    else if (format.code == 0x10)
      bits = halfOf(int(bits % 4095) - 2047);
    else if (bits % 16 == 0) // often what is on the edge
      bits = bits & 16 ? ~0u : 0x80808080u;
    if (c.hasInfinities && random.below(8) == 0) { // of either sign, and NaN
      const uint32_t sign = random.below(2) << 15, high = random.below(4) ? 0x7c00 : 0x7e00;
      bits = format.code == 0x10 ? sign | high : (sign | (high == 0x7c00 ? 0x7f80 : 0x7fc0)) << 16;
    }
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

// Where a float's last digit, a denormal number or an infinite product decides.
float edgeCoordinate(Random &random, unsigned index, unsigned size, bool isNormalized) {
  const float texels = float(size), unit = isNormalized ? 1 / texels : 1;
  const float infinity = std::numeric_limits<float>::infinity();
  switch (index % 4) {
  case 0: {
    const float kSpecial[] = {1e-40f,  -1e-40f,  0x1p-126f, -0x1p-126f, 1e-30f, -1e-30f,
                              3e38f,   -3e38f,   1e20f,     -1e10f,     0.5f,   -0.0f,
                              0x1p24f, -0x1p24f, infinity,  1};
    return kSpecial[random.below(16)] * (index % 8 ? unit : 1);
  }
  case 1: // x - 0.5 is no float
    return (random.unit() * 0.75f - 0.5f) * unit;
  case 2:
    return std::nextafter(float(int(random.below(2 * size + 5)) - 2) * 0.5f * unit,
                          random.below(2) ? infinity : -infinity);
  default:
    return (random.unit() * 2.5f - 0.75f) * texels * unit;
  }
}

// A direction through an edge of a texel of a face, or next to it.
std::array<float, 3> edgeDirection(Random &random, unsigned index, unsigned size) {
  std::array<float, 3> direction;
  const unsigned major = random.below(3);
  for (unsigned d = 0; d < 3; ++d) {
    float value = float(int(random.below(2 * size + 1)) - int(size)) / float(size);
    if (index % 4 == 1)
      value = std::nextafter(value, random.below(2) ? 2.0f : -2.0f);
    else if (index % 4 == 2)
      value *= 0x1p-127f;
    else if (index % 4 == 3)
      value = random.unit() * 2 - 1;
    direction[d] = d == major ? (random.below(2) ? 1.0f : -1.0f) : value;
  }
  return direction;
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
    if (isCube && c.hasEdges) {
      const std::array<float, 3> direction = edgeDirection(random, i, c.width);
      memcpy(at, direction.data(), sizeof(direction));
      continue;
    }
    for (unsigned d = 0; d < dimensionsOf(c.shape); ++d, ++at) {
      if (isCube) { // a direction, sometimes along an edge
        float value = random.unit() * 2 - 1;
        if (i % 8 == 7)
          value = float(int(random.below(3)) - 1);
        *at = std::bit_cast<uint32_t>(value);
      } else if (c.ask == Ask::Integer) {
        *at = uint32_t(integerCoordinate(random, i, sizes[d]));
      } else if (c.hasEdges) {
        *at = std::bit_cast<uint32_t>(edgeCoordinate(random, i, sizes[d], c.flags & 2));
      } else {
        const unsigned index = c.isWide ? i + kTextureCoordinates : i;
        *at = std::bit_cast<uint32_t>(coordinate(random, index, sizes[d], c.flags & 2));
      }
    }
  }
  return words;
}

std::vector<bool> asksBehindLayers(const TextureCase &c) {
  std::vector<bool> result(kTextureCoordinates);
  if (!c.view.isThere || !isLayered(c.shape) || c.ask == Ask::Query)
    return result;
  const unsigned slices = c.depth - c.view.firstLayer,
                 there = c.shape == Shape::LayeredCube ? slices / 6 : slices,
                 promised = c.view.lastLayer - c.view.firstLayer + 1;
  if (promised <= there)
    return result;
  const std::vector<uint32_t> coordinates = coordinatesOf(c);
  for (unsigned i = 0; i < kTextureCoordinates; ++i)
    result[i] = coordinates[4 * i] >= there;
  return result;
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
      if (c.hasEdges && i % 16 == 5)
        at[random.below(8)] = std::bit_cast<uint32_t>(std::numeric_limits<float>::quiet_NaN());
    }
  }
  return words;
}

} // namespace rubia::golden
