// SPDX-License-Identifier: Apache-2.0
// The entry points of threads' own default streams, and what can be asked of streams, events,
// contexts and devices.
#include "tests/driver-sequences/Sequence.h"
#include <cstdlib>
#include <cstring>
#include <thread>

namespace sequences {
namespace {

void count(void *data) { ++*static_cast<int *>(data); }
void counted(void *, int status, void *data) { *static_cast<int *>(data) += 10 + status; }

CopyParameters rows(Pointer to, Pointer from) {
  CopyParameters p = copyParameters(2, to, 2, from, 16);
  p.height = 2;
  p.depth = 2;
  p.from.pitch = p.to.pitch = 32;
  p.from.height = p.to.height = 2;
  return p;
}

struct Plane { // CUDA_MEMCPY2D
  struct Side {
    size_t x, y;
    int type;
    Pointer host, device, array;
    size_t pitch;
  } from, to;
  size_t width, height;
};
Plane plane(Pointer to, Pointer from) {
  return {{0, 0, 2, kNone, from, kNone, 32}, {0, 0, 2, kNone, to, kNone, 32}, 16, 3};
}

SEQUENCE(thread_stream_copies) {
  Setup s;
  for (int i = 0; i < 64; ++i)
    s.host[i] = i;
  const void *host = s.host;
  cu("cuMemcpyHtoD_v2_ptds", s.memory, host, size_t(256));
  cu("cuMemcpyDtoD_v2_ptds", s.memory2, s.memory, size_t(256));
  memset(s.host, 0, 256);
  cu("cuMemcpyDtoH_v2_ptds", Pointer(s.host), s.memory2, size_t(256));
  say("%d %d", s.host[1], s.host[63]);
  cu("cuMemcpy_ptds", s.memory2, Pointer(s.host), size_t(128));
  cu("cuMemcpyPeer_ptds", s.memory, s.context, s.memory2, s.context, size_t(64));
  sayMemory("memory", s.memory);
  Plane p = plane(s.memory2, s.memory);
  cu("cuMemcpy2D_v2_ptds", static_cast<const Plane *>(&p));
  cu("cuMemcpy2DUnaligned_v2_ptds", static_cast<const Plane *>(&p));
  cu("cuMemcpy2DUnaligned_v2", static_cast<const Plane *>(&p));
  CopyParameters copy = rows(s.memory2, s.memory);
  cu("cuMemcpy3D_v2_ptds", static_cast<const CopyParameters *>(&copy));
  sayMemory("memory2", s.memory2);
}

SEQUENCE(thread_stream_copies_behind_it) {
  Setup s;
  for (int i = 0; i < 64; ++i)
    s.host[i] = i + 1;
  const void *host = s.host;
  cu("cuMemcpyHtoDAsync_v2_ptsz", s.memory, host, size_t(256), kNone);
  cu("cuMemcpyDtoDAsync_v2_ptsz", s.memory2, s.memory, size_t(256), kNone);
  cu("cuMemcpyAsync_ptsz", s.memory, s.memory2, size_t(256), kNone);
  cu("cuMemcpyPeerAsync_ptsz", s.memory, s.context, s.memory2, s.context, size_t(64), kNone);
  Plane p = plane(s.memory2, s.memory);
  cu("cuMemcpy2DAsync_v2_ptsz", static_cast<const Plane *>(&p), kNone);
  CopyParameters copy = rows(s.memory2, s.memory);
  cu("cuMemcpy3DAsync_v2_ptsz", static_cast<const CopyParameters *>(&copy), kNone);
  cu("cuMemcpy3DAsync_v2", static_cast<const CopyParameters *>(&copy), s.stream);
  cu("cuMemcpyDtoHAsync_v2_ptsz", Pointer(s.host + 32), s.memory2, size_t(128), kNone);
  cu("cuStreamSynchronize_ptsz", kNone);
  say("%d %d", s.host[32], s.host[63]);
  cu("cuStreamQuery_ptsz", kNone);
}

SEQUENCE(thread_stream_fills) {
  Setup s;
  using Byte = unsigned char;
  using Short = unsigned short;
  cu("cuMemsetD8_v2_ptds", s.memory, Byte(1), size_t(256));
  cu("cuMemsetD16_v2_ptds", s.memory, Short(2), size_t(4));
  cu("cuMemsetD32_v2_ptds", s.memory2, 3u, size_t(64));
  cu("cuMemsetD2D8_v2_ptds", s.memory2, size_t(32), Byte(4), size_t(4), size_t(2));
  cu("cuMemsetD2D16_v2_ptds", s.memory2, size_t(64), Short(5), size_t(1), size_t(4));
  cu("cuMemsetD2D32_v2_ptds", s.memory2, size_t(252), 6u, size_t(1), size_t(2));
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
  cu("cuMemsetD8Async_ptsz", s.memory, Byte(7), size_t(4), kNone);
  cu("cuMemsetD16Async_ptsz", s.memory, Short(8), size_t(1), kNone);
  cu("cuMemsetD32Async_ptsz", s.memory, 9u, size_t(2), kNone);
  cu("cuMemsetD2D8Async_ptsz", s.memory, size_t(252), Byte(1), size_t(4), size_t(2), kNone);
  cu("cuMemsetD2D16Async_ptsz", s.memory2, size_t(252), Short(2), size_t(2), size_t(2), kNone);
  cu("cuMemsetD2D32Async_ptsz", s.memory2, size_t(16), 3u, size_t(2), size_t(2), kNone);
  // Beside the others: no stream waits for the other one.
  cu("cuMemsetD2D16Async", Pointer(static_cast<char *>(s.memory2) + 128), size_t(32), Short(4),
     size_t(2), size_t(2), s.stream);
  cu("cuMemsetD2D32Async", Pointer(static_cast<char *>(s.memory2) + 192), size_t(32), 5u, size_t(1),
     size_t(2), s.stream);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
}

SEQUENCE(thread_stream_launches) {
  Setup s;
  int value = 2, ended = 0;
  void *values[] = {&s.memory, &value};
  void **none = nullptr;
  cu("cuLaunchKernel_ptsz", s.add, 1u, 1u, 1u, 64u, 1u, 1u, 0u, kNone, &values[0], none);
  cu("cuLaunchCooperativeKernel_ptsz", s.add, 1u, 1u, 1u, 64u, 1u, 1u, 0u, kNone, &values[0]);
  struct {
    unsigned grid[3], block[3], sharedBytes;
    Pointer stream;
    void *attributes;
    unsigned count;
  } config{{1, 1, 1}, {64, 1, 1}, 0, kNone, nullptr, 0};
  cu("cuLaunchKernelEx_ptsz", &config, s.add, &values[0], none);
  cu("cuLaunchHostFunc_ptsz", kNone, count, Pointer(&ended));
  cu("cuStreamAddCallback_ptsz", kNone, counted, Pointer(&ended), 0u);
  cu("cuStreamAttachMemAsync_ptsz", kNone, s.memory, size_t(0), 1u);
  cu("cuStreamSynchronize_ptsz", kNone);
  say("%d", ended);
  sayMemory("memory", s.memory);
}

SEQUENCE(thread_stream_events_and_memory) {
  Setup s;
  Pointer event = kNone, a = kNone, b = kNone, pool = kNone;
  quiet("cuEventCreate", &event, 0u);
  cu("cuEventRecord_ptsz", event, kNone);
  cu("cuEventRecordWithFlags_ptsz", event, kNone, 0u);
  cu("cuStreamWaitEvent_ptsz", kNone, event, 0u);
  cu("cuMemAllocAsync_ptsz", &a, size_t(256), kNone);
  cu("cuDeviceGetMemPool", &pool, 0);
  cu("cuMemAllocFromPoolAsync_ptsz", &b, size_t(256), pool, kNone);
  cu("cuMemAllocFromPoolAsync", &b, size_t(256), pool, s.stream);
  cu("cuMemsetD32Async_ptsz", a, 5u, size_t(64), kNone);
  sayMemory("a", a);
  cu("cuMemFreeAsync_ptsz", a, kNone);
  cu("cuMemFreeAsync_ptsz", b, kNone);
  cu("cuDeviceSetMemPool", 0, pool);
  cu("cuStreamSynchronize_ptsz", kNone);
}

SEQUENCE(thread_stream_captured) {
  Setup s;
  int status = -1;
  uint64_t id = 0;
  Pointer graph = kNone, ended = kNone, node = kNone;
  const Pointer *nodes = nullptr;
  const EdgeData *data = nullptr;
  size_t nodeCount = 0;
  cu("cuStreamBeginCapture_ptsz", kNone);
  cu("cuStreamIsCapturing_ptsz", kNone, &status);
  cu("cuStreamGetCaptureInfo_ptsz", kNone, &status, &id);
  cu("cuStreamGetCaptureInfo_v2_ptsz", kNone, &status, &id, &graph, &nodes, &nodeCount);
  cu("cuStreamGetCaptureInfo_v3_ptsz", kNone, &status, &id, &graph, &nodes, &data, &nodeCount);
  say("status %d, %zu nodes", status, nodeCount);
  cu("cuMemsetD32Async_ptsz", s.memory, 5u, size_t(64), kNone);
  cu("cuGraphAddEmptyNode", &node, graph, static_cast<const Pointer *>(nullptr), size_t(0));
  cu("cuStreamUpdateCaptureDependencies_ptsz", kNone, &node, size_t(1), 0u);
  cu("cuStreamUpdateCaptureDependencies_v2_ptsz", kNone, &node,
     static_cast<const EdgeData *>(nullptr), size_t(1), 1u);
  cu("cuMemsetD32Async_ptsz", s.memory2, 6u, size_t(64), kNone);
  cu("cuStreamEndCapture_ptsz", kNone, &ended);
  sayGraph("graph", ended);
  graph = makeGraph();
  cu("cuStreamBeginCaptureToGraph_ptsz", kNone, graph, static_cast<const Pointer *>(nullptr),
     static_cast<const EdgeData *>(nullptr), size_t(0), 2);
  cu("cuStreamEndCapture_ptsz", kNone, &graph);
  InstantiateParameters p{2, kNone, kNone, 0};
  Pointer executable = kNone;
  cu("cuGraphInstantiateWithParams_ptsz", &executable, ended, &p);
  cu("cuGraphUpload_ptsz", executable, kNone);
  cu("cuGraphLaunch_ptsz", executable, kNone);
  cu("cuStreamSynchronize_ptsz", kNone);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
}

SEQUENCE(streams_asked) {
  Setup s;
  unsigned flags = 77;
  int priority = 77, device = 77;
  uint64_t id = 0, otherId = 0;
  Pointer context = kNone;
  cu("cuStreamGetFlags", s.stream, &flags);
  say("flags %u", flags);
  cu("cuStreamGetFlags_ptsz", kNone, &flags);
  say("flags %u", flags);
  cu("cuStreamGetPriority", s.stream, &priority);
  cu("cuStreamGetPriority_ptsz", kNone, &priority);
  say("priority %d", priority);
  cu("cuStreamGetId", s.stream, &id);
  cu("cuStreamGetId", s.other, &otherId);
  say("ids differ %d", id != otherId);
  cu("cuStreamGetId_ptsz", kNone, &id);
  cu("cuStreamGetCtx", s.stream, &context);
  say("context %s", nameOf(context));
  cu("cuStreamGetCtx_ptsz", kNone, &context);
  say("context %s", nameOf(context));
  cu("cuStreamGetDevice", s.stream, &device);
  say("device %d", device);
  cu("cuStreamGetDevice_ptsz", kNone, &device);
}

SEQUENCE(contexts_asked) {
  Setup s;
  Pointer made = kNone;
  unsigned version = 0, flags = 77;
  int device = 77, least = 77, greatest = 77, config = 77, active = 77;
  uint64_t id = 0;
  cu("cuCtxGetApiVersion", s.context, &version);
  cu("cuCtxGetDevice", &device);
  say("device %d", device);
  cu("cuCtxGetFlags", &flags);
  cu("cuCtxSetFlags", 0u);
  cu("cuCtxGetId", s.context, &id);
  cu("cuCtxGetStreamPriorityRange", &least, &greatest);
  say("least %d, greatest below %d", least, greatest < least);
  cu("cuCtxGetCacheConfig", &config);
  cu("cuCtxSetCacheConfig", 1);
  cu("cuCtxGetCacheConfig", &config);
  cu("cuCtxGetSharedMemConfig", &config);
  cu("cuCtxSetSharedMemConfig", 1);
  cu("cuCtxResetPersistingL2Cache");
  cu("cuCtxSynchronize_v2", s.context);
  cu("cuCtxEnablePeerAccess", s.context, 0u);
  cu("cuCtxDisablePeerAccess", s.context);
  cu("cuCtxCreate_v3", &made, kNone, 0, 0u, 0);
  cu("cuCtxDetach", made);
  cu("cuCtxCreate_v4", &made, kNone, 0u, 0);
  cu("cuCtxDestroy_v2", made);
  cu("cuDevicePrimaryCtxGetState", 0, &flags, &active);
  say("flags %u, active %d", flags, active);
  cu("cuDevicePrimaryCtxSetFlags", 0, 1u);
  cu("cuDevicePrimaryCtxSetFlags_v2", 0, 0u);
  cu("cuProfilerStart");
  cu("cuProfilerStop");
}

SEQUENCE(devices_asked) {
  Setup s;
  char text[64] = "";
  unsigned char uuid[16] = {}, uuid2[16] = {};
  int number = 77, properties[64] = {};
  unsigned total = 0;
  cu("cuDeviceGetPCIBusId", &text[0], 64, 0);
  cu("cuDeviceGetByPCIBusId", &number, static_cast<const char *>(text));
  say("device %d", number);
  cu("cuDeviceGetUuid", &uuid[0], 0);
  cu("cuDeviceGetUuid_v2", &uuid2[0], 0);
  say("the same %d", !memcmp(uuid, uuid2, 16));
  cu("cuDeviceCanAccessPeer", &number, 0, 0);
  say("itself %d", number);
  cu("cuDeviceGetExecAffinitySupport", &number, 0, 0);
  cu("cuDeviceGetProperties", &properties[0], 0);
  say("threads %d", properties[0]);
  cu("cuDeviceTotalMem", &total, 0);
}

SEQUENCE(memory_asked) {
  Setup s;
  unsigned flags = 77;
  Pointer managed = kNone, pool = kNone;
  void *plain = malloc(8192);
  Pointer page = reinterpret_cast<Pointer>((reinterpret_cast<uintptr_t>(plain) + 4095) & ~4095ull);
  cu("cuMemHostGetFlags", &flags, Pointer(s.host));
  say("mapped %d", (flags & 2) != 0);
  cu("cuMemHostRegister", page, size_t(4096), 0u);
  cu("cuMemHostUnregister", page);
  quiet("cuMemAllocManaged", &managed, size_t(4096), 1u);
  cu("cuMemAdvise", managed, size_t(4096), 1, 0);
  struct {
    int type, id;
  } location = {1, 0};
  cu("cuMemAdvise_v2", managed, size_t(4096), 1, location);
  cu("cuMemPrefetchAsync_v2", managed, size_t(4096), location, 0u, s.stream);
  cu("cuMemPrefetchAsync_v2_ptsz", managed, size_t(4096), location, 0u, kNone);
  cu("cuMemPrefetchAsync_ptsz", managed, size_t(4096), 0, kNone);
  unsigned set = 1;
  cu("cuPointerSetAttribute", static_cast<const void *>(&set), 6, s.memory);
  struct {
    int allocationType, handleTypes, locationType, locationId;
    Pointer security;
    size_t maxSize;
    unsigned char reserved[56];
  } properties{1, 0, 1, 0, kNone, 0, {}};
  cu("cuMemPoolCreate", &pool, &properties);
  Pointer block = kNone;
  cu("cuMemAllocFromPoolAsync", &block, size_t(256), pool, s.stream);
  cu("cuMemFreeAsync", block, s.stream);
  cu("cuMemPoolDestroy", pool);
  cu("cuMemcpy", s.memory2, s.memory, size_t(64));
}

SEQUENCE(functions_asked) {
  Setup s;
  const char *name = nullptr;
  size_t offset = 77, size = 77;
  unsigned functionCount = 0;
  Pointer all[8] = {}, library = kNone, kernel = kNone, owner = kNone, module = kNone;
  cu("cuFuncGetName", &name, s.add);
  say("%s", name ? name : "null");
  cu("cuFuncGetParamInfo", s.add, size_t(1), &offset, &size);
  say("offset %zu, size %zu", offset, size);
  cu("cuFuncGetParamInfo", s.add, size_t(2), &offset, &size);
  cu("cuFuncLoad", s.add);
  cu("cuFuncSetCacheConfig", s.add, 1);
  cu("cuFuncSetSharedMemConfig", s.add, 1);
  cu("cuModuleGetFunctionCount", &functionCount, s.module);
  say("%u functions", functionCount);
  cu("cuModuleEnumerateFunctions", &all[0], 8u, s.module);
  int grid = 0, block = 0;
  cu("cuOccupancyMaxPotentialBlockSizeWithFlags", &grid, &block, s.add, kNone, size_t(0), 0, 0u);
  say("some %d", grid > 0 && block > 0);
  const char *ptx =
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry one()\n{\nret;\n}\n";
  cu("cuLibraryLoadData", &library, static_cast<const void *>(ptx), static_cast<int *>(nullptr),
     static_cast<void **>(nullptr), 0u, static_cast<int *>(nullptr), static_cast<void **>(nullptr),
     0u);
  cu("cuLibraryGetKernelCount", &functionCount, library);
  cu("cuLibraryEnumerateKernels", &all[0], 1u, library);
  kernel = all[0];
  cu("cuKernelGetLibrary", &owner, kernel);
  say("the same library %d", owner == library);
  cu("cuKernelSetCacheConfig", kernel, 1, 0);
  cu("cuLibraryGetModule", &module, library);
  Pointer address = kNone;
  cu("cuLibraryGetManaged", &address, &size, library, "nothing");
  cu("cuModuleLoadFatBinary", &module, static_cast<const void *>(ptx));
  Pointer procedure = kNone;
  cu("cuGetProcAddress", "cuInit", &procedure, 12000, uint64_t(0));
  cu("cuGetProcAddress_v2", "cuInit", &procedure, 12000, uint64_t(0), static_cast<int *>(nullptr));
  say("found %d", procedure != kNone);
}

} // namespace
} // namespace sequences
