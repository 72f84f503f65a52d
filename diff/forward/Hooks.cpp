// SPDX-License-Identifier: Apache-2.0
// The functions that are looked at on their way to the driver. All others jump (Trampolines.cpp),
// and so do those of export tables, which are the driver's own.
#include "diff/forward/Hooks.h"
#include "diff/forward/Recorder.h"

using namespace rubia::forward;

namespace {

void allocated(DevicePointer address, size_t bytes, MemoryKind kind) {
  Locked()->allocations.add({address, bytes, kind, nullptr, nullptr});
}

void freed(DevicePointer address) { Locked()->allocations.remove(address); }

void variable(Handle owner, const char *name, const DevicePointer *address, const size_t *bytes) {
  if (!name || !address || !bytes || !*address)
    return;
  Locked recorder;
  const Allocation *known = recorder->allocations.find(*address);
  if (!known || known->kind != MemoryKind::Variable || known->owner != owner)
    recorder->allocations.add({*address, *bytes, MemoryKind::Variable, strdup(name), owner});
}

void unloaded(Handle owner) {
  Locked recorder;
  recorder->images.unloaded(owner);
  recorder->allocations.removeVariablesOf(owner);
  recorder->textures.unloaded(owner);
}

Launch plain(Handle function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
             unsigned blockY, unsigned blockZ, unsigned sharedBytes, Handle stream, void **values,
             void **extra) {
  Launch launch{
      function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, stream, values,
      extra};
  return launch;
}

Launch extended(const LaunchConfig &config, Handle function, void **values, void **extra) {
  Launch launch =
      plain(function, config.grid[0], config.grid[1], config.grid[2], config.block[0],
            config.block[1], config.block[2], config.sharedBytes, config.stream, values, extra);
  launch.attributes = config.attributes;
  launch.attributeCount = config.attributes ? config.attributeCount : 0;
  return launch;
}

} // namespace

extern "C" {

// Memory.

int hook_cuMemAlloc_v2(DevicePointer *pointer, size_t bytes) {
  const int result = DRIVER(cuMemAlloc_v2, DevicePointer *, size_t)(pointer, bytes);
  if (!result)
    allocated(*pointer, bytes, MemoryKind::Device);
  return result;
}
int hook_cuMemAllocPitch_v2(DevicePointer *pointer, size_t *pitch, size_t width, size_t height,
                            unsigned elementBytes) {
  const int result = DRIVER(cuMemAllocPitch_v2, DevicePointer *, size_t *, size_t, size_t,
                            unsigned)(pointer, pitch, width, height, elementBytes);
  if (!result)
    allocated(*pointer, *pitch * height, MemoryKind::Device);
  return result;
}
int hook_cuMemAllocManaged(DevicePointer *pointer, size_t bytes, unsigned flags) {
  const int result =
      DRIVER(cuMemAllocManaged, DevicePointer *, size_t, unsigned)(pointer, bytes, flags);
  if (!result)
    allocated(*pointer, bytes, MemoryKind::Managed);
  return result;
}
int hook_cuMemFree_v2(DevicePointer pointer) {
  freed(pointer); // before another thread gets the address
  return DRIVER(cuMemFree_v2, DevicePointer)(pointer);
}
#define ALLOCATE_ON_STREAM(Symbol, FromPool)                                                       \
  int hook_##Symbol(DevicePointer *pointer, size_t bytes, Handle stream) {                         \
    const int result = DRIVER(Symbol, DevicePointer *, size_t, Handle)(pointer, bytes, stream);    \
    if (!result)                                                                                   \
      allocated(*pointer, bytes, MemoryKind::Device);                                              \
    return result;                                                                                 \
  }                                                                                                \
  int hook_##FromPool(DevicePointer *pointer, size_t bytes, Handle pool, Handle stream) {          \
    const int result =                                                                             \
        DRIVER(FromPool, DevicePointer *, size_t, Handle, Handle)(pointer, bytes, pool, stream);   \
    if (!result)                                                                                   \
      allocated(*pointer, bytes, MemoryKind::Device);                                              \
    return result;                                                                                 \
  }
