// SPDX-License-Identifier: Apache-2.0
// Executable graphs: instantiation, launches, changes; memory of graphs; user objects; conditional
// nodes.
#include "tests/driver-sequences/Sequence.h"
#include <cstring>
#include <unistd.h>

namespace sequences {
namespace {

const Pointer *none = nullptr;

Pointer addKernel(const Setup &s, Pointer graph, std::vector<Pointer> after, Pointer memory,
                  int value) {
  KernelParameters p = addParameters(s, memory, value);
  Pointer node = kNone;
  quiet("cuGraphAddKernelNode_v2", &node, graph, static_cast<const Pointer *>(after.data()),
        after.size(), static_cast<const KernelParameters *>(&p));
  return node;
}

Pointer addFill(const Setup &s, Pointer graph, std::vector<Pointer> after, FillParameters p) {
  Pointer node = kNone;
  quiet("cuGraphAddMemsetNode", &node, graph, static_cast<const Pointer *>(after.data()),
        after.size(), static_cast<const FillParameters *>(&p), s.context);
  return node;
}

Pointer addCopy(const Setup &s, Pointer graph, std::vector<Pointer> after, CopyParameters p) {
  Pointer node = kNone;
  quiet("cuGraphAddMemcpyNode", &node, graph, static_cast<const Pointer *>(after.data()),
        after.size(), static_cast<const CopyParameters *>(&p), s.context);
  return node;
}

AllocationParameters allocation(size_t bytes) {
  AllocationParameters p{};
  p.allocationType = 1;
  p.locationType = 1;
  p.bytes = bytes;
  return p;
}

SEQUENCE(executable_flags) {
  Setup s;
  Pointer graph = makeGraph();
  addKernel(s, graph, {}, s.memory, 1);
  for (unsigned long long flags :
       {0ull, 1ull, 2ull, 3ull, 4ull, 5ull, 8ull, 9ull, 16ull, 1ull << 40}) {
    Pointer executable = kNone;
    int code = quiet("cuGraphInstantiateWithFlags", &executable, graph, flags);
    uint64_t got = 77;
    int asked = executable ? quiet("cuGraphExecGetFlags", executable, &got) : -2;
    say("flags %llu: %d, cuGraphExecGetFlags %d %d", flags, code, asked, int(got));
    InstantiateParameters p{flags, s.stream, kNone, 77};
    executable = kNone;
    code = quiet("cuGraphInstantiateWithParams", &executable, graph, &p);
    say("with parameters: %d, result %d, node %s", code, p.result, nameOf(p.errorNode));
  }
  Pointer executable = kNone, node = kNone;
  char text[64] = "before";
  cu("cuGraphInstantiate_v2", &executable, graph, &node, &text[0], size_t(64));
  say("'%s'", text);
  cu("cuGraphInstantiate", &executable, graph, static_cast<Pointer *>(nullptr),
     static_cast<char *>(nullptr), size_t(0));
  cu("cuGraphInstantiateWithParams", &executable, graph,
     static_cast<InstantiateParameters *>(nullptr));
  InstantiateParameters p{2, reinterpret_cast<Pointer>(0x1234560), kNone, 77};
  p.stream = kNone;
  cu("cuGraphInstantiateWithParams", &executable, graph, &p);
  cu("cuGraphUpload", executable, s.stream);
  cu("cuGraphUpload", executable, kNone);
  cu("cuGraphLaunch", executable, kNone);
  cu("cuGraphLaunch", executable, reinterpret_cast<Pointer>(2));
  sayMemory("memory", s.memory);
}

SEQUENCE(executable_launched_again_and_again) {
  Setup s;
  Pointer graph = makeGraph();
  Pointer a = addKernel(s, graph, {}, s.memory, 1);
  KernelParameters p{s.twice, {1, 1, 1}, {64, 1, 1}, 0, nullptr, nullptr, nullptr, nullptr};
  void *values[] = {&s.memory};
  p.values = values;
  Pointer node = kNone;
  cu("cuGraphAddKernelNode_v2", &node, graph, static_cast<const Pointer *>(&a), size_t(1),
     static_cast<const KernelParameters *>(&p));
  Pointer executable = instantiate(graph);
  for (int i = 0; i < 10; ++i)
    quiet("cuGraphLaunch", executable, i % 2 ? s.stream : s.other);
  sayMemory("launches of one executable graph follow each other", s.memory);
  launchAdd(s, s.stream, s.memory, 5);
  quiet("cuGraphLaunch", executable, s.stream);
  launchAdd(s, s.stream, s.memory, 7);
  sayMemory("in the order of the stream", s.memory);
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuGraphExecDestroy", executable);
  sayMemory("destroyed after its launch", s.memory);
}

SEQUENCE(executable_branches) {
  Setup s;
  Pointer graph = makeGraph();
  Pointer a = addKernel(s, graph, {}, s.memory, 1);
  std::vector<Pointer> branches;
  std::vector<Pointer> memories;
  for (int i = 0; i < 6; ++i) {
    Pointer memory = kNone;
    quiet("cuMemAlloc_v2", &memory, size_t(256));
    memories.push_back(memory);
    Pointer copy = addCopy(s, graph, {a}, copyParameters(2, memory, 2, s.memory, 256));
    branches.push_back(addKernel(s, graph, {copy}, memory, i));
  }
  Pointer end = addFill(s, graph, branches, fillParameters(s.memory, 0, 4, 64));
  addKernel(s, graph, {end}, s.memory, 50);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  for (Pointer memory : memories)
    sayMemory("branch", memory);
  sayMemory("memory", s.memory);
}

SEQUENCE(executable_nodes_changed) {
  Setup s;
  Pointer graph = makeGraph(), foreignGraph = makeGraph();
  Pointer kernel = addKernel(s, graph, {}, s.memory, 1);
  Pointer fill = addFill(s, graph, {kernel}, fillParameters(s.memory2, 1, 4, 64));
  Pointer copy = addCopy(s, graph, {fill}, copyParameters(1, s.host, 2, s.memory, 256));
  Pointer foreign = addKernel(s, foreignGraph, {}, s.memory, 1);
  Pointer executable = instantiate(graph);
  KernelParameters p = addParameters(s, s.memory, 20);
  const KernelParameters *in = &p;
  cu("cuGraphExecKernelNodeSetParams_v2", executable, kernel, in);
  cu("cuGraphExecKernelNodeSetParams_v2", executable, foreign, in);
  cu("cuGraphExecKernelNodeSetParams_v2", executable, fill, in);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  p.block[0] = 2;
  cu("cuGraphExecKernelNodeSetParams", executable, kernel, in);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  void *values[] = {&s.memory};
  p.function = s.twice;
  p.values = values;
  p.block[0] = 64;
  cu("cuGraphExecKernelNodeSetParams", executable, kernel, in);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("another function", s.memory);
  p.block[0] = 4096;
  cu("cuGraphExecKernelNodeSetParams", executable, kernel, in);
  FillParameters f = fillParameters(s.memory2, 9, 4, 32);
  cu("cuGraphExecMemsetNodeSetParams", executable, fill, static_cast<const FillParameters *>(&f),
     s.context);
  f = fillParameters(s.memory2, 9, 1, 32);
  cu("cuGraphExecMemsetNodeSetParams", executable, fill, static_cast<const FillParameters *>(&f),
     s.context);
  f = fillParameters(s.memory2, 9, 4, 8, 2, 128);
  cu("cuGraphExecMemsetNodeSetParams", executable, fill, static_cast<const FillParameters *>(&f),
     s.context);
  cu("cuGraphExecMemsetNodeSetParams", executable, fill, static_cast<const FillParameters *>(&f),
     kNone);
  CopyParameters c = copyParameters(1, s.host + 8, 2, s.memory, 32);
  cu("cuGraphExecMemcpyNodeSetParams", executable, copy, static_cast<const CopyParameters *>(&c),
     s.context);
  c = copyParameters(2, s.memory2, 2, s.memory, 32);
  cu("cuGraphExecMemcpyNodeSetParams", executable, copy, static_cast<const CopyParameters *>(&c),
     s.context);
  c = copyParameters(1, s.host, 2, s.memory, 8);
  c.height = 2;
  c.from.pitch = c.to.pitch = 16;
  cu("cuGraphExecMemcpyNodeSetParams", executable, copy, static_cast<const CopyParameters *>(&c),
     s.context);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory2", s.memory2);
  cu("cuGraphDestroyNode", kernel);
  p = addParameters(s, s.memory, 1);
  cu("cuGraphExecKernelNodeSetParams_v2", executable, fill, in);
}

SEQUENCE(executable_node_changed_after_its_graph) {
  Setup s;
  Pointer graph = makeGraph();
  Pointer kernel = addKernel(s, graph, {}, s.memory, 1);
  Pointer executable = instantiate(graph);
  cu("cuGraphDestroy", graph);
  KernelParameters p = addParameters(s, s.memory, 20);
  cu("cuGraphExecKernelNodeSetParams_v2", executable, kernel,
     static_cast<const KernelParameters *>(&p));
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
}

SEQUENCE(executable_child_changed) {
  Setup s;
  Pointer graph = makeGraph(), child = makeGraph(), node = kNone;
  Pointer inner = addKernel(s, child, {}, s.memory, 1);
  cu("cuGraphAddChildGraphNode", &node, graph, none, size_t(0), child);
  Pointer executable = instantiate(graph);
  KernelParameters p = addParameters(s, s.memory, 20);
  cu("cuGraphKernelNodeSetParams_v2", inner, static_cast<const KernelParameters *>(&p));
  cu("cuGraphExecChildGraphNodeSetParams", executable, node, child);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  // The node of the copy names the node of the executable graph too.
  Pointer inside = kNone, copies[4] = {};
  size_t count = 4;
  cu("cuGraphChildGraphNodeGetGraph", node, &inside);
  cu("cuGraphGetNodes", inside, &copies[0], &count);
  p = addParameters(s, s.memory, 300);
  cu("cuGraphExecKernelNodeSetParams_v2", executable, copies[0],
     static_cast<const KernelParameters *>(&p));
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  addKernel(s, child, {}, s.memory, 1);
  cu("cuGraphExecChildGraphNodeSetParams", executable, node, child);
}

SEQUENCE(executable_updated) {
  Setup s;
  auto make = [&](int value, bool isLonger, bool isFill, Pointer function = kNone) {
    Pointer graph = makeGraph();
    KernelParameters p = addParameters(s, s.memory, value);
    if (function) {
      p.function = function;
      static void *values[] = {nullptr};
      values[0] = &s.memory;
      p.values = values;
    }
    Pointer a = kNone;
    quiet("cuGraphAddKernelNode_v2", &a, graph, none, size_t(0),
          static_cast<const KernelParameters *>(&p));
    named(a, "first");
    Pointer b = isFill ? addFill(s, graph, {a}, fillParameters(s.memory2, value, 4, 64))
                       : addKernel(s, graph, {a}, s.memory2, value);
    named(b, "second");
    if (isLonger)
      named(addKernel(s, graph, {b}, s.memory2, value), "third");
    return graph;
  };
  Pointer graph = make(1, false, false);
  Pointer executable = instantiate(graph);
  auto update = [&](const char *what, Pointer from) {
    UpdateResult result{77, kNone, kNone};
    int code = quiet("cuGraphExecUpdate_v2", executable, from, &result);
    say("%s: %d, result %d, nodes %s %s", what, code, result.result, nameOf(result.errorNode),
        nameOf(result.errorFromNode));
  };
  update("other values", make(5, false, false));
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
  update("longer", make(6, true, false));
  update("another kind", make(6, false, true));
  update("another function", make(6, false, false, s.twice));
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  Pointer shape = make(7, false, false);
  Pointer nodes[2] = {};
  size_t count = 2;
  quiet("cuGraphGetNodes", shape, &nodes[0], &count);
  quiet("cuGraphRemoveDependencies", shape, static_cast<const Pointer *>(&nodes[0]),
        static_cast<const Pointer *>(&nodes[1]), size_t(1));
  update("without the edge", shape);
  update("null", kNone);
  cu("cuGraphExecUpdate_v2", executable, graph, static_cast<UpdateResult *>(nullptr));
  Pointer node = kNone;
  int result = 77;
  cu("cuGraphExecUpdate", executable, graph, &node, &result);
  say("result %d", result);
  result = 77;
  cu("cuGraphExecUpdate", executable, make(1, true, false), &node, &result);
  say("result %d, node %s", result, nameOf(node));
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
}

SEQUENCE(executable_update_of_fills_and_copies) {
  Setup s;
  auto make = [&](FillParameters fill, CopyParameters copy) {
    Pointer graph = makeGraph();
    Pointer a = addFill(s, graph, {}, fill);
    addCopy(s, graph, {a}, copy);
    return graph;
  };
  FillParameters fill = fillParameters(s.memory, 5, 4, 64);
  CopyParameters copy = copyParameters(2, s.memory2, 2, s.memory, 256);
  Pointer executable = instantiate(make(fill, copy));
  auto update = [&](const char *what, FillParameters fill, CopyParameters copy) {
    UpdateResult result{77, kNone, kNone};
    int code = quiet("cuGraphExecUpdate_v2", executable, make(fill, copy), &result);
    say("%s: %d, result %d", what, code, result.result);
  };
  update("the same", fill, copy);
  update("another value", fillParameters(s.memory, 6, 4, 64), copy);
  update("another width", fillParameters(s.memory, 6, 4, 32), copy);
  update("another element", fillParameters(s.memory, 6, 1, 64), copy);
  update("another height", fillParameters(s.memory, 6, 4, 8, 2, 64), copy);
  update("another size", fill, copyParameters(2, s.memory2, 2, s.memory, 128));
  update("another direction", fill, copyParameters(1, s.host, 2, s.memory, 256));
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
}

SEQUENCE(executable_update_in_another_order) {
  Setup s;
  auto make = [&](bool isSwapped) {
    Pointer graph = makeGraph();
    if (isSwapped)
      addKernel(s, graph, {}, s.memory2, 3);
    addFill(s, graph, {}, fillParameters(s.memory, 2, 4, 64));
    if (!isSwapped)
      addKernel(s, graph, {}, s.memory2, 3);
    return graph;
  };
  Pointer executable = instantiate(make(false));
  UpdateResult result{77, kNone, kNone};
  cu("cuGraphExecUpdate_v2", executable, make(true), &result);
  say("result %d", result.result);
}

// Edges have ports and types, and nodes attributes.
SEQUENCE(executable_update_of_edges) {
  Setup s;
  const struct {
    const char *what;
    EdgeData data;
    int priority;
  } kKinds[] = {{"plain", {0, 0, 0, {}}, 0},
                {"programmatic", {1, 0, 1, {}}, 0},
                {"after the launch", {2, 0, 1, {}}, 0},
                {"of priority", {0, 0, 0, {}}, -1}};
  const auto make = [&](const auto &kind) {
    Pointer graph = makeGraph(), a = addKernel(s, graph, {}, s.memory, 1),
            b = addKernel(s, graph, {}, s.memory, 2);
    const int code = quiet("cuGraphAddDependencies_v2", graph, static_cast<const Pointer *>(&a),
                           static_cast<const Pointer *>(&b), &kind.data, size_t(1));
    int priority[16] = {kind.priority};
    const int set = quiet("cuGraphKernelNodeSetAttribute", b, 8, &priority[0]);
    if (code || set)
      say("%s: %d %d", kind.what, code, set);
    return graph;
  };
  for (const auto &kind : kKinds) {
    Pointer executable = instantiate(make(kind));
    for (const auto &other : kKinds) {
      UpdateResult result{77, kNone, kNone};
      const int code = quiet("cuGraphExecUpdate_v2", executable, make(other), &result);
      say("%s to %s: %d, result %d", kind.what, other.what, code, result.result);
    }
  }
}

SEQUENCE(executable_nodes_switched_off) {
  Setup s;
  Pointer graph = makeGraph(), event = kNone, record = kNone, empty = kNone;
  quiet("cuEventCreate", &event, 0u);
  Pointer kernel = addKernel(s, graph, {}, s.memory, 1);
  Pointer fill = addFill(s, graph, {}, fillParameters(s.memory2, 6, 4, 64));
  Pointer copy = addCopy(s, graph, {fill}, copyParameters(1, s.host, 2, s.memory2, 256));
  cu("cuGraphAddEventRecordNode", &record, graph, none, size_t(0), event);
  cu("cuGraphAddEmptyNode", &empty, graph, none, size_t(0));
  Pointer executable = instantiate(graph);
  unsigned enabled = 77;
  cu("cuGraphNodeGetEnabled", executable, kernel, &enabled);
  say("%u", enabled);
  cu("cuGraphNodeSetEnabled", executable, kernel, 0u);
  cu("cuGraphNodeGetEnabled", executable, kernel, &enabled);
  say("%u", enabled);
  cu("cuGraphNodeSetEnabled", executable, fill, 0u);
  cu("cuGraphNodeSetEnabled", executable, copy, 0u);
  cu("cuGraphNodeSetEnabled", executable, record, 0u);
  cu("cuGraphNodeSetEnabled", executable, empty, 0u);
  cu("cuGraphNodeGetEnabled", executable, record, &enabled);
  cu("cuGraphNodeSetEnabled", executable, kNone, 0u);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
  cu("cuGraphNodeSetEnabled", executable, kernel, 5u);
  cu("cuGraphNodeGetEnabled", executable, kernel, &enabled);
  say("%u", enabled);
  KernelParameters p = addParameters(s, s.memory, 20);
  cu("cuGraphNodeSetEnabled", executable, kernel, 0u);
  cu("cuGraphExecKernelNodeSetParams_v2", executable, kernel,
     static_cast<const KernelParameters *>(&p));
  cu("cuGraphNodeGetEnabled", executable, kernel, &enabled);
  say("%u", enabled);
  UpdateResult result{};
  cu("cuGraphExecUpdate_v2", executable, graph, &result);
  cu("cuGraphNodeGetEnabled", executable, kernel, &enabled);
  say("%u", enabled);
}

std::vector<int> ended;
void objectEnds(void *data) { ended.push_back(int(reinterpret_cast<intptr_t>(data))); }
void sayEnded(const char *when) {
  std::string text;
  for (int object : ended)
    text += " " + std::to_string(object);
  say("%s: ended%s", when, text.c_str());
}

SEQUENCE(user_objects) {
  Setup s;
  auto make = [&](int number, unsigned references) {
    Pointer object = kNone;
    cu("cuUserObjectCreate", &object, reinterpret_cast<Pointer>(intptr_t(number)), objectEnds,
       references, 1u);
    return object;
  };
  Pointer object = kNone;
  cu("cuUserObjectCreate", &object, kNone, objectEnds, 1u, 0u);
  cu("cuUserObjectCreate", &object, kNone, objectEnds, 0u, 1u);
  cu("cuUserObjectCreate", &object, kNone, static_cast<void (*)(void *)>(nullptr), 1u, 1u);
  cu("cuUserObjectCreate", static_cast<Pointer *>(nullptr), kNone, objectEnds, 1u, 1u);
  Pointer a = make(1, 2);
  cu("cuUserObjectRetain", a, 0u);
  cu("cuUserObjectRetain", a, 1u);
  cu("cuUserObjectRelease", a, 2u);
  sayEnded("one is left");
  cu("cuUserObjectRelease", a, 0u);
  cu("cuUserObjectRelease", a, 1u);
  sayEnded("none");
  Pointer b = make(2, 1), graph = makeGraph(), clone = kNone;
  cu("cuGraphRetainUserObject", graph, b, 0u, 0u);
  cu("cuGraphRetainUserObject", graph, b, 1u, 2u);
  cu("cuGraphRetainUserObject", graph, b, 1u, 0u);
  cu("cuUserObjectRelease", b, 1u);
  sayEnded("the graph has it");
  cu("cuGraphClone", &clone, graph);
  addKernel(s, graph, {}, s.memory, 1);
  Pointer executable = instantiate(graph);
  cu("cuGraphDestroy", graph);
  sayEnded("clone and executable graph");
  cu("cuGraphDestroy", clone);
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuCtxSynchronize");
  sayEnded("executable graph");
  cu("cuGraphExecDestroy", executable);
  cu("cuCtxSynchronize");
  usleep(1000000);
  sayEnded("nobody");
  Pointer c = make(3, 2);
  graph = makeGraph();
  cu("cuGraphRetainUserObject", graph, c, 2u, 1u); // moves
  sayEnded("moved");
  cu("cuGraphReleaseUserObject", graph, c, 1u);
  sayEnded("one released");
  cu("cuGraphReleaseUserObject", graph, c, 1u);
  sayEnded("both released");
  Pointer d = make(4, 1);
  cu("cuGraphRetainUserObject", graph, d, 1u, 1u);
  Pointer outer = makeGraph(), node = kNone;
  cu("cuGraphAddChildGraphNode", &node, outer, none, size_t(0), graph);
  cu("cuGraphDestroy", graph);
  sayEnded("in a child");
  cu("cuGraphDestroyNode", node);
  sayEnded("child destroyed");
  cu("cuGraphDestroy", outer);
  sayEnded("all");
}

SEQUENCE(user_object_released_that_a_graph_has_not) {
  Setup s;
  Pointer object = kNone, graph = makeGraph();
  cu("cuUserObjectCreate", &object, reinterpret_cast<Pointer>(intptr_t(1)), objectEnds, 1u, 1u);
  cu("cuGraphReleaseUserObject", graph, object, 1u);
}

SEQUENCE(memory_of_a_graph) {
  Setup s;
  Pointer graph = makeGraph(), node = kNone, freeing = kNone;
  AllocationParameters p = allocation(256), out{};
  cu("cuGraphAddMemAllocNode", &node, graph, none, size_t(0), &p);
  say("address %s", p.address ? "set" : "null");
  cu("cuGraphMemAllocNodeGetParams", node, &out);
  say("same address %d, %zu bytes, type %d, location %d %d", out.address == p.address, out.bytes,
      out.allocationType, out.locationType, out.locationId);
  Pointer fill = addFill(s, graph, {node}, fillParameters(p.address, 4, 4, 64));
  Pointer kernel = addKernel(s, graph, {fill}, p.address, 3);
  Pointer copy = addCopy(s, graph, {kernel}, copyParameters(2, s.memory, 2, p.address, 256));
  cu("cuGraphAddMemFreeNode", &freeing, graph, static_cast<const Pointer *>(&copy), size_t(1),
     p.address);
  Pointer address = kNone;
  cu("cuGraphMemFreeNodeGetParams", freeing, &address);
  say("same address %d", address == p.address);
  cu("cuGraphAddMemFreeNode", &freeing, graph, static_cast<const Pointer *>(&copy), size_t(1),
     p.address);
  cu("cuGraphAddMemFreeNode", &freeing, graph, none, size_t(0), kNone);
  cu("cuGraphAddMemFreeNode", &freeing, graph, none, size_t(0), s.memory);
  sayGraph("graph", graph);
  Pointer clone = kNone, outer = makeGraph(), other = kNone;
  cu("cuGraphClone", &clone, graph);
  cu("cuGraphAddChildGraphNode", &node, outer, none, size_t(0), graph);
  Pointer executable = instantiate(graph);
  cu("cuGraphInstantiateWithFlags", &other, graph, 0ull);
  cu("cuGraphExecDestroy", executable);
  cu("cuGraphInstantiateWithFlags", &executable, graph, 4ull);
  executable = instantiate(graph);
  for (int i = 0; i < 3; ++i) {
    cu("cuGraphLaunch", executable, s.stream);
    sayMemory("memory", s.memory);
  }
  cu("cuGraphDestroyNode", kernel);
  cu("cuGraphAddEmptyNode", &node, graph, none, size_t(0));
  AllocationParameters zero = allocation(0);
  cu("cuGraphAddMemAllocNode", &node, graph, none, size_t(0), &zero);
  AllocationParameters nowhere = allocation(256);
  nowhere.locationId = 7;
  cu("cuGraphAddMemAllocNode", &node, graph, none, size_t(0), &nowhere);
  AllocationParameters host = allocation(256);
  host.locationType = 2;
  cu("cuGraphAddMemAllocNode", &node, graph, none, size_t(0), &host);
}

SEQUENCE(memory_of_a_graph_stays) {
  Setup s;
  Pointer graph = makeGraph(), node = kNone;
  AllocationParameters p = allocation(256);
  cu("cuGraphAddMemAllocNode", &node, graph, none, size_t(0), &p);
  addFill(s, graph, {node}, fillParameters(p.address, 4, 4, 64));
  Pointer executable = instantiate(graph);
  cu("cuMemFree_v2", p.address);
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory of the graph", p.address);
  cu("cuMemFreeAsync", p.address, s.stream);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory of the graph", p.address);
  cu("cuMemFree_v2", p.address);
  cu("cuGraphLaunch", executable, s.stream);
  // Another graph frees it.
  Pointer second = makeGraph();
  cu("cuGraphAddMemFreeNode", &node, second, none, size_t(0), p.address);
  Pointer freeing = instantiate(second);
  cu("cuGraphLaunch", freeing, s.stream);
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuGraphLaunch", freeing, s.stream);
  cu("cuGraphLaunch", freeing, s.stream);
  cu("cuCtxSynchronize");
}

SEQUENCE(memory_of_a_graph_freed_at_launch) {
  Setup s;
  Pointer graph = makeGraph(), node = kNone, executable = kNone;
  AllocationParameters p = allocation(256);
  cu("cuGraphAddMemAllocNode", &node, graph, none, size_t(0), &p);
  addFill(s, graph, {node}, fillParameters(p.address, 4, 4, 64));
  cu("cuGraphInstantiateWithFlags", &executable, graph, 1ull);
  for (int i = 0; i < 3; ++i)
    cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory of the graph", p.address);
  cu("cuGraphExecDestroy", executable);
  cu("cuGraphDestroy", graph);
  sayMemory("memory of the graph", p.address);
  cu("cuMemFree_v2", p.address);
  cu("cuMemFree_v2", p.address);
}

SEQUENCE(memory_of_graphs_of_a_device) {
  Setup s;
  uint64_t value = 77;
  for (int attribute : {0, 1, 2, 3}) {
    int code = quiet("cuDeviceGetGraphMemAttribute", 0, attribute, Pointer(&value));
    say("attribute %d: %d, %d", attribute, code, int(value));
  }
  cu("cuDeviceGetGraphMemAttribute", 0, 4, Pointer(&value));
  cu("cuDeviceGetGraphMemAttribute", 99, 0, Pointer(&value));
  cu("cuDeviceGetGraphMemAttribute", 0, 0, kNone);
  Pointer graph = makeGraph(), node = kNone;
  AllocationParameters p = allocation(1 << 20);
  cu("cuGraphAddMemAllocNode", &node, graph, none, size_t(0), &p);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  cu("cuCtxSynchronize");
  for (int attribute : {0, 1, 2, 3}) {
    quiet("cuDeviceGetGraphMemAttribute", 0, attribute, Pointer(&value));
    say("attribute %d: at least 1 MiB %d", attribute, value >= 1 << 20);
  }
  cu("cuMemFree_v2", p.address);
  cu("cuDeviceGraphMemTrim", 0);
  cu("cuDeviceGraphMemTrim", 99);
  for (int attribute : {0, 1, 2, 3}) {
    quiet("cuDeviceGetGraphMemAttribute", 0, attribute, Pointer(&value));
    say("attribute %d: 0 %d", attribute, value == 0);
  }
  value = 1;
  cu("cuDeviceSetGraphMemAttribute", 0, 1, Pointer(&value));
  value = 0;
  for (int attribute : {0, 1, 2, 3})
    cu("cuDeviceSetGraphMemAttribute", 0, attribute, Pointer(&value));
  for (int attribute : {0, 1, 2, 3}) {
    quiet("cuDeviceGetGraphMemAttribute", 0, attribute, Pointer(&value));
    say("attribute %d: 0 %d", attribute, value == 0);
  }
}

struct Conditional {
  int made = -2, code = -2;
  uint64_t handle = 0;
  Pointer node = kNone;
  NodeParameters p{};
};

Conditional addConditional(const Setup &s, Pointer graph, std::vector<Pointer> after, int type,
                           unsigned size, unsigned value, unsigned flags) {
  Conditional c;
  c.made = quiet("cuGraphConditionalHandleCreate", &c.handle, graph, s.context, value, flags);
  c.p.type = 13;
  c.p.conditional.handle = c.handle;
  c.p.conditional.type = type;
  c.p.conditional.size = size;
  c.p.conditional.context = s.context;
  c.code = quiet("cuGraphAddNode", &c.node, graph, static_cast<const Pointer *>(after.data()),
                 after.size(), &c.p);
  say("type %d, size %u, value %u, flags %u: handle %d, node %d, bodies %s", type, size, value,
      flags, c.made, c.code, c.code || !c.p.conditional.graphs ? "none" : "some");
  return c;
}

SEQUENCE(conditional_nodes_refused) {
  Setup s;
  Pointer graph = makeGraph();
  addConditional(s, graph, {}, 1, 2, 0, 1);
  addConditional(s, graph, {}, 0, 3, 0, 1);
  addConditional(s, graph, {}, 0, 0, 0, 1);
  addConditional(s, graph, {}, 2, 0, 0, 1);
  addConditional(s, graph, {}, 3, 1, 0, 1);
  addConditional(s, graph, {}, 0, 1, 0, 2);
  sayGraph("graph", graph);
}

// Bodies run by the default value of their handle: device code that sets one is in libcudadevrt.
SEQUENCE(conditional_nodes) {
  Setup s;
  struct {
    int type;
    unsigned size, value, flags;
  } rows[] = {{0, 1, 1, 1}, {0, 1, 0, 1}, {0, 2, 0, 1}, {0, 2, 7, 1}, {1, 1, 0, 1},
              {2, 2, 1, 1}, {2, 2, 0, 1}, {2, 2, 5, 1}, {0, 1, 0, 0}};
  for (auto [type, size, value, flags] : rows) {
    Pointer graph = makeGraph();
    Pointer first = addKernel(s, graph, {}, s.memory, 100);
    Conditional c = addConditional(s, graph, {first}, type, size, value, flags);
    for (unsigned i = 0; !c.code && i < size; ++i)
      addKernel(s, c.p.conditional.graphs[i], {}, i ? s.memory2 : s.memory, 1);
    if (c.node)
      addKernel(s, graph, {c.node}, s.memory, 1000);
    Pointer executable = instantiate(graph);
    for (int i = 0; i < 2; ++i)
      cu("cuGraphLaunch", executable, s.stream);
    sayMemory("memory", s.memory);
    sayMemory("memory2", s.memory2);
  }
}

SEQUENCE(conditional_nodes_in_each_other) {
  Setup s;
  Pointer graph = makeGraph();
  Conditional outer = addConditional(s, graph, {}, 0, 1, 1, 1);
  if (outer.code)
    return;
  Pointer body = outer.p.conditional.graphs[0];
  Conditional inner = addConditional(s, body, {}, 2, 3, 2, 1);
  if (!inner.code)
    addKernel(s, inner.p.conditional.graphs[2], {}, s.memory, 5);
  // A handle of the outer graph is not one of the body.
  Conditional foreign;
  cu("cuGraphConditionalHandleCreate", &foreign.handle, graph, s.context, 1u, 1u);
  foreign.p.type = 13;
  foreign.p.conditional.handle = foreign.handle;
  foreign.p.conditional.size = 1;
  foreign.p.conditional.context = s.context;
  cu("cuGraphAddNode", &foreign.node, body, none, size_t(0), &foreign.p);
  cu("cuGraphAddNode", &foreign.node, graph, none, size_t(0), &foreign.p);
  Pointer executable = instantiate(graph);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
}

SEQUENCE(conditional_nodes_updated) {
  Setup s;
  auto make = [&](int value) {
    Pointer graph = makeGraph();
    Conditional c = addConditional(s, graph, {}, 0, 1, 1, 1);
    if (!c.code)
      addKernel(s, c.p.conditional.graphs[0], {}, s.memory, value);
    return graph;
  };
  Pointer executable = instantiate(make(1));
  UpdateResult result{};
  cu("cuGraphExecUpdate_v2", executable, make(10), &result);
  say("result %d", result.result);
  cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
}

SEQUENCE(conditional_handles) {
  Setup s;
  Pointer graph = makeGraph(), executable = kNone, node = kNone;
  uint64_t handle = 0;
  cu("cuGraphConditionalHandleCreate", &handle, graph, s.context, 1u, 1u);
  say("handle %s", handle ? "set" : "0");
  InstantiateParameters p{};
  cu("cuGraphInstantiateWithParams", &executable, graph, &p);
  say("result %d", p.result);
  NodeParameters n{};
  n.type = 13;
  n.conditional.handle = handle;
  n.conditional.size = 1;
  n.conditional.context = s.context;
  cu("cuGraphAddNode", &node, graph, none, size_t(0), &n);
  cu("cuGraphAddNode", &node, graph, none, size_t(0), &n);
  if (n.conditional.graphs) {
    Pointer body = n.conditional.graphs[0], inner = kNone;
    HostParameters host{objectEnds, kNone};
    cu("cuGraphAddHostNode", &inner, body, none, size_t(0),
       static_cast<const HostParameters *>(&host));
    cu("cuGraphDestroy", body);
    AllocationParameters a = allocation(64);
    cu("cuGraphAddMemAllocNode", &inner, body, none, size_t(0), &a);
    addFill(s, body, {}, fillParameters(s.memory, 4, 4, 64));
    Pointer clone = kNone;
    cu("cuGraphClone", &clone, graph);
    cu("cuStreamBeginCaptureToGraph", s.stream, body, none, static_cast<const EdgeData *>(nullptr),
       size_t(0), 1);
    say("launch %d", launchAdd(s, s.stream, s.memory2, 1));
    Pointer ended = kNone;
    cu("cuStreamEndCapture", s.stream, &ended);
    sayGraph("body", body);
  }
  executable = kNone;
  cu("cuGraphInstantiateWithParams", &executable, graph, &p);
  say("result %d", p.result);
  if (executable)
    cu("cuGraphLaunch", executable, s.stream);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
}

} // namespace
} // namespace sequences
