// SPDX-License-Identifier: Apache-2.0
// What programs ask of graphs and their nodes, and the edges between these. HIP: "Graph
// Management".
#include "emulator/hip/Events.h"
#include "emulator/hip/Graph.h"
#include "emulator/hip/api/Version.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

namespace {

// A node of the type, or null.
GraphNode *nodeOfType(hipGraphNode_t handle, hipGraphNodeType type) {
  GraphNode *node = nodeOf(handle);
  return node && areSame(node->type, type) ? node : nullptr;
}

// HIP's way to return a list: with no place, the number; else as many as there is place for,
// nulls behind them.
hipError_t giveNodes(const std::vector<GraphNode *> &nodes, hipGraphNode_t *place, size_t *count) {
  if (!count)
    return result(hipErrorInvalidValue);
  if (place)
    for (size_t i = 0; i < *count; ++i)
      place[i] = i < nodes.size() ? reinterpret_cast<hipGraphNode_t>(nodes[i]) : nullptr;
  *count = nodes.size();
  return result(hipSuccess);
}

} // namespace

// HIP 6 begins with 0, calls copies of one dimension copies, and has put others between.
int rubia::emulator::hip::numberOf(hipGraphNodeType type) {
  if (hipMajorVersion() < 6)
    return type;
  switch (type) {
  case hipGraphNodeTypeMemcpy1D:
    return 1; // hipGraphNodeTypeMemcpy
  case hipGraphNodeTypeMemcpyFromSymbol:
    return 12;
  case hipGraphNodeTypeMemcpyToSymbol:
    return 13;
  default:
    return type - hipGraphNodeTypeKernel;
  }
}

std::optional<hipGraphNodeType> rubia::emulator::hip::nodeTypeOf(int number) {
  for (int type = hipGraphNodeTypeKernel; type < hipGraphNodeTypeCount; ++type)
    if (numberOf(hipGraphNodeType(type)) == number)
      return hipGraphNodeType(type);
  return std::nullopt;
}

// ---------- Asking nodes

