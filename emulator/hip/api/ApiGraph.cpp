// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs. HIP: "Graph Management". A node's parameters are an operation; the functions
// that add nodes, change them, and change them in an instantiated graph all make one and put it in
// its place.
#include "emulator/hip/Events.h"
#include "emulator/hip/Graph.h"
#include "emulator/hip/Registration.h"
#include <algorithm>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

namespace {

// An operation and what else a node remembers of its parameters, or why they are wrong.
struct Made {
  hipError_t error = hipSuccess;
  hipGraphNodeType type = hipGraphNodeTypeEmpty;
  Operation operation;
  const void *hostFunction = nullptr;
  hipMemcpyKind copyKind = hipMemcpyDefault;
  std::unique_ptr<Graph> child;

  Made(hipError_t error) : error(error) {}
  Made(hipGraphNodeType type, Operation operation) : type(type), operation(std::move(operation)) {}
};

Made makeKernel(const hipKernelNodeParams *p) {
  if (!p)
    return hipErrorInvalidValue;
  Function *function = registeredFunction(p->func, currentDevice());
  if (!function)
    return hipErrorInvalidDeviceFunction;
  KernelLaunch launch;
  if (hipError_t error = prepareLaunch(launch, *function, currentDevice(),
                                       {p->gridDim.x, p->gridDim.y, p->gridDim.z},
                                       {p->blockDim.x, p->blockDim.y, p->blockDim.z},
                                       p->sharedMemBytes, p->kernelParams, p->extra))
    return error;
  Made made(hipGraphNodeTypeKernel, std::move(launch));
  made.hostFunction = p->func;
  return made;
}

Made makeCopy(hipGraphNodeType type, const CopyOperation &copy, hipMemcpyKind kind) {
  if (hipError_t error = check(copy, kind))
    return error;
  Made made(type, copy);
  made.copyKind = kind;
  return made;
}

Made makeCopy1D(void *to, const void *from, size_t count, hipMemcpyKind kind) {
  return makeCopy(hipGraphNodeTypeMemcpy1D, {.to = to, .from = from, .width = count}, kind);
}

Made makeCopy3D(const hipMemcpy3DParms *p) {
  if (!p)
    return hipErrorInvalidValue;
  CopyOperation copy;
  if (hipError_t error = copyOf(*p, copy))
    return error;
  return makeCopy(hipGraphNodeTypeMemcpy, copy, p->kind);
}

Made makeSymbolCopy(bool toSymbol, const void *symbol, void *other, size_t count, size_t offset,
                    hipMemcpyKind kind) {
  void *place;
  if (hipError_t error = symbolPlace(symbol, offset, count, currentDevice(), place))
    return error;
  return toSymbol ? makeCopy(hipGraphNodeTypeMemcpyToSymbol,
                             {.to = place, .from = other, .width = count}, kind)
                  : makeCopy(hipGraphNodeTypeMemcpyFromSymbol,
                             {.to = other, .from = place, .width = count}, kind);
}

Made makeFill(const hipMemsetParams *p) {
  if (!p)
    return hipErrorInvalidValue;
  const FillOperation fill = fillOf(p);
  if (hipError_t error = check(fill))
    return error;
  return Made(hipGraphNodeTypeMemset, fill);
}

Made makeHost(const hipHostNodeParams *p) {
  if (!p || !p->fn)
    return hipErrorInvalidValue;
  hipHostNodeParams parameters = *p;
  return Made(hipGraphNodeTypeHost,
              HostOperation{[parameters] { parameters.fn(parameters.userData); }, parameters});
}

Made makeEvent(hipGraphNodeType type, hipEvent_t handle) {
  EventRef event = eventOf(handle);
  if (!event)
    return hipErrorInvalidHandle;
  return type == hipGraphNodeTypeEventRecord ? Made(type, RecordOperation{event})
                                             : Made(type, WaitOperation{event});
}

Made makeChild(hipGraph_t handle) {
  Graph *graph = graphOf(handle);
  if (!graph)
    return hipErrorInvalidValue;
  std::optional<std::vector<Operation>> all = graph->operations();
  if (!all)
    return hipErrorInvalidValue; // a cycle
  Made made(hipGraphNodeTypeGraph, ChildOperation{std::move(*all)});
  made.child = graph->clone();
  return made;
}

void assign(GraphNode &node, Made made) {
  node.operation = std::move(made.operation);
  node.hostFunction = made.hostFunction;
  node.copyKind = made.copyKind;
  if (made.child)
    node.child = std::move(made.child);
}

hipError_t addNode(hipGraphNode_t *handle, hipGraph_t graphHandle,
                   const hipGraphNode_t *dependencies, size_t count, Made made) {
  std::lock_guard lock(graphMutex());
  Graph *graph = graphOf(graphHandle);
  std::vector<GraphNode *> after;
  if (!handle || !graph || !nodesOf(*graph, dependencies, count, after))
    return result(hipErrorInvalidValue);
  if (made.error)
    return result(made.error);
  GraphNode *node = graph->add(made.type, {}, std::move(after));
  assign(*node, std::move(made));
  *handle = reinterpret_cast<hipGraphNode_t>(node);
  return result(hipSuccess);
}

hipError_t setNode(hipGraphNode_t handle, Made made) {
  std::lock_guard lock(graphMutex());
  GraphNode *node = nodeOf(handle);
  if (!node)
    return result(hipErrorInvalidValue);
  if (made.error)
    return result(made.error);
  if (!areSame(node->type, made.type))
    return result(hipErrorInvalidValue);
  assign(*node, std::move(made));
  return result(hipSuccess);
}

hipError_t setStep(hipGraphExec_t handle, hipGraphNode_t node, Made made) {
  std::lock_guard lock(graphMutex());
  ExecutableGraph *executable = executableOf(handle);
  if (!executable)
    return result(hipErrorInvalidValue);
  if (made.error)
    return result(made.error);
  ExecutableGraph::Step *step = executable->stepOf(node);
  if (!step || !areSame(step->type, made.type))
    return result(hipErrorInvalidValue);
  step->operation = std::move(made.operation);
  return result(hipSuccess);
}

} // namespace

