// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/TextureObjects.h"
#include <algorithm>
#include <cmath>

namespace rubia::emulator::hip {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<hipTextureObject_t, std::shared_ptr<const TextureObject>> textures;
  std::map<hipSurfaceObject_t, DeviceMemory> surfaces;
};
Registry &registry() {
  static auto *all = new Registry;
  return *all;
}

/// The numbers of HSA's channel types and orders, which the device library gives to programs.
enum : uint32_t {
  kSnorm8 = 0,
  kUnorm8 = 2,
  kSigned8 = 8,
  kUnsigned8 = 11,
  kHalf = 14,
  kFloat = 15,
  kOrderR = 1,
  kOrderRg = 3,
  kOrderRgba = 8,
  kOrderSrgba = 14,
};

/// Where a texture's texels lie, and how many there are.
struct Source {
  TexelType texel;
  ImageDescriptor image;
  bool isLinear = false;
  uint64_t address = 0, count = 0; // of linear memory
  bool isThreeDimensional = false;
  unsigned levels = 1;
};

hipError_t notSupported(const char *what) {
  complain(llvm::Twine("texture or surface: ") + what + " are not supported");
  return hipErrorNotSupported;
}

/// Of an array, or of all levels of one.
hipError_t describeArray(const ImageArray &array, bool isMipmap, Source &source) {
  const ImageShape &shape = array.shape;
  const ImageType type = shape.type();
  const bool isPlain = type == ImageType::OneDimension || type == ImageType::TwoDimensions;
  ImageDescriptor &image = source.image;
  image.type = uint32_t(type);
  image.width = uint32_t(shape.width) - 1;
  image.height = uint32_t(std::max<size_t>(shape.height, 1)) - 1;
  source.texel = array.texel;
  source.isThreeDimensional = type == ImageType::ThreeDimensions;
  if (!isPlain)
    image.depth = shape.slices() - 1;
  if (isMipmap) {
    image.address = array.base >> 8;
    image.maxLevel = image.lastLevel = array.layout.levels - 1;
    source.levels = array.layout.levels;
    return hipSuccess;
  }
  // A level by itself is an image of its own, whose rows lie as always. Its slices do not.
  if (array.owner && !isPlain && array.layout.levels > 1)
    return notSupported("single levels with layers or depths");
  image.address = reinterpret_cast<uint64_t>(array.at(0, 0, 0)) >> 8;
  return hipSuccess;
}

/// Whether memory has `bytes` bytes from `address` on.
bool isThere(uint64_t address, uint64_t bytes) {
  const auto inside = Machine::instance().memory.lookup(address);
  return inside && bytes <= inside->end() - address;
}

hipError_t describe(const hipResourceDesc &resource, Source &source) {
  switch (resource.resType) {
  case hipResourceTypeArray: {
    const auto array = arrayOf(resource.res.array.array);
    return array ? describeArray(*array, false, source) : hipErrorInvalidValue;
  }
  case hipResourceTypeMipmappedArray: {
    const auto mipmap = mipmapOf(resource.res.mipmap.mipmap);
    return mipmap ? describeArray(*mipmap->levels.front(), true, source) : hipErrorInvalidValue;
  }
  case hipResourceTypeLinear: {
    const auto &linear = resource.res.linear;
    source.texel = TexelType::of(linear.desc);
    source.isLinear = true;
    source.address = reinterpret_cast<uint64_t>(linear.devPtr);
    const unsigned bytes = source.texel.bytes();
    if (!bytes || source.address % bytes || linear.sizeInBytes < bytes ||
        linear.sizeInBytes / bytes > kMostLinearTexels ||
        !isThere(source.address, linear.sizeInBytes))
      return hipErrorInvalidValue;
    source.count = linear.sizeInBytes / bytes;
    return hipSuccess;
  }
  case hipResourceTypePitch2D: {
    const auto &pitched = resource.res.pitch2D;
    source.texel = TexelType::of(pitched.desc);
    const auto address = reinterpret_cast<uint64_t>(pitched.devPtr);
    const unsigned bytes = source.texel.bytes();
    constexpr size_t kAlignment = 256;
    if (!bytes || !pitched.width || !pitched.height || pitched.width > kMostTexels ||
        pitched.height > kMostTexels || address % kAlignment || pitched.pitchInBytes % kAlignment ||
        pitched.pitchInBytes < pitched.width * bytes ||
        pitched.pitchInBytes / bytes > kMostTexels ||
        !isThere(address, pitched.pitchInBytes * (pitched.height - 1) + pitched.width * bytes))
      return hipErrorInvalidValue;
    ImageDescriptor &image = source.image;
    const ImageLayout own{bytes, uint32_t(pitched.width), uint32_t(pitched.height)};
    const targets::Target &target = *currentDevice().model.target;
    if (own.rowBytes(0) != pitched.pitchInBytes && target.isa == 10 && target.version.minor < 3)
      return notSupported("pitches of their own of RDNA 1");
    image.address = address >> 8;
    image.width = uint32_t(pitched.width) - 1;
    image.height = uint32_t(pitched.height) - 1;
    if (own.rowBytes(0) != pitched.pitchInBytes)
      image.depth = uint32_t(pitched.pitchInBytes / bytes) - 1;
    return hipSuccess;
  }
  }
  return hipErrorInvalidValue;
}