HIP_EXPORT hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t handle,
                                                  hipKernelNodeParams *parameters) {
  std::lock_guard lock(graphMutex());
  GraphNode *node = nodeOfType(handle, hipGraphNodeTypeKernel);
  if (!node || !parameters)
    return result(hipErrorInvalidValue);
  auto &launch = std::get<KernelLaunch>(node->operation);
  node->argumentPointers.clear();
  for (const KernelArgument &argument : launch.kernel->arguments)
    if (!argument.isHidden())
      node->argumentPointers.push_back(launch.kernarg.data() + argument.offset);
  *parameters = {};
  parameters->func = const_cast<void *>(node->hostFunction);
  parameters->gridDim = dim3(launch.grid.x, launch.grid.y, launch.grid.z);
  parameters->blockDim = dim3(launch.block.x, launch.block.y, launch.block.z);
  parameters->sharedMemBytes = launch.sharedBytes;
  parameters->kernelParams = node->argumentPointers.data();
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t handle,
                                                  hipMemsetParams *parameters) {
  std::lock_guard lock(graphMutex());
  GraphNode *node = nodeOfType(handle, hipGraphNodeTypeMemset);
  if (!node || !parameters)
    return result(hipErrorInvalidValue);
  giveParameters(std::get<FillOperation>(node->operation), parameters);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphHostNodeGetParams(hipGraphNode_t handle,
                                                hipHostNodeParams *parameters) {
  std::lock_guard lock(graphMutex());
  GraphNode *node = nodeOfType(handle, hipGraphNodeTypeHost);
  if (!node || !parameters)
    return result(hipErrorInvalidValue);
  *parameters = std::get<HostOperation>(node->operation).parameters;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t handle,
                                                  hipMemcpy3DParms *parameters) {
  std::lock_guard lock(graphMutex());
  GraphNode *node = nodeOfType(handle, hipGraphNodeTypeMemcpy);
  if (!node || !parameters)
    return result(hipErrorInvalidValue);
  *parameters = parametersOf(std::get<CopyOperation>(node->operation), node->copyKind);
  return result(hipSuccess);
}

template <typename Operation>
static hipError_t eventOfNode(hipGraphNode_t handle, hipGraphNodeType type, hipEvent_t *event) {
  std::lock_guard lock(graphMutex());
  GraphNode *node = nodeOfType(handle, type);
  if (!node || !event)
    return result(hipErrorInvalidValue);
  *event = handleOf(std::get<Operation>(node->operation).event);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphEventRecordNodeGetEvent(hipGraphNode_t node, hipEvent_t *event) {
  return eventOfNode<RecordOperation>(node, hipGraphNodeTypeEventRecord, event);
}

HIP_EXPORT hipError_t hipGraphEventWaitNodeGetEvent(hipGraphNode_t node, hipEvent_t *event) {
  return eventOfNode<WaitOperation>(node, hipGraphNodeTypeWaitEvent, event);
}

HIP_EXPORT hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t handle, hipGraph_t *graph) {
  std::lock_guard lock(graphMutex());
  GraphNode *node = nodeOfType(handle, hipGraphNodeTypeGraph);
  if (!node || !graph)
    return result(hipErrorInvalidValue);
  if (!node->child) // hipGraphLaunch on a captured stream
    return refuse("hipGraphChildGraphNodeGetGraph", "graphs of captured launches");
  *graph = reinterpret_cast<hipGraph_t>(node->child.get());
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphNodeGetType(hipGraphNode_t handle, hipGraphNodeType *type) {
  std::lock_guard lock(graphMutex());
  GraphNode *node = nodeOf(handle);
  if (!node || !type)
    return result(hipErrorInvalidValue);
  const int number = numberOf(node->type);
  memcpy(type, &number, sizeof(number)); // not all of them are in this enumeration
  return result(hipSuccess);
}

// ---------- Shape

// Calls `change` with both ends of each edge: false if that is not possible.
template <typename Change>
static hipError_t changeEdges(hipGraph_t handle, const hipGraphNode_t *from,
                              const hipGraphNode_t *to, size_t count, const Change &change) {
  std::lock_guard lock(graphMutex());
  Graph *graph = graphOf(handle);
  std::vector<GraphNode *> first, second;
  if (!graph || !nodesOf(*graph, from, count, first) || !nodesOf(*graph, to, count, second))
    return result(hipErrorInvalidValue);
  for (size_t i = 0; i < count; ++i)
    if (!change(first[i], second[i]))
      return result(hipErrorInvalidValue);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t *from,
                                              const hipGraphNode_t *to, size_t count) {
  return changeEdges(graph, from, to, count, [](GraphNode *first, GraphNode *second) {
    if (first == second || llvm::is_contained(second->dependencies, first))
      return false;
    second->dependencies.push_back(first);
    return true;
  });
}

HIP_EXPORT hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t *from,
                                                 const hipGraphNode_t *to, size_t count) {
  return changeEdges(graph, from, to, count, [](GraphNode *first, GraphNode *second) {
    return std::erase(second->dependencies, first) != 0;
  });
}

HIP_EXPORT hipError_t hipGraphDestroyNode(hipGraphNode_t handle) {
  std::lock_guard lock(graphMutex());
  GraphNode *node = nodeOf(handle);
  if (!node)
    return result(hipErrorInvalidValue);
  if (isCaptured(*node->graph))
    return result(hipErrorIllegalState); // what is captured next would depend on it
  node->graph->remove(node);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphGetNodes(hipGraph_t handle, hipGraphNode_t *nodes, size_t *count) {
  std::lock_guard lock(graphMutex());
  Graph *graph = graphOf(handle);
  if (!graph)
    return result(hipErrorInvalidValue);
  std::vector<GraphNode *> all;
  all.reserve(graph->nodes.size());
  for (auto &node : graph->nodes)
    all.push_back(node.get());
  return giveNodes(all, nodes, count);
}

HIP_EXPORT hipError_t hipGraphGetRootNodes(hipGraph_t handle, hipGraphNode_t *nodes,
                                           size_t *count) {
  std::lock_guard lock(graphMutex());
  Graph *graph = graphOf(handle);
  if (!graph)
    return result(hipErrorInvalidValue);
  std::vector<GraphNode *> roots;
  for (auto &node : graph->nodes)
    if (node->dependencies.empty())
      roots.push_back(node.get());
  return giveNodes(roots, nodes, count);
}

HIP_EXPORT hipError_t hipGraphGetEdges(hipGraph_t handle, hipGraphNode_t *from, hipGraphNode_t *to,
                                       size_t *count) {
  std::lock_guard lock(graphMutex());
  Graph *graph = graphOf(handle);
  if (!graph || !count || !from != !to)
    return result(hipErrorInvalidValue);
  std::vector<GraphNode *> first, second;
  for (auto &node : graph->nodes)
    for (GraphNode *dependency : node->dependencies) {
      first.push_back(dependency);
      second.push_back(node.get());
    }
  size_t place = *count;
  if (hipError_t error = giveNodes(first, from, &place))
    return error;
  return giveNodes(second, to, count);
}

HIP_EXPORT hipError_t hipGraphNodeGetDependencies(hipGraphNode_t handle, hipGraphNode_t *nodes,
                                                  size_t *count) {
  std::lock_guard lock(graphMutex());
  GraphNode *node = nodeOf(handle);
  if (!node)
    return result(hipErrorInvalidValue);
  return giveNodes(node->dependencies, nodes, count);
}

HIP_EXPORT hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t handle, hipGraphNode_t *nodes,
                                                    size_t *count) {
  std::lock_guard lock(graphMutex());
  GraphNode *node = nodeOf(handle);
  if (!node)
    return result(hipErrorInvalidValue);
  std::vector<GraphNode *> dependents;
  for (auto &other : node->graph->nodes)
    if (llvm::is_contained(other->dependencies, node))
      dependents.push_back(other.get());
  return giveNodes(dependents, nodes, count);
}