HIP_EXPORT hipError_t hipGraphCreate(hipGraph_t *graph, unsigned flags) {
  if (hipError_t error = usable())
    return result(error);
  if (!graph || flags)
    return result(hipErrorInvalidValue);
  *graph = publish(std::make_unique<Graph>());
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphClone(hipGraph_t *clone, hipGraph_t handle) {
  std::lock_guard lock(graphMutex());
  Graph *graph = graphOf(handle);
  if (!clone || !graph)
    return result(hipErrorInvalidValue);
  *clone = publish(graph->clone());
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphNodeFindInClone(hipGraphNode_t *node, hipGraphNode_t original,
                                              hipGraph_t clone) {
  std::lock_guard lock(graphMutex());
  Graph *graph = graphOf(clone);
  if (!node || !graph)
    return result(hipErrorInvalidValue);
  for (auto &candidate : graph->nodes)
    if (reinterpret_cast<hipGraphNode_t>(const_cast<GraphNode *>(candidate->original)) ==
        original) {
      *node = reinterpret_cast<hipGraphNode_t>(candidate.get());
      return result(hipSuccess);
    }
  return result(hipErrorInvalidValue);
}

// ---------- Adding nodes

HIP_EXPORT hipError_t hipGraphAddKernelNode(hipGraphNode_t *node, hipGraph_t graph,
                                            const hipGraphNode_t *dependencies, size_t count,
                                            const hipKernelNodeParams *parameters) {
  if (hipError_t error = usable())
    return result(error);
  return addNode(node, graph, dependencies, count, makeKernel(parameters));
}

HIP_EXPORT hipError_t hipGraphAddMemcpyNode(hipGraphNode_t *node, hipGraph_t graph,
                                            const hipGraphNode_t *dependencies, size_t count,
                                            const hipMemcpy3DParms *parameters) {
  return addNode(node, graph, dependencies, count, makeCopy3D(parameters));
}

HIP_EXPORT hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t *node, hipGraph_t graph,
                                              const hipGraphNode_t *dependencies, size_t count,
                                              void *to, const void *from, size_t bytes,
                                              hipMemcpyKind kind) {
  return addNode(node, graph, dependencies, count, makeCopy1D(to, from, bytes, kind));
}

HIP_EXPORT hipError_t hipGraphAddMemcpyNodeToSymbol(hipGraphNode_t *node, hipGraph_t graph,
                                                    const hipGraphNode_t *dependencies,
                                                    size_t count, const void *symbol,
                                                    const void *from, size_t bytes, size_t offset,
                                                    hipMemcpyKind kind) {
  if (hipError_t error = usable())
    return result(error);
  return addNode(node, graph, dependencies, count,
                 makeSymbolCopy(true, symbol, const_cast<void *>(from), bytes, offset, kind));
}

HIP_EXPORT hipError_t hipGraphAddMemcpyNodeFromSymbol(hipGraphNode_t *node, hipGraph_t graph,
                                                      const hipGraphNode_t *dependencies,
                                                      size_t count, void *to, const void *symbol,
                                                      size_t bytes, size_t offset,
                                                      hipMemcpyKind kind) {
  if (hipError_t error = usable())
    return result(error);
  return addNode(node, graph, dependencies, count,
                 makeSymbolCopy(false, symbol, to, bytes, offset, kind));
}

HIP_EXPORT hipError_t hipGraphAddMemsetNode(hipGraphNode_t *node, hipGraph_t graph,
                                            const hipGraphNode_t *dependencies, size_t count,
                                            const hipMemsetParams *parameters) {
  return addNode(node, graph, dependencies, count, makeFill(parameters));
}

HIP_EXPORT hipError_t hipGraphAddHostNode(hipGraphNode_t *node, hipGraph_t graph,
                                          const hipGraphNode_t *dependencies, size_t count,
                                          const hipHostNodeParams *parameters) {
  return addNode(node, graph, dependencies, count, makeHost(parameters));
}

HIP_EXPORT hipError_t hipGraphAddEmptyNode(hipGraphNode_t *node, hipGraph_t graph,
                                           const hipGraphNode_t *dependencies, size_t count) {
  return addNode(node, graph, dependencies, count, Made(hipGraphNodeTypeEmpty, EmptyOperation{}));
}

HIP_EXPORT hipError_t hipGraphAddChildGraphNode(hipGraphNode_t *node, hipGraph_t graph,
                                                const hipGraphNode_t *dependencies, size_t count,
                                                hipGraph_t child) {
  std::lock_guard lock(graphMutex());
  return addNode(node, graph, dependencies, count, makeChild(child));
}

HIP_EXPORT hipError_t hipGraphAddEventRecordNode(hipGraphNode_t *node, hipGraph_t graph,
                                                 const hipGraphNode_t *dependencies, size_t count,
                                                 hipEvent_t event) {
  return addNode(node, graph, dependencies, count, makeEvent(hipGraphNodeTypeEventRecord, event));
}

HIP_EXPORT hipError_t hipGraphAddEventWaitNode(hipGraphNode_t *node, hipGraph_t graph,
                                               const hipGraphNode_t *dependencies, size_t count,
                                               hipEvent_t event) {
  return addNode(node, graph, dependencies, count, makeEvent(hipGraphNodeTypeWaitEvent, event));
}

// ---------- Changing nodes

HIP_EXPORT hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node,
                                                  const hipKernelNodeParams *parameters) {
  if (hipError_t error = usable())
    return result(error);
  return setNode(node, makeKernel(parameters));
}

