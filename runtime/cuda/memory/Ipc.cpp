// SPDX-License-Identifier: Apache-2.0
// Memory and events of other processes, by handles of 64 bytes that processes hand to each other.
// They are HIP's. CUDA Driver API: cuIpc*.
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/Stream.h"

namespace rubia::runtime {
int hipIpcGetMemHandle(HipIpcHandle *handle, void *pointer);
int hipIpcOpenMemHandle(void **pointer, HipIpcHandle handle, unsigned flags);
int hipIpcCloseMemHandle(void *pointer);
int hipIpcGetEventHandle(HipIpcHandle *handle, void *event);
int hipIpcOpenEventHandle(void **event, HipIpcHandle handle);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

// How often each was opened: all get the same address, and each closes it.
static std::mutex &mutex = *new std::mutex;
static std::map<void *, unsigned> &users = *new std::map<void *, unsigned>;

int closeOpened(void *pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  int error = 0;
  for (unsigned rest = users[pointer]; rest && !error; --rest)
    error = hip().call<hipIpcCloseMemHandle>(pointer);
  users.erase(pointer);
  return error;
}

static Result refuse(const char *name) {
  return fail(kNotSupported, llvm::Twine(name) + ": HIP is too old for it");
}

// The first version opens memory once.
static Result open(Context &context, void **pointer, const HipIpcHandle &handle, unsigned flags,
                   bool isAgain) {
  constexpr unsigned kLazyPeerAccess = 1; // has to be set; another bit means nothing
  if (!pointer || (flags & ~3u) || !(flags & kLazyPeerAccess))
    return kInvalidValue;
  if (!hip().has<hipIpcOpenMemHandle>())
    return refuse("cuIpcOpenMemHandle");
  std::lock_guard<std::mutex> lock(mutex);
  void *opened = nullptr, *base = nullptr;
  size_t bytes = 0;
  if (Result result =
          context.check(hip().call<hipIpcOpenMemHandle>(&opened, handle, kLazyPeerAccess)))
    return result;
  if (users.contains(opened) && !isAgain) {
    (void)hip().call<hipIpcCloseMemHandle>(opened); // it stays open
    return kAlreadyMapped;
  }
  if (Result result = context.check(hip().call<hipMemGetAddressRange>(&base, &bytes, opened))) {
    (void)hip().call<hipIpcCloseMemHandle>(opened); // the first error counts
    return result;
  }
  if (!users[opened]++) {
    Allocation allocation;
    allocation.base = allocation.device = static_cast<char *>(opened);
    allocation.size = bytes;
    allocation.kind = AllocationKind::Opened;
    allocation.context = &context;
    addAllocation(allocation);
  }
  *pointer = opened;
  return kSuccess;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

// Of the allocation that holds the address.
Result cuIpcGetMemHandle(HipIpcHandle *handle, void *pointer) {
  return callIn(RUBIA_CALL(handle, pointer), [&](Context &context) -> Result {
    std::optional<Allocation> found = findAllocation(pointer);
    if (!handle || !found || found->kind != AllocationKind::Device)
      return kInvalidValue;
    if (!hip().has<hipIpcGetMemHandle>())
      return refuse("cuIpcGetMemHandle");
    return context.check(hip().call<hipIpcGetMemHandle>(handle, found->base));
  });
}

Result cuIpcOpenMemHandle_v2(void **pointer, HipIpcHandle handle, unsigned flags) {
  return callIn(RUBIA_CALL(pointer, handle, flags),
                [&](Context &context) { return open(context, pointer, handle, flags, true); });
}
Result cuIpcOpenMemHandle(void **pointer, HipIpcHandle handle, unsigned flags) {
  return callIn(RUBIA_CALL(pointer, handle, flags),
                [&](Context &context) { return open(context, pointer, handle, flags, false); });
}

Result cuIpcCloseMemHandle(void *pointer) {
  return callToRelease(RUBIA_CALL(pointer), Named{pointer}, [&](Context &context) -> Result {
    std::optional<Allocation> found = findAllocation(pointer);
    if (!found || found->base != pointer || found->kind != AllocationKind::Opened)
      return kInvalidValue;
    std::lock_guard<std::mutex> lock(mutex);
    auto counted = users.find(pointer);
    if (counted == users.end())
      return kInvalidValue;
    if (!--counted->second) {
      users.erase(counted);
      removeAllocation(pointer, found->id);
    }
    return context.checkSynchronized(hip().call<hipIpcCloseMemHandle>(pointer));
  });
}

Result cuIpcGetEventHandle(HipIpcHandle *handle, Event *event) {
  return callOn(RUBIA_CALL(handle, event), event, [&](Context &context) -> Result {
    if (!handle || !event)
      return kInvalidValue;
    if (!isLive(event) || !event->isInterprocess() || event->isOpened)
      return kInvalidHandle;
    if (!hip().has<hipIpcGetEventHandle>())
      return refuse("cuIpcGetEventHandle");
    return context.check(hip().call<hipIpcGetEventHandle>(handle, event->hip));
  });
}

Result cuIpcOpenEventHandle(Event **event, HipIpcHandle handle) {
  return callIn(RUBIA_CALL(event, handle), [&](Context &context) -> Result {
    if (!event)
      return kInvalidValue;
    if (!hip().has<hipIpcOpenEventHandle>())
      return refuse("cuIpcOpenEventHandle");
    void *opened = nullptr;
    if (Result result = context.check(hip().call<hipIpcOpenEventHandle>(&opened, handle)))
      return result == kInvalidValue ? kMapFailed : result;
    *event = addEvent(opened, context, kInterprocess | kWithoutTiming);
    (*event)->isOpened = true;
    return kSuccess;
  });
}

} // extern "C"
