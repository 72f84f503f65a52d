// SPDX-License-Identifier: Apache-2.0
// Texture and surface references: variables of a module (.texref, .surfref) that programs bind. The
// variable is the record itself, so that its address is a handle like any other; it is written when
// the reference changes, after the kernels that may read it are done.
#include "runtime/cuda/Module.h"
#include "runtime/cuda/texture/Records.h"
#include <cstring>

namespace rubia::runtime::cuda {

static TextureDescriptor defaults() {
  TextureDescriptor texture = {};
  for (int &mode : texture.addressMode)
    mode = 1; // clamp
  return texture;
}

struct TextureReference {
  Context *context = nullptr;
  Module *module = nullptr; // null: made by cuTexRefCreate, which no kernel reads
  void *record = nullptr;
  ResourceDescriptor resource = {};
  bool isBound = false;
  TextureDescriptor texture = defaults();
  int format = kFormatFloat;
  unsigned channels = 1;
};
struct SurfaceReference {
  Context *context = nullptr;
  Module *module = nullptr;
  void *record = nullptr;
  Array *array = nullptr;
};

namespace {

// All references that there are, by their place; leaked as all tables of handles.
std::recursive_mutex &mutex = *new std::recursive_mutex;
std::map<TextureReference *, std::unique_ptr<TextureReference>> &textures =
    *new std::map<TextureReference *, std::unique_ptr<TextureReference>>;
std::map<SurfaceReference *, std::unique_ptr<SurfaceReference>> &surfaces =
    *new std::map<SurfaceReference *, std::unique_ptr<SurfaceReference>>;

Result write(Context &context, void *record, const abi::Texture &contents) {
  if (!record)
    return kSuccess;
  if (Result result = context.synchronizeDevice())
    return result;
  return writeDevice(context, record, &contents, sizeof(contents));
}

// What the reference is now. One that nothing is bound to yet has no record.
Result update(TextureReference &reference) {
  if (!reference.isBound)
    return write(*reference.context, reference.record,
                 abi::unboundTexture(reinterpret_cast<uint64_t>(reference.record)));
  abi::Texture contents;
  if (Result result = makeTextureRecord(*reference.context, reference.resource, reference.texture,
                                        nullptr, contents))
    return result;
  return write(*reference.context, reference.record, contents);
}

// The frame of a function that changes a reference: what fails is not changed.
template <class Change>
Result change(const TracedCall &entry, TextureReference *handle, Change change) {
  return callIn(entry, [&](Context &) -> Result {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    auto found = textures.find(handle);
    if (found == textures.end())
      return kInvalidHandle;
    TextureReference changed = *handle;
    if (Result result = change(changed))
      return result;
    if (Result result = update(changed))
      return result;
    *handle = changed;
    return kSuccess;
  });
}

template <class Get> Result get(const TracedCall &entry, TextureReference *handle, Get get) {
  return callIn(entry, [&](Context &) -> Result {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    return textures.contains(handle) ? get(*handle) : kInvalidHandle;
  });
}

// An H100 takes values that nothing stands for, and samples as before.
Result ignored(const char *what, int value) {
  log(LogLevel::Warning, llvm::Twine("texture reference: ") + what + " " + llvm::Twine(value) +
                             " is unknown and ignored");
  return kSuccess;
}

Result put(auto *out, const auto &value) {
  if (!out)
    return kInvalidValue;
  *out = value;
  return kSuccess;
}

// The variable of a module, which becomes its reference at the first call.
template <class Reference>
Result find(Module *module, const char *name, Manifest::Reference kind, Reference *&out,
            std::map<Reference *, std::unique_ptr<Reference>> &all) {
  const Manifest::Variable *variable = module->loaded->manifest().variable(name);
  if (!variable || variable->reference != kind)
    return kNotFound;
  llvm::Expected<LoadedModule::Global> global = module->loaded->global(name);
  if (!global)
    return report(*module->context, global.takeError());
  std::lock_guard<std::recursive_mutex> lock(mutex);
  for (auto &[handle, reference] : all)
    if (reference->record == global->address) {
      out = handle;
      return kSuccess;
    }
  auto made = std::make_unique<Reference>();
  made->context = module->context;
  made->module = module;
  made->record = global->address;
  out = made.get();
  all[out] = std::move(made);
  return kSuccess;
}

} // namespace

Result textureReferenceOf(Module *module, const char *name, TextureReference **out) {
  return find(module, name, Manifest::Reference::Texture, *out, textures);
}

Result surfaceReferenceOf(Module *module, const char *name, SurfaceReference **out) {
  return find(module, name, Manifest::Reference::Surface, *out, surfaces);
}

void releaseReferences(Module &module) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  std::erase_if(textures, [&](const auto &entry) { return entry.second->module == &module; });
  std::erase_if(surfaces, [&](const auto &entry) { return entry.second->module == &module; });
}

} // namespace rubia::runtime::cuda

