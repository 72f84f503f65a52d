// SPDX-License-Identifier: Apache-2.0
// Launches with clusters of several CTAs: which sizes are refused and how, and what is told of
// them.
#include "tests/driver-sequences/Sequence.h"
#include <array>

namespace sequences {
namespace {

const char *kText = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry plain(.param .u64 p) { ret; }
.visible .entry told(.param .u64 p)
{
.reg .b32 %r<8>;
.reg .b64 %d<4>;
ld.param.u64 %d0, [p];
cvta.to.global.u64 %d0, %d0;
mov.u32 %r0, %tid.x;
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %cluster_nctarank;
mov.u32 %r3, %cluster_ctarank;
mad.lo.u32 %r2, %r2, 100, %r3;
mul.wide.u32 %d1, %r1, 4;
add.u64 %d0, %d0, %d1;
st.global.u32 [%d0], %r2;
ret;
}
.visible .entry two(.param .u64 p) .explicitcluster .reqnctapercluster 2 { barrier.cluster.arrive; barrier.cluster.wait; ret; }
.visible .entry plane(.param .u64 p) .explicitcluster .reqnctapercluster 2, 2 { ret; }
.visible .entry sixteen(.param .u64 p) .explicitcluster .reqnctapercluster 16 { ret; }
.visible .entry given(.param .u64 p) .explicitcluster { ret; }
.visible .entry bounded(.param .u64 p) .maxclusterrank 4 { ret; }
)";

using Size = std::array<unsigned, 3>;

struct Lab : Plain {
  Pointer module = kNone;
  Lab() { cu("cuModuleLoadData", &module, static_cast<const void *>(kText)); }
  Pointer function(const char *name) {
    Pointer found = kNone;
    quiet("cuModuleGetFunction", &found, module, name);
    return found;
  }
};

struct Config {
  unsigned grid[3], block[3], sharedBytes;
  Pointer stream;
  void *attributes;
  unsigned count;
};
struct Attribute {
  int id, padding;
  unsigned value[16];
};

// `size` null: without the attribute.
int launchOf(const Lab &lab, Pointer function, Size grid, const Size *size, int id = 4) {
  Attribute attribute = {id, 0, {}};
  if (size)
    for (unsigned i = 0; i < 3; ++i)
      attribute.value[i] = (*size)[i];
  Config config{{grid[0], grid[1], grid[2]}, {32, 1, 1}, 0, lab.stream, &attribute, size ? 1u : 0u};
  Pointer memory = lab.memory;
  void *values[] = {&memory};
  return quiet("cuLaunchKernelEx", &config, function, &values[0], static_cast<void **>(nullptr));
}

void sayLaunch(const Lab &lab, Pointer function, const char *name, Size grid, const Size *size) {
  const int code = launchOf(lab, function, grid, size);
  const int after = quiet("cuStreamSynchronize", lab.stream);
  const Size none = {0, 0, 0}, given = size ? *size : none;
  say("%s of %u %u %u in clusters of %u %u %u: %d %d", name, grid[0], grid[1], grid[2], given[0],
      given[1], given[2], code, after);
}

SEQUENCE(clusters_of_sizes) {
  Lab lab;
  for (const char *name : {"plain", "told", "bounded", "given"}) {
    Pointer function = lab.function(name);
    for (auto [grid, size] : std::initializer_list<std::pair<Size, Size>>{{{16, 1, 1}, {1, 1, 1}},
                                                                          {{16, 1, 1}, {2, 1, 1}},
                                                                          {{16, 1, 1}, {4, 1, 1}},
                                                                          {{16, 1, 1}, {8, 1, 1}},
                                                                          {{32, 1, 1}, {16, 1, 1}},
                                                                          {{18, 1, 1}, {9, 1, 1}},
                                                                          {{64, 1, 1}, {32, 1, 1}},
                                                                          {{15, 1, 1}, {3, 1, 1}},
                                                                          {{15, 1, 1}, {2, 1, 1}},
                                                                          {{1, 1, 1}, {2, 1, 1}},
                                                                          {{4, 4, 4}, {2, 2, 2}},
                                                                          {{4, 4, 4}, {1, 1, 4}},
                                                                          {{4, 4, 4}, {4, 4, 4}},
                                                                          {{4, 4, 4}, {1, 3, 1}},
                                                                          {{16, 1, 1}, {0, 0, 0}},
                                                                          {{16, 1, 1}, {2, 0, 0}},
                                                                          {{16, 1, 1}, {0, 1, 1}}})
      sayLaunch(lab, function, name, grid, &size);
    sayLaunch(lab, function, name, {16, 1, 1}, nullptr);
  }
}

SEQUENCE(clusters_that_kernels_require) {
  Lab lab;
  const Size one = {1, 1, 1}, two = {2, 1, 1}, four = {4, 1, 1}, plane = {2, 2, 1};
  for (const char *name : {"two", "plane"})
    for (Size grid : {Size{4, 4, 1}, Size{3, 4, 1}, Size{4, 1, 1}, Size{2, 3, 1}}) {
      sayLaunch(lab, lab.function(name), name, grid, nullptr);
      for (const Size *size : {&one, &two, &four, &plane})
        sayLaunch(lab, lab.function(name), name, grid, size);
    }
  sayLaunch(lab, lab.function("sixteen"), "sixteen", {16, 1, 1}, nullptr);
}

SEQUENCE(clusters_above_eight) {
  Lab lab;
  const Size sixteen = {16, 1, 1}, nine = {9, 1, 1}, seventeen = {17, 1, 1};
  for (const char *name : {"plain", "told", "bounded"}) {
    Pointer function = lab.function(name);
    say("%s: set %d", name, quiet("cuFuncSetAttribute", function, 14, 1));
    sayLaunch(lab, function, name, {32, 1, 1}, &sixteen);
    sayLaunch(lab, function, name, {18, 1, 1}, &nine);
    sayLaunch(lab, function, name, {34, 1, 1}, &seventeen);
  }
  Pointer function = lab.function("sixteen");
  say("sixteen: set %d", quiet("cuFuncSetAttribute", function, 14, 1));
  sayLaunch(lab, function, "sixteen", {16, 1, 1}, nullptr);
}

SEQUENCE(clusters_are_told) {
  Lab lab;
  const Size four = {4, 1, 1};
  sayLaunch(lab, lab.function("told"), "told", {8, 1, 1}, &four);
  sayMemory("in clusters", lab.memory);
  sayLaunch(lab, lab.function("told"), "told", {8, 1, 1}, nullptr);
  sayMemory("alone", lab.memory);
}

SEQUENCE(clusters_in_attributes_of_functions) {
  Lab lab;
  for (const char *name : {"plain", "two", "plane", "sixteen", "given", "bounded"}) {
    Pointer function = lab.function(name);
    for (int attribute : {10, 11, 12, 13, 14, 15}) {
      int value = -7;
      const int code = quiet("cuFuncGetAttribute", &value, attribute, function);
      say("%s: attribute %d: %d %d", name, attribute, code, value);
    }
    for (int attribute : {10, 11, 12, 13})
      for (int set : {-1, 0, 2, 100})
        say("%s: attribute %d to %d: %d", name, attribute, set,
            quiet("cuFuncSetAttribute", function, attribute, set));
  }
}

SEQUENCE(clusters_set_for_a_function) {
  Lab lab;
  Pointer function = lab.function("told");
  const Size two = {2, 1, 1}, four = {4, 1, 1};
  for (int attribute : {11, 12, 13})
    say("set %d: %d", attribute,
        quiet("cuFuncSetAttribute", function, attribute, attribute == 11 ? 4 : 1));
  sayLaunch(lab, function, "told", {8, 1, 1}, nullptr);
  sayMemory("set", lab.memory);
  sayLaunch(lab, function, "told", {8, 1, 1}, &four);
  sayLaunch(lab, function, "told", {8, 1, 1}, &two);
  sayLaunch(lab, function, "told", {6, 1, 1}, nullptr);
  for (int attribute : {12, 13})
    say("set %d: %d", attribute, quiet("cuFuncSetAttribute", function, attribute, 0));
  sayLaunch(lab, function, "told", {8, 1, 1}, nullptr);
}

SEQUENCE(clusters_and_occupancy) {
  Lab lab;
  for (const char *name : {"plain", "two", "sixteen", "given", "bounded"}) {
    Pointer function = lab.function(name);
    for (int nonPortable : {0, 1}) {
      quiet("cuFuncSetAttribute", function, 14, nonPortable);
      Config config{{32, 1, 1}, {128, 1, 1}, 0, lab.stream, nullptr, 0};
      int size = -7;
      const int code = quiet("cuOccupancyMaxPotentialClusterSize", &size, function, &config);
      say("%s: %d: most %d %d", name, nonPortable, code, size);
      for (unsigned ctas : {0u, 1u, 2u, 4u, 8u, 16u, 3u, 32u}) {
        Attribute attribute = {4, 0, {ctas, 1, 1}};
        config.attributes = &attribute;
        config.count = ctas ? 1 : 0;
        int clusters = -7;
        const int asked = quiet("cuOccupancyMaxActiveClusters", &clusters, function, &config);
        say("%s: %d: of %u: %d %s", name, nonPortable, ctas, asked,
            clusters > 0    ? "some"
            : clusters == 0 ? "0"
                            : "nothing");
      }
    }
  }
}

SEQUENCE(clusters_in_graphs) {
  Lab lab;
  Pointer graph = makeGraph(), node = kNone, memory = lab.memory;
  void *values[] = {&memory};
  KernelParameters p{lab.function("told"), {8, 1, 1}, {32, 1, 1}, 0, values, nullptr, kNone, kNone};
  quiet("cuGraphAddKernelNode_v2", &node, graph, static_cast<const Pointer *>(nullptr), size_t(0),
        static_cast<const KernelParameters *>(&p));
  for (Size size : {Size{4, 1, 1}, Size{16, 1, 1}, Size{3, 1, 1}, Size{0, 0, 0}, Size{2, 1, 1}}) {
    unsigned value[16] = {size[0], size[1], size[2]};
    say("%u: set %d", size[0], quiet("cuGraphKernelNodeSetAttribute", node, 4, &value[0]));
    unsigned back[16] = {77, 77, 77};
    const int code = quiet("cuGraphKernelNodeGetAttribute", node, 4, &back[0]);
    say("%u: get %d %u %u %u", size[0], code, back[0], back[1], back[2]);
    Pointer executable = kNone;
    const int made = quiet("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
    say("%u: made %d", size[0], made);
    if (made)
      continue;
    const int launched = quiet("cuGraphLaunch", executable, lab.stream);
    say("%u: launched %d %d", size[0], launched, quiet("cuStreamSynchronize", lab.stream));
    sayMemory("told", lab.memory);
  }
}

// What a node keeps of the cluster that is set for its function, and when.
SEQUENCE(clusters_in_nodes_of_functions) {
  Lab lab;
  Pointer function = lab.function("told"), memory = lab.memory;
  void *values[] = {&memory};
  KernelParameters p{function, {8, 1, 1}, {32, 1, 1}, 0, values, nullptr, kNone, kNone};
  auto set = [&](int x, int y = 1, int z = 1) {
    const int first = quiet("cuFuncSetAttribute", function, 11, x);
    const int second = quiet("cuFuncSetAttribute", function, 12, y);
    say("set %d: %d %d %d", x, first, second, quiet("cuFuncSetAttribute", function, 13, z));
  };
  auto add = [&](Pointer graph) {
    Pointer node = kNone;
    say("add %d",
        quiet("cuGraphAddKernelNode_v2", &node, graph, static_cast<const Pointer *>(nullptr),
              size_t(0), static_cast<const KernelParameters *>(&p)));
    return node;
  };
  auto sayNode = [&](Pointer node) {
    unsigned size[16] = {77, 77, 77};
    const int code = quiet("cuGraphKernelNodeGetAttribute", node, 4, &size[0]);
    say("node %d %u %u %u", code, size[0], size[1], size[2]);
  };
  auto make = [&](Pointer graph) {
    Pointer executable = kNone;
    say("made %d", quiet("cuGraphInstantiateWithFlags", &executable, graph, 0ull));
    return executable;
  };
  auto launch = [&](Pointer executable) {
    quiet("cuMemsetD8_v2", memory, static_cast<unsigned char>(0), size_t(32));
    quiet("cuCtxSynchronize");
    const int launched = quiet("cuGraphLaunch", executable, lab.stream);
    say("launched %d %d", launched, quiet("cuStreamSynchronize", lab.stream));
    sayMemory("told", memory);
  };

  Pointer graph = makeGraph();
  set(4);
  Pointer node = add(graph);
  sayNode(node);
  Pointer early = make(graph);
  set(2);
  sayNode(node);
  launch(early);
  launch(make(graph));
  say("parameters %d",
      quiet("cuGraphKernelNodeSetParams_v2", node, static_cast<const KernelParameters *>(&p)));
  sayNode(node);
  launch(make(graph));
  say("of the executable %d", quiet("cuGraphExecKernelNodeSetParams_v2", early, node,
                                    static_cast<const KernelParameters *>(&p)));
  launch(early);
  unsigned four[16] = {4, 1, 1};
  say("attribute %d", quiet("cuGraphKernelNodeSetAttribute", node, 4, &four[0]));
  sayNode(node);
  set(0, 0, 0);
  sayNode(node);
  launch(make(graph));

  graph = makeGraph();
  node = add(graph); // none is set
  sayNode(node);
  early = make(graph);
  set(4);
  launch(early);
  launch(make(graph));
  Pointer clone = kNone;
  say("clone %d", quiet("cuGraphClone", &clone, graph));
  launch(make(clone));
  say("parameters %d",
      quiet("cuGraphKernelNodeSetParams_v2", node, static_cast<const KernelParameters *>(&p)));
  sayNode(node);
  say("of the executable %d", quiet("cuGraphExecKernelNodeSetParams_v2", early, node,
                                    static_cast<const KernelParameters *>(&p)));
  launch(early);
  launch(make(graph));

  say("capture %d", quiet("cuStreamBeginCapture_v2", lab.stream, 0));
  say("launch %d", quiet("cuLaunchKernel", function, 8u, 1u, 1u, 32u, 1u, 1u, 0u, lab.stream,
                         &values[0], static_cast<void **>(nullptr)));
  Pointer captured = kNone;
  say("end %d", quiet("cuStreamEndCapture", lab.stream, &captured));
  set(2);
  launch(make(captured));

  for (int size : {3, 16, 5}) {
    set(size);
    graph = makeGraph();
    node = add(graph);
    if (node == kNone)
      continue;
    sayNode(node);
    launch(make(graph));
  }
}

} // namespace
} // namespace sequences