/// hipResViewFormat*: 1, 2 and 4 channels of each type, in this order.
TexelType typeOf(hipResourceViewFormat format) {
  constexpr struct {
    hipChannelFormatKind kind;
    unsigned bits;
  } kTypes[] = {{hipChannelFormatKindUnsigned, 8},  {hipChannelFormatKindSigned, 8},
                {hipChannelFormatKindUnsigned, 16}, {hipChannelFormatKindSigned, 16},
                {hipChannelFormatKindUnsigned, 32}, {hipChannelFormatKindSigned, 32},
                {hipChannelFormatKindFloat, 16},    {hipChannelFormatKindFloat, 32}};
  const unsigned index = unsigned(format) - 1;
  if (index / 3 >= std::size(kTypes))
    return {};
  return {kTypes[index / 3].kind, kTypes[index / 3].bits, 1u << index % 3};
}

hipError_t applyView(const hipResourceViewDesc &view, Source &source) {
  if (source.isLinear)
    return hipErrorInvalidValue;
  if (view.format >= hipResViewFormatUnsignedBlockCompressed1)
    return notSupported("compressed blocks");
  if (view.format != hipResViewFormatNone) {
    const TexelType type = typeOf(view.format);
    if (type.bytes() != source.texel.bytes())
      return hipErrorInvalidValue;
    source.texel = type;
  }
  ImageDescriptor &image = source.image;
  if (view.width != image.width + 1 || (view.height ? view.height : 1) != image.height + 1)
    return hipErrorInvalidValue;
  if (view.firstMipmapLevel > view.lastMipmapLevel || view.lastMipmapLevel >= source.levels)
    return hipErrorInvalidValue;
  image.baseLevel = view.firstMipmapLevel;
  image.lastLevel = view.lastMipmapLevel;
  source.levels = image.lastLevel - image.baseLevel + 1;
  const auto type = ImageType(image.type);
  const bool hasLayers = type == ImageType::OneDimensionLayers ||
                         type == ImageType::TwoDimensionLayers || type == ImageType::Cube;
  if (type == ImageType::ThreeDimensions
          ? view.depth != image.depth + 1
          : view.depth > 1 && (!hasLayers || view.depth > image.depth + 1))
    return hipErrorInvalidValue;
  if (view.firstLayer > view.lastLayer || view.lastLayer > (hasLayers ? image.depth : 0))
    return hipErrorInvalidValue;
  if (type == ImageType::Cube && (view.lastLayer - view.firstLayer + 1) % 6)
    return hipErrorInvalidValue;
  if (hasLayers) {
    image.firstLayer = view.firstLayer;
    image.depth = view.lastLayer;
  }
  return hipSuccess;
}

/// The format that registers see. `normalizes`: integers as numbers of [0, 1] or [-1, 1].
ImageFormat formatOf(const TexelType &texel, bool normalizes, bool isStandardRgb) {
  ChannelKind kind = ChannelKind::Float;
  if (isStandardRgb)
    kind = ChannelKind::Srgb;
  else if (texel.kind == hipChannelFormatKindSigned)
    kind = normalizes ? ChannelKind::Snorm : ChannelKind::Sint;
  else if (texel.kind == hipChannelFormatKindUnsigned)
    kind = normalizes ? ChannelKind::Unorm : ChannelKind::Uint;
  return {kind, uint8_t(texel.bits), uint8_t(texel.channels)};
}

/// Words 8 to 10: the type and the order of channels, and the width.
void writeFacts(uint32_t *words, const TexelType &texel, bool normalizes, bool isStandardRgb,
                uint32_t width) {
  const uint32_t size = texel.bits == 8 ? 0 : texel.bits == 16 ? 1 : 2;
  const bool isSigned = texel.kind == hipChannelFormatKindSigned;
  words[8] = texel.kind == hipChannelFormatKindFloat ? (texel.bits == 16 ? kHalf : kFloat)
             : normalizes                            ? (isSigned ? kSnorm8 : kUnorm8) + size
                                                     : (isSigned ? kSigned8 : kUnsigned8) + size;
  words[9] = texel.channels == 1   ? kOrderR
             : texel.channels == 2 ? kOrderRg
             : isStandardRgb       ? kOrderSrgba
                                   : kOrderRgba;
  words[10] = width;
}

