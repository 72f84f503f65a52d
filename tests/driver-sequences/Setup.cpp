// SPDX-License-Identifier: Apache-2.0
// Kernels, memory and what is written down of graphs.
#include "tests/driver-sequences/Sequence.h"
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace sequences {

static constexpr const char *kPtx = R"(.version 7.0
.target sm_80
.address_size 64

.visible .entry set(.param .u64 out, .param .u32 index, .param .u32 value)
{
  .reg .b32 %r<3>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [out];
  ld.param.u32 %r1, [index];
  ld.param.u32 %r2, [value];
  mul.wide.u32 %d2, %r1, 4;
  add.s64 %d3, %d1, %d2;
  st.global.u32 [%d3], %r2;
  ret;
}

.visible .entry add(.param .u64 out, .param .u32 value)
{
  .reg .b32 %r<5>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [out];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %d2, %r2, 4;
  add.s64 %d3, %d1, %d2;
  ld.global.u32 %r3, [%d3];
  add.u32 %r4, %r3, %r1;
  st.global.u32 [%d3], %r4;
  ret;
}

.visible .entry copyAdd(.param .u64 to, .param .u64 from, .param .u32 value)
{
  .reg .b32 %r<5>;
  .reg .b64 %d<6>;
  ld.param.u64 %d1, [to];
  ld.param.u64 %d2, [from];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %d3, %r2, 4;
  add.s64 %d4, %d2, %d3;
  ld.global.u32 %r3, [%d4];
  add.u32 %r4, %r3, %r1;
  add.s64 %d5, %d1, %d3;
  st.global.u32 [%d5], %r4;
  ret;
}

.visible .entry twice(.param .u64 out)
{
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d2, %r1, 4;
  add.s64 %d3, %d1, %d2;
  ld.global.u32 %r2, [%d3];
  shl.b32 %r3, %r2, 1;
  st.global.u32 [%d3], %r3;
  ret;
}
)";

static void need(int code, const char *what) {
  if (!code)
    return;
  say("setup: %s %d", what, code);
  exit(1);
}

Plain::Plain(int device) {
  need(quiet("cuInit", 0u), "cuInit");
  need(quiet("cuCtxCreate_v2", &context, 0u, device), "cuCtxCreate_v2");
  need(quiet("cuStreamCreate", &stream, 1u), "cuStreamCreate");
  need(quiet("cuStreamCreate", &other, 1u), "cuStreamCreate");
  for (Pointer *out : {&memory, &memory2}) {
    need(quiet("cuMemAlloc_v2", out, size_t(256)), "cuMemAlloc_v2");
    need(quiet("cuMemsetD32_v2", *out, 0u, size_t(64)), "cuMemsetD32_v2");
  }
  Pointer pinned;
  need(quiet("cuMemHostAlloc", &pinned, size_t(256), 0u), "cuMemHostAlloc");
  host = static_cast<int *>(memset(pinned, 0, 256));
  need(quiet("cuCtxSynchronize"), "cuCtxSynchronize"); // the streams do not wait for the fills
  named(context, "context");
  named(memory, "memory");
  named(memory2, "memory2");
  named(host, "host");
}

Setup::Setup(int device) : Plain(device) {
  need(quiet("cuModuleLoadData", &module, static_cast<const void *>(kPtx)), "cuModuleLoadData");
  for (auto [name, out] : {std::pair("set", &set), std::pair("add", &add),
                           std::pair("copyAdd", &copyAdd), std::pair("twice", &twice)})
    need(quiet("cuModuleGetFunction", out, module, name), name);
  // Loading is lazy: it must not happen in a capture.
  need(launchAdd(*this, stream, memory, 0), "cuLaunchKernel");
  int index = 0, value = 0;
  void *values[] = {&memory, &index, &value};
  need(quiet("cuLaunchKernel", set, 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream, &values[0],
             static_cast<void **>(nullptr)),
       "cuLaunchKernel");
  void *values2[] = {&memory, &memory2, &value};
  need(quiet("cuLaunchKernel", copyAdd, 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream, &values2[0],
             static_cast<void **>(nullptr)),
       "cuLaunchKernel");
  need(quiet("cuLaunchKernel", twice, 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream, &values[0],
             static_cast<void **>(nullptr)),
       "cuLaunchKernel");
  need(quiet("cuCtxSynchronize"), "cuCtxSynchronize");
  named(set, "set");
  named(add, "add");
  named(copyAdd, "copyAdd");
  named(twice, "twice");
}

