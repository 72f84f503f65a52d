// SPDX-License-Identifier: Apache-2.0
// From the bits of a texel to what registers get, and back. RDNA2, RDNA3, RDNA4 ISA "Image and
// Buffer Data Formats".
#pragma once

#include <cstdint>
#include <optional>

namespace rubia::emulator {

enum class ChannelKind : uint8_t {
  Unorm,
  Snorm,
  Uscaled,
  Sscaled,
  Uint,
  Sint,
  Float,
  Srgb, // but the fourth channel, which is Unorm
};

struct ImageFormat {
  ChannelKind kind = ChannelKind::Uint;
  uint8_t channelBits = 8; // 8, 16 or 32
  uint8_t channels = 1;

  unsigned bytes() const { return channelBits / 8u * channels; }
  bool isInteger() const { return kind == ChannelKind::Uint || kind == ChannelKind::Sint; }
  friend bool operator==(const ImageFormat &, const ImageFormat &) = default;
};

/// The format behind a number in a resource; nothing if it has none here: packed channels of
/// different sizes, depths and compressed blocks, which are for graphics.
std::optional<ImageFormat> imageFormat(unsigned isa, uint32_t number);
/// The other way round; 0 if there is none.
uint32_t numberOf(const ImageFormat &format, unsigned isa);

/// Components as registers have them: bits of floats, or integers.
struct Texel {
  uint32_t at[4];
};
/// The texel of a format in the first bytes of `words`. Channels that it lacks are 0, and the
/// fourth is 1.
Texel decodeTexel(const ImageFormat &format, const uint32_t *words);
/// The other way round. Numbers are clamped to what the format holds.
void encodeTexel(const ImageFormat &format, const Texel &texel, uint32_t *words);

/// What a component is by its field of the resource: 0, 1 or 4 + channel.
Texel selectComponents(const ImageFormat &format, const uint32_t *select, const Texel &texel);

/// D16: a component as a half of a register, and back.
uint32_t halfOf(const ImageFormat &format, uint32_t word);
uint32_t wordOf(const ImageFormat &format, uint16_t half);

/// A texel in memory that other host threads may use: no channel is torn.
void loadTexelWords(unsigned bytes, uint64_t address, uint32_t *words);
void storeTexelWords(unsigned bytes, uint64_t address, const uint32_t *words);

} // namespace rubia::emulator
