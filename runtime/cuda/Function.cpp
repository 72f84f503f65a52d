// SPDX-License-Identifier: Apache-2.0
// What a program may ask of a kernel and set on it.
#include "runtime/cuda/Module.h"
#include "runtime/cuda/Stream.h"

using namespace llvm;

namespace rubia::runtime {
int hipFuncGetAttribute(int *value, int attribute, void *function);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

static constexpr int kPlainSharedLimit = 48 << 10; // without opting in

Function::Settings Function::settingsFor(const Device &device) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = settings.find(device.ordinal);
  return found == settings.end() ? Settings{} : found->second;
}

int maxDynamicShared(const Device &device, Function &function) {
  int set = function.settingsFor(device).maxDynamicSharedBytes;
  return set >= 0 ? set
                  : std::max<int>(0, kPlainSharedLimit - int(function.kernel.staticSharedBytes));
}

// What only the code object knows. A kernel that cannot be compiled says so when it is launched,
// and here is 0.
static Result compiledAttribute(Context &context, Function &function, int attribute, int *value) {
  *value = 0;
  Bound bound = bind(context, &function);
  if (bound.error)
    return bound.error;
  Expected<void *> hipFunction = bound.module->loaded->function(function.kernel);
  if (!hipFunction) {
    log(LogLevel::Info, toString(hipFunction.takeError()));
    return kSuccess;
  }
  return context.check(hip().call<hipFuncGetAttribute>(value, attribute, *hipFunction));
}

// As on NVIDIA's GPUs it depends on the code.
static Result maxThreads(Context &context, Function &function, int *value) {
  *value = int(function.kernel.mostThreads());
  Bound bound = bind(context, &function);
  if (bound.error)
    return bound.error;
  Expected<uint32_t> compiled = bound.module->loaded->maxThreads(function.kernel);
  if (compiled)
    *value = int(*compiled);
  else
    log(LogLevel::Info, toString(compiled.takeError()));
  return kSuccess;
}

static Result getAttribute(Context &context, Function &function, int attribute, int *value) {
  const Device &device = context.device;
  if (!value)
    return kInvalidValue;
  switch (FunctionAttribute(attribute)) {
  case kMaxThreadsPerBlock:
    return maxThreads(context, function, value);
  case kSharedSizeBytes:
    return *value = int(function.kernel.staticSharedBytes), kSuccess;
  case kConstSizeBytes: {
    uint64_t bytes = 0;
    for (const Manifest::Variable &variable : function.manifest.variables)
      bytes += variable.constant ? variable.size : 0;
    return *value = int(bytes), kSuccess;
  }
  case kLocalSizeBytes:
  case kNumRegs: // HIP_FUNC_ATTRIBUTE_* have the same numbers
    return compiledAttribute(context, function, attribute, value);
  case kPtxVersion:
  case kBinaryVersion: // of the image that is used, not of the device: CUB compares it
    return *value = int(function.manifest.sm), kSuccess;
  case kMaxDynamicSharedSizeBytes:
    return *value = maxDynamicShared(device, function), kSuccess;
  case kPreferredSharedMemoryCarveout:
    return *value = function.settingsFor(device).carveout, kSuccess;
  case kNonPortableClusterSizeAllowed:
    return *value = function.settingsFor(device).nonPortableCluster, kSuccess;
  case kClusterSchedulingPolicyPreference:
    return *value = function.settingsFor(device).clusterScheduling, kSuccess;
  case kClusterSizeMustBeSet:
    return *value = function.kernel.explicitCluster, kSuccess;
  case kRequiredClusterWidth:
  case kRequiredClusterHeight:
  case kRequiredClusterDepth: {
    const unsigned dimension = unsigned(attribute - kRequiredClusterWidth);
    const Manifest::Kernel &kernel = function.kernel;
    *value = kernel.requiredCluster[0]
                 ? int(std::max(kernel.requiredCluster[dimension], 1u))
                 : int(function.settingsFor(device).requiredCluster[dimension]);
    return kSuccess;
  }
  case kCacheModeCa:
    return *value = 0, kSuccess;
  case kFunctionAttributeCount:
    break;
  }
  return kInvalidValue;
}

