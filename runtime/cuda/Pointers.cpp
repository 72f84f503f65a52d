// SPDX-License-Identifier: Apache-2.0
// What cuPointerGetAttribute tells of an address.
#include "runtime/cuda/Module.h"
#include "runtime/cuda/memory/PeerAccess.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

namespace rubia::runtime {
int hipPointerGetAttribute(void *value, int attribute, void *pointer);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

// The device whose memory holds a module's variable.
static const Device &deviceOfVariable(const Context &current, void *pointer) {
  constexpr int kDeviceOrdinal = 9; // HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  int hipDevice = -1;
  if (hip().has<hipPointerGetAttribute>() &&
      !hip().call<hipPointerGetAttribute>(&hipDevice, kDeviceOrdinal, pointer))
    for (const auto &device : theDriver.load()->devices)
      if (device->hipDevice == hipDevice)
        return *device;
  return current.device;
}

static bool isManagedVariable(Context &context, const void *pointer) {
  std::lock_guard<std::mutex> lock(context.modulesMutex);
  return llvm::any_of(context.modules, [&](const Module *module) {
    auto behind = module->managedVariables.upper_bound(static_cast<const char *>(pointer));
    if (behind == module->managedVariables.begin())
      return false;
    const auto &[address, size] = *std::prev(behind);
    return static_cast<const char *>(pointer) < address + size;
  });
}

// HIP knows the loader's allocations.
std::optional<Allocation> lookUp(Context &context, const void *pointer) {
  if (std::optional<Allocation> found = findAllocation(pointer))
    return found;
  void *base = nullptr;
  size_t size = 0;
  if (!pointer || hip().call<hipMemGetAddressRange>(&base, &size, const_cast<void *>(pointer)) ||
      !base)
    return std::nullopt;
  Allocation variable;
  variable.base = variable.device = static_cast<char *>(base);
  variable.size = size;
  const Device &device = deviceOfVariable(context, base);
  variable.context = &device == &context.device ? &context : device.primary.get();
  variable.ordinal = device.ordinal;
  if (variable.context && isManagedVariable(*variable.context, pointer))
    variable.kind = AllocationKind::Managed;
  return variable;
}

// SYNC_MEMOPS asks that synchronous copies really are; ours are, whatever it says. Of device memory
// it is on until the program has it off. Ids of allocations are not used again.
static std::mutex &syncMutex = *new std::mutex;
static std::set<uint64_t> &syncOff = *new std::set<uint64_t>;
static bool isSyncOff(uint64_t id) {
  std::lock_guard<std::mutex> lock(syncMutex);
  return syncOff.contains(id);
}

static bool isHost(const Allocation &a) {
  return a.kind == AllocationKind::Host || a.kind == AllocationKind::Registered || a.isOnHost;
}

// Writes the attribute, whose size is its own. Without an allocation: zeroes, and -1 for the
// device.
template <class T> static Result put(void *out, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  memcpy(out, &value, sizeof(T));
  return kSuccess;
}

// What it was mapped into, or the allocation.
static Range rangeOf(const Allocation &a) {
  if (a.kind == AllocationKind::Mapped)
    if (std::optional<Range> found = reservationOf(a.base))
      return *found;
  return {a.base, a.size};
}

static Result attribute(const std::optional<Allocation> &found, void *pointer, int attribute,
                        void *out) {
  Allocation none;
  const Allocation &a = found ? *found : none;
  size_t offset = found ? static_cast<char *>(pointer) - a.base : 0;
  switch (PointerAttribute(attribute)) {
  case kPointerContext:
    return put(out, a.kind == AllocationKind::Pool ? nullptr : a.context); // of no context
  case kPointerMemoryType:
    return put(out, !found ? 0u : isHost(a) ? unsigned(kMemoryHost) : unsigned(kMemoryDevice));
  case kPointerDevicePointer:
    if (Context *current = currentContext())
      if (Result result = checkAccess(*current, pointer))
        return result;
    if (isHost(a) && a.device != a.base) // launches cannot tell by it that it is pinned memory
      DeviceServices::shareHostMemory();
    return put(out, a.device ? a.device + offset : nullptr);
  case kPointerHostPointer:
    if (!found) // for all that the driver knows it is the host's
      return put(out, pointer);
    return put(out, isHost(a) || a.kind == AllocationKind::Managed ? a.base + offset : nullptr);
  case kPointerBufferId:
  case kPointerMemoryBlockId:
    return put(out, a.id);
  case kPointerIsManaged:
    return put(out, uint32_t(found && a.kind == AllocationKind::Managed));
  case kPointerDeviceOrdinal:
    return put(out, a.ordinal >= 0 || !a.context ? (found ? std::max(a.ordinal, 0) : -2)
                                                 : a.context->device.ordinal);
  case kPointerRangeStart:
    return put(out, rangeOf(a).base);
  case kPointerRangeSize:
    return put(out, rangeOf(a).size);
  case kPointerMappingBase:
    return put(out, a.base);
  case kPointerMappingSize:
    return put(out, a.size);
  case kPointerMapped:
    return put(out, uint32_t(found.has_value()));
  case kPointerAccessFlags:
    if (found && a.kind == AllocationKind::Mapped) {
      Context *current = currentContext();
      return put(out,
                 uint32_t(mappedAccess(pointer, current ? current->device.ordinal : a.ordinal)));
    }
    return put(out, uint32_t(found ? 3 : 0)); // read and write
  case kPointerMempoolHandle:
    return put(out, a.pool.get());
  case kPointerAllowedHandleTypes:
    return put(out, uint64_t(a.kind == AllocationKind::Mapped ? mappedHandleTypes(pointer) : 0));
  case kPointerIsLegacyIpcCapable:
    return put(out, uint32_t(found && a.kind == AllocationKind::Device));
  case kPointerSyncMemops:
    return put(out, uint32_t(found && !isHost(a) && !isSyncOff(a.id)));
  case kPointerIsGpuDirectRdmaCapable:
  case kPointerIsHwDecompressCapable:
    return put(out, uint32_t(0));
  case kPointerP2pTokens: { // no other hardware reaches the memory: there are none to give
    struct {
      uint64_t token;
      uint32_t space;
    } none = {};
    return isHost(a) ? kInvalidValue : put(out, none);
  }
  }
  return kInvalidValue;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuPointerGetAttribute(void *out, int which, void *pointer) {
  return callOn(RUBIA_CALL(out, which, pointer), Named{pointer}, [&](Context &context) {
    std::optional<Allocation> found = lookUp(context, pointer);
    if (!out || !found)
      return kInvalidValue;
    Result result = attribute(found, pointer, which, out);
    // Memory without an address on the host; the plural query gives null.
    const bool lacksHost = which == kPointerHostPointer && !*static_cast<void **>(out);
    return !result && lacksHost ? kInvalidValue : result;
  });
}

// Unlike the single query, an address that is not known gives zeroes, but is its own of the host,
// and no context is needed to know none.
Result cuPointerGetAttributes(unsigned count, int *which, void **out, void *pointer) {
  return call(RUBIA_CALL(count, which, out, pointer), [&]() -> Result {
    if (!count || !which || !out || llvm::is_contained(llvm::ArrayRef(out, count), nullptr))
      return kInvalidValue;
    Context *context = currentContext();
    if (!context)
      context = contextOf(Named{pointer});
    std::optional<Allocation> found;
    if (context) {
      if (Result result = enter(*context))
        return result;
      found = lookUp(*context, pointer);
    }
    for (unsigned i = 0; i < count; ++i)
      if (Result result = attribute(found, pointer, which[i], out[i]))
        return result;
    return kSuccess;
  });
}

Result cuPointerSetAttribute(const void *value, int which, void *pointer) {
  return callIn(RUBIA_CALL(value, which, pointer), [&](Context &context) {
    const std::optional<Allocation> found = lookUp(context, pointer);
    if (!value || which != kPointerSyncMemops || !found)
      return kInvalidValue;
    std::lock_guard<std::mutex> lock(syncMutex);
    if (*static_cast<const unsigned char *>(value))
      syncOff.erase(found->id);
    else
      syncOff.insert(found->id);
    return kSuccess;
  });
}

} // extern "C"