/// Channels that a format lacks are 0, and the fourth is 1.
void selectChannels(const TexelType &texel, uint32_t (&select)[4]) {
  for (unsigned i = 0; i < 4; ++i)
    select[i] = i < texel.channels ? 4 + i : i == 3 ? 1 : 0;
}

/// A buffer of texels (RDNA3 ISA "Buffer Resource Descriptor").
void writeBuffer(uint32_t *words, const Source &source, const ImageFormat &format, unsigned isa) {
  uint32_t select[4], selects = 0;
  selectChannels(source.texel, select);
  for (unsigned i = 0; i < 4; ++i)
    selects |= select[i] << 3 * i;
  words[0] = uint32_t(source.address);
  words[1] = uint32_t(source.address >> 32) | format.bytes() << 16;
  words[2] = uint32_t(source.count);
  words[3] = selects | numberOf(format, isa) << 12 | 1u << 28; // in range by the index
}

hipError_t writeResource(const Source &source, bool normalizes, bool isStandardRgb,
                         uint32_t *words) {
  const unsigned isa = currentDevice().model.target->isa;
  const ImageFormat format = formatOf(source.texel, normalizes, isStandardRgb);
  if (source.isLinear) {
    writeBuffer(words, source, format, isa);
    writeFacts(words, source.texel, normalizes, isStandardRgb, uint32_t(source.count));
    return hipSuccess;
  }
  ImageDescriptor image = source.image;
  image.format = numberOf(format, isa);
  selectChannels(source.texel, image.select);
  image.write(words, isa);
  writeFacts(words, source.texel, normalizes, isStandardRgb, image.width + 1);
  return hipSuccess;
}

uint32_t clampOf(hipTextureAddressMode mode) {
  switch (mode) {
  case hipAddressModeWrap:
    return uint32_t(ImageClamp::Wrap);
  case hipAddressModeClamp:
    return uint32_t(ImageClamp::Edge);
  case hipAddressModeMirror:
    return uint32_t(ImageClamp::Mirror);
  case hipAddressModeBorder:
    return uint32_t(ImageClamp::Border);
  }
  return 0;
}

/// In units of 1/256, of `bits` bits.
uint32_t fixedLod(float value, float least, float most) {
  return uint32_t(int32_t(std::clamp(value != value ? least : value, least, most) * 256));
}

SamplerDescriptor samplerOf(const hipTextureDesc &texture, const Source &source) {
  SamplerDescriptor sampler;
  for (unsigned i = 0; i < 3; ++i) {
    hipTextureAddressMode mode = texture.addressMode[i];
    // As in CUDA, wrap and mirror are for normalised coordinates.
    if (!texture.normalizedCoords && mode != hipAddressModeBorder)
      mode = hipAddressModeClamp;
    sampler.clamp[i] = clampOf(mode);
  }
  const bool isLinear = texture.filterMode == hipFilterModeLinear;
  sampler.isUnnormalized = !texture.normalizedCoords;
  sampler.magFilter = sampler.minFilter =
      uint32_t(isLinear ? ImageFilter::Linear : ImageFilter::Point);
  sampler.depthFilter = source.isThreeDimensional ? (isLinear ? 2 : 1) : 0;
  if (source.levels > 1) {
    constexpr float kMostLod = 4095.0f / 256, kMostBias = 15.9f;
    sampler.levelFilter = uint32_t(
        texture.mipmapFilterMode == hipFilterModeLinear ? LevelFilter::Linear : LevelFilter::Point);
    sampler.minLod = fixedLod(texture.minMipmapLevelClamp, 0, kMostLod);
    sampler.maxLod = fixedLod(texture.maxMipmapLevelClamp, 0, kMostLod);
    sampler.lodBias = fixedLod(texture.mipmapLevelBias, -kMostBias, kMostBias) & 0x3fff;
  }
  return sampler;
}

hipError_t checkTexture(const hipTextureDesc &texture, const Source &source) {
  for (hipTextureAddressMode mode : texture.addressMode)
    if (unsigned(mode) > hipAddressModeBorder)
      return hipErrorInvalidValue;
  if (unsigned(texture.filterMode) > hipFilterModeLinear ||
      unsigned(texture.readMode) > hipReadModeNormalizedFloat)
    return hipErrorInvalidValue;
  const bool isInteger = source.texel.kind != hipChannelFormatKindFloat;
  const bool normalizes = texture.readMode == hipReadModeNormalizedFloat;
  if (normalizes && (!isInteger || source.texel.bits == 32))
    return hipErrorInvalidValue;
  if (texture.filterMode == hipFilterModeLinear && isInteger && !normalizes)
    return hipErrorInvalidValue;
  if (texture.sRGB && (!normalizes || source.isLinear || source.texel.bits != 8 ||
                       source.texel.kind != hipChannelFormatKindUnsigned))
    return hipErrorInvalidValue;
  const bool hasBorder =
      std::any_of(std::begin(texture.addressMode), std::end(texture.addressMode),
                  [](hipTextureAddressMode mode) { return mode == hipAddressModeBorder; });
  const bool isBlack = std::all_of(std::begin(texture.borderColor), std::end(texture.borderColor),
                                   [](float color) { return color == 0; });
  if (hasBorder && !isBlack)
    return notSupported("borders of another colour than 0");
  return hipSuccess;
}

