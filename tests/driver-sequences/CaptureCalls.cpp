// SPDX-License-Identifier: Apache-2.0
// As CaptureOperations.cpp, for calls that few programs make while they capture: which of them a
// capture forbids, which one first: the capture or what is wrong with an argument, and which calls
// become nodes.
#include "tests/driver-sequences/Sequence.h"

namespace sequences {
namespace {

struct Location { // CUmemLocation
  int type, id;
};

/// What the calls need, made before any capture.
struct Objects : Setup {
  Pointer managed = kNone, event = kNone, executable = kNone, pool = kNone, library = kNone;
  Pointer array = kNone, reserved = kNone, spare = kNone, loaded = kNone, pageable[64];
  Pointer recorded = kNone, made = kNone, levels = kNone;
  uint64_t handle = 0;
  size_t size = 0;
  int number = 0;
  Objects() {
    quiet("cuMemAllocManaged", &managed, size_t(4096), 1u);
    quiet("cuEventCreate", &event, 0u);
    quiet("cuEventCreate", &recorded, 0u);
    quiet("cuEventRecord", recorded, other);
    quiet("cuStreamSynchronize", other);
    quiet("cuGraphInstantiateWithFlags", &executable, makeGraph(), 0ull);
    quiet("cuDeviceGetDefaultMemPool", &pool, 0);
  }
};

constexpr const char *kText = ".version 7.0\n.target sm_80\n.visible .entry k()\n{\nret;\n}\n";

void callBack(Pointer, int, Pointer) {}
void callHost(Pointer) {}

struct Call {
  const char *name;
  int (*run)(Objects &o);
};

int prefetch(Objects &o, Pointer memory, size_t bytes, int device) {
  return quiet("cuMemPrefetchAsync", memory, bytes, device, o.stream);
}
int prefetchTo(Objects &o, Pointer memory, Location to, unsigned flags) {
  return quiet("cuMemPrefetchAsync_v2", memory, size_t(64), to, flags, o.stream);
}
int batch(Objects &o, const char *function, Pointer memory, unsigned long long flags) {
  static size_t size = 64, start = 0;
  static Location place = {1, 0};
  return quiet(function, &memory, &size, size_t(1), &place, &start, size_t(1), flags, o.stream);
}
int discard(Objects &o, Pointer memory, unsigned long long flags) {
  static size_t size = 64;
  return quiet("cuMemDiscardBatchAsync", &memory, &size, size_t(1), flags, o.stream);
}
int attach(Objects &o, Pointer memory, size_t bytes, unsigned flags) {
  return quiet("cuStreamAttachMemAsync", o.stream, memory, bytes, flags);
}

const Call kCalls[] = {
    {"prefetch of managed memory", [](Objects &o) { return prefetch(o, o.managed, 4096, 0); }},
    {"prefetch to the host", [](Objects &o) { return prefetch(o, o.managed, 4096, -1); }},
    {"prefetch of device memory", [](Objects &o) { return prefetch(o, o.memory, 64, 0); }},
    {"prefetch of pinned memory", [](Objects &o) { return prefetch(o, o.host, 64, 0); }},
    {"prefetch of null", [](Objects &o) { return prefetch(o, kNone, 64, 0); }},
    {"prefetch of nothing", [](Objects &o) { return prefetch(o, o.managed, 0, 0); }},
    {"prefetch of too much", [](Objects &o) { return prefetch(o, o.managed, 1 << 30, 0); }},
    {"prefetch to no device", [](Objects &o) { return prefetch(o, o.managed, 64, 99); }},
    {"prefetch to a place", [](Objects &o) { return prefetchTo(o, o.managed, {1, 0}, 0); }},
    {"prefetch to no place", [](Objects &o) { return prefetchTo(o, o.managed, {9, 0}, 0); }},
    {"prefetch with flags", [](Objects &o) { return prefetchTo(o, o.managed, {1, 0}, 1); }},
    {"prefetches", [](Objects &o) { return batch(o, "cuMemPrefetchBatchAsync", o.managed, 0); }},
    {"prefetches of device memory",
     [](Objects &o) { return batch(o, "cuMemPrefetchBatchAsync", o.memory, 0); }},
    {"prefetches with flags",
     [](Objects &o) { return batch(o, "cuMemPrefetchBatchAsync", o.managed, 1); }},
    {"discards and prefetches",
     [](Objects &o) { return batch(o, "cuMemDiscardAndPrefetchBatchAsync", o.managed, 0); }},
    {"discards", [](Objects &o) { return discard(o, o.managed, 0); }},
    {"discards of device memory", [](Objects &o) { return discard(o, o.memory, 0); }},
    {"attach of managed memory", [](Objects &o) { return attach(o, o.managed, 0, 1); }},
    {"attach of null", [](Objects &o) { return attach(o, kNone, 0, 1); }},
    {"attach with flags", [](Objects &o) { return attach(o, o.managed, 0, 9); }},
    {"callback",
     [](Objects &o) { return quiet("cuStreamAddCallback", o.stream, callBack, kNone, 0u); }},
    {"callback with flags",
     [](Objects &o) { return quiet("cuStreamAddCallback", o.stream, callBack, kNone, 1u); }},
    {"host function",
     [](Objects &o) { return quiet("cuLaunchHostFunc", o.stream, callHost, kNone); }},
    {"synchronous copy to pinned memory",
     [](Objects &o) { return quiet("cuMemcpy", Pointer(o.host), o.memory, size_t(64)); }},
    {"copy from pageable memory",
     [](Objects &o) {
       return quiet("cuMemcpyHtoDAsync_v2", o.memory, static_cast<const void *>(o.pageable),
                    size_t(64), o.stream);
     }},
    {"stream attribute",
     [](Objects &o) {
       long long value[8] = {1};
       return quiet("cuStreamSetAttribute", o.stream, 3, static_cast<const void *>(value));
     }},
    {"attributes copied",
     [](Objects &o) { return quiet("cuStreamCopyAttributes", o.stream, o.other); }},
    {"graph launched on it",
     [](Objects &o) { return quiet("cuGraphLaunch", o.executable, o.stream); }},
    {"graph launched on another",
     [](Objects &o) { return quiet("cuGraphLaunch", o.executable, o.other); }},
    {"graph uploaded on it",
     [](Objects &o) { return quiet("cuGraphUpload", o.executable, o.stream); }},
    {"graph uploaded on another",
     [](Objects &o) { return quiet("cuGraphUpload", o.executable, o.other); }},
    {"graph destroyed", [](Objects &) { return quiet("cuGraphDestroy", makeGraph()); }},
    {"wait for a value",
     [](Objects &o) { return quiet("cuStreamWaitValue32_v2", o.stream, o.memory, 0u, 0u); }},
    {"host memory registered",
     [](Objects &o) { return quiet("cuMemHostRegister_v2", Pointer(o.pageable), size_t(64), 0u); }},
    {"host memory unregistered",
     [](Objects &o) { return quiet("cuMemHostUnregister", Pointer(o.pageable)); }},
    {"pitched memory",
     [](Objects &o) {
       return quiet("cuMemAllocPitch_v2", &o.made, &o.size, size_t(64), size_t(4), 4u);
     }},
    {"array made",
     [](Objects &o) {
       struct {
         size_t width, height;
         int format;
         unsigned channels;
       } shape = {16, 16, 0x20, 1};
       return quiet("cuArrayCreate_v2", &o.array, &shape);
     }},
    {"array destroyed", [](Objects &o) { return quiet("cuArrayDestroy", o.array); }},
    {"addresses reserved",
     [](Objects &o) {
       return quiet("cuMemAddressReserve", &o.reserved, size_t(2 << 20), size_t(0), kNone, 0ull);
     }},
    {"memory made",
     [](Objects &o) {
       int properties[8] = {1, 0, 1, 0};
       return quiet("cuMemCreate", &o.handle, size_t(2 << 20),
                    static_cast<const void *>(properties), 0ull);
     }},
    {"memory mapped",
     [](Objects &o) {
       return quiet("cuMemMap", o.reserved, size_t(2 << 20), size_t(0), o.handle, 0ull);
     }},
    {"access set",
     [](Objects &o) {
       const int access[] = {1, 0, 3};
       return quiet("cuMemSetAccess", o.reserved, size_t(2 << 20),
                    static_cast<const void *>(access), size_t(1));
     }},
    {"memory unmapped",
     [](Objects &o) { return quiet("cuMemUnmap", o.reserved, size_t(2 << 20)); }},
    {"memory released", [](Objects &o) { return quiet("cuMemRelease", o.handle); }},
    {"addresses freed",
     [](Objects &o) { return quiet("cuMemAddressFree", o.reserved, size_t(2 << 20)); }},
    {"pool made",
     [](Objects &o) {
       int properties[32] = {1, 0, 1, 0};
       return quiet("cuMemPoolCreate", &o.spare, static_cast<const void *>(properties));
     }},
    {"pool destroyed", [](Objects &o) { return quiet("cuMemPoolDestroy", o.spare); }},
    {"pool trimmed", [](Objects &o) { return quiet("cuMemPoolTrimTo", o.pool, size_t(0)); }},
    {"attribute of a pool set",
     [](Objects &o) {
       uint64_t threshold = 0;
       return quiet("cuMemPoolSetAttribute", o.pool, 4, Pointer(&threshold));
     }},
    {"attribute of a pool",
     [](Objects &o) {
       uint64_t threshold = 0;
       return quiet("cuMemPoolGetAttribute", o.pool, 4, Pointer(&threshold));
     }},
    {"access to a pool set",
     [](Objects &o) {
       const int access[] = {1, 0, 3};
       return quiet("cuMemPoolSetAccess", o.pool, static_cast<const void *>(access), size_t(1));
     }},
    {"pool of the device set", [](Objects &o) { return quiet("cuDeviceSetMemPool", 0, o.pool); }},
    {"memory of a pool on it",
     [](Objects &o) {
       return quiet("cuMemAllocFromPoolAsync", &o.made, size_t(64), o.pool, o.stream);
     }},
    {"wrong memory freed on it",
     [](Objects &o) { return quiet("cuMemFreeAsync", at(o.memory, 4), o.stream); }},
    {"null freed on it", [](Objects &o) { return quiet("cuMemFreeAsync", kNone, o.stream); }},
    {"library loaded",
     [](Objects &o) {
       return quiet("cuLibraryLoadData", &o.library, static_cast<const void *>(kText),
                    static_cast<int *>(nullptr), static_cast<void **>(nullptr), 0u,
                    static_cast<int *>(nullptr), static_cast<void **>(nullptr), 0u);
     }},
    {"library unloaded", [](Objects &o) { return quiet("cuLibraryUnload", o.library); }},
    {"module unloaded", [](Objects &o) { return quiet("cuModuleUnload", o.loaded); }},
    {"event destroyed", [](Objects &o) { return quiet("cuEventDestroy_v2", o.event); }},
    {"time between events",
     [](Objects &o) {
       float time;
       return quiet("cuEventElapsedTime", &time, o.recorded, o.recorded);
     }},
    {"advice", [](Objects &o) { return quiet("cuMemAdvise", o.managed, size_t(64), 1, 0); }},
    {"attribute of a range",
     [](Objects &o) {
       return quiet("cuMemRangeGetAttribute", Pointer(&o.number), size_t(4), 1, o.managed,
                    size_t(64));
     }},
    {"context recorded",
     [](Objects &o) { return quiet("cuCtxRecordEvent", o.context, o.recorded); }},
    {"context waits", [](Objects &o) { return quiet("cuCtxWaitEvent", o.context, o.recorded); }},
    {"graph memory trimmed", [](Objects &) { return quiet("cuDeviceGraphMemTrim", 0); }},
    {"persisting lines reset", [](Objects &) { return quiet("cuCtxResetPersistingL2Cache"); }},
    {"address range",
     [](Objects &o) { return quiet("cuMemGetAddressRange_v2", &o.made, &o.size, o.memory); }},
    {"array of levels made",
     [](Objects &o) {
       struct {
         size_t width, height, depth;
         int format;
         unsigned channels, flags;
       } shape = {16, 16, 0, 0x20, 1, 0};
       return quiet("cuMipmappedArrayCreate", &o.levels, &shape, 2u);
     }},
    {"array of levels destroyed",
     [](Objects &o) { return quiet("cuMipmappedArrayDestroy", o.levels); }},
    {"handle for other processes",
     [](Objects &o) {
       char handle[64];
       return quiet("cuIpcGetMemHandle", Pointer(handle), o.memory);
     }},
    {"primary context retained",
     [](Objects &o) { return quiet("cuDevicePrimaryCtxRetain", &o.made, 0); }},
    {"primary context released",
     [](Objects &) { return quiet("cuDevicePrimaryCtxRelease_v2", 0); }},
    {"context made", [](Objects &o) { return quiet("cuCtxCreate_v2", &o.spare, 0u, 0); }},
    {"context destroyed", [](Objects &o) { return quiet("cuCtxDestroy_v2", o.spare); }},
    {"limit", [](Objects &o) { return quiet("cuCtxGetLimit", &o.size, 0); }},
    {"limit set", [](Objects &) { return quiet("cuCtxSetLimit", 0, size_t(2048)); }},
    {"profiler started", [](Objects &) { return quiet("cuProfilerStart"); }},
    {"executable graph destroyed",
     [](Objects &o) { return quiet("cuGraphExecDestroy", o.executable); }},
    {"prefetch on another stream",
     [](Objects &o) { return quiet("cuMemPrefetchAsync", o.managed, size_t(64), 0, o.other); }},
    {"prefetch on the legacy stream",
     [](Objects &o) { return quiet("cuMemPrefetchAsync", o.managed, size_t(64), 0, kNone); }},
    {"attach on another stream",
     [](Objects &o) { return quiet("cuStreamAttachMemAsync", o.other, o.managed, size_t(0), 1u); }},
    {"null freed on another stream",
     [](Objects &o) { return quiet("cuMemFreeAsync", kNone, o.other); }},
    {"null freed", [](Objects &) { return quiet("cuMemFree_v2", kNone); }},
    {"another stream destroyed", [](Objects &o) { return quiet("cuStreamDestroy_v2", o.other); }},
};

void tryCalls(int mode) {
  static Objects o;
  for (const Call &call : kCalls) {
    if (call.name == std::string("module unloaded"))
      quiet("cuModuleLoadData", &o.loaded, static_cast<const void *>(kText));
    const int began = quiet("cuStreamBeginCapture_v2", o.stream, mode);
    int status = -1;
    const int code = call.run(o);
    quiet("cuStreamIsCapturing", o.stream, &status);
    Pointer graph = kNone;
    const int ended = quiet("cuStreamEndCapture", o.stream, &graph);
    size_t count = 0;
    if (graph)
      quiet("cuGraphGetNodes", graph, static_cast<Pointer *>(nullptr), &count);
    say("%s: begin %d, code %d, status %d, end %d, %zu nodes", call.name, began, code, status,
        ended, count);
    if (graph)
      quiet("cuGraphDestroy", graph);
    quiet("cuCtxSetCurrent", o.context);
    quiet("cuCtxSynchronize");
  }
}

SEQUENCE(calls_in_a_global_capture) { tryCalls(0); }
SEQUENCE(calls_in_a_relaxed_capture) { tryCalls(2); }

} // namespace
} // namespace sequences
