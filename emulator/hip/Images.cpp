// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/Images.h"
#include "emulator/hip/Allocations.h"
#include "emulator/hip/Graph.h"
#include <algorithm>
#include <bit>

namespace rubia::emulator::hip {
namespace {

struct Registry {
  std::mutex mutex;
  std::set<std::shared_ptr<ImageArray>> arrays;
  std::set<std::shared_ptr<ImageMipmap>> mipmaps;
};
Registry &registry() {
  static auto *all = new Registry; // programs free arrays in static destructors
  return *all;
}

template <class Set, class Handle> auto findIn(const Set &set, Handle handle) {
  return std::find_if(set.begin(), set.end(),
                      [&](const auto &one) { return static_cast<Handle>(one.get()) == handle; });
}

hipError_t checkShape(const ImageShape &shape, const TexelType &texel) {
  constexpr unsigned kKnown =
      hipArrayLayered | hipArraySurfaceLoadStore | hipArrayCubemap | hipArrayTextureGather;
  if (!texel.bits || !shape.width || (shape.flags & ~kKnown))
    return hipErrorInvalidValue;
  if (shape.width > kMostTexels || shape.height > kMostTexels || shape.depth > kMostSlices)
    return hipErrorInvalidValue;
  if (shape.isLayered() && !shape.depth)
    return hipErrorInvalidValue;
  if (!shape.isLayered() && !shape.isCube() && shape.depth && !shape.height)
    return hipErrorInvalidValue;
  if (shape.isCube() && (shape.width != shape.height || !shape.depth || shape.depth % 6 ||
                         (shape.depth != 6 && !shape.isLayered())))
    return hipErrorInvalidValue;
  if (shape.flags & hipArrayTextureGather && shape.type() != ImageType::TwoDimensions)
    return hipErrorInvalidValue;
  return hipSuccess;
}

std::shared_ptr<ImageArray> describe(const ImageShape &shape, const TexelType &texel,
                                     const ImageLayout &layout, uint64_t base, unsigned level) {
  auto array = std::make_shared<ImageArray>();
  static_cast<hipArray &>(*array) = {};
  array->shape = shape;
  array->texel = texel;
  array->layout = layout;
  array->base = base;
  array->level = level;
  array->data = array->at(0, 0, 0);
  array->desc = texel.description();
  array->type = shape.flags;
  array->width = unsigned(shape.width);
  array->height = unsigned(shape.height);
  array->depth = unsigned(shape.depth);
  array->Format = texel.format();
  array->NumChannels = texel.channels;
  array->textureType = shape.isCube()                      ? hipTextureTypeCubemap
                       : shape.depth && !shape.isLayered() ? hipTextureType3D
                       : shape.height                      ? hipTextureType2D
                                                           : hipTextureType1D;
  return array;
}

hipError_t allocateImage(const ImageShape &shape, const ImageLayout &layout, uint64_t &base) {
  void *memory;
  if (hipError_t error = unsafeInCapture())
    return error;
  if (hipError_t error =
          allocate(&memory, layout.sliceBytes() * shape.slices(), MemoryKind::Device))
    return error;
  base = reinterpret_cast<uint64_t>(memory);
  return hipSuccess;
}

} // namespace

// ---------- Texels and shapes

TexelType TexelType::of(const hipChannelFormatDesc &desc) {
  const int bits[] = {desc.x, desc.y, desc.z, desc.w};
  unsigned channels = 0;
  while (channels < 4 && bits[channels])
    ++channels;
  const bool isWhole = std::all_of(bits, bits + channels, [&](int b) { return b == bits[0]; }) &&
                       std::all_of(bits + channels, std::end(bits), [](int b) { return b == 0; });
  const bool hasSize = desc.f == hipChannelFormatKindFloat
                           ? desc.x == 16 || desc.x == 32
                           : desc.x == 8 || desc.x == 16 || desc.x == 32;
  if (!isWhole || !hasSize || channels == 0 || channels == 3 || unsigned(desc.f) > 2)
    return {};
  return {desc.f, unsigned(desc.x), channels};
}

namespace {
struct NamedFormat {
  hipArray_Format format;
  hipChannelFormatKind kind;
  unsigned bits;
};
constexpr NamedFormat kFormats[] = {
    {HIP_AD_FORMAT_UNSIGNED_INT8, hipChannelFormatKindUnsigned, 8},
    {HIP_AD_FORMAT_UNSIGNED_INT16, hipChannelFormatKindUnsigned, 16},
    {HIP_AD_FORMAT_UNSIGNED_INT32, hipChannelFormatKindUnsigned, 32},
    {HIP_AD_FORMAT_SIGNED_INT8, hipChannelFormatKindSigned, 8},
    {HIP_AD_FORMAT_SIGNED_INT16, hipChannelFormatKindSigned, 16},
    {HIP_AD_FORMAT_SIGNED_INT32, hipChannelFormatKindSigned, 32},
    {HIP_AD_FORMAT_HALF, hipChannelFormatKindFloat, 16},
    {HIP_AD_FORMAT_FLOAT, hipChannelFormatKindFloat, 32},
};
} // namespace

TexelType TexelType::of(hipArray_Format format, unsigned channels) {
  if (channels == 1 || channels == 2 || channels == 4)
    for (const NamedFormat &row : kFormats)
      if (row.format == format)
        return {row.kind, row.bits, channels};
  return {};
}

hipArray_Format TexelType::format() const {
  for (const NamedFormat &row : kFormats)
    if (row.kind == kind && row.bits == bits)
      return row.format;
  return HIP_AD_FORMAT_FLOAT;
}

hipChannelFormatDesc TexelType::description() const {
  auto size = [&](unsigned channel) { return channel < channels ? int(bits) : 0; };
  return {size(0), size(1), size(2), size(3), kind};
}

ImageType ImageShape::type() const {
  if (isCube())
    return ImageType::Cube;
  if (isLayered())
    return height ? ImageType::TwoDimensionLayers : ImageType::OneDimensionLayers;
  return depth    ? ImageType::ThreeDimensions
         : height ? ImageType::TwoDimensions
                  : ImageType::OneDimension;
}

char *ImageArray::at(size_t x, size_t y, size_t z) const {
  return reinterpret_cast<char *>(base + layout.levelOffset(level)) + x + y * rowPitch() +
         z * slicePitch();
}

bool ImageArray::contains(size_t x, size_t y, size_t z, size_t boxWidth, size_t boxHeight,
                          size_t boxDepth) const {
  auto fits = [](size_t from, size_t count, size_t all) {
    return from <= all && count <= all - from;
  };
  return fits(x, boxWidth, rowBytes()) && fits(y, boxHeight, rows()) &&
         fits(z, boxDepth, shape.slices());
}

// ---------- Handles

hipError_t imagesUsable(const char *function) {
  if (hipError_t error = usable())
    return error;
  if (hasImages(*currentDevice().model.target))
    return hipSuccess;
  complain(llvm::Twine(function) + ": images are not supported on " + currentDevice().model.arch);
  return hipErrorNotSupported;
}

hipError_t makeArray(hipArray_t *out, const ImageShape &shape, const TexelType &texel) {
  if (!out)
    return hipErrorInvalidValue;
  if (hipError_t error = checkShape(shape, texel))
    return error;
  const ImageLayout layout{texel.bytes(), uint32_t(shape.width),
                           uint32_t(std::max<size_t>(shape.height, 1))};
  uint64_t base;
  if (hipError_t error = allocateImage(shape, layout, base))
    return error;
  std::lock_guard lock(registry().mutex);
  *out = registry().arrays.insert(describe(shape, texel, layout, base, 0)).first->get();
  return hipSuccess;
}

hipError_t makeMipmap(hipMipmappedArray_t *out, const ImageShape &shape, const TexelType &texel,
                      unsigned levels) {
  if (!out || !levels)
    return hipErrorInvalidValue;
  if (hipError_t error = checkShape(shape, texel))
    return error;
  const bool hasDepths = shape.type() == ImageType::ThreeDimensions;
  const size_t longest = std::max({shape.width, shape.height, hasDepths ? shape.depth : size_t(1)});
  const ImageLayout layout{texel.bytes(), uint32_t(shape.width),
                           uint32_t(std::max<size_t>(shape.height, 1)),
                           std::min(levels, unsigned(std::bit_width(longest)))};
  uint64_t base;
  if (hipError_t error = allocateImage(shape, layout, base))
    return error;
  auto mipmap = std::make_shared<ImageMipmap>();
  static_cast<hipMipmappedArray &>(*mipmap) = {};
  mipmap->data = reinterpret_cast<void *>(base);
  mipmap->desc = texel.description();
  mipmap->width = unsigned(shape.width);
  mipmap->height = unsigned(shape.height);
  mipmap->depth = unsigned(shape.depth);
  mipmap->max_mipmap_level = layout.levels;
  mipmap->flags = shape.flags;
  mipmap->format = texel.format();
  for (unsigned level = 0; level < layout.levels; ++level) {
    auto halved = [&](size_t extent) { return extent ? std::max<size_t>(extent >> level, 1) : 0; };
    ImageShape of = shape;
    of.width = halved(shape.width);
    of.height = halved(shape.height);
    of.depth = hasDepths ? halved(shape.depth) : shape.depth;
    mipmap->levels.push_back(describe(of, texel, layout, base, level));
    mipmap->levels.back()->owner = mipmap.get();
  }
  std::lock_guard lock(registry().mutex);
  *out = registry().mipmaps.insert(std::move(mipmap)).first->get();
  return hipSuccess;
}

std::shared_ptr<const ImageArray> arrayOf(hipArray_const_t handle) {
  std::lock_guard lock(registry().mutex);
  if (auto found = findIn(registry().arrays, handle); found != registry().arrays.end())
    return *found;
  for (const auto &mipmap : registry().mipmaps)
    if (auto found = findIn(mipmap->levels, handle); found != mipmap->levels.end())
      return *found;
  return nullptr;
}

std::shared_ptr<const ImageMipmap> mipmapOf(hipMipmappedArray_const_t handle) {
  std::lock_guard lock(registry().mutex);
  auto found = findIn(registry().mipmaps, handle);
  return found == registry().mipmaps.end() ? nullptr : *found;
}

/// Takes a handle out of its set, so that only one thread frees what it stands for.
template <class Set, class Handle> static auto take(Set &set, Handle handle) {
  std::lock_guard lock(registry().mutex);
  typename Set::value_type taken;
  if (auto found = findIn(set, handle); found != set.end()) {
    taken = *found;
    set.erase(found);
  }
  return taken;
}

hipError_t freeArray(hipArray_t handle) {
  if (!handle)
    return hipSuccess;
  if (hipError_t error = unsafeInCapture())
    return error;
  const auto array = take(registry().arrays, handle); // levels go with their array
  return array ? release(reinterpret_cast<void *>(array->base)) : hipErrorInvalidValue;
}

hipError_t freeMipmap(hipMipmappedArray_t handle) {
  if (!handle)
    return hipSuccess;
  if (hipError_t error = unsafeInCapture())
    return error;
  const auto mipmap = take(registry().mipmaps, handle);
  return mipmap ? release(reinterpret_cast<void *>(mipmap->levels.front()->base))
                : hipErrorInvalidValue;
}

} // namespace rubia::emulator::hip