static Result setAttribute(const Device &device, Function &function, int attribute, int value) {
  std::lock_guard<std::mutex> lock(function.mutex);
  Function::Settings &settings = function.settings[device.ordinal];
  switch (attribute) {
  case kMaxDynamicSharedSizeBytes: {
    int limit = Device::maxSharedPerBlock() - int(function.kernel.staticSharedBytes);
    if (value < 0 || value > limit)
      return fail(kInvalidValue, "kernel '" + function.kernel.name + "': " + Twine(value) +
                                     " bytes of dynamic shared memory, at most " + Twine(limit));
    settings.maxDynamicSharedBytes = value;
    return kSuccess;
  }
  case kPreferredSharedMemoryCarveout: // a hint; LDS is not shared with a cache on AMD
    if (value < -1 || value > 100)
      return kInvalidValue;
    settings.carveout = value;
    return kSuccess;
  case kNonPortableClusterSizeAllowed:
    settings.nonPortableCluster = value;
    return kSuccess;
  case kClusterSchedulingPolicyPreference:
    settings.clusterScheduling = value;
    return kSuccess;
  case kRequiredClusterWidth:
  case kRequiredClusterHeight:
  case kRequiredClusterDepth:
    if (value < 0)
      return kInvalidValue;
    if (const Manifest::Kernel &kernel = function.kernel; kernel.requiredCluster[0]) {
      const uint32_t required = kernel.requiredCluster[attribute - kRequiredClusterWidth];
      return uint32_t(value) == std::max(required, 1u)
                 ? kSuccess
                 : fail(kInvalidValue, "kernel '" + kernel.name + "' requires clusters of " +
                                           llvm::Twine(required) + " CTAs in this dimension");
    } else if (kernel.maxClusterRank && uint32_t(value) > kernel.maxClusterRank) {
      return fail(kInvalidValue, "kernel '" + kernel.name + "' allows clusters of " +
                                     llvm::Twine(kernel.maxClusterRank) + " CTAs");
    }
    settings.requiredCluster[attribute - kRequiredClusterWidth] = uint32_t(value);
    return kSuccess;
  }
  return kInvalidValue;
}

static Result parameterInfo(Function *function, size_t index, size_t *offset, size_t *size) {
  if (!isLive(function))
    return kInvalidHandle;
  if (!offset || index >= function->kernel.parameters.size())
    return kInvalidValue;
  const Manifest::Parameter &parameter = function->kernel.parameters[index];
  *offset = parameter.offset;
  if (size)
    *size = parameter.size;
  return kSuccess;
}

template <class Body>
static Result callOnFunction(const TracedCall &entry, Function *function, Body body) {
  return callOn(entry, function,
                [&](Context &current) { return inContextOf(function, current, body); });
}

