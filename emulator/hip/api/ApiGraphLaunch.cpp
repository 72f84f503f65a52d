// SPDX-License-Identifier: Apache-2.0
// Executable graphs: how they are made of graphs, changed and launched. HIP: "Graph Management".
#include "emulator/hip/Graph.h"
#include <algorithm>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

namespace {

// AutoFreeOnLaunch, Upload and UseNodePriority change nothing here: there are no nodes that
// allocate, nothing to upload and no priorities. DeviceLaunch (4) is refused.
constexpr unsigned kInstantiateFlags = 1 | 2 | 8;

// hipGraphInstantiateParams and its results, which headers have since HIP 6.1.
enum class InstantiateResult : int { Success, Error, InvalidStructure };
struct InstantiateParameters {
  hipGraphNode_t errorNode;
  unsigned long long flags;
  InstantiateResult result;
  hipStream_t uploadStream;
};

hipError_t instantiate(hipGraphExec_t *handle, hipGraph_t graphHandle, unsigned long long flags,
                       InstantiateResult &why) {
  why = InstantiateResult::Error;
  if (hipError_t error = usable())
    return error;
  std::lock_guard lock(graphMutex());
  Graph *graph = graphOf(graphHandle);
  if (!handle || !graph || (flags & ~uint64_t(kInstantiateFlags)))
    return hipErrorInvalidValue;
  if (isCaptured(*graph))
    return hipErrorIllegalState;
  std::vector<GraphNode *> order = graph->ordered();
  std::optional<std::vector<Operation>> all = graph->operations();
  if (!all) {
    why = InstantiateResult::InvalidStructure; // a cycle
    return hipErrorInvalidValue;
  }
  auto executable = std::make_unique<ExecutableGraph>();
  executable->flags = flags;
  for (size_t i = 0; i < order.size(); ++i)
    executable->steps.push_back({order[i], order[i]->type, std::move((*all)[i])});
  *handle = publish(std::move(executable));
  why = InstantiateResult::Success;
  return hipSuccess;
}

// Nodes that do something on the device can be switched off.
bool canBeDisabled(hipGraphNodeType type) {
  switch (type) {
  case hipGraphNodeTypeKernel:
  case hipGraphNodeTypeMemcpy:
  case hipGraphNodeTypeMemcpy1D:
  case hipGraphNodeTypeMemcpyFromSymbol:
  case hipGraphNodeTypeMemcpyToSymbol:
  case hipGraphNodeTypeMemset:
    return true;
  default:
    return false;
  }
}

} // namespace

ExecutableGraph::Step *ExecutableGraph::stepOf(hipGraphNode_t handle) {
  const auto *wanted = reinterpret_cast<const GraphNode *>(handle);
  auto step = std::find_if(steps.begin(), steps.end(),
                           [&](const Step &candidate) { return candidate.node == wanted; });
  return step == steps.end() ? nullptr : &*step;
}

HIP_EXPORT hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *handle, hipGraph_t graph,
                                                   unsigned long long flags) {
  InstantiateResult why;
  return result(instantiate(handle, graph, flags, why));
}

HIP_EXPORT hipError_t hipGraphInstantiate(hipGraphExec_t *handle, hipGraph_t graph,
                                          hipGraphNode_t *errorNode, char *log, size_t logBytes) {
  if (errorNode)
    *errorNode = nullptr;
  if (log && logBytes)
    *log = 0;
  return hipGraphInstantiateWithFlags(handle, graph, 0);
}

// The functions are HIP's; only their declarations are not in HIP 5.2's headers.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

HIP_EXPORT hipError_t hipGraphInstantiateWithParams(hipGraphExec_t *handle, hipGraph_t graph,
                                                    InstantiateParameters *parameters) {
  if (!parameters)
    return result(hipErrorInvalidValue);
  parameters->errorNode = nullptr;
  return result(instantiate(handle, graph, parameters->flags, parameters->result));
}

HIP_EXPORT hipError_t hipGraphExecGetFlags(hipGraphExec_t handle, unsigned long long *flags) {
  std::lock_guard lock(graphMutex());
  ExecutableGraph *executable = executableOf(handle);
  if (!executable || !flags)
    return result(hipErrorInvalidValue);
  *flags = executable->flags;
  return result(hipSuccess);
}

// There is nothing that a launch would have to wait for.
HIP_EXPORT hipError_t hipGraphUpload(hipGraphExec_t handle, hipStream_t stream) {
  StreamRef found;
  if (hipError_t error = findStream(stream, found))
    return result(error);
  return result(executableOf(handle) ? hipSuccess : hipErrorInvalidValue);
}

HIP_EXPORT hipError_t hipGraphNodeSetEnabled(hipGraphExec_t handle, hipGraphNode_t node,
                                             unsigned enabled) {
  std::lock_guard lock(graphMutex());
  ExecutableGraph *executable = executableOf(handle);
  ExecutableGraph::Step *step = executable ? executable->stepOf(node) : nullptr;
  if (!step || !canBeDisabled(step->type))
    return result(hipErrorInvalidValue);
  step->enabled = enabled != 0;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphNodeGetEnabled(hipGraphExec_t handle, hipGraphNode_t node,
                                             unsigned *enabled) {
  std::lock_guard lock(graphMutex());
  ExecutableGraph *executable = executableOf(handle);
  ExecutableGraph::Step *step = executable ? executable->stepOf(node) : nullptr;
  if (!step || !enabled || !canBeDisabled(step->type))
    return result(hipErrorInvalidValue);
  *enabled = step->enabled;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphLaunch(hipGraphExec_t handle, hipStream_t streamHandle) {
  StreamRef stream;
  if (hipError_t error = findStream(streamHandle, stream))
    return result(error);
  ChildOperation all;
  {
    std::lock_guard lock(graphMutex());
    ExecutableGraph *executable = executableOf(handle);
    if (!executable)
      return result(hipErrorInvalidValue);
    for (ExecutableGraph::Step &step : executable->steps)
      if (step.enabled)
        all.operations.push_back(step.operation);
  }
  if (!isCapturing(*stream))
    for (Operation &operation : all.operations)
      resolveEvents(operation);
  return result(submit(*stream, std::move(all)));
}
