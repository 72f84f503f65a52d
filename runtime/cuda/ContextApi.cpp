// SPDX-License-Identifier: Apache-2.0
// Context management, as entry points.
#include "runtime/cuda/Context.h"
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/Stream.h"
#include "runtime/cuda/graph/Capture.h"

namespace rubia::runtime {
int hipDeviceSetLimit(int limit, size_t value);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

// CU_LIMIT_STACK_SIZE, CU_LIMIT_PRINTF_FIFO_SIZE, CU_LIMIT_MALLOC_HEAP_SIZE: what they size is made
// when it is first needed; after that the ring and the heap stay as they are (an H100 answers the
// same). All other limits are remembered and have no effect.
static Result setLimit(Context &context, int limit, size_t value) {
  if (limit < 0 || limit >= kLimitCount)
    return kInvalidValue;
  switch (limit) {
  case 0:
    // Frames hold spilled registers and are larger than on NVIDIA's GPUs: twice as much.
    value = (value + 15) / 16 * 16;
    if (hip().has<hipDeviceSetLimit>())
      if (Result result = fromHip(hip().call<hipDeviceSetLimit>(
              kHipLimitStackSize, std::min(value, size_t(1) << 40) * 2)))
        return result;
    break;
  case 5: // MAX_L2_FETCH_GRANULARITY
    if (value > 128)
      return kInvalidValue;
    break;
  case 7: // SHMEM_SIZE, CIG_ENABLED: only asked
  case 8:
    return kNotPermitted;
  case 1:
    value = std::max(value, DeviceServices::kLeastRing);
    if (!context.services.setRingSize(value))
      return kInvalidValue;
    break;
  case 2:
    value = std::max(value, DeviceServices::kLeastHeap);
    if (!context.services.setHeapSize(value))
      return kInvalidValue;
    break;
  }
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  context.limits[limit] = value;
  return kSuccess;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

// The context that an entry point with an optional handle means.
static Context *chosen(Context *context) {
  return context ? contextNamed(context) : currentContext();
}

static Result createWith(Context **context, const CreateParameters *parameters, unsigned flags,
                         int device) {
  if (parameters && (parameters->affinityCount || parameters->sharing))
    return fail(kNotSupported, "cuCtxCreate: execution affinity and shared contexts are not "
                               "supported");
  return createContext(context, flags, device);
}

extern "C" {

Result cuCtxCreate_v2(Context **context, unsigned flags, int device) {
  return call(RUBIA_CALL(context, flags, device),
              [&] { return createContext(context, flags, device); });
}
Result cuCtxCreate(Context **context, unsigned flags, int device) {
  return cuCtxCreate_v2(context, flags, device);
}
Result cuCtxCreate_v3(Context **context, void *affinity, int affinityCount, unsigned flags,
                      int device) {
  return call(RUBIA_CALL(context, affinity, affinityCount, flags, device), [&] {
    if (!affinity != !affinityCount)
      return kInvalidValue;
    CreateParameters parameters{affinity, affinityCount, nullptr};
    return createWith(context, &parameters, flags, device);
  });
}
Result cuCtxCreate_v4(Context **context, CreateParameters *parameters, unsigned flags, int device) {
  return call(RUBIA_CALL(context, parameters, flags, device),
              [&] { return createWith(context, parameters, flags, device); });
}

Result cuCtxDestroy_v2(Context *context) {
  if (isExiting())
    return kSuccess;
  return call(RUBIA_CALL(context), [&] { return destroyContext(context); });
}
Result cuCtxDestroy(Context *context) { return cuCtxDestroy_v2(context); }
Result cuCtxAttach(Context **context, unsigned flags) {
  return callIn(RUBIA_CALL(context, flags), [&](Context &current) {
    if (!context || flags)
      return kInvalidValue;
    ++current.attached;
    *context = &current;
    return kSuccess;
  });
}
Result cuCtxDetach(Context *context) {
  if (isExiting())
    return kSuccess;
  return call(RUBIA_CALL(context), [&] {
    if (!context || context != currentContext())
      return kInvalidContext;
    unsigned attached = context->attached;
    while (attached && !context->attached.compare_exchange_weak(attached, attached - 1))
      ;
    return attached ? kSuccess : destroyContext(context);
  });
}

Result cuCtxPushCurrent_v2(Context *context) {
  return call(RUBIA_CALL(context), [&] {
    if (!context)
      return kInvalidValue;
    if (!isContext(context))
      return kInvalidContext;
    thread().stack.push_back(context);
    return kSuccess;
  });
}
Result cuCtxPushCurrent(Context *context) { return cuCtxPushCurrent_v2(context); }

Result cuCtxPopCurrent_v2(Context **context) {
  return call(RUBIA_CALL(context), [&] {
    auto &stack = thread().stack;
    if (stack.empty())
      return kInvalidContext;
    if (context)
      *context = stack.back();
    stack.pop_back();
    return kSuccess;
  });
}
Result cuCtxPopCurrent(Context **context) { return cuCtxPopCurrent_v2(context); }

// Replaces the top of the stack; null pops it.
Result cuCtxSetCurrent(Context *context) {
  return call(RUBIA_CALL(context), [&] {
    if (context && !isContext(context))
      return kInvalidContext;
    auto &stack = thread().stack;
    if (!stack.empty())
      stack.pop_back();
    if (context)
      stack.push_back(context);
    return kSuccess;
  });
}

Result cuCtxGetCurrent(Context **context) {
  if (!context)
    return kInvalidValue;
  return call(RUBIA_CALL(context), [&] {
    *context = currentHandle();
    return kSuccess;
  });
}

Result cuCtxGetDevice_v2(int *device, Context *context) {
  return call(RUBIA_CALL(device, context), [&] {
    context = chosen(context);
    if (!context || !isContext(context))
      return kInvalidContext;
    return device ? (*device = context->device.ordinal, kSuccess) : kInvalidValue;
  });
}
Result cuCtxGetDevice(int *device) { return cuCtxGetDevice_v2(device, nullptr); }

Result cuCtxGetFlags(unsigned *flags) {
  return callIn(RUBIA_CALL(flags), [&](Context &context) {
    if (!flags)
      return kInvalidValue;
    *flags = context.flags | (context.primary ? kMapHost : 0);
    return kSuccess;
  });
}

Result cuCtxSetFlags(unsigned flags) {
  return callIn(RUBIA_CALL(flags), [&](Context &context) {
    if ((flags & ~kContextFlags) || !isSchedule(flags))
      return kInvalidValue;
    context.flags = flags & (kScheduleFlags | kResizeToMax | kSyncMemops); // others stay at 0
    return kSuccess;
  });
}

Result cuCtxGetId(Context *context, uint64_t *id) {
  return call(RUBIA_CALL(context, id), [&] {
    context = context ? context : currentHandle();
    if (!context || !isContext(context))
      return kInvalidContext;
    return id ? (*id = context->id, kSuccess) : kInvalidValue;
  });
}

Result cuCtxGetApiVersion(Context *handle, unsigned *version) {
  return call(RUBIA_CALL(handle, version), [&] {
    Context *context = chosen(handle);
    if (!context || !isContext(context))
      return context && !handle ? kContextIsDestroyed : kInvalidContext;
    return version ? (*version = 3020, kSuccess) : kInvalidValue;
  });
}

Result cuCtxSynchronize_v2(Context *handle) {
  return call(RUBIA_CALL(handle), [&] {
    Context *context = chosen(handle);
    if (!context)
      return kInvalidContext;
    if (Result result = enter(*context))
      return result;
    if (Result result = checkWaitForAll(*context))
      return result;
    const uint64_t reserved = context->services.reserved(); // before: see DeviceServices::print
    Result result = context->synchronizeDevice(reserved);
    if (!result)
      trimPools(context->device);
    return result;
  });
}
Result cuCtxSynchronize() { return cuCtxSynchronize_v2(nullptr); }

Result cuCtxGetLimit(size_t *value, int limit) {
  return callIn(RUBIA_CALL(value, limit), [&](Context &context) {
    if (!value)
      return kInvalidValue;
    if (limit < 0 || limit >= kLimitCount)
      return kInvalidValue;
    std::lock_guard<std::recursive_mutex> lock(context.mutex);
    *value = context.limits[limit];
    return kSuccess;
  });
}

Result cuCtxSetLimit(int limit, size_t value) {
  return callIn(RUBIA_CALL(limit, value), [&](Context &context) -> Result {
    if (Result result = checkUnsafe())
      return result;
    return setLimit(context, limit, value);
  });
}

// Cache and bank preferences are hints that AMD's hardware has no use for.
Result cuCtxGetCacheConfig(int *config) {
  return callIn(RUBIA_CALL(config), [&](Context &context) {
    return config ? (*config = context.cacheConfig, kSuccess) : kInvalidValue;
  });
}
Result cuCtxSetCacheConfig(int config) {
  return callIn(RUBIA_CALL(config), [&](Context &context) {
    if (config < 0 || config > 3)
      return kInvalidValue;
    context.cacheConfig = config;
    return kSuccess;
  });
}
Result cuCtxGetSharedMemConfig(int *config) {
  return callIn(RUBIA_CALL(config), [&](Context &context) {
    return config ? (*config = context.sharedConfig, kSuccess) : kInvalidValue;
  });
}
Result cuCtxSetSharedMemConfig(int config) {
  return callIn(RUBIA_CALL(config), [&](Context &context) {
    if (config < 0 || config > 2)
      return kInvalidValue;
    context.sharedConfig = config;
    return kSuccess;
  });
}
Result cuCtxResetPersistingL2Cache() {
  return callIn(RUBIA_CALL(), [](Context &) { return kSuccess; });
}

// As on an H100. HIP has one level above the usual one, which all streams below 0 get.
Result cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return callIn(RUBIA_CALL(least, greatest), [&](Context &) {
    if (least)
      *least = 0;
    if (greatest)
      *greatest = kHighestPriority;
    return kSuccess;
  });
}

Result cuDevicePrimaryCtxRetain(Context **context, int device) {
  return call(RUBIA_CALL(context, device), [&] { return retainPrimary(context, device); });
}

Result cuDevicePrimaryCtxRelease_v2(int device) {
  if (isExiting())
    return kSuccess;
  return call(RUBIA_CALL(device), [&] { return releasePrimary(device); });
}
Result cuDevicePrimaryCtxRelease(int device) { return cuDevicePrimaryCtxRelease_v2(device); }

Result cuDevicePrimaryCtxReset_v2(int device) {
  if (isExiting())
    return kSuccess;
  return call(RUBIA_CALL(device), [&] { return resetPrimary(device); });
}
Result cuDevicePrimaryCtxReset(int device) { return cuDevicePrimaryCtxReset_v2(device); }

Result cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
  return call(RUBIA_CALL(device, flags), [&] {
    Device *found = deviceAt(device);
    if (!found)
      return kInvalidDevice;
    if ((flags & ~kContextFlags) || (flags & kMapHost) || !isSchedule(flags))
      return kInvalidValue;
    found->primary->flags = flags;
    return kSuccess;
  });
}
Result cuDevicePrimaryCtxSetFlags(int device, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

Result cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  return call(RUBIA_CALL(device, flags, active), [&] {
    Device *found = deviceAt(device);
    if (!found)
      return kInvalidDevice;
    if (!flags || !active)
      return kInvalidValue;
    std::lock_guard<std::recursive_mutex> lock(found->primary->mutex);
    *flags = found->primary->flags;
    *active = found->primary->alive;
    return kSuccess;
  });
}

// Green contexts have the same (stream/GreenContext.cpp).
static Result giveResource(const Device &device, DeviceResource *out, int type) {
  if (!out)
    return kInvalidValue;
  if (type != 1) // CU_DEV_RESOURCE_TYPE_SM
    return kInvalidResourceType;
  *out = {};
  out->type = type;
  out->count = out->smallestPart = out->alignment = unsigned(device.attribute(16, 0));
  return kSuccess;
}
Result cuDeviceGetDevResource(int ordinal, DeviceResource *out, int type) {
  return call(RUBIA_CALL(ordinal, out, type), [&] {
    Device *device = deviceAt(ordinal);
    return device ? giveResource(*device, out, type) : kInvalidDevice;
  });
}
Result cuCtxGetDevResource(Context *context, DeviceResource *out, int type) {
  return call(RUBIA_CALL(context, out, type), [&] {
    return context && isContext(context) ? giveResource(context->device, out, type)
                                         : kInvalidContext;
  });
}
Result cuCtxGetExecAffinity(ExecutionAffinity *out, int type) {
  return callIn(RUBIA_CALL(out, type), [&](Context &context) {
    if (!out)
      return kInvalidValue;
    out->type = type;
    if (type) // CU_EXEC_AFFINITY_TYPE_SM_COUNT
      return kUnsupportedExecAffinity;
    out->count = unsigned(context.device.attribute(16, 0));
    return kSuccess;
  });
}

} // extern "C"
