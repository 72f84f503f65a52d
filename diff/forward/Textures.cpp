// SPDX-License-Identifier: Apache-2.0
#include "diff/forward/Textures.h"

namespace rubia::forward {
namespace {

/// 0: a format of which the layout is not known.
unsigned texelBytes(const Array3DDescriptor &descriptor) {
  switch (descriptor.format) {
  case 1: // u8, s8
  case 8:
    return descriptor.channels;
  case 2: // u16, s16, half
  case 9:
  case 0x10:
    return 2 * descriptor.channels;
  case 3: // u32, s32, float
  case 10:
  case 0x20:
    return 4 * descriptor.channels;
  default:
    break;
  }
  // Normalized numbers: u8, u16, s8, s16 of 1, 2 and 4 channels.
  const int normalized = descriptor.format - 0xc0;
  if (normalized < 0 || normalized >= 12)
    return 0;
  return (normalized / 3 % 2 ? 2u : 1u) << normalized % 3;
}

uint64_t atLeastOne(size_t size) { return size ? size : 1; }

uint64_t levelBytes(const Array3DDescriptor &descriptor) {
  return descriptor.width * texelBytes(descriptor) * atLeastOne(descriptor.height) *
         atLeastOne(descriptor.depth);
}

struct Copy3D { // CUDA_MEMCPY3D
  size_t fromX, fromY, fromZ, fromLevel;
  int fromType;
  const void *fromHost;
  DevicePointer fromDevice;
  Handle fromArray;
  void *reserved0;
  size_t fromPitch, fromHeight;
  size_t toX, toY, toZ, toLevel;
  int toType;
  void *toHost;
  DevicePointer toDevice;
  Handle toArray;
  void *reserved1;
  size_t toPitch, toHeight;
  size_t widthInBytes, height, depth;
};
static_assert(sizeof(Copy3D) == 200);

bool describeArray(Handle array, Array3DDescriptor &descriptor) {
  return !DRIVER(cuArray3DGetDescriptor_v2, Array3DDescriptor *, Handle)(&descriptor, array);
}

Handle levelOf(Handle mipmapped, unsigned level) {
  Handle array = nullptr;
  return DRIVER(cuMipmappedArrayGetLevel, Handle *, Handle, unsigned)(&array, mipmapped, level)
             ? nullptr
             : array;
}

const char *addArray(const Resource &resource, Array<RecordedArray> &arrays, int &index) {
  index = -1;
  if (resource.type != kArrayResource && resource.type != kMipmappedResource)
    return nullptr;
  for (size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i].handle == resource.array) {
      index = int(i);
      return nullptr;
    }
  RecordedArray array{resource.array, {}, 0, 0, {}, {}};
  const bool isMipmapped = resource.type == kMipmappedResource;
  constexpr unsigned kMostLevels = 32;
  for (unsigned level = 0; level < (isMipmapped ? kMostLevels : 1); ++level) {
    const Handle one = isMipmapped ? levelOf(resource.array, level) : resource.array;
    if (!one && level)
      break;
    Array3DDescriptor descriptor{};
    if (!one || !describeArray(one, descriptor))
      return "the driver does not tell what an array is";
    if (!texelBytes(descriptor))
      return "an array has a format that is not recorded";
    if (!level)
      array.descriptor = descriptor;
    array.bytes += levelBytes(descriptor);
    array.levels += isMipmapped;
  }
  index = int(arrays.size());
  arrays.push(array);
  return nullptr;
}

bool readLevel(Handle array, uint8_t *to, uint64_t &bytes) {
  Array3DDescriptor descriptor{};
  if (!array || !describeArray(array, descriptor))
    return false;
  constexpr int kHost = 1, kArray = 3;
  Copy3D copy{};
  copy.fromType = kArray;
  copy.fromArray = array;
  copy.toType = kHost;
  copy.toHost = to;
  copy.widthInBytes = copy.toPitch = descriptor.width * texelBytes(descriptor);
  copy.height = copy.toHeight = atLeastOne(descriptor.height);
  copy.depth = atLeastOne(descriptor.depth);
  bytes = levelBytes(descriptor);
  return !DRIVER(cuMemcpy3D_v2, const Copy3D *)(&copy);
}

} // namespace

void Textures::created(uint64_t handle, bool isSurface) {
  destroyed(handle, isSurface); // a handle may come back
  objects.push({handle, isSurface});
}

void Textures::destroyed(uint64_t handle, bool isSurface) {
  for (size_t i = objects.size(); i-- > 0;)
    if (objects[i].handle == handle && objects[i].isSurface == isSurface)
      objects.remove(i);
}

void Textures::referenceFound(Handle module, const char *name, Handle reference, bool isSurface) {
  for (const Reference &one : references)
    if (one.reference == reference && one.module == module)
      return;
  references.push({module, strdup(name), reference, isSurface, false, {}});
}