using namespace rubia;
using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuTexRefCreate(TextureReference **out) {
  return callIn(RUBIA_CALL(out), [&](Context &context) -> Result {
    if (!out)
      return kInvalidValue;
    auto made = std::make_unique<TextureReference>();
    made->context = &context;
    std::lock_guard<std::recursive_mutex> lock(mutex);
    *out = made.get();
    textures[*out] = std::move(made);
    return kSuccess;
  });
}

Result cuTexRefDestroy(TextureReference *reference) {
  return callToRelease(RUBIA_CALL(reference), [&](Context &) -> Result {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    auto found = textures.find(reference);
    if (found == textures.end() || reference->module)
      return kInvalidHandle;
    textures.erase(found);
    return kSuccess;
  });
}

Result cuTexRefSetArray(TextureReference *reference, Array *array, unsigned flags) {
  return change(RUBIA_CALL(reference, array, flags), reference, [&](TextureReference &r) -> Result {
    if (!isLive(array))
      return kInvalidHandle;
    if (flags & ~kOverrideFormat)
      return kInvalidValue;
    r.resource = {};
    r.resource.type = kResourceArray;
    r.resource.array = array;
    r.format = array->descriptor.format;
    r.channels = array->descriptor.channels;
    r.isBound = true;
    return kSuccess;
  });
}

Result cuTexRefSetMipmappedArray(TextureReference *reference, MipmappedArray *array,
                                 unsigned flags) {
  return change(RUBIA_CALL(reference, array, flags), reference, [&](TextureReference &r) -> Result {
    if (!isLive(array))
      return kInvalidHandle;
    if (flags & ~kOverrideFormat)
      return kInvalidValue;
    r.resource = {};
    r.resource.type = kResourceMipmapped;
    r.resource.mipmapped = array;
    r.format = array->descriptor.format;
    r.channels = array->descriptor.channels;
    r.isBound = true;
    return kSuccess;
  });
}

// A null address unbinds. Memory begins at a multiple of 16 bytes: how far the address lies behind
// it is given back, for the program to add.
Result cuTexRefSetAddress_v2(size_t *offset, TextureReference *reference, void *address,
                             size_t bytes) {
  return change(RUBIA_CALL(offset, reference, address, bytes), reference,
                [&](TextureReference &r) -> Result {
                  const size_t behind = reinterpret_cast<uint64_t>(address) % 16;
                  if (behind && !offset)
                    return kInvalidValue;
                  if (offset)
                    *offset = behind;
                  r.resource = {};
                  r.isBound = address;
                  if (!address)
                    return kSuccess;
                  r.resource.type = kResourceLinear;
                  r.resource.linear = {static_cast<char *>(address) - behind, r.format, r.channels,
                                       bytes + behind};
                  return kSuccess;
                });
}

Result cuTexRefSetAddress2D_v3(TextureReference *reference, const ArrayDescriptor *descriptor,
                               void *address, size_t pitch) {
  return change(RUBIA_CALL(reference, descriptor, address, pitch), reference,
                [&](TextureReference &r) -> Result {
                  if (!descriptor)
                    return kInvalidValue;
                  r.resource = {};
                  r.resource.type = kResourcePitched;
                  r.resource.pitched = {address,           descriptor->format, descriptor->channels,
                                        descriptor->width, descriptor->height, pitch};
                  r.format = descriptor->format;
                  r.channels = descriptor->channels;
                  r.isBound = true;
                  return kSuccess;
                });
}
Result cuTexRefSetAddress2D_v2(TextureReference *reference, const ArrayDescriptor *descriptor,
                               void *address, size_t pitch) {
  return cuTexRefSetAddress2D_v3(reference, descriptor, address, pitch);
}