hipError_t makeWords(DeviceMemory &memory, unsigned dwords) {
  auto words = DeviceMemory::zeroed(dwords * sizeof(uint32_t));
  if (!words) {
    llvm::consumeError(words.takeError());
    return hipErrorOutOfMemory;
  }
  memory = std::move(*words);
  return hipSuccess;
}

} // namespace

hipError_t createTexture(hipTextureObject_t *out, const hipResourceDesc *resource,
                         const hipTextureDesc *texture, const hipResourceViewDesc *view) {
  if (!out || !resource || !texture)
    return hipErrorInvalidValue;
  Source source;
  if (hipError_t error = describe(*resource, source))
    return error;
  if (view)
    if (hipError_t error = applyView(*view, source))
      return error;
  if (hipError_t error = checkTexture(*texture, source))
    return error;
  auto object = std::make_shared<TextureObject>();
  object->resource = *resource;
  object->texture = *texture;
  object->hasView = view;
  object->view = view ? *view : hipResourceViewDesc{};
  if (hipError_t error = makeWords(object->words, HIP_TEXTURE_OBJECT_SIZE_DWORD))
    return error;
  auto *words = object->words.as<uint32_t>();
  const bool normalizes = texture->readMode == hipReadModeNormalizedFloat;
  if (hipError_t error = writeResource(source, normalizes, texture->sRGB, words))
    return error;
  samplerOf(*texture, source)
      .write(words + HIP_SAMPLER_OBJECT_OFFSET_DWORD, currentDevice().model.target->isa);
  *out = object->words.as<__hip_texture>();
  std::lock_guard lock(registry().mutex);
  registry().textures[*out] = std::move(object);
  return hipSuccess;
}

void awaitKernels() {
  for (auto &device : Machine::instance().devices)
    device->streams.synchronizeAll();
}

hipError_t destroyTexture(hipTextureObject_t handle) {
  if (!handle)
    return hipSuccess;
  if (!textureOf(handle))
    return hipErrorInvalidValue;
  awaitKernels();
  std::lock_guard lock(registry().mutex);
  registry().textures.erase(handle);
  return hipSuccess;
}

std::shared_ptr<const TextureObject> textureOf(hipTextureObject_t handle) {
  std::lock_guard lock(registry().mutex);
  auto found = registry().textures.find(handle);
  return found == registry().textures.end() ? nullptr : found->second;
}

bool mayNormalize(const hipResourceDesc &resource) {
  TexelType type;
  switch (resource.resType) {
  case hipResourceTypeArray:
    if (const auto array = arrayOf(resource.res.array.array))
      type = array->texel;
    break;
  case hipResourceTypeMipmappedArray:
    if (const auto mipmap = mipmapOf(resource.res.mipmap.mipmap))
      type = mipmap->levels.front()->texel;
    break;
  case hipResourceTypeLinear:
    type = TexelType::of(resource.res.linear.desc);
    break;
  case hipResourceTypePitch2D:
    type = TexelType::of(resource.res.pitch2D.desc);
    break;
  }
  return type.kind != hipChannelFormatKindFloat && type.bits < 32;
}

hipError_t createSurface(hipSurfaceObject_t *out, const hipResourceDesc *resource) {
  if (!out || !resource || resource->resType != hipResourceTypeArray)
    return hipErrorInvalidValue;
  Source source;
  if (hipError_t error = describe(*resource, source))
    return error;
  DeviceMemory words;
  if (hipError_t error = makeWords(words, HIP_IMAGE_OBJECT_SIZE_DWORD))
    return error;
  if (hipError_t error = writeResource(source, false, false, words.as<uint32_t>()))
    return error;
  *out = words.as<__hip_surface>();
  std::lock_guard lock(registry().mutex);
  registry().surfaces.emplace(*out, std::move(words));
  return hipSuccess;
}

hipError_t destroySurface(hipSurfaceObject_t handle) {
  if (!handle)
    return hipSuccess;
  awaitKernels();
  std::lock_guard lock(registry().mutex);
  return registry().surfaces.erase(handle) ? hipSuccess : hipErrorInvalidValue;
}

} // namespace rubia::emulator::hip
