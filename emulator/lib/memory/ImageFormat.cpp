// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/memory/ImageFormat.h"
#include "emulator/lib/machine/Half.h"
#include "emulator/lib/memory/LoadStore.h"
#include <algorithm>
#include <cmath>

namespace rubia::emulator {
namespace {

using enum ChannelKind;

/// Formats with consecutive numbers, which differ in their kind.
struct Family {
  uint8_t channelBits, channels;
  uint8_t gfx10, gfx11; // the first one's number; gfx12 has gfx11's
  ChannelKind kinds[7];
  uint8_t count;
};
#define NORMALIZED_TO_INTEGER Unorm, Snorm, Uscaled, Sscaled, Uint, Sint
constexpr Family kFamilies[] = {
    {8, 1, 1, 1, {NORMALIZED_TO_INTEGER}, 6},
    {16, 1, 7, 7, {NORMALIZED_TO_INTEGER, Float}, 7},
    {8, 2, 14, 14, {NORMALIZED_TO_INTEGER}, 6},
    {32, 1, 20, 20, {Uint, Sint, Float}, 3},
    {16, 2, 23, 23, {NORMALIZED_TO_INTEGER, Float}, 7},
    {8, 4, 56, 42, {NORMALIZED_TO_INTEGER}, 6},
    {32, 2, 62, 48, {Uint, Sint, Float}, 3},
    {16, 4, 65, 51, {NORMALIZED_TO_INTEGER, Float}, 7},
    {32, 3, 72, 58, {Uint, Sint, Float}, 3},
    {32, 4, 75, 61, {Uint, Sint, Float}, 3},
    {8, 1, 128, 64, {Srgb}, 1},
    {8, 2, 129, 65, {Srgb}, 1},
    {8, 4, 130, 66, {Srgb}, 1},
};
#undef NORMALIZED_TO_INTEGER

uint32_t firstOf(const Family &family, unsigned isa) {
  return isa >= 11 ? family.gfx11 : family.gfx10;
}

uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }

float linearOf(double curved) {
  return float(curved <= 0.04045 ? curved / 12.92 : std::pow((curved + 0.055) / 1.055, 2.4));
}

uint32_t channelOf(const uint32_t *words, unsigned bits, unsigned i) {
  const uint32_t word = words[i * bits / 32] >> i * bits % 32;
  return bits == 32 ? word : word & ((1u << bits) - 1);
}

double greatest(unsigned bits) { return double((uint64_t(1) << bits) - 1); }

uint32_t decodeChannel(ChannelKind kind, unsigned bits, uint32_t raw) {
  const unsigned unused = 32 - bits;
  const int32_t asSigned = int32_t(raw << unused) >> unused;
  switch (kind) {
  case Unorm:
    return bitsOf(float(raw / greatest(bits)));
  case Snorm:
    return bitsOf(float(std::max(asSigned / greatest(bits - 1), -1.0)));
  case Uscaled:
    return bitsOf(float(raw));
  case Sscaled:
    return bitsOf(float(asSigned));
  case Uint:
    return raw;
  case Sint:
    return uint32_t(asSigned);
  case Float:
    return bits == 32 ? raw : bitsOf(float(RUBIA_ISA::Half::fromBits(uint16_t(raw))));
  case Srgb:
    return bitsOf(linearOf(raw / greatest(bits)));
  }
  return 0;
}

/// To the nearest, to even if there are two. NaN is 0.
uint32_t rounded(float value, double scale, double least, double most) {
  const double scaled = value != value ? 0 : std::clamp(value * scale, least, most);
  return uint32_t(int64_t(std::nearbyint(scaled)));
}

uint32_t encodeChannel(ChannelKind kind, unsigned bits, uint32_t word) {
  const float value = std::bit_cast<float>(word);
  const double most = greatest(bits), mostSigned = greatest(bits - 1);
  switch (kind) {
  case Unorm:
  case Srgb: // no instruction stores to it
    return rounded(value, most, 0, most);
  case Snorm:
    return rounded(value, mostSigned, -mostSigned, mostSigned);
  case Uscaled:
    return rounded(value, 1, 0, most);
  case Sscaled:
    return rounded(value, 1, -mostSigned - 1, mostSigned);
  case Uint:
    return bits == 32 ? word : std::min(word, uint32_t(most));
  case Sint:
    return bits == 32
               ? word
               : uint32_t(std::clamp(int32_t(word), int32_t(-mostSigned) - 1, int32_t(mostSigned)));
  case Float:
    return bits == 32 ? word : RUBIA_ISA::Half(value).bits;
  }
  return 0;
}

} // namespace