Result cuTexRefSetFormat(TextureReference *reference, int format, int channels) {
  return change(RUBIA_CALL(reference, format, channels), reference,
                [&](TextureReference &r) -> Result {
                  if (channels != 1 && channels != 2 && channels != 4)
                    return kInvalidValue;
                  if (!factsOf(format, unsigned(channels)))
                    return ignored("format", format);
                  r.format = format;
                  r.channels = unsigned(channels);
                  if (r.isBound && r.resource.type == kResourceLinear) {
                    r.resource.linear.format = format;
                    r.resource.linear.channels = r.channels;
                  }
                  return kSuccess;
                });
}

Result cuTexRefSetAddressMode(TextureReference *reference, int dimension, int mode) {
  return change(RUBIA_CALL(reference, dimension, mode), reference,
                [&](TextureReference &r) -> Result {
                  if (dimension < 0 || dimension > 2)
                    return kInvalidValue;
                  if (mode < 0 || mode > 3)
                    return ignored("address mode", mode);
                  r.texture.addressMode[dimension] = mode;
                  return kSuccess;
                });
}

Result cuTexRefSetFilterMode(TextureReference *reference, int mode) {
  return change(RUBIA_CALL(reference, mode), reference, [&](TextureReference &r) -> Result {
    if (mode != 0 && mode != 1)
      return ignored("filter mode", mode);
    r.texture.filter = mode;
    return kSuccess;
  });
}

Result cuTexRefSetMipmapFilterMode(TextureReference *reference, int mode) {
  return change(RUBIA_CALL(reference, mode), reference, [&](TextureReference &r) -> Result {
    if (mode != 0 && mode != 1)
      return ignored("filter mode", mode);
    r.texture.mipmapFilter = mode;
    return kSuccess;
  });
}

Result cuTexRefSetMipmapLevelBias(TextureReference *reference, float bias) {
  return change(RUBIA_CALL(reference, bias), reference,
                [&](TextureReference &r) { return r.texture.levelBias = bias, kSuccess; });
}

Result cuTexRefSetMipmapLevelClamp(TextureReference *reference, float least, float most) {
  return change(RUBIA_CALL(reference, least, most), reference, [&](TextureReference &r) {
    r.texture.minLevel = least;
    r.texture.maxLevel = most;
    return kSuccess;
  });
}

Result cuTexRefSetMaxAnisotropy(TextureReference *reference, unsigned most) {
  return change(RUBIA_CALL(reference, most), reference,
                [&](TextureReference &r) { return r.texture.maxAnisotropy = most, kSuccess; });
}

Result cuTexRefSetBorderColor(TextureReference *reference, const float *color) {
  return change(RUBIA_CALL(reference, color), reference, [&](TextureReference &r) -> Result {
    if (!color)
      return kInvalidValue;
    memcpy(r.texture.border, color, sizeof(r.texture.border));
    return kSuccess;
  });
}

Result cuTexRefSetFlags(TextureReference *reference, unsigned flags) {
  return change(RUBIA_CALL(reference, flags), reference, [&](TextureReference &r) -> Result {
    if (flags & ~kKnownTextureFlags)
      return kInvalidValue;
    r.texture.flags = flags;
    return kSuccess;
  });
}

Result cuTexRefGetAddress_v2(void **out, TextureReference *reference) {
  return get(RUBIA_CALL(out, reference), reference, [&](const TextureReference &r) -> Result {
    if (!r.isBound)
      return kInvalidValue;
    switch (r.resource.type) {
    case kResourceLinear:
      return put(out, r.resource.linear.address);
    case kResourcePitched:
      return put(out, r.resource.pitched.address);
    }
    return kInvalidValue;
  });
}

Result cuTexRefGetArray(Array **out, TextureReference *reference) {
  return get(RUBIA_CALL(out, reference), reference, [&](const TextureReference &r) -> Result {
    return r.isBound && r.resource.type == kResourceArray ? put(out, r.resource.array)
                                                          : kInvalidValue;
  });
}