int launchAdd(const Setup &s, Pointer stream, Pointer memory, int value) {
  void *values[] = {&memory, &value};
  return quiet("cuLaunchKernel", s.add, 1u, 1u, 1u, 64u, 1u, 1u, 0u, stream, &values[0],
               static_cast<void **>(nullptr));
}

KernelParameters addParameters(const Setup &s, Pointer memory, int value) {
  static Pointer theMemory;
  static int theValue;
  static void *values[] = {&theMemory, &theValue};
  theMemory = memory;
  theValue = value;
  return {s.add, {1, 1, 1}, {64, 1, 1}, 0, values, nullptr, nullptr, nullptr};
}

CopyParameters copyParameters(int toType, Pointer to, int fromType, Pointer from, size_t bytes) {
  CopyParameters p{};
  p.from.type = fromType;
  (fromType == 1 ? p.from.host : p.from.device) = from;
  p.to.type = toType;
  (toType == 1 ? p.to.host : p.to.device) = to;
  p.width = bytes;
  p.height = p.depth = 1;
  return p;
}

FillParameters fillParameters(Pointer to, unsigned value, unsigned elementBytes, size_t width,
                              size_t height, size_t pitch) {
  return {to, pitch, value, elementBytes, width, height};
}

void sayMemory(const char *what, Pointer memory) {
  int words[64] = {};
  int synchronized = quiet("cuCtxSynchronize");
  int copied = quiet("cuMemcpyDtoH_v2", static_cast<void *>(words), memory, sizeof(words));
  say("%s: %d %d: %d %d %d", what, synchronized, copied, words[0], words[1], words[63]);
}

void sayGraph(const char *what, Pointer graph) {
  Pointer nodes[32] = {}, from[64] = {}, to[64] = {};
  size_t count = 32, edges = 64;
  int code = quiet("cuGraphGetNodes", graph, &nodes[0], &count);
  say("%s: cuGraphGetNodes %d, %zu nodes", what, code, count);
  if (code)
    return;
  for (size_t i = 0; i < count && i < 32; ++i) {
    int type = -1;
    code = quiet("cuGraphNodeGetType", nodes[i], &type);
    say("  node %zu %s: type %d (%d)", i, nameOf(nodes[i]), type, code);
  }
  code = quiet("cuGraphGetEdges", graph, &from[0], &to[0], &edges);
  say("  cuGraphGetEdges %d, %zu edges", code, edges);
  for (size_t i = 0; i < edges && i < 64; ++i) {
    auto indexOf = [&](Pointer node) {
      size_t index = 0;
      while (index < count && nodes[index] != node)
        ++index;
      return index;
    };
    say("  edge %zu to %zu", indexOf(from[i]), indexOf(to[i]));
  }
}

void sayCapture(Pointer stream) {
  int status = -1;
  int code = quiet("cuStreamIsCapturing", stream, &status);
  say("cuStreamIsCapturing %d: status %d", code, status);
}

Pointer makeGraph() {
  Pointer graph = nullptr;
  quiet("cuGraphCreate", &graph, 0u);
  return graph;
}

Pointer instantiate(Pointer graph) {
  Pointer executable = nullptr;
  cu("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  return executable;
}

int launchFirst(Pointer executable, Pointer stream) {
  static std::atomic<bool> hasReturned;
  hasReturned = false;
  quiet("cuLaunchHostFunc", stream, +[](void *) { hasReturned.wait(false); }, kNone);
  const int code = quiet("cuGraphLaunch", executable, stream);
  hasReturned = true;
  hasReturned.notify_all();
  return code;
}

} // namespace sequences