ALLOCATE_ON_STREAM(cuMemAllocAsync, cuMemAllocFromPoolAsync)
ALLOCATE_ON_STREAM(cuMemAllocAsync_ptsz, cuMemAllocFromPoolAsync_ptsz)
int hook_cuMemFreeAsync(DevicePointer pointer, Handle stream) {
  freed(pointer);
  return DRIVER(cuMemFreeAsync, DevicePointer, Handle)(pointer, stream);
}
int hook_cuMemFreeAsync_ptsz(DevicePointer pointer, Handle stream) {
  freed(pointer);
  return DRIVER(cuMemFreeAsync_ptsz, DevicePointer, Handle)(pointer, stream);
}
int hook_cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  const int result = DRIVER(cuMemHostAlloc, void **, size_t, unsigned)(pointer, bytes, flags);
  if (!result)
    allocated(reinterpret_cast<DevicePointer>(*pointer), bytes, MemoryKind::Host);
  return result;
}
int hook_cuMemAllocHost_v2(void **pointer, size_t bytes) {
  const int result = DRIVER(cuMemAllocHost_v2, void **, size_t)(pointer, bytes);
  if (!result)
    allocated(reinterpret_cast<DevicePointer>(*pointer), bytes, MemoryKind::Host);
  return result;
}
int hook_cuMemFreeHost(void *pointer) {
  freed(reinterpret_cast<DevicePointer>(pointer));
  return DRIVER(cuMemFreeHost, void *)(pointer);
}
int hook_cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags) {
  const int result = DRIVER(cuMemHostRegister_v2, void *, size_t, unsigned)(pointer, bytes, flags);
  if (!result)
    allocated(reinterpret_cast<DevicePointer>(pointer), bytes, MemoryKind::Host);
  return result;
}
int hook_cuMemHostUnregister(void *pointer) {
  freed(reinterpret_cast<DevicePointer>(pointer));
  return DRIVER(cuMemHostUnregister, void *)(pointer);
}
int hook_cuMemMap(DevicePointer pointer, size_t bytes, size_t offset, uint64_t handle,
                  uint64_t flags) {
  const int result = DRIVER(cuMemMap, DevicePointer, size_t, size_t, uint64_t,
                            uint64_t)(pointer, bytes, offset, handle, flags);
  if (!result)
    allocated(pointer, bytes, MemoryKind::Device);
  return result;
}
int hook_cuMemUnmap(DevicePointer pointer, size_t bytes) {
  freed(pointer);
  return DRIVER(cuMemUnmap, DevicePointer, size_t)(pointer, bytes);
}

// Modules and libraries.

int hook_cuModuleLoadData(Handle *module, const void *image) {
  return Recorder::get().load(image, module, false, [&](const void *given) {
    return DRIVER(cuModuleLoadData, Handle *, const void *)(module, given);
  });
}
int hook_cuModuleLoad(Handle *module, const char *path) {
  Bytes image;
  if (module && path && Recorder::get().isFileForNewer(path, image))
    return hook_cuModuleLoadData(module, image.begin());
  const int result = DRIVER(cuModuleLoad, Handle *, const char *)(module, path);
  if (!result)
    Locked()->images.loadedFile(*module, false, path);
  return result;
}
int hook_cuModuleLoadDataEx(Handle *module, const void *image, unsigned count, int *options,
                            void **values) {
  return Recorder::get().load(image, module, false, [&](const void *given) {
    return DRIVER(cuModuleLoadDataEx, Handle *, const void *, unsigned, int *,
                  void **)(module, given, count, options, values);
  });
}
int hook_cuModuleLoadFatBinary(Handle *module, const void *image) {
  return Recorder::get().load(image, module, false, [&](const void *given) {
    return given == image ? DRIVER(cuModuleLoadFatBinary, Handle *, const void *)(module, given)
                          : DRIVER(cuModuleLoadData, Handle *, const void *)(module, given);
  });
}
int hook_cuModuleUnload(Handle module) {
  unloaded(module);
  return DRIVER(cuModuleUnload, Handle)(module);
}
int hook_cuModuleGetFunction(Handle *function, Handle module, const char *name) {
  const int result =
      DRIVER(cuModuleGetFunction, Handle *, Handle, const char *)(function, module, name);
  if (!result)
    Locked()->images.found(*function, module, name, false);
  else
    Recorder::get().tellMissing(name, result);
  return result;
}
int hook_cuModuleGetGlobal_v2(DevicePointer *address, size_t *bytes, Handle module,
                              const char *name) {
  const int result = DRIVER(cuModuleGetGlobal_v2, DevicePointer *, size_t *, Handle,
                            const char *)(address, bytes, module, name);
  if (!result)
    variable(module, name, address, bytes);
  return result;
}
int hook_cuLibraryLoadData(Handle *library, const void *code, int *jitOptions, void **jitValues,
                           unsigned jitCount, int *options, void **values, unsigned count) {
  return Recorder::get().load(code, library, true, [&](const void *given) {
    return DRIVER(cuLibraryLoadData, Handle *, const void *, int *, void **, unsigned, int *,
                  void **, unsigned)(library, given, jitOptions, jitValues, jitCount, options,
                                     values, count);
  });
}
int hook_cuLibraryLoadFromFile(Handle *library, const char *path, int *jitOptions, void **jitValues,
                               unsigned jitCount, int *options, void **values, unsigned count) {
  Bytes image;
  if (library && path && Recorder::get().isFileForNewer(path, image))
    return hook_cuLibraryLoadData(library, image.begin(), jitOptions, jitValues, jitCount, options,
                                  values, count);
  const int result = DRIVER(cuLibraryLoadFromFile, Handle *, const char *, int *, void **, unsigned,
                            int *, void **, unsigned)(library, path, jitOptions, jitValues,
                                                      jitCount, options, values, count);
  if (!result)
    Locked()->images.loadedFile(*library, true, path);
  return result;
}
int hook_cuLibraryUnload(Handle library) {
  unloaded(library);
  return DRIVER(cuLibraryUnload, Handle)(library);
}
int hook_cuLibraryGetKernel(Handle *kernel, Handle library, const char *name) {
  const int result =
      DRIVER(cuLibraryGetKernel, Handle *, Handle, const char *)(kernel, library, name);
  if (!result)
    Locked()->images.found(*kernel, library, name, true);
  else
    Recorder::get().tellMissing(name, result);
  return result;
}
int hook_cuKernelGetFunction(Handle *function, Handle kernel) {
  const int result = DRIVER(cuKernelGetFunction, Handle *, Handle)(function, kernel);
  if (!result && *function != kernel) {
    Locked recorder;
    if (const KnownFunction *known = recorder->images.functionOf(kernel)) {
      const KnownFunction copy = *known;
      recorder->images.found(*function, copy.owner, copy.name, false);
    }
  }
  return result;
}
int hook_cuLibraryGetModule(Handle *module, Handle library) {
  const int result = DRIVER(cuLibraryGetModule, Handle *, Handle)(module, library);
  if (!result)
    Locked()->images.isModuleOf(*module, library);
  return result;
}
int hook_cuLibraryGetGlobal(DevicePointer *address, size_t *bytes, Handle library,
                            const char *name) {
  const int result = DRIVER(cuLibraryGetGlobal, DevicePointer *, size_t *, Handle,
                            const char *)(address, bytes, library, name);
  if (!result)
    variable(library, name, address, bytes);
  return result;
}
int hook_cuLibraryGetManaged(DevicePointer *address, size_t *bytes, Handle library,
                             const char *name) {
  const int result = DRIVER(cuLibraryGetManaged, DevicePointer *, size_t *, Handle,
                            const char *)(address, bytes, library, name);
  if (!result)
    variable(library, name, address, bytes);
  return result;
}

