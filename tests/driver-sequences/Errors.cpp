// SPDX-License-Identifier: Apache-2.0
// What is asked wrongly: null, sizes of nothing, flags that there are not, events that are not
// ready; and nodes whose event has ended.
#include "tests/driver-sequences/Sequence.h"
#include <cstring>

namespace sequences {
namespace {

const Pointer *none = nullptr;

SEQUENCE(memory_of_nothing) {
  Setup s;
  Pointer p = kNone, *null = nullptr;
  cu("cuMemAlloc_v2", &p, size_t(0));
  cu("cuMemAlloc_v2", null, size_t(64));
  cu("cuMemAllocManaged", &p, size_t(0), 1u);
  cu("cuMemAllocManaged", &p, size_t(64), 0u);
  cu("cuMemAllocManaged", &p, size_t(64), 4u);
  cu("cuMemHostAlloc", &p, size_t(0), 0u);
  cu("cuMemHostAlloc", &p, size_t(64), 8u);
  cu("cuMemHostAlloc", null, size_t(64), 0u);
  cu("cuMemAllocHost_v2", &p, size_t(0));
  size_t pitch = 0;
  cu("cuMemAllocPitch_v2", &p, &pitch, size_t(0), size_t(1), 4u);
  cu("cuMemAllocPitch_v2", &p, &pitch, size_t(64), size_t(0), 4u);
  cu("cuMemAllocPitch_v2", &p, &pitch, size_t(64), size_t(1), 3u);
  cu("cuMemFree_v2", kNone);
  cu("cuMemFree_v2", Pointer(16));
  cu("cuMemFree_v2", Pointer(static_cast<char *>(s.memory) + 4));
  cu("cuMemFree_v2", Pointer(s.host));
  cu("cuMemFreeHost", kNone);
  cu("cuMemFreeHost", s.memory);
  cu("cuMemFreeHost", Pointer(s.host + 1));
  int local = 0;
  cu("cuMemFreeHost", Pointer(&local));
  cu("cuMemHostUnregister", Pointer(s.host));
  cu("cuMemHostUnregister", Pointer(&local));
  cu("cuMemHostUnregister", kNone);
  cu("cuMemHostRegister_v2", kNone, size_t(64), 0u);
  cu("cuMemHostRegister_v2", Pointer(s.host), size_t(64), 0u);
  cu("cuMemHostRegister_v2", Pointer(&local), size_t(0), 0u);
  cu("cuMemHostGetDevicePointer_v2", &p, Pointer(&local), 0u);
  cu("cuMemHostGetDevicePointer_v2", &p, Pointer(s.host), 1u);
  unsigned flags = 0;
  cu("cuMemHostGetFlags", &flags, Pointer(&local));
  cu("cuMemGetInfo_v2", static_cast<size_t *>(nullptr), static_cast<size_t *>(nullptr));
  cu("cuMemGetAddressRange_v2", &p, static_cast<size_t *>(nullptr), s.memory);
  cu("cuMemGetAddressRange_v2", null, static_cast<size_t *>(nullptr), s.memory);
  cu("cuMemGetAddressRange_v2", &p, static_cast<size_t *>(nullptr), kNone);
}

SEQUENCE(copies_and_fills_of_nothing) {
  Setup s;
  const void *host = s.host, *null = nullptr;
  cu("cuMemcpyHtoD_v2", s.memory, host, size_t(0));
  cu("cuMemcpyHtoD_v2", kNone, host, size_t(0));
  cu("cuMemcpyHtoD_v2", kNone, host, size_t(4));
  cu("cuMemcpyHtoD_v2", s.memory, null, size_t(4));
  cu("cuMemcpyDtoH_v2", kNone, s.memory, size_t(4));
  cu("cuMemcpyDtoD_v2", kNone, s.memory, size_t(4));
  cu("cuMemcpyDtoD_v2", s.memory, kNone, size_t(4));
  cu("cuMemcpy", s.memory, kNone, size_t(4));
  cu("cuMemcpyAsync", s.memory, kNone, size_t(4), s.stream);
  cu("cuMemcpyHtoDAsync_v2", kNone, host, size_t(4), s.stream);
  cu("cuMemcpyDtoDAsync_v2", kNone, kNone, size_t(0), s.stream);
  cu("cuMemsetD8_v2", kNone, static_cast<unsigned char>(0), size_t(4));
  cu("cuMemsetD8_v2", kNone, static_cast<unsigned char>(0), size_t(0));
  cu("cuMemsetD32_v2", Pointer(static_cast<char *>(s.memory) + 2), 0u, size_t(1));
  cu("cuMemsetD16_v2", Pointer(static_cast<char *>(s.memory) + 1), static_cast<unsigned short>(0),
     size_t(1));
  cu("cuMemsetD32Async", kNone, 0u, size_t(1), s.stream);
  cu("cuMemsetD2D32_v2", s.memory, size_t(8), 0u, size_t(4), size_t(2));
  cu("cuMemsetD2D32_v2", s.memory, size_t(8), 0u, size_t(4), size_t(1));
  cu("cuMemsetD2D32_v2", s.memory, size_t(0), 0u, size_t(0), size_t(0));
  cu("cuCtxSynchronize");
}

SEQUENCE(events_asked_wrongly) {
  Setup s;
  Pointer plain = kNone, timed = kNone, other = kNone, *null = nullptr;
  float ms = -1;
  cu("cuEventCreate", &timed, 0u);
  cu("cuEventCreate", &plain, 2u);
  for (unsigned flags : {1u, 3u, 4u, 6u, 8u, 16u}) {
    say("flags %u", flags);
    cu("cuEventCreate", &other, flags);
  }
  cu("cuEventCreate", null, 0u);
  cu("cuEventQuery", timed);
  cu("cuEventSynchronize", timed);
  cu("cuEventElapsedTime", &ms, timed, timed);
  cu("cuEventRecord", timed, s.stream);
  cu("cuEventRecord", plain, s.stream);
  cu("cuStreamSynchronize", s.stream);
  cu("cuEventElapsedTime", &ms, timed, plain);
  cu("cuEventElapsedTime", &ms, timed, timed);
  say("%g", double(ms));
  cu("cuEventElapsedTime_v2", &ms, timed, timed);
  cu("cuEventElapsedTime", static_cast<float *>(nullptr), timed, timed);
  cu("cuEventElapsedTime", &ms, kNone, timed);
  cu("cuEventRecord", kNone, s.stream);
  cu("cuEventRecordWithFlags", timed, s.stream, 1u);
  cu("cuEventRecordWithFlags", timed, s.stream, 2u);
  cu("cuStreamWaitEvent", s.stream, kNone, 0u);
  cu("cuStreamWaitEvent", s.stream, timed, 1u);
  cu("cuStreamWaitEvent", s.stream, timed, 2u);
  cu("cuEventQuery", kNone);
  cu("cuEventSynchronize", kNone);
  cu("cuEventDestroy_v2", kNone);
}

SEQUENCE(streams_asked_wrongly) {
  Setup s;
  Pointer made = kNone, *null = nullptr;
  for (unsigned flags : {0u, 1u, 2u, 3u, 4u}) {
    say("flags %u", flags);
    cu("cuStreamCreate", &made, flags);
    cu("cuStreamCreateWithPriority", &made, flags, 0);
  }
  int priority = 77;
  for (int wanted : {-100, -6, -5, -1, 0, 1, 100}) {
    int code = quiet("cuStreamCreateWithPriority", &made, 1u, wanted);
    quiet("cuStreamGetPriority", made, &priority);
    say("priority %d: %d, %s", wanted, code, priority < 0 ? "high" : "low");
  }
  cu("cuStreamCreate", null, 0u);
  cu("cuStreamGetFlags", s.stream, static_cast<unsigned *>(nullptr));
  cu("cuStreamGetPriority", s.stream, static_cast<int *>(nullptr));
  cu("cuStreamGetId", s.stream, static_cast<uint64_t *>(nullptr));
  cu("cuStreamGetCtx", s.stream, null);
  cu("cuStreamDestroy_v2", kNone);
  cu("cuStreamDestroy_v2", Pointer(1));
  cu("cuStreamDestroy_v2", Pointer(2));
  cu("cuLaunchHostFunc", s.stream, kNone, kNone);
  cu("cuStreamAddCallback", s.stream, kNone, kNone, 0u);
  cu("cuStreamAttachMemAsync", s.stream, kNone, size_t(0), 1u);
  cu("cuStreamAttachMemAsync", s.stream, s.memory, size_t(0), 3u);
}

SEQUENCE(modules_asked_wrongly) {
  Setup s;
  Pointer function = kNone, global = kNone;
  size_t bytes = 0;
  cu("cuModuleGetFunction", &function, s.module, "none");
  cu("cuModuleGetFunction", &function, s.module, static_cast<const char *>(nullptr));
  cu("cuModuleGetFunction", static_cast<Pointer *>(nullptr), s.module, "add");
  cu("cuModuleGetFunction", &function, kNone, "add");
  cu("cuModuleGetFunction", &function, s.module, "");
  cu("cuModuleGetGlobal_v2", &global, &bytes, s.module, "none");
  cu("cuModuleGetGlobal_v2", &global, &bytes, s.module, static_cast<const char *>(nullptr));
  cu("cuModuleGetGlobal_v2", &global, &bytes, kNone, "none");
  cu("cuModuleGetGlobal_v2", static_cast<Pointer *>(nullptr), static_cast<size_t *>(nullptr),
     s.module, "none");
  cu("cuModuleLoad", &function, "/nonexistent/file.ptx");
  cu("cuModuleLoad", &function, static_cast<const char *>(nullptr));
  cu("cuModuleUnload", kNone);
  int value = 0;
  cu("cuFuncGetAttribute", &value, 99, s.add);
  cu("cuFuncGetAttribute", &value, -1, s.add);
  cu("cuFuncGetAttribute", static_cast<int *>(nullptr), 0, s.add);
  cu("cuFuncGetAttribute", &value, 0, kNone);
  cu("cuFuncSetAttribute", s.add, 0, 1);
  cu("cuFuncSetAttribute", s.add, 8, -1);
  cu("cuFuncSetAttribute", s.add, 8, 1 << 20);
  cu("cuFuncSetAttribute", s.add, 9, 101);
  cu("cuFuncSetAttribute", s.add, 9, -1);
  cu("cuFuncSetAttribute", s.add, 9, -2);
  cu("cuFuncSetCacheConfig", s.add, 4);
  cu("cuFuncSetCacheConfig", s.add, 3);
  cu("cuFuncGetModule", static_cast<Pointer *>(nullptr), s.add);
}

SEQUENCE(launches_refused) {
  Setup s;
  int value = 1;
  void *values[] = {&s.memory, &value}, **null = nullptr;
  auto launch = [&](unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                    unsigned shared) {
    say("%u %u %u, %u %u %u, %u: %d", gx, gy, gz, bx, by, bz, shared,
        quiet("cuLaunchKernel", s.add, gx, gy, gz, bx, by, bz, shared, s.stream, &values[0], null));
  };
  launch(0, 1, 1, 64, 1, 1, 0);
  launch(1, 0, 1, 64, 1, 1, 0);
  launch(1, 1, 1, 0, 1, 1, 0);
  launch(1, 65536, 1, 64, 1, 1, 0);
  launch(1, 1, 65536, 64, 1, 1, 0);
  launch(0x80000000u, 1, 1, 64, 1, 1, 0);
  launch(1, 1, 1, 1025, 1, 1, 0);
  launch(1, 1, 1, 1, 1025, 1, 0);
  launch(1, 1, 1, 1, 1, 65, 0);
  launch(1, 1, 1, 32, 33, 1, 0);
  launch(1, 1, 1, 64, 1, 1, 49152);
  launch(1, 1, 1, 64, 1, 1, 49153);
  cu("cuLaunchKernel", s.add, 1u, 1u, 1u, 64u, 1u, 1u, 0u, s.stream, null, null);
  cu("cuLaunchKernel", kNone, 1u, 1u, 1u, 64u, 1u, 1u, 0u, s.stream, &values[0], null);
  struct {
    void *list[5];
    size_t bytes;
    struct {
      Pointer memory;
      int value;
    } buffer;
  } extra;
  extra.bytes = 12;
  extra.buffer = {s.memory, 2};
  extra.list[0] = Pointer(1);
  extra.list[1] = &extra.buffer;
  extra.list[2] = Pointer(2);
  extra.list[3] = &extra.bytes;
  extra.list[4] = nullptr;
  cu("cuLaunchKernel", s.add, 1u, 1u, 1u, 64u, 1u, 1u, 0u, s.stream, null, &extra.list[0]);
  cu("cuLaunchKernel", s.add, 1u, 1u, 1u, 64u, 1u, 1u, 0u, s.stream, &values[0], &extra.list[0]);
  extra.bytes = 8;
  cu("cuLaunchKernel", s.add, 1u, 1u, 1u, 64u, 1u, 1u, 0u, s.stream, null, &extra.list[0]);
  extra.bytes = 16;
  cu("cuLaunchKernel", s.add, 1u, 1u, 1u, 64u, 1u, 1u, 0u, s.stream, null, &extra.list[0]);
  extra.list[0] = Pointer(3);
  cu("cuLaunchKernel", s.add, 1u, 1u, 1u, 64u, 1u, 1u, 0u, s.stream, null, &extra.list[0]);
  sayMemory("memory", s.memory);
}

SEQUENCE(devices_asked_wrongly) {
  int value = 0;
  cu("cuDeviceGetCount", &value);
  cu("cuInit", 1u);
  cu("cuInit", 0u);
  cu("cuInit", 0u);
  cu("cuDeviceGetCount", static_cast<int *>(nullptr));
  cu("cuDeviceGet", &value, -1);
  cu("cuDeviceGet", &value, 99);
  cu("cuDeviceGet", static_cast<int *>(nullptr), 0);
  char name[4] = {};
  cu("cuDeviceGetName", &name[0], 0, 0);
  cu("cuDeviceGetName", &name[0], -1, 0);
  cu("cuDeviceGetName", &name[0], 4, 99);
  cu("cuDeviceGetName", static_cast<char *>(nullptr), 4, 0);
  cu("cuDeviceGetAttribute", &value, 0, 0);
  cu("cuDeviceGetAttribute", &value, 1000, 0);
  cu("cuDeviceGetAttribute", &value, 1, 99);
  cu("cuDeviceGetAttribute", static_cast<int *>(nullptr), 1, 0);
  cu("cuDeviceTotalMem_v2", static_cast<size_t *>(nullptr), 0);
  cu("cuDeviceGetByPCIBusId", &value, "junk");
  cu("cuDeviceGetByPCIBusId", &value, static_cast<const char *>(nullptr));
  cu("cuDeviceGetPCIBusId", &name[0], 0, 0);
  cu("cuDeviceGetUuid", Pointer(nullptr), 0);
  cu("cuDeviceGetUuid_v2", Pointer(nullptr), 0);
  cu("cuDevicePrimaryCtxRelease_v2", 0);
  cu("cuDevicePrimaryCtxRelease_v2", 99);
  cu("cuDevicePrimaryCtxRetain", static_cast<Pointer *>(nullptr), 0);
  Pointer context = kNone;
  cu("cuDevicePrimaryCtxRetain", &context, 99);
  cu("cuCtxGetCurrent", &context);
  say("%s", context ? "set" : "null");
  cu("cuCtxSynchronize");
  cu("cuCtxPopCurrent_v2", &context);
  cu("cuCtxPushCurrent_v2", kNone);
  cu("cuCtxDestroy_v2", kNone);
  cu("cuCtxCreate_v2", &context, 0u, 99);
  cu("cuCtxCreate_v2", static_cast<Pointer *>(nullptr), 0u, 0);
  cu("cuCtxCreate_v2", &context, 64u, 0);
  cu("cuMemAlloc_v2", &context, size_t(64));
  cu("cuStreamCreate", &context, 0u);
  cu("cuGetErrorName", 999999, static_cast<const char **>(nullptr));
  const char *text = nullptr;
  cu("cuGetErrorName", 999999, &text);
  cu("cuGetErrorString", 1, &text);
  say("%s", text ? text : "null");
}

SEQUENCE(event_of_a_node_destroyed) {
  Setup s;
  Pointer event = kNone, graph = makeGraph(), node = kNone, told = kNone;
  quiet("cuEventCreate", &event, 2u);
  cu("cuGraphAddEventRecordNode", &node, graph, none, size_t(0), event);
  Pointer executable = instantiate(graph);
  cu("cuEventDestroy_v2", event);
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuStreamSynchronize", s.stream);
  cu("cuGraphEventRecordNodeGetEvent", node, &told);
  say("%s", told == event ? "the same" : "another");
}

SEQUENCE(event_of_a_node_destroyed_before_it_is_executable) {
  Setup s;
  Pointer event = kNone, graph = makeGraph(), node = kNone;
  quiet("cuEventCreate", &event, 2u);
  cu("cuEventRecord", event, s.stream);
  cu("cuGraphAddEventWaitNode", &node, graph, none, size_t(0), event);
  cu("cuEventDestroy_v2", event);
  Pointer executable = instantiate(graph);
  if (executable)
    cu("cuGraphLaunch", executable, s.stream);
  cu("cuStreamSynchronize", s.stream);
}

SEQUENCE(event_in_the_place_of_one_that_a_node_had) {
  Setup s;
  Pointer event = kNone, graph = makeGraph(), node = kNone, events[64];
  quiet("cuEventCreate", &event, 2u);
  quiet("cuGraphAddEventRecordNode", &node, graph, none, size_t(0), event);
  Pointer executable = instantiate(graph);
  quiet("cuEventDestroy_v2", event);
  for (Pointer &other : events) {
    quiet("cuEventCreate", &other, 2u);
  }
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuStreamSynchronize", s.stream);
}

struct Conditional {
  int made = -2, code = -2;
  uint64_t handle = 0;
  Pointer node = kNone, body = kNone;
};

Conditional addConditional(const Setup &s, Pointer graph, int type, unsigned size, unsigned value) {
  Conditional c;
  NodeParameters p{};
  quiet("cuGraphConditionalHandleCreate", &c.handle, graph, s.context, value, 1u);
  p.type = 13;
  p.conditional.handle = c.handle;
  p.conditional.type = type;
  p.conditional.size = size;
  p.conditional.context = s.context;
  c.code = quiet("cuGraphAddNode", &c.node, graph, none, size_t(0), &p);
  KernelParameters k = addParameters(s, s.memory, 1);
  Pointer node = kNone;
  for (unsigned i = 0; !c.code && i < size; ++i) {
    c.body = p.conditional.graphs[i];
    quiet("cuGraphAddKernelNode_v2", &node, c.body, none, size_t(0),
          static_cast<const KernelParameters *>(&k));
  }
  return c;
}

SEQUENCE(conditional_nodes_copied) {
  Setup s;
  Pointer graph = makeGraph(), clone = kNone, outer = makeGraph(), node = kNone;
  addConditional(s, graph, 0, 1, 1);
  cu("cuGraphClone", &clone, graph);
  cu("cuGraphAddChildGraphNode", &node, outer, none, size_t(0), graph);
  Pointer first = instantiate(graph), second = instantiate(graph);
  if (first)
    cu("cuGraphLaunch", first, s.stream);
  if (second)
    cu("cuGraphLaunch", second, s.other);
  sayMemory("memory", s.memory);
  NodeParameters p{};
  p.type = 4;
  p.child.graph = graph;
  p.child.ownership = 1;
  cu("cuGraphAddNode", &node, outer, none, size_t(0), &p);
  Pointer third = instantiate(outer);
  if (third)
    cu("cuGraphLaunch", third, s.stream);
  sayMemory("memory", s.memory);
}

SEQUENCE(conditional_nodes_changed) {
  Setup s;
  Pointer graph = makeGraph();
  Conditional c = addConditional(s, graph, 0, 1, 1);
  Pointer executable = instantiate(graph);
  int type = -1;
  cu("cuGraphNodeGetType", c.node, &type);
  say("type %d", type);
  cu("cuGraphNodeSetEnabled", executable, c.node, 0u);
  NodeParameters p{};
  p.type = 13;
  p.conditional.handle = c.handle;
  p.conditional.size = 1;
  p.conditional.context = s.context;
  cu("cuGraphNodeSetParams", c.node, &p);
  cu("cuGraphExecNodeSetParams", executable, c.node, &p);
  auto update = [&](int type, unsigned size, unsigned value) {
    Pointer other = makeGraph();
    addConditional(s, other, type, size, value);
    UpdateResult result{};
    int code = quiet("cuGraphExecUpdate_v2", executable, other, &result);
    say("type %d, size %u, value %u: %d, result %d", type, size, value, code, result.result);
    quiet("cuGraphLaunch", executable, s.stream);
    sayMemory("memory", s.memory);
  };
  update(0, 1, 0);
  update(0, 1, 1);
  update(0, 2, 1);
  update(1, 1, 0);
  update(2, 1, 0);
  cu("cuGraphDestroyNode", c.node);
  sayGraph("graph", graph);
}

SEQUENCE(conditional_bodies_changed_when_executable) {
  Setup s;
  Pointer graph = makeGraph(), nodes[4] = {};
  Conditional c = addConditional(s, graph, 0, 1, 1);
  size_t count = 4;
  quiet("cuGraphGetNodes", c.body, &nodes[0], &count);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  KernelParameters k = addParameters(s, s.memory, 10);
  cu("cuGraphExecKernelNodeSetParams_v2", executable, nodes[0],
     static_cast<const KernelParameters *>(&k));
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  cu("cuGraphNodeSetEnabled", executable, nodes[0], 0u);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  cu("cuGraphLaunch", executable, kNone);
  cu("cuGraphUpload", executable, s.stream);
  cu("cuGraphExecDestroy", executable);
  sayMemory("memory", s.memory);
}

} // namespace
} // namespace sequences
