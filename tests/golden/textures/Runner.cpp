// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/textures/Runner.h"
#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <iterator>
#include <stdexcept>

using namespace rubia::runtime::cuda;

namespace rubia::golden {

TextureRunner::TextureRunner(const std::string &library) {
  handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw std::runtime_error(dlerror());
  void *context = nullptr;
  const std::string text = textureKernels();
  for (int status : {call("cuInit", 0u), call("cuDevicePrimaryCtxRetain", &context, 0),
                     call("cuCtxSetCurrent", context),
                     call("cuModuleLoadData", &module, static_cast<const void *>(text.c_str()))})
    if (status)
      throw std::runtime_error("status " + std::to_string(status));
}

void *TextureRunner::symbol(const char *name) const { return dlsym(handle, name); }

uint64_t TextureRunner::upload(const void *data, size_t bytes) const {
  uint64_t address = 0;
  if (call("cuMemAlloc_v2", &address, bytes) || call("cuMemcpyHtoD_v2", address, data, bytes))
    throw std::runtime_error("no memory");
  return address;
}

int TextureRunner::fill(const TextureCase &c, void *array, unsigned level) {
  const std::vector<uint8_t> texels = texelsOf(c, level);
  auto shrunk = [&](unsigned size) { return size ? std::max(size >> level, 1u) : 1; };
  Copy3D copy = {};
  copy.from.type = kMemoryHost;
  copy.from.host = const_cast<uint8_t *>(texels.data());
  copy.from.pitch = copy.widthInBytes = shrunk(c.width) * texelBytes(c);
  copy.from.height = copy.height = shrunk(c.height);
  copy.depth = c.shape == Shape::D3 ? shrunk(c.depth) : c.depth ? c.depth : 1;
  copy.to.type = kMemoryArray;
  copy.to.array = array;
  return call("cuMemcpy3D_v2", static_cast<const Copy3D *>(&copy));
}

int TextureRunner::makeResource(const TextureCase &c, ResourceDescriptor &resource) {
  resource = {};
  if (c.shape == Shape::Linear || c.shape == Shape::Pitched) {
    std::vector<uint8_t> texels = texelsOf(c, 0);
    const size_t row = c.width * texelBytes(c), pitch = (row + 511) / 512 * 512;
    if (c.shape == Shape::Linear) {
      memory.push_back(upload(texels.data(), texels.size()));
      resource.type = kResourceLinear;
      resource.linear = {reinterpret_cast<void *>(memory.back()), c.format, c.channels,
                         texels.size()};
      return 0;
    }
    std::vector<uint8_t> pitched(pitch * c.height);
    for (unsigned y = 0; y < c.height; ++y)
      memcpy(&pitched[y * pitch], &texels[y * row], row);
    memory.push_back(upload(pitched.data(), pitched.size()));
    resource.type = kResourcePitched;
    resource.pitched = {
        reinterpret_cast<void *>(memory.back()), c.format, c.channels, c.width, c.height, pitch};
    return 0;
  }
  Array3DDescriptor descriptor = {c.width, c.height, c.depth, c.format, c.channels, 0};
  if (c.shape == Shape::Layered1 || c.shape == Shape::Layered2 || c.shape == Shape::LayeredCube)
    descriptor.flags |= kArrayLayered;
  if (c.shape == Shape::Cube || c.shape == Shape::LayeredCube)
    descriptor.flags |= kArrayCubemap;
  if (c.ask == Ask::Gather)
    descriptor.flags |= kArrayGather;
  if (!c.levels) {
    resource.type = kResourceArray;
    if (int status = call("cuArray3DCreate_v2", &resource.array,
                          static_cast<const Array3DDescriptor *>(&descriptor)))
      return status;
    return fill(c, resource.array, 0);
  }
  resource.type = kResourceMipmapped;
  if (int status = call("cuMipmappedArrayCreate", &resource.mipmapped,
                        static_cast<const Array3DDescriptor *>(&descriptor), c.levels))
    return status;
  for (unsigned level = 0; level < c.levels; ++level) {
    void *array = nullptr;
    if (int status = call("cuMipmappedArrayGetLevel", &array, resource.mipmapped, level))
      return status;
    if (int status = fill(c, array, level))
      return status;
  }
  return 0;
}

static ViewDescriptor viewOf(const TextureCase &c) {
  constexpr int kFormats[] = {1, 8, 2, 9, 3, 10, 0x10, 0x20}; // of CUresourceViewFormat
  const int format = c.view.format ? c.view.format : c.format;
  const unsigned channels = c.view.format ? c.view.channels : c.channels;
  ViewDescriptor view = {};
  const auto place = std::find(std::begin(kFormats), std::end(kFormats), format);
  view.format = 1 + 3 * int(place - kFormats) + (channels == 4 ? 2 : int(channels) - 1);
  const auto sized = [&](unsigned size) {
    return size && c.view.hasSizesOfLevel ? std::max(size >> c.view.firstLevel, 1u) : size;
  };
  view.width = sized(c.width);
  view.height = sized(c.height);
  view.depth = c.shape == Shape::D3 ? sized(c.depth) : c.depth;
  view.firstLevel = c.view.firstLevel;
  view.lastLevel = c.view.lastLevel;
  view.firstLayer = c.view.firstLayer;
  view.lastLayer = c.view.lastLayer;
  return view;
}

int TextureRunner::sample(const TextureCase &c, unsigned count, std::vector<uint32_t> &words) {
  ResourceDescriptor resource;
  int status = makeResource(c, resource);
  TextureDescriptor texture = {};
  texture.addressMode[0] = c.addressX;
  texture.addressMode[1] = c.addressY;
  texture.addressMode[2] = c.addressZ;
  texture.filter = c.filter;
  texture.flags = c.flags;
  texture.maxAnisotropy = c.maxAnisotropy;
  texture.mipmapFilter = c.mipmapFilter;
  texture.levelBias = c.levelBias;
  texture.minLevel = c.minLevel;
  texture.maxLevel = c.maxLevel;
  memcpy(texture.border, c.border, sizeof(texture.border));
  const ViewDescriptor view = viewOf(c);
  uint64_t object = 0;
  if (!status)
    status = call("cuTexObjectCreate", &object, static_cast<const ResourceDescriptor *>(&resource),
                  static_cast<const TextureDescriptor *>(&texture),
                  c.view.isThere ? &view : static_cast<const ViewDescriptor *>(nullptr));
  if (!status) {
    const std::vector<uint32_t> coordinates = coordinatesOf(c), details = detailsOf(c);
    uint64_t at = upload(coordinates.data(), coordinates.size() * 4);
    uint64_t more = upload(details.data(), details.size() * 4);
    words.assign(4 * kTextureCoordinates, 0xcccccccc);
    uint64_t out = upload(words.data(), words.size() * 4);
    memory.insert(memory.end(), {at, more, out});
    void *values[] = {&out, &object, &at, &more}, *function = nullptr;
    status = call("cuModuleGetFunction", &function, module, kernelOf(c).c_str());
    if (!status)
      status = call("cuLaunchKernel", function, count / 128, 1u, 1u, 128u, 1u, 1u, 0u,
                    static_cast<void *>(nullptr), static_cast<void **>(values),
                    static_cast<void **>(nullptr));
    words.resize(4 * count);
    if (!status)
      status = call("cuMemcpyDtoH_v2", static_cast<void *>(words.data()), out, words.size() * 4);
    if (int destroyed = call("cuTexObjectDestroy", object); !status)
      status = destroyed;
  }
  if (resource.type == kResourceArray && resource.array)
    call("cuArrayDestroy", resource.array);
  if (resource.type == kResourceMipmapped && resource.mipmapped)
    call("cuMipmappedArrayDestroy", resource.mipmapped);
  return status;
}

TextureOutcome TextureRunner::run(const TextureCase &c, unsigned count) {
  TextureOutcome outcome;
  outcome.status = sample(c, count, outcome.words);
  if (outcome.status)
    outcome.words.clear();
  for (uint64_t address : memory)
    call("cuMemFree_v2", address);
  memory.clear();
  return outcome;
}

int TextureRunner::store(const SurfaceCase &c, void *array, std::vector<uint32_t> &words) {
  std::vector<uint8_t> bytes = bytesBefore(c);
  Copy3D copy = {};
  copy.from.type = kMemoryHost;
  copy.from.host = bytes.data();
  copy.from.pitch = copy.widthInBytes = c.width() * texelBytes(c);
  copy.from.height = copy.height = std::max(c.height(), 1u);
  copy.depth = std::max(c.depth(), 1u);
  copy.to.type = kMemoryArray;
  copy.to.array = array;
  if (int status = call("cuMemcpy3D_v2", static_cast<const Copy3D *>(&copy)))
    return status;
  ResourceDescriptor resource = {};
  resource.array = static_cast<Array *>(array);
  uint64_t surface = 0;
  if (int status =
          call("cuSurfObjectCreate", &surface, static_cast<const ResourceDescriptor *>(&resource)))
    return status;
  const std::vector<int32_t> coordinates = coordinatesOf(c);
  const std::vector<uint32_t> operands = operandsOf(c);
  uint64_t at = upload(coordinates.data(), coordinates.size() * 4);
  memory.push_back(at);
  uint64_t values = upload(operands.data(), operands.size() * 4);
  memory.push_back(values);
  const std::string text = kernelTextOf(c);
  void *loaded = nullptr, *function = nullptr, *arguments[] = {&surface, &at, &values};
  if (int status = call("cuModuleLoadData", &loaded, static_cast<const void *>(text.c_str())))
    return status;
  int status = call("cuModuleGetFunction", &function, loaded, "k");
  if (!status)
    status = call("cuLaunchKernel", function, kSurfaceThreads / 32, 1u, 1u, 32u, 1u, 1u, 0u,
                  static_cast<void *>(nullptr), static_cast<void **>(arguments),
                  static_cast<void **>(nullptr));
  if (!status)
    status = call("cuCtxSynchronize");
  std::swap(copy.from, copy.to);
  words.resize(bytes.size() / 4);
  copy.to.host = words.data();
  if (!status)
    status = call("cuMemcpy3D_v2", static_cast<const Copy3D *>(&copy));
  call("cuModuleUnload", loaded);
  call("cuSurfObjectDestroy", surface);
  return status;
}

TextureOutcome TextureRunner::run(const SurfaceCase &c) {
  const Array3DDescriptor descriptor = {c.width(), c.height(), c.depth(),
                                        c.format,  c.channels, kArraySurface};
  TextureOutcome outcome;
  void *array = nullptr;
  outcome.status =
      call("cuArray3DCreate_v2", &array, static_cast<const Array3DDescriptor *>(&descriptor));
  if (!outcome.status)
    outcome.status = store(c, array, outcome.words);
  if (outcome.status)
    outcome.words.clear();
  if (array)
    call("cuArrayDestroy", array);
  for (uint64_t address : memory)
    call("cuMemFree_v2", address);
  memory.clear();
  return outcome;
}

} // namespace rubia::golden