// Launches.

#define LAUNCH(Symbol, Cooperative, Extended, PerThread)                                           \
  int hook_##Symbol(Handle function, unsigned gridX, unsigned gridY, unsigned gridZ,               \
                    unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,       \
                    Handle stream, void **values, void **extra) {                                  \
    Launch launch = plain(function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes,      \
                          stream, values, extra);                                                  \
    launch.perThread = PerThread;                                                                  \
    return Recorder::get().launch(launch, [&] {                                                    \
      return DRIVER(Symbol, Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,    \
                    unsigned, Handle, void **, void **)(function, gridX, gridY, gridZ, blockX,     \
                                                        blockY, blockZ, sharedBytes, stream,       \
                                                        values, extra);                            \
    });                                                                                            \
  }                                                                                                \
  int hook_##Cooperative(Handle function, unsigned gridX, unsigned gridY, unsigned gridZ,          \
                         unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,  \
                         Handle stream, void **values) {                                           \
    Launch launch = plain(function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes,      \
                          stream, values, nullptr);                                                \
    launch.perThread = PerThread;                                                                  \
    launch.isCooperative = true;                                                                   \
    return Recorder::get().launch(launch, [&] {                                                    \
      return DRIVER(Cooperative, Handle, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                    unsigned, unsigned, Handle, void **)(                                          \
          function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, values);     \
    });                                                                                            \
  }                                                                                                \
  int hook_##Extended(const LaunchConfig *config, Handle function, void **values, void **extra) {  \
    const auto call = [&] {                                                                        \
      return DRIVER(Extended, const LaunchConfig *, Handle, void **, void **)(config, function,    \
                                                                              values, extra);      \
    };                                                                                             \
    if (!config)                                                                                   \
      return call();                                                                               \
    Launch launch = extended(*config, function, values, extra);                                    \
    launch.perThread = PerThread;                                                                  \
    return Recorder::get().launch(launch, call);                                                   \
  }
LAUNCH(cuLaunchKernel, cuLaunchCooperativeKernel, cuLaunchKernelEx, false)
LAUNCH(cuLaunchKernel_ptsz, cuLaunchCooperativeKernel_ptsz, cuLaunchKernelEx_ptsz, true)

// Looking up functions.

int hook_cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
  const int result = DRIVER(cuGetProcAddress, const char *, void **, int, uint64_t)(name, function,
                                                                                    version, flags);
  if (!result)
    replaceAnswer(name, function);
  return result;
}
int hook_cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                             int *status) {
  const int result = DRIVER(cuGetProcAddress_v2, const char *, void **, int, uint64_t,
                            int *)(name, function, version, flags, status);
  if (!result)
    replaceAnswer(name, function);
  return result;
}

} // extern "C"
