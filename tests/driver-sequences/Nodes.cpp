// SPDX-License-Identifier: Apache-2.0
// Nodes of every kind: how they are added, asked, changed and removed.
#include "tests/driver-sequences/Sequence.h"
#include <cstring>
#include <unistd.h>

namespace sequences {
namespace {

const Pointer *none = nullptr;

template <class Parameters>
Pointer addNode(const char *function, Pointer graph, std::vector<Pointer> after,
                const Parameters &p, const char *name) {
  Pointer node = kNone;
  cu(function, &node, graph, static_cast<const Pointer *>(after.data()), after.size(), &p);
  return named(node, name);
}

Pointer addKernel(const Setup &s, Pointer graph, std::vector<Pointer> after, Pointer memory,
                  int value, const char *name = "kernel") {
  KernelParameters p = addParameters(s, memory, value);
  Pointer node = kNone;
  quiet("cuGraphAddKernelNode_v2", &node, graph, static_cast<const Pointer *>(after.data()),
        after.size(), static_cast<const KernelParameters *>(&p));
  return named(node, name);
}

Pointer addEmpty(Pointer graph, std::vector<Pointer> after, const char *name) {
  Pointer node = kNone;
  quiet("cuGraphAddEmptyNode", &node, graph, static_cast<const Pointer *>(after.data()),
        after.size());
  return named(node, name);
}

SEQUENCE(graph_made_and_destroyed) {
  Setup s;
  Pointer graph = kNone;
  cu("cuGraphCreate", &graph, 1u);
  cu("cuGraphCreate", static_cast<Pointer *>(nullptr), 0u);
  cu("cuGraphCreate", &graph, 0u);
  sayGraph("graph", graph);
  cu("cuGraphDestroy", graph);
  cu("cuGraphDestroy", kNone);
}

SEQUENCE(graph_destroyed_twice) {
  Setup s;
  Pointer graph = makeGraph();
  cu("cuGraphDestroy", graph);
  cu("cuGraphDestroy", graph);
}

SEQUENCE(graph_asked_after_its_end) {
  Setup s;
  Pointer graph = makeGraph(), node = addEmpty(graph, {}, "node");
  cu("cuGraphDestroy", graph);
  int type;
  cu("cuGraphNodeGetType", node, &type);
}

SEQUENCE(graph_nodes_after_its_end) {
  Setup s;
  Pointer graph = makeGraph();
  cu("cuGraphDestroy", graph);
  size_t count = 0;
  cu("cuGraphGetNodes", graph, static_cast<Pointer *>(nullptr), &count);
}

SEQUENCE(graph_of_null) {
  Setup s;
  Pointer node = kNone, out = kNone;
  size_t count = 0;
  int type = 0;
  cu("cuGraphAddEmptyNode", &node, kNone, none, size_t(0));
  cu("cuGraphGetNodes", kNone, static_cast<Pointer *>(nullptr), &count);
  cu("cuGraphClone", &out, kNone);
  cu("cuGraphNodeGetType", kNone, &type);
  cu("cuGraphInstantiateWithFlags", &out, kNone, 0ull);
  cu("cuGraphLaunch", kNone, s.stream);
  cu("cuGraphExecDestroy", kNone);
  cu("cuGraphDestroyNode", kNone);
  cu("cuGraphDebugDotPrint", kNone, "/dev/null", 0u);
  Pointer graph = makeGraph();
  cu("cuGraphGetNodes", graph, static_cast<Pointer *>(nullptr), static_cast<size_t *>(nullptr));
  cu("cuGraphAddEmptyNode", static_cast<Pointer *>(nullptr), graph, none, size_t(0));
  cu("cuGraphAddEmptyNode", &node, graph, none, size_t(1));
  cu("cuGraphClone", static_cast<Pointer *>(nullptr), graph);
  cu("cuGraphInstantiateWithFlags", static_cast<Pointer *>(nullptr), graph, 0ull);
  cu("cuGraphAddKernelNode_v2", &node, graph, none, size_t(0),
     static_cast<const KernelParameters *>(nullptr));
  cu("cuGraphAddMemsetNode", &node, graph, none, size_t(0),
     static_cast<const FillParameters *>(nullptr), s.context);
  cu("cuGraphAddMemcpyNode", &node, graph, none, size_t(0),
     static_cast<const CopyParameters *>(nullptr), s.context);
  cu("cuGraphAddHostNode", &node, graph, none, size_t(0),
     static_cast<const HostParameters *>(nullptr));
  HostParameters noFunction{nullptr, nullptr};
  cu("cuGraphAddHostNode", &node, graph, none, size_t(0),
     static_cast<const HostParameters *>(&noFunction));
  cu("cuGraphAddChildGraphNode", &node, graph, none, size_t(0), kNone);
  cu("cuGraphAddEventRecordNode", &node, graph, none, size_t(0), kNone);
  cu("cuGraphAddEventWaitNode", &node, graph, none, size_t(0), kNone);
  sayGraph("graph", graph);
}

SEQUENCE(graph_lists_of_nodes) {
  Setup s;
  Pointer graph = makeGraph();
  Pointer a = addEmpty(graph, {}, "a"), b = addEmpty(graph, {a}, "b"),
          c = addEmpty(graph, {a}, "c"), d = addEmpty(graph, {b, c}, "d"),
          e = addEmpty(graph, {}, "e");
  sayGraph("graph", graph);
  for (size_t room : {size_t(0), size_t(2), size_t(8)}) {
    Pointer out[8] = {&s, &s, &s, &s, &s, &s, &s, &s};
    size_t count = room;
    cu("cuGraphGetRootNodes", graph, &out[0], &count);
    say("room %zu, %zu roots: %s %s %s", room, count, nameOf(out[0]), nameOf(out[1]),
        nameOf(out[2]));
    count = room;
    cu("cuGraphGetNodes", graph, &out[0], &count);
    say("room %zu, %zu nodes: %s %s %s %s %s %s", room, count, nameOf(out[0]), nameOf(out[1]),
        nameOf(out[2]), nameOf(out[3]), nameOf(out[4]), nameOf(out[5]));
    count = room;
    cu("cuGraphNodeGetDependencies", d, &out[0], &count);
    say("room %zu, %zu dependencies: %s %s %s", room, count, nameOf(out[0]), nameOf(out[1]),
        nameOf(out[2]));
    count = room;
    cu("cuGraphNodeGetDependentNodes", a, &out[0], &count);
    say("room %zu, %zu dependents: %s %s %s", room, count, nameOf(out[0]), nameOf(out[1]),
        nameOf(out[2]));
    Pointer to[8] = {};
    count = room;
    cu("cuGraphGetEdges", graph, &out[0], &to[0], &count);
    say("room %zu, %zu edges: %s-%s %s-%s %s-%s %s-%s %s-%s", room, count, nameOf(out[0]),
        nameOf(to[0]), nameOf(out[1]), nameOf(to[1]), nameOf(out[2]), nameOf(to[2]), nameOf(out[3]),
        nameOf(to[3]), nameOf(out[4]), nameOf(to[4]));
  }
  size_t count = 77;
  cu("cuGraphGetEdges", graph, static_cast<Pointer *>(nullptr), static_cast<Pointer *>(nullptr),
     &count);
  say("%zu edges", count);
  Pointer out[8] = {};
  cu("cuGraphGetEdges", graph, &out[0], static_cast<Pointer *>(nullptr), &count);
  count = 77;
  cu("cuGraphNodeGetDependentNodes", e, static_cast<Pointer *>(nullptr), &count);
  say("%zu dependents", count);
  EdgeData data[8];
  memset(data, 9, sizeof(data));
  Pointer to[8] = {};
  count = 8;
  cu("cuGraphGetEdges_v2", graph, &out[0], &to[0], &data[0], &count);
  say("%zu edges, data %d %d %d", count, data[0].fromPort, data[0].toPort, data[0].type);
  count = 8;
  cu("cuGraphNodeGetDependencies_v2", d, &out[0], &data[0], &count);
  cu("cuGraphNodeGetDependentNodes_v2", a, &out[0], static_cast<EdgeData *>(nullptr), &count);
}

SEQUENCE(graph_dependencies) {
  Setup s;
  Pointer graph = makeGraph(), foreignGraph = makeGraph();
  Pointer a = addEmpty(graph, {}, "a"), b = addEmpty(graph, {}, "b"), c = addEmpty(graph, {}, "c"),
          foreign = addEmpty(foreignGraph, {}, "foreign");
  auto change = [&](const char *function, Pointer from, Pointer to) {
    int code = quiet(function, graph, static_cast<const Pointer *>(&from),
                     static_cast<const Pointer *>(&to), size_t(1));
    say("%s %s %s: %d", function, nameOf(from), nameOf(to), code);
  };
  change("cuGraphAddDependencies", a, b);
  change("cuGraphAddDependencies", a, b);
  change("cuGraphAddDependencies", a, a);
  change("cuGraphAddDependencies", a, foreign);
  change("cuGraphAddDependencies", foreign, a);
  change("cuGraphAddDependencies", kNone, a);
  change("cuGraphRemoveDependencies", a, c);
  change("cuGraphRemoveDependencies", a, b);
  change("cuGraphRemoveDependencies", a, b);
  Pointer from[] = {a, b, a}, to[] = {b, c, b};
  cu("cuGraphAddDependencies", graph, static_cast<const Pointer *>(from),
     static_cast<const Pointer *>(to), size_t(3));
  sayGraph("graph", graph);
  cu("cuGraphAddDependencies", graph, none, none, size_t(0));
  cu("cuGraphAddDependencies", graph, none, none, size_t(1));
  change("cuGraphAddDependencies", c, a);
  sayGraph("with a cycle", graph);
  Pointer executable = kNone, node = kNone;
  cu("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  char text[64] = "unchanged";
  cu("cuGraphInstantiate", &executable, graph, &node, &text[0], size_t(64));
  say("node %s", nameOf(node));
  InstantiateParameters p{};
  cu("cuGraphInstantiateWithParams", &executable, graph, &p);
  say("result %d, node %s", p.result, nameOf(p.errorNode));
  Pointer clone = kNone;
  cu("cuGraphClone", &clone, graph);
  Pointer dup[] = {a, a}, e = kNone;
  cu("cuGraphAddEmptyNode", &e, graph, static_cast<const Pointer *>(dup), size_t(2));
  cu("cuGraphAddEmptyNode", &e, graph, static_cast<const Pointer *>(&foreign), size_t(1));
}

SEQUENCE(graph_edge_data) {
  Setup s;
  Pointer graph = makeGraph();
  Pointer a = addKernel(s, graph, {}, s.memory, 1, "a"), b = addKernel(s, graph, {}, s.memory, 1),
          c = addEmpty(graph, {}, "c");
  auto add = [&](Pointer from, Pointer to, EdgeData data) {
    int code =
        quiet("cuGraphAddDependencies_v2", graph, static_cast<const Pointer *>(&from),
              static_cast<const Pointer *>(&to), static_cast<const EdgeData *>(&data), size_t(1));
    say("%d %d %d: %d", data.fromPort, data.toPort, data.type, code);
  };
  add(a, b, {0, 1, 0, {}});
  add(a, b, {3, 0, 0, {}});
  add(a, b, {0, 0, 2, {}});
  add(a, b, {0, 0, 0, {1}});
  add(c, b, {1, 0, 0, {}});
  add(c, b, {1, 0, 1, {}});
  add(a, b, {2, 0, 1, {}});
  add(a, c, {0, 0, 0, {}});
  add(a, c, {0, 0, 0, {}});
  Pointer out[4] = {}, to[4] = {};
  EdgeData data[4] = {};
  size_t count = 4;
  cu("cuGraphGetEdges", graph, &out[0], &to[0], &count);
  count = 4;
  cu("cuGraphGetEdges_v2", graph, &out[0], &to[0], &data[0], &count);
  for (size_t i = 0; i < count && i < 4; ++i)
    say("edge %d %d %d", data[i].fromPort, data[i].toPort, data[i].type);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  EdgeData plain{};
  cu("cuGraphRemoveDependencies_v2", graph, static_cast<const Pointer *>(&a),
     static_cast<const Pointer *>(&c), static_cast<const EdgeData *>(&plain), size_t(1));
}

SEQUENCE(node_kernel) {
  Setup s;
  Pointer graph = makeGraph(), node = kNone;
  Pointer memory = s.memory;
  int value = 5;
  void *values[] = {&memory, &value};
  KernelParameters p{s.add, {1, 1, 1}, {64, 1, 1}, 0, values, nullptr, nullptr, nullptr};
  const KernelParameters *in = &p;
  cu("cuGraphAddKernelNode", &node, graph, none, size_t(0), in);
  named(node, "node");
  value = 6; // the node has a copy
  KernelParameters out{};
  cu("cuGraphKernelNodeGetParams", node, &out);
  say("%s %u %u %u %u %u, value %d, extra %s", nameOf(out.function), out.grid[0], out.grid[2],
      out.block[0], out.block[1], out.sharedBytes,
      out.values ? *static_cast<int *>(out.values[1]) : -1, out.extra ? "set" : "null");
  out = {};
  cu("cuGraphKernelNodeGetParams_v2", node, &out);
  say("%s kernel %s context %s", nameOf(out.function), out.kernel ? "set" : "null",
      nameOf(out.context));
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  value = 7;
  cu("cuGraphKernelNodeSetParams", node, in);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("the executable graph is as it was", s.memory);
  Pointer second = instantiate(graph);
  cu("cuGraphLaunch", second, s.stream);
  sayMemory("memory", s.memory);
  p.block[0] = 2048;
  cu("cuGraphKernelNodeSetParams", node, in);
  cu("cuGraphAddKernelNode", &node, graph, none, size_t(0), in);
  p.block[0] = 0;
  cu("cuGraphAddKernelNode", &node, graph, none, size_t(0), in);
  p.block[0] = 64;
  p.sharedBytes = 1 << 20;
  cu("cuGraphAddKernelNode", &node, graph, none, size_t(0), in);
  p.sharedBytes = 0;
  p.function = kNone;
  cu("cuGraphAddKernelNode", &node, graph, none, size_t(0), in);
  p.function = s.add;
  p.values = nullptr;
  cu("cuGraphAddKernelNode", &node, graph, none, size_t(0), in);
  struct {
    Pointer memory;
    int value, padding;
  } buffer{s.memory2, 9, 0};
  size_t size = 12;
  void *extra[] = {reinterpret_cast<void *>(1), &buffer, reinterpret_cast<void *>(2), &size,
                   nullptr};
  p.extra = extra;
  cu("cuGraphAddKernelNode", &node, graph, none, size_t(0), in);
  out = {};
  cu("cuGraphKernelNodeGetParams", node, &out);
  say("values %s, extra %s", out.values ? "set" : "null", out.extra ? "set" : "null");
  p.values = values;
  cu("cuGraphAddKernelNode", &node, graph, none, size_t(0), in);
  Pointer third = instantiate(graph);
  cu("cuGraphLaunch", third, s.stream);
  sayMemory("memory2", s.memory2);
  FillParameters fill;
  cu("cuGraphMemsetNodeGetParams", node, &fill);
}

SEQUENCE(node_kernel_of_a_library) {
  Setup s;
  const char *ptx =
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry one(.param .u64 "
      "o)\n{\n.reg .b64 %d<2>;\nld.param.u64 %d1, [o];\nst.global.u32 [%d1], "
      "11;\nret;\n}\n";
  Pointer library = kNone, kernel = kNone, node = kNone, graph = makeGraph();
  cu("cuLibraryLoadData", &library, static_cast<const void *>(ptx), static_cast<int *>(nullptr),
     static_cast<void **>(nullptr), 0u, static_cast<int *>(nullptr), static_cast<void **>(nullptr),
     0u);
  cu("cuLibraryGetKernel", &kernel, library, "one");
  named(kernel, "one");
  void *values[] = {&s.memory};
  KernelParameters p{kNone, {1, 1, 1}, {1, 1, 1}, 0, values, nullptr, kernel, nullptr};
  cu("cuGraphAddKernelNode_v2", &node, graph, none, size_t(0),
     static_cast<const KernelParameters *>(&p));
  KernelParameters out{};
  cu("cuGraphKernelNodeGetParams_v2", node, &out);
  say("function %s, kernel %s, context %s", out.function ? "set" : "null", nameOf(out.kernel),
      nameOf(out.context));
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
}

SEQUENCE(node_memset) {
  Setup s;
  Pointer graph = makeGraph();
  auto add = [&](const char *name, FillParameters p) {
    Pointer node = kNone;
    int code = quiet("cuGraphAddMemsetNode", &node, graph, none, size_t(0),
                     static_cast<const FillParameters *>(&p), s.context);
    say("%s %d", name, code);
    return node;
  };
  Pointer node = add("words", fillParameters(s.memory, 0x12345678, 4, 64));
  add("size 3", fillParameters(s.memory, 1, 3, 64));
  add("size 0", fillParameters(s.memory, 1, 0, 64));
  add("size 8", fillParameters(s.memory, 1, 8, 8));
  add("width 0", fillParameters(s.memory, 1, 4, 0));
  add("height 0", fillParameters(s.memory, 1, 4, 4, 0));
  add("misaligned", fillParameters(static_cast<char *>(s.memory) + 1, 1, 4, 4));
  add("null", fillParameters(kNone, 1, 4, 4));
  add("host", fillParameters(&graph, 1, 4, 1));
  add("too long", fillParameters(s.memory, 1, 4, 1 << 28));
  add("value too large", fillParameters(s.memory, 0x12345678, 1, 4));
  add("rows, pitch too small", fillParameters(s.memory, 1, 4, 8, 2, 16));
  add("rows", fillParameters(s.memory2, 0x0102, 2, 8, 2, 32));
  FillParameters out{};
  cu("cuGraphMemsetNodeGetParams", node, &out);
  say("%s pitch %zu value %x size %u width %zu height %zu", nameOf(out.to), out.pitch, out.value,
      out.elementBytes, out.width, out.height);
  FillParameters changed = fillParameters(s.memory2, 3, 1, 4);
  cu("cuGraphMemsetNodeSetParams", node, static_cast<const FillParameters *>(&changed));
  changed.elementBytes = 3;
  cu("cuGraphMemsetNodeSetParams", node, static_cast<const FillParameters *>(&changed));
  cu("cuGraphMemsetNodeGetParams", node, &out);
  say("%s pitch %zu value %x size %u width %zu height %zu", nameOf(out.to), out.pitch, out.value,
      out.elementBytes, out.width, out.height);
  sayGraph("graph", graph);
}

SEQUENCE(node_memset_runs) {
  Setup s;
  Pointer graph = makeGraph(), node = kNone;
  FillParameters p = fillParameters(s.memory, 0x01020304, 4, 64);
  cu("cuGraphAddMemsetNode", &node, graph, none, size_t(0), static_cast<const FillParameters *>(&p),
     s.context);
  Pointer first = node;
  p = fillParameters(s.memory, 0x0a0b, 2, 2, 2, 252);
  cu("cuGraphAddMemsetNode", &node, graph, static_cast<const Pointer *>(&first), size_t(1),
     static_cast<const FillParameters *>(&p), s.context);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
}

SEQUENCE(node_memcpy) {
  Setup s;
  Pointer graph = makeGraph(), node = kNone;
  static int pageable[64] = {1, 2, 3};
  auto add = [&](const char *name, CopyParameters p, std::vector<Pointer> after = {}) {
    Pointer made = kNone;
    int code =
        quiet("cuGraphAddMemcpyNode", &made, graph, static_cast<const Pointer *>(after.data()),
              after.size(), static_cast<const CopyParameters *>(&p), s.context);
    say("%s %d", name, code);
    return made;
  };
  node = add("host to device", copyParameters(2, s.memory, 1, pageable, 256));
  Pointer second = add("device to device", copyParameters(2, s.memory2, 2, s.memory, 256), {node});
  add("device to host", copyParameters(1, s.host, 2, s.memory2, 256), {second});
  Pointer hostToHost = add("host to host", copyParameters(1, s.host, 1, pageable, 4));
  Pointer unified = add("unified", copyParameters(4, s.memory, 4, s.memory2, 4), {second});
  add("nothing", copyParameters(2, s.memory, 2, s.memory2, 0));
  add("null", copyParameters(2, kNone, 2, s.memory2, 4));
  add("type 0", copyParameters(0, s.memory, 2, s.memory2, 4));
  add("too long", copyParameters(2, s.memory, 2, s.memory2, 1 << 28));
  add("host for device", copyParameters(2, pageable, 2, s.memory2, 4));
  CopyParameters out{};
  cu("cuGraphMemcpyNodeGetParams", node, &out);
  say("to type %d %s, from type %d %s, %zu %zu %zu, pitches %zu %zu, heights %zu %zu", out.to.type,
      nameOf(out.to.device), out.from.type, out.from.host == pageable ? "pageable" : "?", out.width,
      out.height, out.depth, out.to.pitch, out.from.pitch, out.to.height, out.from.height);
  if (hostToHost)
    cu("cuGraphDestroyNode", hostToHost);
  if (unified) {
    cu("cuGraphMemcpyNodeGetParams", unified, &out);
    say("to type %d, from type %d", out.to.type, out.from.type);
    cu("cuGraphDestroyNode", unified);
  }
  sayGraph("graph", graph);
  Pointer executable = kNone;
  cu("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  pageable[0] = 55;
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuStreamSynchronize", s.stream);
  say("host %d %d %d", s.host[0], s.host[1], s.host[2]);
  CopyParameters changed = copyParameters(2, s.memory2, 1, pageable, 8);
  cu("cuGraphMemcpyNodeSetParams", node, static_cast<const CopyParameters *>(&changed));
  changed = copyParameters(2, s.memory2, 2, s.memory, 8);
  cu("cuGraphMemcpyNodeSetParams", node, static_cast<const CopyParameters *>(&changed));
}

SEQUENCE(node_memcpy_of_rows) {
  Setup s;
  Pointer graph = makeGraph(), node = kNone;
  for (int i = 0; i < 64; ++i)
    s.host[i] = i;
  CopyParameters p = copyParameters(2, s.memory, 1, s.host, 8);
  p.height = 3;
  p.from.pitch = 32;
  p.to.pitch = 16;
  p.from.x = 4;
  p.to.y = 1;
  cu("cuGraphAddMemcpyNode", &node, graph, none, size_t(0), static_cast<const CopyParameters *>(&p),
     s.context);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuStreamSynchronize", s.stream);
  int words[16] = {};
  cu("cuMemcpyDtoH_v2", Pointer(words), s.memory, sizeof(words));
  for (int i = 0; i < 16; i += 4)
    say("%d %d %d %d", words[i], words[i + 1], words[i + 2], words[i + 3]);
}

std::vector<int> order;
void note(void *data) { order.push_back(int(reinterpret_cast<intptr_t>(data))); }

SEQUENCE(node_host) {
  Setup s;
  Pointer graph = makeGraph();
  HostParameters p{note, reinterpret_cast<Pointer>(1)};
  Pointer a = addNode("cuGraphAddHostNode", graph, {}, p, "a");
  p.data = reinterpret_cast<Pointer>(2);
  Pointer b = addNode("cuGraphAddHostNode", graph, {a}, p, "b");
  p.data = reinterpret_cast<Pointer>(3);
  addNode("cuGraphAddHostNode", graph, {b}, p, "c");
  HostParameters out{};
  cu("cuGraphHostNodeGetParams", b, &out);
  say("function %d, data %d", out.function == note, int(reinterpret_cast<intptr_t>(out.data)));
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  p.data = reinterpret_cast<Pointer>(4);
  cu("cuGraphHostNodeSetParams", b, static_cast<const HostParameters *>(&p));
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuGraphExecHostNodeSetParams", executable, b, static_cast<const HostParameters *>(&p));
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuStreamSynchronize", s.stream);
  for (size_t i = 0; i + 2 < order.size(); i += 3)
    say("%d %d %d", order[i], order[i + 1], order[i + 2]);
}

// `data`: whether the line of the call that began it is written.
void callsTheApi(void *data) {
  while (!__atomic_load_n(static_cast<bool *>(data), __ATOMIC_SEQ_CST))
    usleep(100);
  Pointer pointer = kNone;
  say("in a host function: cuMemAlloc_v2 %d", quiet("cuMemAlloc_v2", &pointer, size_t(64)));
}

SEQUENCE(node_host_calls_the_api) {
  Setup s;
  bool isWritten = false;
  cu("cuLaunchHostFunc", s.stream, callsTheApi, Pointer(&isWritten));
  __atomic_store_n(&isWritten, true, __ATOMIC_SEQ_CST);
  cu("cuStreamSynchronize", s.stream);
}

SEQUENCE(node_child) {
  Setup s;
  Pointer graph = makeGraph(), child = makeGraph(), node = kNone, inside = kNone;
  addKernel(s, child, {}, s.memory, 1, "inner");
  cu("cuGraphAddChildGraphNode", &node, graph, none, size_t(0), child);
  cu("cuGraphChildGraphNodeGetGraph", node, &inside);
  say("a copy %d", inside != child);
  addKernel(s, child, {}, s.memory, 10, "later");
  sayGraph("child", child);
  sayGraph("copy", inside);
  cu("cuGraphDestroy", child);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  // What is in the node may be changed.
  addKernel(s, inside, {}, s.memory2, 100, "added");
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory2", s.memory2);
  Pointer second = instantiate(graph);
  cu("cuGraphLaunch", second, s.stream);
  sayMemory("memory2", s.memory2);
  Pointer outer = makeGraph();
  cu("cuGraphAddChildGraphNode", &node, outer, none, size_t(0), graph);
  Pointer third = instantiate(outer);
  cu("cuGraphLaunch", third, s.stream);
  sayMemory("memory", s.memory);
}

SEQUENCE(node_child_of_itself) {
  Setup s;
  Pointer graph = makeGraph(), node = kNone;
  cu("cuGraphAddChildGraphNode", &node, graph, none, size_t(0), graph);
  sayGraph("graph", graph);
}

SEQUENCE(node_child_destroyed) {
  Setup s;
  Pointer graph = makeGraph(), child = makeGraph(), node = kNone, inside = kNone;
  cu("cuGraphAddChildGraphNode", &node, graph, none, size_t(0), child);
  cu("cuGraphChildGraphNodeGetGraph", node, &inside);
  cu("cuGraphDestroy", inside);
}

SEQUENCE(node_child_instantiated) {
  Setup s;
  Pointer graph = makeGraph(), child = makeGraph(), node = kNone, inside = kNone;
  addKernel(s, child, {}, s.memory, 1);
  cu("cuGraphAddChildGraphNode", &node, graph, none, size_t(0), child);
  cu("cuGraphChildGraphNodeGetGraph", node, &inside);
  Pointer executable = instantiate(inside);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
}

SEQUENCE(node_events) {
  Setup s;
  Pointer graph = makeGraph(), event = kNone, second = kNone, record = kNone, wait = kNone,
          out = kNone;
  quiet("cuEventCreate", &event, 0u);
  quiet("cuEventCreate", &second, 0u);
  named(event, "event");
  named(second, "second");
  cu("cuGraphAddEventRecordNode", &record, graph, none, size_t(0), event);
  cu("cuGraphAddEventWaitNode", &wait, graph, static_cast<const Pointer *>(&record), size_t(1),
     event);
  cu("cuGraphEventRecordNodeGetEvent", record, &out);
  say("%s", nameOf(out));
  cu("cuGraphEventWaitNodeGetEvent", wait, &out);
  say("%s", nameOf(out));
  cu("cuGraphEventWaitNodeGetEvent", record, &out);
  cu("cuGraphEventRecordNodeSetEvent", record, second);
  cu("cuGraphEventRecordNodeGetEvent", record, &out);
  say("%s", nameOf(out));
  cu("cuGraphEventWaitNodeSetEvent", wait, second);
  sayGraph("graph", graph);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuStreamSynchronize", s.stream);
  float ms = -1;
  cu("cuEventElapsedTime", &ms, second, event);
  cu("cuGraphExecEventRecordNodeSetEvent", executable, record, event);
  cu("cuGraphExecEventWaitNodeSetEvent", executable, wait, event);
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuStreamSynchronize", s.stream);
  cu("cuEventElapsedTime", &ms, second, event);
  say("time %d", ms >= 0);
}

SEQUENCE(node_destroyed) {
  Setup s;
  Pointer graph = makeGraph();
  Pointer a = addEmpty(graph, {}, "a"), b = addEmpty(graph, {a}, "b");
  addEmpty(graph, {b}, "c");
  cu("cuGraphDestroyNode", b);
  sayGraph("graph", graph);
}

SEQUENCE(node_destroyed_twice) {
  Setup s;
  Pointer graph = makeGraph(), a = addEmpty(graph, {}, "a");
  cu("cuGraphDestroyNode", a);
  cu("cuGraphDestroyNode", a);
}

SEQUENCE(graph_cloned) {
  Setup s;
  Pointer graph = makeGraph(), clone = kNone, found = kNone, second = kNone;
  Pointer a = addKernel(s, graph, {}, s.memory, 1, "a"), b = addKernel(s, graph, {a}, s.memory, 2);
  cu("cuGraphClone", &clone, graph);
  sayGraph("clone", clone);
  cu("cuGraphNodeFindInClone", &found, a, clone);
  say("another node %d", found != a && found);
  cu("cuGraphClone", &second, clone);
  cu("cuGraphNodeFindInClone", &found, a, second);
  cu("cuGraphNodeFindInClone", &found, a, graph);
  cu("cuGraphDestroyNode", b);
  sayGraph("clone", clone);
  cu("cuGraphNodeFindInClone", &found, a, clone);
  cu("cuGraphDestroyNode", found);
  cu("cuGraphNodeFindInClone", &found, a, clone);
  cu("cuGraphDestroy", graph);
  Pointer executable = instantiate(clone);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
}

SEQUENCE(node_of_any_kind) {
  Setup s;
  Pointer graph = makeGraph(), event = kNone;
  quiet("cuEventCreate", &event, 0u);
  Pointer last = kNone;
  auto add = [&](const char *name, NodeParameters p) {
    Pointer node = kNone;
    int code = quiet("cuGraphAddNode", &node, graph, static_cast<const Pointer *>(&last),
                     size_t(last ? 1 : 0), &p);
    say("%s: cuGraphAddNode %d", name, code);
    if (node)
      last = node;
    return p;
  };
  NodeParameters p{};
  p.type = 0;
  p.kernel = addParameters(s, s.memory, 3);
  add("kernel", p);
  p = {};
  p.type = 1;
  p.memcpy.copy = copyParameters(2, s.memory2, 2, s.memory, 256);
  p.memcpy.context = s.context;
  add("memcpy", p);
  p.memcpy.context = kNone;
  add("memcpy without a context", p);
  p.memcpy.flags = 1;
  add("memcpy with flags", p);
  p = {};
  p.type = 2;
  p.memset.fill = fillParameters(s.memory, 8, 4, 64);
  p.memset.context = s.context;
  add("memset", p);
  p = {};
  p.type = 3;
  p.host = {note, kNone};
  add("host", p);
  p = {};
  p.type = 5;
  add("empty", p);
  p.reserved0[1] = 1;
  add("reserved", p);
  p = {};
  p.type = 5;
  p.reserved2 = 1;
  add("reserved at the end", p);
  p = {};
  p.type = 6;
  p.event = event;
  add("wait", p);
  p.type = 7;
  add("record", p);
  p = {};
  p.type = 14;
  add("type 14", p);
  Pointer child = makeGraph();
  addKernel(s, child, {}, s.memory, 1);
  p = {};
  p.type = 4;
  p.child.graph = child;
  p = add("child", p);
  say("graph %s", p.child.graph == child ? "as before" : p.child.graph ? "the copy" : "null");
  p.child.graph = child;
  p.child.ownership = 1;
  p = add("child moved", p);
  say("graph %s", p.child.graph == child ? "as before" : p.child.graph ? "another" : "null");
  p = {};
  p.type = 10;
  p.allocation.allocationType = 1;
  p.allocation.locationType = 1;
  p.allocation.bytes = 256;
  p = add("alloc", p);
  Pointer address = p.allocation.address;
  say("address %s", address ? "set" : "null");
  p = {};
  p.type = 11;
  p.event = address;
  add("free", p);
  sayGraph("graph", graph);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
  Pointer node = kNone;
  p = {};
  p.type = 5;
  cu("cuGraphAddNode_v2", &node, graph, static_cast<const Pointer *>(&last),
     static_cast<const EdgeData *>(nullptr), size_t(1), &p);
  cu("cuGraphNodeSetParams", node, &p);
}

SEQUENCE(node_parameters_of_any_kind) {
  Setup s;
  Pointer graph = makeGraph();
  Pointer kernel = addKernel(s, graph, {}, s.memory, 1);
  Pointer executable = instantiate(graph);
  NodeParameters p{};
  p.type = 0;
  p.kernel = addParameters(s, s.memory, 30);
  cu("cuGraphExecNodeSetParams", executable, kernel, &p);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  cu("cuGraphNodeSetParams", kernel, &p);
  p.type = 2;
  cu("cuGraphNodeSetParams", kernel, &p);
  cu("cuGraphExecNodeSetParams", executable, kernel, &p);
  cu("cuGraphNodeSetParams", kernel, static_cast<NodeParameters *>(nullptr));
}

SEQUENCE(graph_printed) {
  Setup s;
  Pointer graph = makeGraph();
  addKernel(s, graph, {}, s.memory, 1);
  cu("cuGraphDebugDotPrint", graph, "/tmp/driver-sequences.dot", 0u);
  cu("cuGraphDebugDotPrint", graph, "/tmp/driver-sequences.dot", 1u);
  cu("cuGraphDebugDotPrint", graph, "/nowhere/driver-sequences.dot", 0u);
  cu("cuGraphDebugDotPrint", graph, static_cast<const char *>(nullptr), 0u);
  cu("cuGraphDebugDotPrint", graph, "/tmp/driver-sequences.dot", 1u << 20);
  unlink("/tmp/driver-sequences.dot");
}

SEQUENCE(node_attributes) {
  Setup s;
  Pointer graph = makeGraph();
  Pointer a = addKernel(s, graph, {}, s.memory, 1, "a"), b = addKernel(s, graph, {a}, s.memory, 1),
          empty = addEmpty(graph, {}, "empty");
  for (int id : {1, 2, 3, 4, 6, 8, 9, 10, 14, 77}) {
    int value[16] = {};
    memset(value, 0xff, sizeof(value));
    int code = quiet("cuGraphKernelNodeGetAttribute", a, id, &value[0]);
    say("get %d: %d, %d %d %d", id, code, value[0], value[1], value[2]);
  }
  int value[16] = {1};
  cu("cuGraphKernelNodeSetAttribute", a, 2, static_cast<const int *>(value)); // cooperative
  value[0] = -1;
  cu("cuGraphKernelNodeSetAttribute", a, 8, static_cast<const int *>(value)); // priority
  value[0] = 77;
  cu("cuGraphKernelNodeSetAttribute", a, 77, static_cast<const int *>(value));
  cu("cuGraphKernelNodeCopyAttributes", b, a);
  for (int id : {2, 8}) {
    int got[16] = {};
    int code = quiet("cuGraphKernelNodeGetAttribute", b, id, &got[0]);
    say("get %d: %d, %d", id, code, got[0]);
  }
  cu("cuGraphKernelNodeCopyAttributes", empty, a);
  cu("cuGraphKernelNodeGetAttribute", empty, 2, &value[0]);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
}

} // namespace
} // namespace sequences
