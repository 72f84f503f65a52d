// SPDX-License-Identifier: Apache-2.0
// What a texture or surface object is: the 64-bit handle that a kernel gets is the address of such
// a record in device memory. The driver writes it, and the sampler (lowering/device/Textures.h)
// reads it, in a kernel of any target. docs/textures.md describes it. Host and device share this.
#pragma once

#include <stdint.h>

namespace rubia::abi {

/// An array's rows are cut into columns of this many bytes, each stored on its own: rows of a
/// column follow each other, so that neighbours in both dimensions share cache lines.
inline constexpr uint32_t kColumnBytes = 32;

/// The sampler counts the bytes of a slice in 32 bits.
inline constexpr uint64_t kMaxSliceBytes = uint64_t(1) << 32;

/// Where texels lie. The byte at (x, y) of a slice, x in bytes, is at
/// slice + x / kColumnBytes * columnPitch + x % kColumnBytes + y * rowPitch.
/// Pitched and linear memory have columnPitch = kColumnBytes.
struct TexelGrid {
  uint64_t base;
  uint64_t slicePitch; // bytes between layers, faces or depths
  uint32_t columnPitch, rowPitch;
  uint32_t width, height, depth; // texels; depth of a 3-D texture, else 1
  uint32_t slices;               // depth, or layers, or faces of all layers
};
static_assert(sizeof(TexelGrid) == 40);

/// What the bits of a channel mean to tex and tld4.
enum class TexelKind : uint32_t {
  Bits,       // given as they are: u32, s32, f32
  Integer,    // of 8 or 16 bits, widened by its sign
  Normalized, // of 8 or 16 bits, as a number of [0, 1] or [-1, 1]
  Half,
};

/// TexelFormat::bits, from the lowest.
struct TexelFormat {
  uint32_t bits;
  static constexpr uint32_t make(unsigned channelShift, unsigned channelsShift, bool isSigned,
                                 TexelKind kind) {
    return channelShift | channelsShift << 2 | uint32_t(isSigned) << kSignShift |
           uint32_t(kind) << 5 | (channelShift + channelsShift) << 8;
  }
  /// The same bits of integers of 32 bits that a linear filter blends.
  static constexpr uint32_t kBlendsWords = 1 << 7;
  static constexpr unsigned kSignShift = 4;
  constexpr unsigned channelShift() const { return bits & 3; }       // log2 of its bytes
  constexpr unsigned channelsShift() const { return bits >> 2 & 3; } // log2 of their number
  constexpr bool isSigned() const { return bits >> kSignShift & 1; }
  constexpr TexelKind kind() const { return TexelKind(bits >> 5 & 3); }
  constexpr bool blendsWords() const { return bits & kBlendsWords; }
  constexpr unsigned texelShift() const { return bits >> 8 & 7; } // log2 of a texel's bytes
};
inline constexpr uint32_t kFormatOneWord =
    TexelFormat::make(2, 0, false, TexelKind::Bits); // what lowering reads without a call

enum class AddressMode : uint32_t { Wrap, Clamp, Mirror, Border };

/// Texture::mode. Each dimension has two bits with its AddressMode.
enum TextureMode : uint32_t {
  kModeOfX = 0, // the shifts
  kModeOfY = 2,
  kModeOfZ = 4,
  kAllClamp = 0x15, // the modes of x, y and z together
  kAddressModes = 0x3f,
  kLinearFilter = 1 << 6,
  kNormalizedCoordinates = 1 << 7,
  kLinearMipmap = 1 << 8,
  kStandardRgb = 1 << 9,
  kLinearMemory = 1 << 10,    // one dimension: what lies outside is 0
  kPlainAddressing = 1 << 11, // all modes are Clamp
  kSeamless = 1 << 12,        // a linear filter goes across the edges of cube maps
  kTrilinearRise = 13,        // the shift of three bits with a TrilinearRise
  kPlainFilter = 1 << 16,  // a linear filter of one level, without a border, sRGB or wide integers
  kBlendsPoints = 1 << 17, // a point filter's texels are blended, be it with nothing
  kNumbers = 1 << 18,      // words are f32, not integers
};

/// How fast weights between levels rise with anisotropy, in quarters, and from which weight on.
enum class TrilinearRise : uint32_t {
  None,
  By6From42,
  By6From43,
  By7From54,
  By7From55,
  By8From63,
  By8From64
};

/// What a fetch from linear memory is.
enum TextureFetch : uint32_t { kFetchOther, kFetchWord };

/// A part of [1, 2), by its 7 bits: an H100's reciprocal of 1 + (part + x / 65536) / 128 is, in
/// units of 2^-24, c0 / 4 - 2 c1 x / 65536 + c2 x^2 / 2^32. What is cut: docs/textures.md.
struct ReciprocalPart {
  uint32_t c0, c1, c2;
};
/// What the sampler looks up. The driver keeps them in device memory
/// (runtime/cuda/texture/Tables.h).
struct TextureTables {
  uint16_t linearOfStandardRgb[256]; // numbers of 8 bits, and below them their exponents
  ReciprocalPart reciprocals[128];
};

/// A number as a normalised channel of `bits` bits, without the sign: an H100 cuts it to four bits
/// more, and then rounds. NaN is 0.
constexpr int32_t normalizedOf(float value, unsigned bits, bool isSigned) {
  const float size = value < 0 ? -value : value;
  const float fraction = value == value ? (size < 1 ? size : 1) : 0;
  const unsigned cut = bits + 4;
  const uint64_t number = uint32_t(fraction * float(1u << cut)), most = (1u << bits) - 1;
  const auto nearest = int32_t((number * most + (1u << (cut - 1))) >> cut);
  return !(value < 0) ? nearest : isSigned ? -nearest : 0;
}

struct Texture {
  TexelGrid grid; // of level 0
  uint32_t format;
  uint32_t mode;
  uint32_t border[4]; // as the texture gives it. Of sRGB's channels: the value of 255 with the
                      // curve, and in the next byte that without, which gathers take
  uint64_t levels;    // TexelGrid[levelCount], or 0: only level 0
  uint32_t levelCount;
  float minLevel, maxLevel, levelBias;
  uint32_t maxAnisotropy; // 0 or 1, 2, 4, 6, 8, 10, 12, 16
  uint32_t slots[3];      // what txq and suq answer: width, height, depth
  uint32_t fetch;         // TextureFetch
  float scale[3];         // from coordinates to texels: 1, or sizes where they are normalised
  uint64_t tables;        // TextureTables, for sRGB and cube maps
};
static_assert(sizeof(Texture) == 128);

/// A reference that nothing is bound to, and which lies at `address`: all texels are 0.
inline Texture unboundTexture(uint64_t address) {
  Texture texture = {};
  texture.grid.base = address;
  texture.mode = uint32_t(AddressMode::Border) * 0x15 | kLinearMemory;
  return texture;
}

} // namespace rubia::abi