// The context that kernel attributes are answered in: the current one if it is on that device.
template <class Body> static Result callOn(const TracedCall &entry, int ordinal, Body body) {
  return call(entry, [&]() -> Result {
    Device *device = deviceAt(ordinal);
    if (!device)
      return kInvalidDevice;
    Context *context = currentContext();
    if (!context || &context->device != device)
      context = device->primary.get();
    if (int error = hip().call<hipSetDevice>(device->hipDevice))
      return context->check(error);
    return body(*context);
  });
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuFuncGetAttribute(int *value, int attribute, Function *function) {
  return callOnFunction(RUBIA_CALL(value, attribute, function), function, [&](Context &context) {
    return isLive(function) ? getAttribute(context, *function, attribute, value) : kInvalidHandle;
  });
}

Result cuKernelGetAttribute(int *value, int attribute, Function *kernel, int device) {
  return callOn(RUBIA_CALL(value, attribute, kernel, device), device, [&](Context &context) {
    return isLive(kernel) ? getAttribute(context, *kernel, attribute, value) : kInvalidHandle;
  });
}

Result cuFuncSetAttribute(Function *function, int attribute, int value) {
  return callOnFunction(RUBIA_CALL(function, attribute, value), function, [&](Context &context) {
    return isLive(function) ? setAttribute(context.device, *function, attribute, value)
                            : kInvalidHandle;
  });
}

Result cuKernelSetAttribute(int attribute, int value, Function *kernel, int device) {
  return callOn(RUBIA_CALL(attribute, value, kernel, device), device, [&](Context &context) {
    return isLive(kernel) ? setAttribute(context.device, *kernel, attribute, value)
                          : kInvalidHandle;
  });
}

// Hints about caches and banks that AMD's hardware has no use for.
Result cuFuncSetCacheConfig(Function *function, int config) {
  return callOn(RUBIA_CALL(function, config), function, [&](Context &) {
    return !isLive(function) ? kInvalidHandle : config < 0 || config > 3 ? kInvalidValue : kSuccess;
  });
}
Result cuKernelSetCacheConfig(Function *kernel, int config, int device) {
  return callOn(RUBIA_CALL(kernel, config, device), device, [&](Context &) {
    return !isLive(kernel) ? kInvalidHandle : config < 0 || config > 3 ? kInvalidValue : kSuccess;
  });
}
Result cuFuncSetSharedMemConfig(Function *function, int config) {
  return callOn(RUBIA_CALL(function, config), function, [&](Context &) {
    return !isLive(function) ? kInvalidHandle : config < 0 || config > 2 ? kInvalidValue : kSuccess;
  });
}

// One handle serves as both: a kernel is bound to the context that it is launched in.
Result cuKernelGetFunction(Function **function, Function *kernel) {
  return callIn(RUBIA_CALL(function, kernel), [&](Context &context) {
    if (!function)
      return kInvalidValue;
    Bound bound = bind(context, kernel);
    *function = bound.error ? nullptr : kernel;
    return bound.error;
  });
}

Result cuKernelGetLibrary(Library **library, Function *kernel) {
  return call(RUBIA_CALL(library, kernel), [&] {
    if (!isLive(kernel) || !kernel->library)
      return kInvalidHandle;
    return library ? (*library = kernel->library, kSuccess) : kInvalidValue;
  });
}

Result cuFuncGetModule(Module **module, Function *function) {
  return callOnFunction(RUBIA_CALL(module, function), function, [&](Context &context) {
    if (!module)
      return kInvalidValue;
    Bound bound = bind(context, function);
    *module = bound.module;
    return bound.error;
  });
}

Result cuFuncGetName(const char **name, Function *function) {
  return call(RUBIA_CALL(name, function), [&] {
    if (!isLive(function))
      return kInvalidHandle;
    return name ? (*name = function->kernel.name.c_str(), kSuccess) : kInvalidValue;
  });
}
Result cuKernelGetName(const char **name, Function *kernel) { return cuFuncGetName(name, kernel); }

Result cuFuncGetParamInfo(Function *function, size_t index, size_t *offset, size_t *size) {
  return call(RUBIA_CALL(function, index, offset, size),
              [&] { return parameterInfo(function, index, offset, size); });
}
Result cuKernelGetParamInfo(Function *kernel, size_t index, size_t *offset, size_t *size) {
  return callIn(RUBIA_CALL(kernel, index, offset, size),
                [&](Context &) { return parameterInfo(kernel, index, offset, size); });
}

// Loading is lazy: 0 is CU_FUNCTION_LOADING_STATE_UNLOADED, 1 loaded.
// A function that a program has is loaded, as CUDA sees it; it is compiled when it is needed.
Result cuFuncIsLoaded(int *state, Function *function) {
  return callOn(RUBIA_CALL(state, function), function, [&](Context &) {
    if (!state)
      return kInvalidValue;
    if (!isLive(function))
      return kInvalidHandle;
    *state = 1; // CU_FUNCTION_LOADING_STATE_LOADED
    return kSuccess;
  });
}

Result cuFuncLoad(Function *function) {
  return callOnFunction(RUBIA_CALL(function), function, [&](Context &context) {
    Bound bound = bind(context, function);
    if (bound.error)
      return bound.error;
    Expected<void *> hipFunction = bound.module->loaded->function(function->kernel);
    return hipFunction ? kSuccess : report(context, hipFunction.takeError());
  });
}

} // extern "C"