std::optional<ImageFormat> imageFormat(unsigned isa, uint32_t number) {
  for (const Family &family : kFamilies)
    if (const uint32_t first = firstOf(family, isa);
        number >= first && number - first < family.count)
      return ImageFormat{family.kinds[number - first], family.channelBits, family.channels};
  return std::nullopt;
}

uint32_t numberOf(const ImageFormat &format, unsigned isa) {
  for (const Family &family : kFamilies)
    for (uint32_t i = 0; i < family.count; ++i)
      if (ImageFormat{family.kinds[i], family.channelBits, family.channels} == format)
        return firstOf(family, isa) + i;
  return 0;
}

Texel decodeTexel(const ImageFormat &format, const uint32_t *words) {
  Texel texel = {{0, 0, 0, format.isInteger() ? 1 : bitsOf(1.0f)}};
  for (unsigned i = 0; i < format.channels; ++i) {
    const ChannelKind kind = format.kind == Srgb && i == 3 ? Unorm : format.kind;
    texel.at[i] = decodeChannel(kind, format.channelBits, channelOf(words, format.channelBits, i));
  }
  return texel;
}

void encodeTexel(const ImageFormat &format, const Texel &texel, uint32_t *words) {
  const unsigned bits = format.channelBits;
  for (unsigned i = 0; i < format.channels; ++i) {
    const uint32_t value = encodeChannel(format.kind, bits, texel.at[i]);
    const unsigned shift = i * bits % 32;
    uint32_t &word = words[i * bits / 32];
    word = (shift ? word : 0) | (bits == 32 ? value : (value & ((1u << bits) - 1)) << shift);
  }
}

Texel selectComponents(const ImageFormat &format, const uint32_t *select, const Texel &texel) {
  Texel result;
  for (unsigned i = 0; i < 4; ++i)
    result.at[i] = select[i] >= 4   ? texel.at[select[i] - 4]
                   : select[i] == 1 ? (format.isInteger() ? 1 : bitsOf(1.0f))
                                    : 0;
  return result;
}

uint32_t halfOf(const ImageFormat &format, uint32_t word) {
  return format.isInteger() ? word & 0xffff : RUBIA_ISA::Half(std::bit_cast<float>(word)).bits;
}

uint32_t wordOf(const ImageFormat &format, uint16_t half) {
  if (format.kind == Sint)
    return uint32_t(int32_t(int16_t(half)));
  return format.kind == Uint ? half : bitsOf(float(RUBIA_ISA::Half::fromBits(half)));
}

void loadTexelWords(unsigned bytes, uint64_t address, uint32_t *words) {
  switch (bytes) {
  case 1:
    return fetch<1, true>(words, address);
  case 2:
    return fetch<2, true>(words, address);
  case 4:
    return fetch<4, true>(words, address);
  case 8:
    return fetch<8, true>(words, address);
  case 16:
    return fetch<16, true>(words, address);
  default:
    for (unsigned i = 0; i < bytes / 4; ++i)
      fetch<4, true>(words + i, address + 4 * i);
  }
}

void storeTexelWords(unsigned bytes, uint64_t address, const uint32_t *words) {
  switch (bytes) {
  case 1:
    return put<1, true>(words, address);
  case 2:
    return put<2, true>(words, address);
  case 4:
    return put<4, true>(words, address);
  case 8:
    return put<8, true>(words, address);
  case 16:
    return put<16, true>(words, address);
  default:
    for (unsigned i = 0; i < bytes / 4; ++i)
      put<4, true>(words + i, address + 4 * i);
  }
}

} // namespace rubia::emulator