HIP_EXPORT hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t node,
                                                  const hipMemcpy3DParms *parameters) {
  return setNode(node, makeCopy3D(parameters));
}

HIP_EXPORT hipError_t hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void *to, const void *from,
                                                    size_t bytes, hipMemcpyKind kind) {
  return setNode(node, makeCopy1D(to, from, bytes, kind));
}

HIP_EXPORT hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t node,
                                                  const hipMemsetParams *parameters) {
  return setNode(node, makeFill(parameters));
}

HIP_EXPORT hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node,
                                                const hipHostNodeParams *parameters) {
  return setNode(node, makeHost(parameters));
}

HIP_EXPORT hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t graph, hipGraphNode_t node,
                                                      const hipKernelNodeParams *parameters) {
  if (hipError_t error = usable())
    return result(error);
  return setStep(graph, node, makeKernel(parameters));
}

HIP_EXPORT hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t graph, hipGraphNode_t node,
                                                      hipMemcpy3DParms *parameters) {
  return setStep(graph, node, makeCopy3D(parameters));
}

HIP_EXPORT hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t graph, hipGraphNode_t node,
                                                        void *to, const void *from, size_t bytes,
                                                        hipMemcpyKind kind) {
  return setStep(graph, node, makeCopy1D(to, from, bytes, kind));
}

HIP_EXPORT hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t graph, hipGraphNode_t node,
                                                      const hipMemsetParams *parameters) {
  return setStep(graph, node, makeFill(parameters));
}

HIP_EXPORT hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t graph, hipGraphNode_t node,
                                                    const hipHostNodeParams *parameters) {
  return setStep(graph, node, makeHost(parameters));
}

