// SPDX-License-Identifier: Apache-2.0
#include "diff/lib/ReplayedTextures.h"
#include "diff/lib/TextureSites.h"
#include "llvm/Support/Endian.h"
#include <cmath>
#include <cstring>

using namespace llvm;

namespace rubia::capsule {
namespace {

constexpr unsigned kLayered = 1, kSurface = 2, kCubemap = 4, kGather = 8;

// Places in the structures of the driver API.
constexpr size_t kResourceHandle = 8, kLinearFormat = 16, kLinearChannels = 20, kLinearBytes = 24,
                 kPitchedWidth = 24, kPitchedHeight = 32, kPitch = 40;
constexpr size_t kBorder = 40; // of CUDA_TEXTURE_DESC

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

int ReplayedTextures::makeObject(const Texture &texture, const std::vector<uint8_t> &resource,
                                 std::vector<Object> &made) const {
  Object object{texture.handle, 0, texture.isSurface};
  const int status =
      texture.isSurface
          ? api.cuSurfObjectCreate(&object.handle, resource.data())
          : api.cuTexObjectCreate(&object.handle, resource.data(), texture.sampler.data(),
                                  texture.view.empty() ? nullptr : texture.view.data());
  if (!status)
    made.push_back(object);
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
    resources.push_back(resource);
    const int status = texture.name.empty() ? makeObject(texture, resource, objects)
                                            : bind(texture, resource, module);
    if (status)
      return refused((texture.isSurface ? "a surface" : "a texture") +
                         (texture.name.empty() ? "" : " '" + Twine(texture.name) + "'") +
                         " cannot be made",
                     status);
  }
  return "";
}

uint64_t ReplayedTextures::handleOf(uint64_t was) const {
  for (const Object &object : objects)
    if (object.was == was)
      return object.handle;
  return was;
}

void ReplayedTextures::change(MutableArrayRef<uint8_t> parameters, const Launch &launch,
                              const KernelStores &stores) const {
  if (stores.areHandlesInMemory)
    return; // its PTX looks all of them up
  for (size_t i = 0; i < launch.layout.size() && i < 64; ++i) {
    if (!(stores.handleParameters >> i & 1))
      continue;
    uint8_t *bytes = parameters.data() + launch.layout[i].offset;
    support::endian::write64le(bytes, handleOf(support::endian::read64le(bytes)));
  }
}

std::vector<uint8_t> ReplayedTextures::handleTable() const {
  std::vector<uint8_t> table(objects.size() * kHandleEntryBytes);
  for (size_t i = 0; i < objects.size(); ++i) {
    support::endian::write64le(table.data() + i * kHandleEntryBytes, objects[i].was);
    support::endian::write64le(table.data() + i * kHandleEntryBytes + 8, objects[i].handle);
  }
  return table;
}

// Where an H100's results are known to be, docs/textures.md: as a multiple of what the filter gives
// of the magnitudes, and what is added to it.
static FilterEntry boundOf(const Texture &texture, const ArrayRegion &array) {
  constexpr unsigned kSrgb = 0x10; // CU_TRSF_SRGB
  DriverSampler sampler;
  memcpy(&sampler, texture.sampler.data(), sizeof(sampler));
  FilterEntry bound;
  if (array.isFloat())
    bound.relative = array.channelBytes() == 2 ? 0x1p-10f : 0x1p-23f; // the last place
  else if (sampler.flags & kSrgb)
    bound.absolute = 0x1p-12f;
  else
    bound.absolute = array.isSignedByte() ? 1 / 32767.f : 1 / 65535.f;
  if (array.flags & kCubemap) { // a step of the weights
    constexpr float kStep = 0x1p-8f;
    (array.isFloat() ? bound.relative : bound.absolute) += kStep;
  }
  return bound;
}

Expected<int> ReplayedTextures::makeMagnitudes(const Capsule &capsule, const ArrayRegion &region) {
  Expected<std::vector<uint8_t>> bytes = capsule.contents(region, region.before);
  if (!bytes)
    return bytes.takeError();
  for (size_t i = region.channelBytes() - 1; i < bytes->size(); i += region.channelBytes())
    (*bytes)[i] &= 0x7f;
  if (int status = makeArray(region))
    return status;
  return copy(region, arrays.back(), bytes->data(), true);
}

Expected<std::string> ReplayedTextures::makeFilters(const Capsule &capsule, const Launch &launch,
                                                    std::vector<FilterEntry> &entries) {
  const auto refused = [&](int status) {
    return "a texture of magnitudes cannot be made: " + api.nameOf(status);
  };
  for (size_t i = 0; i < launch.textures.size(); ++i) {
    Texture twin = launch.textures[i];
    if (!twin.isFiltered())
      continue;
    FilterEntry entry{0, 0, 0, INFINITY}; // of memory, and of bits that are read as others
    std::vector<uint8_t> resource = resources[i];
    if (twin.array && twin.view.empty()) {
      const ArrayRegion &region = launch.arrays[*twin.array];
      entry = boundOf(twin, region);
      if (region.isFloat()) {
        Expected<int> status = makeMagnitudes(capsule, region);
        if (!status)
          return status.takeError();
        if (*status)
          return refused(*status);
        memcpy(resource.data() + kResourceHandle, &arrays.back().handle, sizeof(void *));
      }
    }
    for (size_t channel = 0; channel < 4; ++channel) // of the border: its sign
      twin.sampler[kBorder + channel * sizeof(float) + 3] &= 0x7f;
    if (int status = makeObject(twin, resource, magnitudes))
      return refused(status);
    entry.key = twin.name.empty() ? handleOf(twin.handle) : nameKey(twin.name);
    entry.magnitudes = magnitudes.back().handle;
    entries.push_back(entry);
  }
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
  for (const std::vector<Object> *all : {&objects, &magnitudes})
    for (const Object &object : *all)
      object.isSurface ? api.cuSurfObjectDestroy(object.handle)
                       : api.cuTexObjectDestroy(object.handle);
  for (const Array &array : arrays)
    array.isMipmapped ? api.cuMipmappedArrayDestroy(array.handle)
                      : api.cuArrayDestroy(array.handle);
  objects.clear();
  magnitudes.clear();
  arrays.clear();
  resources.clear();
}

} // namespace rubia::capsule
