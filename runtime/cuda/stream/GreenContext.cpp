// SPDX-License-Identifier: Apache-2.0
// Green contexts: parts of a device's multiprocessors. HIP does not give a context a part, so there
// is one part, which is all of them; a green context shares its device's primary context. It has a
// handle of its own, since programs ask whether it is current.
#include "runtime/cuda/Api.h"
#include "runtime/cuda/Context.h"
#include "runtime/cuda/HandleTable.h"
#include "runtime/cuda/Stream.h"

namespace rubia::runtime::cuda {

/// No function ends one.
struct ResourceList {
  DeviceResource resource;
};

struct GreenContext {
  Device &device;
  Context *primary;
  Context *handle; // of cuCtxFromGreenCtx
  uint64_t id;
};

static HandleTable<ResourceList> &lists = HandleTable<ResourceList>::leaked();
static HandleTable<GreenContext> &greenContexts = HandleTable<GreenContext>::leaked();

constexpr int kMultiprocessors = 1;    // CU_DEV_RESOURCE_TYPE_SM
constexpr unsigned kDefaultStream = 1; // CU_GREEN_CTX_DEFAULT_STREAM
constexpr unsigned kNonBlocking = 1;   // CU_STREAM_NON_BLOCKING

/// The frame of a function that names a green context.
template <class Body>
static Result callOf(const TracedCall &entry, GreenContext *green, Body body) {
  return call(entry, [&]() -> Result {
    if (!green)
      return kInvalidContext;
    return greenContexts.contains(green) ? body(*green) : kInvalidHandle;
  });
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

// As many groups as there can be, up to `count`: one, if it is large enough.
Result cuDevSmResourceSplitByCount(DeviceResource *groups, unsigned *count,
                                   const DeviceResource *input, DeviceResource *remaining,
                                   unsigned flags, unsigned least) {
  return call(RUBIA_CALL(groups, count, input, remaining, flags, least), [&]() -> Result {
    (void)flags; // how multiprocessors are taken apart, which these are not; any are taken
    if (!count || !input || (groups && !*count))
      return kInvalidValue;
    if (input->type != kMultiprocessors)
      return kInvalidResourceType;
    if (!input->count || least > input->count)
      return kInvalidResourceConfiguration;
    *count = 1;
    if (!groups)
      return kSuccess;
    groups[0] = *input;
    if (remaining) {
      *remaining = *input;
      remaining->count = 0;
    }
    return kSuccess;
  });
}

Result cuDevResourceGenerateDesc(ResourceList **out, const DeviceResource *resources,
                                 unsigned count) {
  return call(RUBIA_CALL(out, resources, count), [&]() -> Result {
    if (!out || !resources || count != 1)
      return kInvalidValue;
    if (resources->type != kMultiprocessors)
      return kInvalidResourceType;
    if (!resources->count)
      return kInvalidResourceConfiguration;
    *out = lists.add(std::make_shared<ResourceList>(ResourceList{*resources}));
    return kSuccess;
  });
}

Result cuGreenCtxCreate(GreenContext **out, ResourceList *list, int ordinal, unsigned flags) {
  return call(RUBIA_CALL(out, list, ordinal, flags), [&]() -> Result {
    Device *device = deviceAt(ordinal);
    if (!out || flags != kDefaultStream)
      return kInvalidValue;
    if (!device)
      return kInvalidDevice;
    if (!lists.contains(list))
      return kInvalidHandle;
    if (list->resource.count != unsigned(device->attribute(16, 0))) // MULTIPROCESSOR_COUNT
      return fail(kInvalidResourceConfiguration,
                  "cuGreenCtxCreate: a part of the multiprocessors, or another device's");
    Context *primary = nullptr;
    if (Result result = retainPrimary(&primary, ordinal))
      return result;
    static std::atomic<uint64_t> lastId = 0;
    *out = greenContexts.add(std::make_shared<GreenContext>(
        GreenContext{*device, primary, makeGreenHandle(*primary), ++lastId}));
    return kSuccess;
  });
}

Result cuGreenCtxDestroy(GreenContext *green) {
  if (isExiting())
    return kSuccess;
  return call(RUBIA_CALL(green), [&]() -> Result {
    if (!green)
      return kInvalidContext;
    const std::shared_ptr<GreenContext> removed = greenContexts.remove(green);
    if (!removed)
      return kInvalidHandle;
    const int ordinal = green->device.ordinal;
    if (enter(*green->primary) == kSuccess)
      destroyStreamsOf(*green, *green->primary);
    endGreenHandle(green->handle);
    return releasePrimary(ordinal);
  });
}

Result cuCtxFromGreenCtx(Context **out, GreenContext *green) {
  return callOf(RUBIA_CALL(out, green), green, [&](GreenContext &found) {
    return out ? (*out = found.handle, kSuccess) : kInvalidValue;
  });
}

Result cuGreenCtxGetDevResource(GreenContext *green, DeviceResource *out, int type) {
  return callOf(RUBIA_CALL(green, out, type), green, [&](GreenContext &found) {
    return cuDeviceGetDevResource(found.device.ordinal, out, type);
  });
}

Result cuGreenCtxGetId(GreenContext *green, unsigned long long *id) {
  return callOf(RUBIA_CALL(green, id), green, [&](GreenContext &found) {
    return id ? (*id = found.id, kSuccess) : kInvalidValue;
  });
}

// Streams of the primary context are among those that are awaited: more than was asked for.
Result cuGreenCtxRecordEvent(GreenContext *green, Event *event) {
  return callOf(RUBIA_CALL(green, event), green,
                [&](GreenContext &found) { return cuCtxRecordEvent(found.primary, event); });
}
Result cuGreenCtxWaitEvent(GreenContext *green, Event *event) {
  return callOf(RUBIA_CALL(green, event), green,
                [&](GreenContext &found) { return cuCtxWaitEvent(found.primary, event); });
}

Result cuGreenCtxStreamCreate(Stream **out, GreenContext *green, unsigned flags, int priority) {
  return callOf(RUBIA_CALL(out, green, flags, priority), green, [&](GreenContext &found) -> Result {
    if (!out || flags != kNonBlocking)
      return kInvalidValue;
    if (Result result = enter(*found.primary))
      return result;
    return createStream(*found.primary, out, flags, priority, green);
  });
}

} // extern "C"