HIP_EXPORT hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t graph, hipGraphNode_t node,
                                                          hipGraph_t child) {
  std::lock_guard lock(graphMutex());
  return setStep(graph, node, makeChild(child));
}

// The new graph must have the same shape: node by node, in the order in which they were added.
HIP_EXPORT hipError_t hipGraphExecUpdate(hipGraphExec_t handle, hipGraph_t graphHandle,
                                         hipGraphNode_t *errorNode,
                                         hipGraphExecUpdateResult *updateResult) {
  std::lock_guard lock(graphMutex());
  ExecutableGraph *executable = executableOf(handle);
  Graph *graph = graphOf(graphHandle);
  if (!executable || !graph || !errorNode || !updateResult)
    return result(hipErrorInvalidValue);
  *errorNode = nullptr;
  std::vector<GraphNode *> order = graph->ordered();
  if (order.size() != executable->steps.size()) {
    *updateResult = hipGraphExecUpdateErrorTopologyChanged;
    return result(hipErrorGraphExecUpdateFailure);
  }
  for (size_t i = 0; i < order.size(); ++i)
    if (!areSame(order[i]->type, executable->steps[i].type)) {
      *errorNode = reinterpret_cast<hipGraphNode_t>(order[i]);
      *updateResult = hipGraphExecUpdateErrorNodeTypeChanged;
      return result(hipErrorGraphExecUpdateFailure);
    }
  std::optional<std::vector<Operation>> all = graph->operations();
  if (!all) {
    *updateResult = hipGraphExecUpdateErrorTopologyChanged;
    return result(hipErrorGraphExecUpdateFailure);
  }
  for (size_t i = 0; i < order.size(); ++i)
    executable->steps[i].operation = std::move((*all)[i]);
  *updateResult = hipGraphExecUpdateSuccess;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphMemcpyNodeSetParamsToSymbol(hipGraphNode_t node, const void *symbol,
                                                          const void *from, size_t bytes,
                                                          size_t offset, hipMemcpyKind kind) {
  return setNode(node, makeSymbolCopy(true, symbol, const_cast<void *>(from), bytes, offset, kind));
}

HIP_EXPORT hipError_t hipGraphMemcpyNodeSetParamsFromSymbol(hipGraphNode_t node, void *to,
                                                            const void *symbol, size_t bytes,
                                                            size_t offset, hipMemcpyKind kind) {
  return setNode(node, makeSymbolCopy(false, symbol, to, bytes, offset, kind));
}

HIP_EXPORT hipError_t hipGraphExecMemcpyNodeSetParamsToSymbol(hipGraphExec_t graph,
                                                              hipGraphNode_t node,
                                                              const void *symbol, const void *from,
                                                              size_t bytes, size_t offset,
                                                              hipMemcpyKind kind) {
  return setStep(graph, node,
                 makeSymbolCopy(true, symbol, const_cast<void *>(from), bytes, offset, kind));
}

HIP_EXPORT hipError_t hipGraphExecMemcpyNodeSetParamsFromSymbol(hipGraphExec_t graph,
                                                                hipGraphNode_t node, void *to,
                                                                const void *symbol, size_t bytes,
                                                                size_t offset, hipMemcpyKind kind) {
  return setStep(graph, node, makeSymbolCopy(false, symbol, to, bytes, offset, kind));
}

HIP_EXPORT hipError_t hipGraphEventRecordNodeSetEvent(hipGraphNode_t node, hipEvent_t event) {
  return setNode(node, makeEvent(hipGraphNodeTypeEventRecord, event));
}

HIP_EXPORT hipError_t hipGraphEventWaitNodeSetEvent(hipGraphNode_t node, hipEvent_t event) {
  return setNode(node, makeEvent(hipGraphNodeTypeWaitEvent, event));
}

HIP_EXPORT hipError_t hipGraphExecEventRecordNodeSetEvent(hipGraphExec_t graph, hipGraphNode_t node,
                                                          hipEvent_t event) {
  return setStep(graph, node, makeEvent(hipGraphNodeTypeEventRecord, event));
}

HIP_EXPORT hipError_t hipGraphExecEventWaitNodeSetEvent(hipGraphExec_t graph, hipGraphNode_t node,
                                                        hipEvent_t event) {
  return setStep(graph, node, makeEvent(hipGraphNodeTypeWaitEvent, event));
}