void Textures::bound(Handle reference, const Resource *linear) {
  for (Reference &one : references)
    if (one.reference == reference) {
      one.isLinear = linear;
      if (linear)
        one.linear = *linear;
    }
}

void Textures::unloaded(Handle module) {
  for (size_t i = references.size(); i-- > 0;)
    if (references[i].module == module)
      references.remove(i);
}

// An object of another context, or one that went with its context unseen, is not described.
bool Textures::describe(const Object &object, RecordedTexture &texture, const char *&) {
  texture.handle = object.handle;
  texture.isSurface = object.isSurface;
  if (object.isSurface)
    return !DRIVER(cuSurfObjectGetResourceDesc, Resource *, uint64_t)(&texture.resource,
                                                                      object.handle);
  if (DRIVER(cuTexObjectGetResourceDesc, Resource *, uint64_t)(&texture.resource, object.handle) ||
      DRIVER(cuTexObjectGetTextureDesc, Sampler *, uint64_t)(&texture.sampler, object.handle))
    return false;
  // One that was made without a view has none.
  if (DRIVER(cuTexObjectGetResourceViewDesc, View *, uint64_t)(&texture.view, object.handle))
    texture.view = View();
  return true;
}

// What a driver is too old for is zero there.
static bool describeSampler(Handle reference, bool hasLevels, Sampler &sampler) {
  const auto isTold = [](int status) { return !status || status == kNotSupported; };
  for (int i = 0; i < 3; ++i)
    if (DRIVER(cuTexRefGetAddressMode, int *, Handle, int)(&sampler.addressModes[i], reference, i))
      return false;
  if (DRIVER(cuTexRefGetFilterMode, int *, Handle)(&sampler.filter, reference) ||
      DRIVER(cuTexRefGetFlags, unsigned *, Handle)(&sampler.flags, reference) ||
      !isTold(DRIVER(cuTexRefGetBorderColor, float *, Handle)(sampler.border, reference)))
    return false;
  if (!hasLevels)
    return true;
  int anisotropy = 0;
  const bool isWhole =
      isTold(DRIVER(cuTexRefGetMaxAnisotropy, int *, Handle)(&anisotropy, reference)) &&
      isTold(
          DRIVER(cuTexRefGetMipmapFilterMode, int *, Handle)(&sampler.mipmapFilter, reference)) &&
      isTold(DRIVER(cuTexRefGetMipmapLevelBias, float *, Handle)(&sampler.levelBias, reference)) &&
      isTold(DRIVER(cuTexRefGetMipmapLevelClamp, float *, float *,
                    Handle)(&sampler.minLevel, &sampler.maxLevel, reference));
  sampler.maxAnisotropy = unsigned(anisotropy);
  return isWhole;
}

bool Textures::describe(const Reference &known, RecordedTexture &texture, const char *&problem) {
  const Handle reference = known.reference;
  texture.name = known.name;
  texture.isSurface = known.isSurface;
  Resource &resource = texture.resource;
  if (known.isSurface) {
    resource.type = kArrayResource;
    return !DRIVER(cuSurfRefGetArray, Handle *, Handle)(&resource.array, reference) &&
           resource.array;
  }
  if (known.isLinear) {
    resource = known.linear;
  } else if (!DRIVER(cuTexRefGetArray, Handle *, Handle)(&resource.array, reference) &&
             resource.array) {
    resource.type = kArrayResource;
  } else if (!DRIVER(cuTexRefGetMipmappedArray, Handle *, Handle)(&resource.array, reference) &&
             resource.array) {
    resource.type = kMipmappedResource;
  } else {
    return false; // it is bound to nothing
  }
  if (!describeSampler(reference, resource.type == kMipmappedResource, texture.sampler))
    problem = "the driver does not tell how a texture reference is read";
  return !problem;
}

const char *Textures::list(Handle module, Array<RecordedTexture> &textures,
                           Array<RecordedArray> &arrays) const {
  const auto add = [&](const auto &one) -> const char * {
    RecordedTexture texture;
    memset(static_cast<void *>(&texture), 0, sizeof(texture));
    const char *problem = nullptr;
    if (!describe(one, texture, problem))
      return problem;
    problem = addArray(texture.resource, arrays, texture.array);
    if (!problem)
      textures.push(texture);
    return problem;
  };
  for (const Object &object : objects)
    if (const char *problem = add(object))
      return problem;
  for (const Reference &reference : references)
    if (reference.module == module)
      if (const char *problem = add(reference))
        return problem;
  return nullptr;
}

bool readArray(const RecordedArray &array, uint8_t *to) {
  uint64_t bytes = 0;
  if (!array.levels)
    return readLevel(array.handle, to, bytes);
  for (unsigned level = 0; level < array.levels; ++level, to += bytes)
    if (!readLevel(levelOf(array.handle, level), to, bytes))
      return false;
  return true;
}

} // namespace rubia::forward
