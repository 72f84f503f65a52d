// SPDX-License-Identifier: Apache-2.0
// Graphs that are chains, made node by node or by capture. CUDA Driver API, "Graph Management".
#include "tests/random-calls/Walk.h"
#include <cstring>

namespace walks {

namespace {

struct KernelParameters { // CUDA_KERNEL_NODE_PARAMS_v2
  Pointer function;
  unsigned grid[3], block[3], sharedBytes;
  void **values;
  void **extra;
  Pointer kernel, context;
};
struct FillParameters { // CUDA_MEMSET_NODE_PARAMS
  Pointer to;
  size_t pitch;
  unsigned value, elementBytes;
  size_t width, height;
};

constexpr int kRelaxed = 2;
constexpr unsigned kBlock = 64;
constexpr size_t kMostGraphs = 4;

} // namespace

void Walk::makeGraph() {
  Pointer handle = nullptr;
  if (random.isOneIn(8)) {
    expect(kInvalidValue, "cuGraphCreate", &handle, 1u);
    expect(kInvalidValue, "cuGraphCreate", static_cast<Pointer *>(nullptr), 0u);
    return;
  }
  if (graphs.size() == kMostGraphs)
    return;
  expect(kSuccess, "cuGraphCreate", &handle, 0u);
  if (handle)
    graphs.push_back({handle, nullptr, 0, {}});
}

void Walk::addNode() {
  if (graphs.empty())
    return;
  GraphOf &graph = graphs[random.below(graphs.size())];
  MemoryOf *memory = anyMemory();
  Pointer node = nullptr;
  Pointer *after = graph.last ? &graph.last : nullptr;
  const size_t afterCount = graph.last ? 1 : 0;
  const size_t words = memory ? memory->bytes.size() / 4 : 0;
  const size_t from = words ? random.below(words) : 0,
               count = words ? 1 + random.below(words - from) : 0;
  const uint32_t value = uint32_t(random.next());
  const size_t kind = random.below(words && memory->kind != MemoryOf::Kind::Pooled ? 4 : 2);
  if (kind == 0) {
    if (random.isOneIn(2)) {
      expect(kInvalidValue, "cuGraphAddEmptyNode", static_cast<Pointer *>(nullptr), graph.handle,
             after, afterCount);
      expect(kInvalidValue, "cuGraphAddEmptyNode", &node, graph.handle,
             static_cast<Pointer *>(nullptr), size_t(1));
    } else {
      expect(kInvalidValue, "cuGraphAddEmptyNode", &node, Pointer(), after, afterCount);
    }
    return;
  }
  if (kind == 1) {
    expect(kSuccess, "cuGraphAddEmptyNode", &node, graph.handle, after, afterCount);
  } else if (kind == 2) {
    const FillParameters fill{memory->address + 4 * from, 0, value, 4, count, 1};
    expect(kSuccess, "cuGraphAddMemsetNode", &node, graph.handle, after, afterCount, &fill,
           world.context);
  } else {
    ModuleOf *module = anyModule();
    if (!module)
      return;
    prepare(*memory, from, count, value);
    const KernelParameters kernel{
        module->add,       {unsigned((count + kBlock - 1) / kBlock), 1, 1},
        {kBlock, 1, 1},    0,
        parameters.values, nullptr,
        nullptr,           nullptr};
    expect(kSuccess, "cuGraphAddKernelNode_v2", &node, graph.handle, after, afterCount, &kernel);
  }
  if (!node)
    return;
  graph.last = node;
  ++graph.nodes;
  if (kind == 1)
    return;
  graph.steps.push_back({memory, from, count, value, kind == 2});
  memory->isUsed = true;
}

void Walk::applyTo(const GraphOf::Step &step) {
  if (!step.isFill)
    return addTo(*step.memory, step.from, step.count, step.value);
  for (size_t i = step.from; i < step.from + step.count; ++i)
    memcpy(step.memory->bytes.data() + 4 * i, &step.value, 4);
}

// The executable graph ends at once or after its launches, which go on.
void Walk::runGraph() {
  if (graphs.empty())
    return;
  const GraphOf &graph = graphs[random.below(graphs.size())];
  size_t nodes = 0, edges = 0;
  expect(kSuccess, "cuGraphGetNodes", graph.handle, static_cast<Pointer *>(nullptr), &nodes);
  claim(nodes == graph.nodes, "a graph has another number of nodes");
  expect(kSuccess, "cuGraphGetEdges", graph.handle, static_cast<Pointer *>(nullptr),
         static_cast<Pointer *>(nullptr), &edges);
  claim(edges == (graph.nodes ? graph.nodes - 1 : 0), "a graph has another number of edges");
  Pointer executable = nullptr, clone = nullptr;
  Pointer from = graph.handle;
  if (random.isOneIn(4)) {
    expect(kSuccess, "cuGraphClone", &clone, graph.handle);
    from = clone;
  }
  expect(kSuccess, "cuGraphInstantiateWithFlags", &executable, from, uint64_t(0));
  if (clone)
    expect(kSuccess, "cuGraphDestroy", clone);
  if (!executable)
    return;
  const size_t stream = anyStream();
  for (size_t times = random.below(3); times; --times) {
    for (const GraphOf::Step &step : graph.steps)
      order(*step.memory, stream);
    expect(kSuccess, "cuGraphLaunch", executable, handleOf(stream));
    for (const GraphOf::Step &step : graph.steps)
      applyTo(step);
  }
  if (random.isOneIn(4))
    expect(kInvalidValue, "cuGraphLaunch", Pointer(), handleOf(stream));
  expect(kSuccess, "cuGraphExecDestroy", executable);
}

void Walk::endGraph() {
  if (graphs.empty())
    return;
  const size_t i = random.below(graphs.size());
  Pointer handle = graphs[i].handle;
  expect(kSuccess, "cuGraphDestroy", handle);
  graphs.erase(graphs.begin() + ptrdiff_t(i));
  if (world.isAlone && world.passesWildHandles)
    expect(kInvalidValue, "cuGraphDestroy", handle);
}

// In the relaxed mode, in which other threads may do what they want.
void Walk::capture() {
  const size_t stream = anyStream();
  Pointer handle = handleOf(stream), made = nullptr;
  if (stream == kLegacy) {
    expect(kCaptureUnsupported, "cuStreamBeginCapture_v2", handle, kRelaxed);
    return;
  }
  if (random.isOneIn(6)) {
    expect(kIllegalState, "cuStreamEndCapture", handle, &made);
    return;
  }
  if (!streams[stream]->flags || graphs.size() == kMostGraphs)
    return;
  expect(kSuccess, "cuStreamBeginCapture_v2", handle, kRelaxed);
  int status = 0;
  expect(kSuccess, "cuStreamIsCapturing", handle, &status);
  claim(status == 1, "a stream is not captured");
  GraphOf graph{};
  for (size_t i = random.below(4); i; --i) {
    MemoryOf *memory = anyMemory();
    if (!memory || memory->bytes.size() < 4 || memory->kind == MemoryOf::Kind::Pooled)
      continue;
    const size_t words = memory->bytes.size() / 4, count = 1 + random.below(words);
    const uint32_t value = uint32_t(random.next());
    ModuleOf *module = random.isOneIn(2) ? anyModule() : nullptr;
    if (module) {
      prepare(*memory, 0, count, value);
      expect(kSuccess, "cuLaunchKernel", module->add, unsigned((count + kBlock - 1) / kBlock), 1u,
             1u, kBlock, 1u, 1u, 0u, handle, static_cast<void **>(parameters.values),
             static_cast<void **>(nullptr));
    } else {
      expect(kSuccess, "cuMemsetD32Async", static_cast<Pointer>(memory->address), value, count,
             handle);
    }
    ++graph.nodes;
    graph.steps.push_back({memory, 0, count, value, !module});
    memory->isUsed = true;
  }
  if (random.isOneIn(5)) { // which ends the capture
    constexpr int kCaptureInvalidated = 901;
    expect(kCaptureUnsupported, random.isOneIn(2) ? "cuStreamSynchronize" : "cuStreamQuery",
           handle);
    expect(kCaptureInvalidated, "cuStreamEndCapture", handle, &made);
    claim(!made, "a broken capture gave a graph");
    return;
  }
  expect(kIllegalState, "cuStreamBeginCapture_v2", handle, kRelaxed);
  expect(kSuccess, "cuStreamEndCapture", handle, &made);
  graph.handle = made;
  if (!made)
    return;
  // The last node, which further ones come behind.
  std::vector<Pointer> nodes(graph.nodes);
  size_t count = nodes.size();
  if (count) {
    expect(kSuccess, "cuGraphGetNodes", made, nodes.data(), &count);
    graph.last = nodes.back();
  }
  graphs.push_back(graph);
}

} // namespace walks
