// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/ReferenceTextures.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace llvm;

namespace rubia::tools {

using capsule::ArrayRegion;
using capsule::Launch;
using capsule::Texture;
using reference::SamplerState;
using reference::Texels;

namespace {

// ---------- Structures of the driver API

template <class T> T at(ArrayRef<uint8_t> bytes, size_t offset) {
  T value;
  memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// CUDA_TEXTURE_DESC.
SamplerState samplerOf(ArrayRef<uint8_t> bytes) {
  SamplerState state;
  for (size_t i = 0; i < 3; ++i)
    state.addressModes[i] = at<int>(bytes, 4 * i);
  state.isLinear = at<int>(bytes, 12);
  state.flags = at<unsigned>(bytes, 16);
  state.maxAnisotropy = at<unsigned>(bytes, 20);
  state.hasLinearLevels = at<int>(bytes, 24);
  state.levelBias = at<float>(bytes, 28);
  state.minLevel = at<float>(bytes, 32);
  state.maxLevel = at<float>(bytes, 36);
  for (size_t i = 0; i < 4; ++i)
    state.border[i] = at<float>(bytes, 40 + 4 * i);
  return state;
}

// CUDA_RESOURCE_DESC of linear or pitched memory.
Expected<Texels> memoryTexels(const Launch &launch, const Texture &texture,
                              RegionContents &memory) {
  const ArrayRef<uint8_t> resource = texture.resource;
  const bool isPitched = texture.kind() == Texture::Kind::Pitched;
  ArrayRegion shape; // for the size of its texels
  shape.format = at<int>(resource, 16);
  shape.channels = at<unsigned>(resource, 20);
  if (!shape.texelBytes())
    return createStringError("unsupported: a texture's format " + Twine(shape.format));
  Texels texels;
  texels.format = shape.format;
  texels.channels = shape.channels;
  texels.isLinear = !isPitched;
  texels.width =
      isPitched ? at<uint64_t>(resource, 24) : at<uint64_t>(resource, 24) / shape.texelBytes();
  texels.height = isPitched ? at<uint64_t>(resource, 32) : 0;
  texels.pitch = isPitched ? at<uint64_t>(resource, 40) : 0;
  const uint64_t bytes =
      isPitched ? texels.pitch * (texels.height - 1) + texels.width * shape.texelBytes()
                : texels.width * shape.texelBytes();
  for (auto [region, contents] : zip_equal(launch.memory, memory)) {
    const uint64_t offset = texture.address() - region.address;
    if (offset < contents.size() && bytes <= contents.size() - offset) {
      texels.bytes = MutableArrayRef(contents).slice(offset, bytes);
      return texels;
    }
  }
  return createStringError("the memory of a texture was not recorded");
}

// CUresourceViewFormat: kinds of channels, each of 1, 2 and 4.
Error applyView(ArrayRef<uint8_t> view, unsigned texelBytes, Texels &texels) {
  constexpr int kFormats[] = {1, 8, 2, 9, 3, 10, 0x10, 0x20};
  const auto format = unsigned(at<int>(view, 0));
  if (!format || (format - 1) / 3 >= std::size(kFormats))
    return createStringError("unsupported: a view of the format " + Twine(format));
  texels.format = kFormats[(format - 1) / 3];
  texels.channels = 1u << (format - 1) % 3;
  ArrayRegion shape;
  shape.format = texels.format;
  shape.channels = texels.channels;
  const auto firstLevel = at<unsigned>(view, 32), lastLevel = at<unsigned>(view, 36),
             firstLayer = at<unsigned>(view, 40), lastLayer = at<unsigned>(view, 44);
  if (shape.texelBytes() != texelBytes || at<uint64_t>(view, 8) != texels.width ||
      at<uint64_t>(view, 16) != texels.height || at<uint64_t>(view, 24) != texels.depth ||
      lastLevel < firstLevel || firstLevel >= texels.levels || lastLayer < firstLayer ||
      (texels.isLayered && firstLayer + (texels.isCube ? 6 : 1) > texels.depth))
    return createStringError("unsupported: a view of other sizes, levels or layers");
  texels.firstLevel = firstLevel;
  texels.levels = std::min(lastLevel, texels.levels - 1) - firstLevel + 1;
  if (texels.isLayered) {
    texels.firstLayer = firstLayer;
    texels.layers = std::min(lastLayer, UINT32_MAX - 1) - firstLayer + 1;
  }
  return Error::success();
}

} // namespace

Expected<reference::TextureObject> textureOf(const Launch &launch, const Texture &texture,
                                             RegionContents &memory, RegionContents &arrays) {
  constexpr unsigned kLayered = 1, kCubemap = 4; // CUDA_ARRAY3D_*
  reference::TextureObject result;
  result.handle = texture.handle;
  result.name = texture.name;
  result.isSurface = texture.isSurface;
  if (!texture.isSurface)
    result.sampler = samplerOf(texture.sampler);
  if (!texture.array) {
    if (Error error = memoryTexels(launch, texture, memory).moveInto(result.texels))
      return std::move(error);
    return result;
  }
  const ArrayRegion &array = launch.arrays[*texture.array];
  Texels &texels = result.texels;
  texels.bytes = arrays[*texture.array];
  texels.width = array.width;
  texels.height = array.height;
  texels.depth = array.depth;
  texels.format = array.format;
  texels.channels = array.channels;
  texels.levels = std::max(array.levels, 1u);
  texels.levelsOfArray = array.levels;
  texels.isLayered = array.flags & kLayered;
  texels.isCube = array.flags & kCubemap;
  if (!texture.view.empty())
    if (Error error = applyView(texture.view, array.texelBytes(), texels))
      return std::move(error);
  return result;
}

} // namespace rubia::tools
