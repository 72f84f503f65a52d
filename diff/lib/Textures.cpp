// SPDX-License-Identifier: Apache-2.0
// What a capsule says of arrays and textures.
#include "diff/Capsule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace rubia::capsule {

std::array<uint64_t, 3> ArrayRegion::sizeOf(unsigned level) const {
  constexpr unsigned kLayered = 1, kCubemap = 4;
  const auto part = [level](uint64_t size) { return std::max<uint64_t>(size >> level, 1); };
  const bool hasLayers = flags & (kLayered | kCubemap);
  return {part(width), part(height), hasLayers ? std::max<uint64_t>(depth, 1) : part(depth)};
}

/// Normalized numbers: u8, u16, s8, s16 of 1, 2 and 4 channels. Negative: it is none of them.
static int normalizedFormat(int format) {
  constexpr int kFirst = 0xc0, kCount = 12;
  return format >= kFirst && format < kFirst + kCount ? format - kFirst : -1;
}

unsigned ArrayRegion::channelBytes() const {
  switch (format) {
  case 1: // u8, s8
  case 8:
    return 1;
  case 2: // u16, s16, half
  case 9:
  case 0x10:
    return 2;
  case 3: // u32, s32, float
  case 10:
  case 0x20:
    return 4;
  default:
    break;
  }
  const int normalized = normalizedFormat(format);
  return normalized < 0 ? 0 : normalized / 3 % 2 ? 2 : 1;
}

unsigned ArrayRegion::texelBytes() const {
  const int normalized = normalizedFormat(format);
  return channelBytes() * (normalized < 0 ? channels : 1u << normalized % 3);
}

bool ArrayRegion::isFloat() const { return format == 0x10 || format == 0x20; }

bool ArrayRegion::isSignedByte() const {
  const int normalized = normalizedFormat(format);
  return format == 8 || normalized / 3 == 2;
}

uint64_t ArrayRegion::contentBytes() const {
  uint64_t texels = 0;
  for (unsigned level = 0; level < std::max(levels, 1u); ++level) {
    const auto [x, y, z] = sizeOf(level);
    texels += x * y * z;
  }
  return texels * texelBytes();
}

Texture::Kind Texture::kind() const { return Kind(support::endian::read32le(resource.data())); }

uint64_t Texture::address() const {
  constexpr size_t kPlace = 8;
  return support::endian::read64le(resource.data() + kPlace);
}

bool Texture::isFiltered() const {
  constexpr size_t kFilter = 12, kMipmapFilter = 24; // of CUDA_TEXTURE_DESC
  return !sampler.empty() &&
         (support::endian::read32le(sampler.data() + kFilter) ||
          (kind() == Kind::Mipmapped && support::endian::read32le(sampler.data() + kMipmapFilter)));
}

bool Launch::isFiltered() const {
  return any_of(textures, [](const Texture &texture) { return texture.isFiltered(); });
}

template <class Pointer, class Launch> static std::vector<Pointer> regionsOf(Launch &launch) {
  std::vector<Pointer> all;
  for (auto &region : launch.memory)
    all.push_back(&region);
  for (auto &array : launch.arrays)
    all.push_back(&array);
  return all;
}

std::vector<const Region *> Launch::regions() const { return regionsOf<const Region *>(*this); }
std::vector<Region *> Launch::regions() { return regionsOf<Region *>(*this); }

} // namespace rubia::capsule
