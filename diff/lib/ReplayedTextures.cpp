// SPDX-License-Identifier: Apache-2.0
#include "diff/lib/ReplayedTextures.h"
#include "llvm/Support/Endian.h"
#include <cstring>

using namespace llvm;

namespace rubia::capsule {
namespace {

constexpr unsigned kLayered = 1, kSurface = 2, kCubemap = 4, kGather = 8;

// Places in the structures of the driver API.
constexpr size_t kResourceHandle = 8, kLinearFormat = 16, kLinearChannels = 20, kLinearBytes = 24,
                 kPitchedWidth = 24, kPitchedHeight = 32, kPitch = 40;

template <class T> T at(const std::vector<uint8_t> &bytes, size_t offset) {
  T value;
  memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

} // namespace

int ReplayedTextures::makeArray(const ArrayRegion &region) {
  // What else there is says how memory is made, or who else has it.
  const DriverArray shape = {
      size_t(region.width), size_t(region.height),
      size_t(region.depth), region.format,
      region.channels,      region.flags & (kLayered | kSurface | kCubemap | kGather)};
  Array array;
  array.isMipmapped = region.levels;
  const int status = array.isMipmapped
                         ? api.cuMipmappedArrayCreate(&array.handle, &shape, region.levels)
                         : api.cuArray3DCreate_v2(&array.handle, &shape);
  if (!status)
    arrays.push_back(array);
  return status;
}

int ReplayedTextures::copy(const ArrayRegion &region, const Array &array, uint8_t *bytes,
                           bool isToArray) const {
  constexpr int kHost = 1, kOfArray = 3;
  for (unsigned level = 0; level < std::max(region.levels, 1u); ++level) {
    void *handle = array.handle;
    if (array.isMipmapped)
      if (int status = api.cuMipmappedArrayGetLevel(&handle, array.handle, level))
        return status;
    const auto [width, height, depth] = region.sizeOf(level);
    DriverCopy copy{};
    DriverCopy::Side &memory = isToArray ? copy.from : copy.to;
    DriverCopy::Side &texels = isToArray ? copy.to : copy.from;
    memory.type = kHost;
    memory.host = bytes;
    memory.pitch = copy.widthInBytes = width * region.texelBytes();
    memory.height = copy.height = height;
    copy.depth = depth;
    texels.type = kOfArray;
    texels.array = handle;
    if (int status = api.cuMemcpy3D_v2(&copy))
      return status;
    bytes += copy.widthInBytes * height * depth;
  }
  return 0;
}

int ReplayedTextures::makeObject(const Texture &texture, const std::vector<uint8_t> &resource) {
  Object object{texture.handle, 0, texture.isSurface};
  const int status =
      texture.isSurface
          ? api.cuSurfObjectCreate(&object.handle, resource.data())
          : api.cuTexObjectCreate(&object.handle, resource.data(), texture.sampler.data(),
                                  texture.view.empty() ? nullptr : texture.view.data());
  if (!status)
    objects.push_back(object);
  return status;
}

int ReplayedTextures::bindLinear(void *reference, const std::vector<uint8_t> &resource,
                                 Texture::Kind kind) const {
  const auto address = at<uint64_t>(resource, kResourceHandle);
  const auto format = at<int>(resource, kLinearFormat);
  const auto channels = at<unsigned>(resource, kLinearChannels);
  if (int status = api.cuTexRefSetFormat(reference, format, int(channels)))
    return status;
  if (kind == Texture::Kind::Linear) {
    size_t offset = 0;
    return api.cuTexRefSetAddress_v2(&offset, reference, address,
                                     at<size_t>(resource, kLinearBytes));
  }
  const DriverPlane plane = {at<size_t>(resource, kPitchedWidth),
                             at<size_t>(resource, kPitchedHeight), format, channels};
  return api.cuTexRefSetAddress2D_v3(reference, &plane, address, at<size_t>(resource, kPitch));
}

int ReplayedTextures::setSampler(void *reference, const Texture &texture) const {
  DriverSampler sampler;
  static_assert(sizeof(sampler) == Texture::kSamplerBytes);
  memcpy(&sampler, texture.sampler.data(), sizeof(sampler));
  int status = 0;
  for (int i = 0; i < 3 && !status; ++i)
    status = api.cuTexRefSetAddressMode(reference, i, sampler.addressModes[i]);
  if (!status)
    status = api.cuTexRefSetFilterMode(reference, sampler.filter);
  if (!status)
    status = api.cuTexRefSetFlags(reference, sampler.flags);
  if (!status)
    status = api.cuTexRefSetBorderColor(reference, sampler.border);
  if (status || texture.kind() != Texture::Kind::Mipmapped)
    return status;
  status = api.cuTexRefSetMipmapFilterMode(reference, sampler.mipmapFilter);
  if (!status)
    status = api.cuTexRefSetMipmapLevelBias(reference, sampler.levelBias);
  if (!status)
    status = api.cuTexRefSetMipmapLevelClamp(reference, sampler.minLevel, sampler.maxLevel);
  return status ? status : api.cuTexRefSetMaxAnisotropy(reference, sampler.maxAnisotropy);
}

int ReplayedTextures::bind(const Texture &texture, const std::vector<uint8_t> &resource,
                           void *module) const {
  constexpr unsigned kOverrideFormat = 1;
  void *reference = nullptr;
  void *array = at<void *>(resource, kResourceHandle);
  if (texture.isSurface) {
    const int status = api.cuModuleGetSurfRef(&reference, module, texture.name.c_str());
    return status ? status : api.cuSurfRefSetArray(reference, array, 0);
  }
  if (int status = api.cuModuleGetTexRef(&reference, module, texture.name.c_str()))
    return status;
  const auto bound = [&] {
    switch (texture.kind()) {
    case Texture::Kind::Array:
      return api.cuTexRefSetArray(reference, array, kOverrideFormat);
    case Texture::Kind::Mipmapped:
      return api.cuTexRefSetMipmappedArray(reference, array, kOverrideFormat);
    case Texture::Kind::Linear:
    case Texture::Kind::Pitched:
      break;
    }
    return bindLinear(reference, resource, texture.kind());
  };
  const int status = bound();
  return status ? status : setSampler(reference, texture);
}

Expected<std::string> ReplayedTextures::make(const Capsule &capsule, const Launch &launch,
                                             void *module, const Relocation &relocation) {
  if (!api.hasTextures)
    return "the driver has no textures";
  const auto refused = [&](const Twine &what, int status) {
    return (what + ": " + api.nameOf(status)).str();
  };
  for (size_t i = 0; i < launch.arrays.size(); ++i) {
    const ArrayRegion &region = launch.arrays[i];
    Expected<std::vector<uint8_t>> bytes = capsule.contents(region, region.before);
    if (!bytes)
      return bytes.takeError();
    int status = makeArray(region);
    if (!status)
      status = copy(region, arrays.back(), bytes->data(), true);
    if (status)
      return refused("array " + Twine(i) + " cannot be made", status);
  }
  for (const Texture &texture : launch.textures) {
    std::vector<uint8_t> resource = texture.resource;
    if (texture.array)
      memcpy(resource.data() + kResourceHandle, &arrays[*texture.array].handle, sizeof(void *));
    else
      relocation.apply(MutableArrayRef(resource).slice(kResourceHandle, sizeof(uint64_t)));
    const int status =
        texture.name.empty() ? makeObject(texture, resource) : bind(texture, resource, module);
    if (status)
      return refused((texture.isSurface ? "a surface" : "a texture") +
                         (texture.name.empty() ? "" : " '" + Twine(texture.name) + "'") +
                         " cannot be made",
                     status);
  }
  return "";
}

void ReplayedTextures::change(MutableArrayRef<uint8_t> parameters, const Launch &launch,
                              const KernelStores &stores) const {
  for (size_t i = 0; i < launch.layout.size() && i < 64; ++i)
    if (stores.handleParameters >> i & 1)
      changeMemory(parameters.slice(launch.layout[i].offset, launch.layout[i].bytes), false);
}

void ReplayedTextures::changeMemory(MutableArrayRef<uint8_t> bytes, bool isBack) const {
  for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    const uint64_t word = support::endian::read64le(bytes.data() + i);
    for (const Object &object : objects)
      if (word == (isBack ? object.handle : object.was)) {
        support::endian::write64le(bytes.data() + i, isBack ? object.was : object.handle);
        break;
      }
  }
}

std::string ReplayedTextures::whyNotInMemory(const Launch &launch) const {
  constexpr uint64_t kSmall = uint64_t(1) << 32; // as many numbers are
  for (const Texture &texture : launch.textures)
    if (texture.name.empty() && texture.handle < kSmall)
      return "it reads handles of textures from memory, where they are small numbers that cannot "
             "be "
             "told from others";
  return "";
}

Expected<std::vector<uint8_t>> ReplayedTextures::read(const Launch &launch, size_t array) const {
  const ArrayRegion &region = launch.arrays[array];
  std::vector<uint8_t> bytes(region.bytes);
  if (int status = copy(region, arrays[array], bytes.data(), false))
    return createStringError("an array cannot be read: " + api.nameOf(status));
  return bytes;
}

void ReplayedTextures::release() {
  for (const Object &object : objects)
    object.isSurface ? api.cuSurfObjectDestroy(object.handle)
                     : api.cuTexObjectDestroy(object.handle);
  for (const Array &array : arrays)
    array.isMipmapped ? api.cuMipmappedArrayDestroy(array.handle)
                      : api.cuArrayDestroy(array.handle);
  objects.clear();
  arrays.clear();
}

} // namespace rubia::capsule
