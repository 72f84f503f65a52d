// SPDX-License-Identifier: Apache-2.0
// A launch of a graph -> launches of its kernels, which are recorded one by one. All nodes run on
// the stream of the launch, each behind those that it follows: an order that the graph allows. A
// graph of which the nodes wait for each other while they run does not end that way, and is
// released by the timeout.
#include "diff/forward/Recorder.h"

namespace rubia::forward {

void Recorder::kernelOfGraphChanged(GraphNode &node) {
  KernelNode kernel{};
  node.counter = kNoCounter;
  if (node.type != kKernelNode || !readKernelNode(node, kernel))
    return;
  if (const KnownFunction *known =
          images.functionOf(kernel.function ? kernel.function : kernel.kernel))
    node.counter = counterOf(known->name);
}

void Recorder::graphMade(Handle executable, Handle graph) {
  if (owner != getpid() || !isActive)
    return;
  for (GraphNode &node : graphs.made(executable, graph).nodes)
    kernelOfGraphChanged(node);
}

bool Recorder::isolateAll(const ExecutableGraph &graph, GraphParts &parts) {
  for (const GraphNode &node : graph.nodes) {
    if (!node.isEnabled || node.type == kEmptyNode)
      continue;
    GraphPart part{{}, {}, node.clone, node.counter != kNoCounter};
    if (part.isKernel && !readKernelNode(node, part.kernel))
      return false;
    if (!isolate(node, part.single))
      return false;
    parts.nodes.push(part);
  }
  return true;
}

bool Recorder::takeApart(Handle executable, Handle stream, bool perThread, GraphParts &parts) {
  if (owner != getpid())
    return false;
  Locked locked;
  noteStream(stream, perThread);
  parts.launch = graphLaunches++;
  ExecutableGraph *graph = graphs.find(executable);
  const bool isReadable = isActive && capturing.empty() && !isCaptured(stream, perThread);
  if (!graph) {
    wholeGraphs += isActive;
    wholeProblem = "it was made in a way that is not seen";
    return false;
  }
  bool isWanted = false;
  for (const GraphNode &node : graph->nodes)
    isWanted |= node.isEnabled && node.counter != kNoCounter && isNext(counters[node.counter]);
  if (isWanted && isReadable && !graph->problem) {
    if (isolateAll(*graph, parts))
      return true;
    graph->problem = "the driver does not run its nodes alone";
    releaseAll(parts);
  }
  if (graph->problem || (isWanted && !isReadable)) {
    ++wholeGraphs;
    wholeProblem = graph->problem ? graph->problem : "a stream was being captured";
  }
  for (const GraphNode &node : graph->nodes)
    if (node.isEnabled && node.counter != kNoCounter) {
      ++launches;
      ++counters[node.counter].seen;
    }
  return false;
}

void Recorder::releaseAll(GraphParts &parts) {
  for (GraphPart &part : parts.nodes)
    release(part.single);
}

// Without the lock between nodes: one of the host may wait for another thread.
int Recorder::launchParts(GraphParts &parts, Handle stream, bool perThread) {
  constexpr int kIds[] = {kAttributeCooperative, kAttributeCluster};
  int result = 0;
  uint64_t number = 0;
  for (const GraphPart &part : parts.nodes) {
    const auto run = [&] {
      return perThread ? DRIVER(cuGraphLaunch_ptsz, Handle, Handle)(part.single.executable, stream)
                       : DRIVER(cuGraphLaunch, Handle, Handle)(part.single.executable, stream);
    };
    const Launch::InGraph place{parts.launch, number++};
    if (!part.isKernel) {
      result = run();
    } else {
      const KernelNode &kernel = part.kernel;
      LaunchAttribute attributes[2]{};
      unsigned count = 0;
      for (const int id : kIds)
        if (!DRIVER(cuGraphKernelNodeGetAttribute, Handle, int, void *)(part.clone, id,
                                                                        attributes[count].value))
          attributes[count++].id = id;
      Launch node{kernel.function ? kernel.function : kernel.kernel,
                  {kernel.grid[0], kernel.grid[1], kernel.grid[2]},
                  {kernel.block[0], kernel.block[1], kernel.block[2]},
                  kernel.sharedBytes,
                  stream,
                  kernel.values,
                  kernel.extra};
      node.attributes = attributes;
      node.attributeCount = count;
      node.perThread = perThread;
      node.inGraph = &place;
      result = launch(node, run);
    }
    if (result)
      break;
  }
  Locked locked;
  releaseAll(parts);
  return result;
}

} // namespace rubia::forward