Result cuTexRefGetMipmappedArray(MipmappedArray **out, TextureReference *reference) {
  return get(RUBIA_CALL(out, reference), reference, [&](const TextureReference &r) -> Result {
    return r.isBound && r.resource.type == kResourceMipmapped ? put(out, r.resource.mipmapped)
                                                              : kInvalidValue;
  });
}

Result cuTexRefGetAddressMode(int *out, TextureReference *reference, int dimension) {
  return get(RUBIA_CALL(out, reference, dimension), reference,
             [&](const TextureReference &r) -> Result {
               return dimension < 0 || dimension > 2 ? kInvalidValue
                                                     : put(out, r.texture.addressMode[dimension]);
             });
}

Result cuTexRefGetFilterMode(int *out, TextureReference *reference) {
  return get(RUBIA_CALL(out, reference), reference,
             [&](const TextureReference &r) { return put(out, r.texture.filter); });
}

Result cuTexRefGetFormat(int *format, int *channels, TextureReference *reference) {
  return get(RUBIA_CALL(format, channels, reference), reference,
             [&](const TextureReference &r) -> Result {
               if (!format || !channels)
                 return kInvalidValue;
               *format = r.format;
               *channels = int(r.channels);
               return kSuccess;
             });
}

Result cuTexRefGetMipmapFilterMode(int *out, TextureReference *reference) {
  return get(RUBIA_CALL(out, reference), reference,
             [&](const TextureReference &r) { return put(out, r.texture.mipmapFilter); });
}

Result cuTexRefGetMipmapLevelBias(float *out, TextureReference *reference) {
  return get(RUBIA_CALL(out, reference), reference,
             [&](const TextureReference &r) { return put(out, r.texture.levelBias); });
}

Result cuTexRefGetMipmapLevelClamp(float *least, float *most, TextureReference *reference) {
  return get(RUBIA_CALL(least, most, reference), reference,
             [&](const TextureReference &r) -> Result {
               if (!least || !most)
                 return kInvalidValue;
               *least = r.texture.minLevel;
               *most = r.texture.maxLevel;
               return kSuccess;
             });
}

Result cuTexRefGetMaxAnisotropy(int *out, TextureReference *reference) {
  return get(RUBIA_CALL(out, reference), reference,
             [&](const TextureReference &r) { return put(out, int(r.texture.maxAnisotropy)); });
}

Result cuTexRefGetBorderColor(float *out, TextureReference *reference) {
  return get(RUBIA_CALL(out, reference), reference, [&](const TextureReference &r) -> Result {
    if (!out)
      return kInvalidValue;
    memcpy(out, r.texture.border, sizeof(r.texture.border));
    return kSuccess;
  });
}

Result cuTexRefGetFlags(unsigned *out, TextureReference *reference) {
  return get(RUBIA_CALL(out, reference), reference,
             [&](const TextureReference &r) { return put(out, r.texture.flags); });
}

// Kernels take the references of their module; what is set here has no effect, as on an H100.
Result cuParamSetTexRef(Function *function, int, TextureReference *reference) {
  return callIn(RUBIA_CALL(function, reference), [&](Context &) -> Result {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    return isLive(function) && textures.contains(reference) ? kSuccess : kInvalidHandle;
  });
}

Result cuSurfRefSetArray(SurfaceReference *reference, Array *array, unsigned flags) {
  return callIn(RUBIA_CALL(reference, array, flags), [&](Context &) -> Result {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    if (!surfaces.contains(reference) || !isLive(array))
      return kInvalidHandle;
    if (flags || !(array->descriptor.flags & kArraySurface)) // objects need no such array
      return kInvalidValue;
    ResourceDescriptor resource = {};
    resource.type = kResourceArray;
    resource.array = array;
    abi::Texture contents;
    if (Result result = makeSurfaceRecord(resource, contents))
      return result;
    if (Result result = write(*reference->context, reference->record, contents))
      return result;
    reference->array = array;
    return kSuccess;
  });
}

Result cuSurfRefGetArray(Array **out, SurfaceReference *reference) {
  return callIn(RUBIA_CALL(out, reference), [&](Context &) -> Result {
    std::lock_guard<std::recursive_mutex> lock(mutex);
    if (!surfaces.contains(reference))
      return kInvalidHandle;
    return reference->array ? put(out, reference->array) : kInvalidValue;
  });
}

} // extern "C"
