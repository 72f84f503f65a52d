// SPDX-License-Identifier: Apache-2.0
// Asking nodes for their parameters, and changing them.
#include "runtime/cuda/LaunchHints.h"
#include "runtime/cuda/Occupancy.h"
#include "runtime/cuda/graph/GraphNodes.h"
#include <cstring>

using namespace llvm;

namespace rubia::runtime::cuda {

// Runs `body` with the operation of a node of its kind.
template <class Kind, class Body>
static Result ask(const TracedCall &entry, GraphNode *node, const void *out, Body body) {
  return callIn(entry, [&](Context &) -> Result {
    GraphLock lock;
    auto *operation = liveNode(node) ? std::get_if<Kind>(&node->operation) : nullptr;
    return out && operation ? (body(*operation), kSuccess) : kInvalidValue;
  });
}

// The arrays are the node's, and the values in them its own. Where they are is known only as long
// as the function is.
static KernelNodeParametersV2 describe(GraphNode &node, KernelOperation &kernel) {
  KernelNodeParametersV2 p{};
  p.first.function = kernel.function;
  p.kernel = kernel.isKernelHandle ? kernel.function : nullptr;
  p.context = node.context;
  memcpy(p.first.grid, kernel.shape.grid, sizeof(p.first.grid));
  memcpy(p.first.block, kernel.shape.block, sizeof(p.first.block));
  p.first.sharedBytes = kernel.shape.dynamicSharedBytes;
  node.values.clear();
  if (kernel.isBuffer) {
    node.bufferBytes = kernel.parameters.size();
    node.values = {reinterpret_cast<void *>(1), kernel.parameters.data(),
                   reinterpret_cast<void *>(2), &node.bufferBytes, nullptr};
    p.first.extra = node.values.data();
    return p;
  }
  if (!kernel.isLive())
    return p;
  for (const Manifest::Parameter &parameter : kernel.function->kernel.parameters)
    node.values.push_back(kernel.parameters.data() + parameter.offset);
  if (!node.values.empty())
    p.first.values = node.values.data();
  return p;
}

// The arrays are the node's.
static SemaphoresNodeParameters describe(const SemaphoresOperation &operation) {
  return {operation.handles.data(), operation.parameters.data(),
          unsigned(operation.handles.size())};
}

// Launch attributes that a kernel keeps stay with the node.
static void assign(GraphNode &node, Made made) {
  if (auto *old = std::get_if<KernelOperation>(&node.operation)) {
    std::get<KernelOperation>(made.operation).keepAttributes(*old);
  }
  node.operation = std::move(made.operation);
  node.context = made.context;
}

template <class Make> static Result change(const TracedCall &entry, GraphNode *node, Make make) {
  return callIn(entry, [&](Context &context) -> Result {
    GraphLock lock;
    if (!liveNode(node))
      return kInvalidValue;
    Made made = make(context);
    if (made.error)
      return made.error;
    if (made.operation.index() != node->operation.index())
      return kInvalidValue;
    assign(*node, std::move(made));
    return kSuccess;
  });
}

// Attributes that a node keeps without them changing anything; they are hints.
static bool isHint(int id) {
  switch (LaunchAttributeId(id)) {
  case kLaunchAccessPolicyWindow:
  case kLaunchClusterSchedulingPolicy:
  case kLaunchPriority:
  case kLaunchMemSyncDomainMap:
  case kLaunchMemSyncDomain:
  case kLaunchPreferredSharedMemoryCarveout:
    return true;
  case kLaunchIgnore:
  case kLaunchCooperative:
  case kLaunchSynchronizationPolicy:
  case kLaunchClusterDimension:
  case kLaunchProgrammaticStreamSerialization:
  case kLaunchProgrammaticEvent:
  case kLaunchPreferredClusterDimension:
  case kLaunchCompletionEvent:
  case kLaunchDeviceUpdatableKernelNode:
  case kLaunchNvlinkUtilCentricScheduling:
    return false;
  }
  return false;
}

// How much of the union of values each attribute has.
static size_t bytesOf(int id) {
  switch (id) {
  case kLaunchAccessPolicyWindow:
    return 32;
  case kLaunchClusterDimension:
    return 12;
  case kLaunchMemSyncDomainMap:
    return 2;
  }
  return 4;
}

static Result getAttribute(const KernelOperation &kernel, int id, char *out) {
  if (!isHint(id) && id != kLaunchCooperative && id != kLaunchClusterDimension)
    return kInvalidValue;
  auto found = kernel.attributes.find(id);
  char none[64] = {};
  if (id == kLaunchMemSyncDomainMap)
    none[1] = 1; // the remote domain
  memcpy(out, found == kernel.attributes.end() ? none : found->second.bytes, bytesOf(id));
  return kSuccess;
}

static Result setAttribute(const Device &device, KernelOperation &kernel, int id,
                           const char *value) {
  LaunchAttribute attribute{};
  memcpy(attribute.bytes, value, bytesOf(id));
  const bool isCluster = id == kLaunchClusterDimension;
  if (!isValidHint(id, attribute.bytes) || (!isHint(id) && id != kLaunchCooperative && !isCluster))
    return kInvalidValue;
  if (id == kLaunchCooperative)
    kernel.isCooperative = attribute.flag;
  if (isCluster) {
    if (!kernel.isLive())
      return kInvalidHandle;
    LaunchShape shape = kernel.shape;
    shape.cluster[0] = attribute.cluster.x;
    shape.cluster[1] = attribute.cluster.y;
    shape.cluster[2] = attribute.cluster.z;
    LaunchShape taken = shape;
    if (Result result = takeCluster(device, *kernel.function, taken))
      return result;
    if (Result result =
            checkCluster(kernel.function->kernel, taken, mostClusterCtas(device, *kernel.function)))
      return result;
    llvm::copy(shape.cluster, kernel.shape.cluster);
  }
  kernel.attributes[id] = attribute;
  return kSuccess;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuGraphKernelNodeGetParams(GraphNode *node, KernelNodeParameters *out) {
  return ask<KernelOperation>(RUBIA_CALL(node, out), node, out, [&](KernelOperation &kernel) {
    *out = describe(*node, kernel).first;
  });
}
Result cuGraphKernelNodeGetParams_v2(GraphNode *node, KernelNodeParametersV2 *out) {
  return ask<KernelOperation>(RUBIA_CALL(node, out), node, out,
                              [&](KernelOperation &kernel) { *out = describe(*node, kernel); });
}
Result cuGraphMemcpyNodeGetParams(GraphNode *node, Copy3D *out) {
  return ask<CopyOperation>(RUBIA_CALL(node, out), node, out,
                            [&](CopyOperation &operation) { *out = operation.copy; });
}
Result cuGraphMemsetNodeGetParams(GraphNode *node, FillNodeParameters *out) {
  return ask<FillOperation>(RUBIA_CALL(node, out), node, out,
                            [&](FillOperation &operation) { *out = operation.fill; });
}
Result cuGraphHostNodeGetParams(GraphNode *node, HostNodeParameters *out) {
  return ask<HostOperation>(RUBIA_CALL(node, out), node, out,
                            [&](HostOperation &operation) { *out = operation.host; });
}
Result cuGraphChildGraphNodeGetGraph(GraphNode *node, Graph **out) {
  return ask<ChildOperation>(RUBIA_CALL(node, out), node, out,
                             [&](ChildOperation &operation) { *out = operation.graph; });
}
Result cuGraphEventRecordNodeGetEvent(GraphNode *node, Event **out) {
  return ask<RecordOperation>(RUBIA_CALL(node, out), node, out,
                              [&](RecordOperation &operation) { *out = operation.event.get(); });
}
Result cuGraphEventWaitNodeGetEvent(GraphNode *node, Event **out) {
  return ask<WaitOperation>(RUBIA_CALL(node, out), node, out,
                            [&](WaitOperation &operation) { *out = operation.event.get(); });
}
Result cuGraphMemAllocNodeGetParams(GraphNode *node, AllocateNodeParameters *out) {
  return ask<AllocateOperation>(RUBIA_CALL(node, out), node, out,
                                [&](AllocateOperation &operation) { *out = operation.parameters; });
}
Result cuGraphBatchMemOpNodeGetParams(GraphNode *node, BatchNodeParameters *out) {
  return ask<BatchOperation>(RUBIA_CALL(node, out), node, out, [&](BatchOperation &batch) {
    *out = {node->context, unsigned(batch.operations.size()), batch.operations.data(), 0};
  });
}
Result cuGraphExternalSemaphoresSignalNodeGetParams(GraphNode *node,
                                                    SemaphoresNodeParameters *out) {
  return ask<SignalSemaphoresOperation>(
      RUBIA_CALL(node, out), node, out,
      [&](SignalSemaphoresOperation &operation) { *out = describe(operation); });
}
Result cuGraphExternalSemaphoresWaitNodeGetParams(GraphNode *node, SemaphoresNodeParameters *out) {
  return ask<WaitSemaphoresOperation>(
      RUBIA_CALL(node, out), node, out,
      [&](WaitSemaphoresOperation &operation) { *out = describe(operation); });
}
Result cuGraphMemFreeNodeGetParams(GraphNode *node, void **out) {
  return ask<FreeOperation>(RUBIA_CALL(node, out), node, out,
                            [&](FreeOperation &operation) { *out = operation.address; });
}

Result cuGraphKernelNodeSetParams_v2(GraphNode *node, const KernelNodeParametersV2 *p) {
  return change(RUBIA_CALL(node, p), node,
                [&](Context &context) { return makeKernelNode(context, p); });
}
Result cuGraphKernelNodeSetParams(GraphNode *node, const KernelNodeParameters *p) {
  return change(RUBIA_CALL(node, p), node, [&](Context &context) {
    const KernelNodeParametersV2 wide = p ? widened(*p) : KernelNodeParametersV2{};
    return makeKernelNode(context, p ? &wide : nullptr);
  });
}
Result cuGraphMemcpyNodeSetParams(GraphNode *node, const Copy3D *copy) {
  return change(RUBIA_CALL(node, copy), node,
                [&](Context &) { return makeCopyNode(*node->context, copy, nullptr); });
}
Result cuGraphMemsetNodeSetParams(GraphNode *node, const FillNodeParameters *fill) {
  return change(RUBIA_CALL(node, fill), node,
                [&](Context &) { return makeFillNode(*node->context, fill, nullptr); });
}
Result cuGraphHostNodeSetParams(GraphNode *node, const HostNodeParameters *host) {
  return change(RUBIA_CALL(node, host), node,
                [&](Context &context) { return makeHostNode(context, host); });
}
Result cuGraphBatchMemOpNodeSetParams(GraphNode *node, const BatchNodeParameters *batch) {
  return change(RUBIA_CALL(node, batch), node, [&](Context &) { return makeBatchNode(batch); });
}
Result cuGraphExternalSemaphoresSignalNodeSetParams(GraphNode *node,
                                                    const SemaphoresNodeParameters *p) {
  return change(RUBIA_CALL(node, p), node,
                [&](Context &) { return makeSignalNode(*node->context, p); });
}
Result cuGraphExternalSemaphoresWaitNodeSetParams(GraphNode *node,
                                                  const SemaphoresNodeParameters *p) {
  return change(RUBIA_CALL(node, p), node,
                [&](Context &) { return makeWaitSemaphoresNode(*node->context, p); });
}
Result cuGraphEventRecordNodeSetEvent(GraphNode *node, Event *event) {
  return change(RUBIA_CALL(node, event), node,
                [&](Context &context) { return makeRecordNode(context, event); });
}
Result cuGraphEventWaitNodeSetEvent(GraphNode *node, Event *event) {
  return change(RUBIA_CALL(node, event), node,
                [&](Context &context) { return makeWaitNode(context, event); });
}
Result cuGraphNodeSetParams(GraphNode *node, NodeParameters *p) {
  return change(RUBIA_CALL(node, p), node, [&](Context &context) -> Made {
    if (!p || p->type != node->type())
      return kInvalidValue;
    if (p->type == kConditionalNode) // bodies are changed instead
      return kNotSupported;
    return makeNode(context, p);
  });
}

Result cuGraphKernelNodeGetAttribute(GraphNode *node, int id, char *out) {
  return callIn(RUBIA_CALL(node, id, out), [&](Context &) {
    GraphLock lock;
    auto *kernel = liveNode(node) ? std::get_if<KernelOperation>(&node->operation) : nullptr;
    return kernel && out ? getAttribute(*kernel, id, out) : kInvalidValue;
  });
}
Result cuGraphKernelNodeSetAttribute(GraphNode *node, int id, const char *value) {
  return callIn(RUBIA_CALL(node, id, value), [&](Context &context) {
    GraphLock lock;
    auto *kernel = liveNode(node) ? std::get_if<KernelOperation>(&node->operation) : nullptr;
    return kernel && value ? setAttribute(context.device, *kernel, id, value) : kInvalidValue;
  });
}
Result cuGraphKernelNodeCopyAttributes(GraphNode *to, GraphNode *from) {
  return callIn(RUBIA_CALL(to, from), [&](Context &) {
    GraphLock lock;
    if (!liveNode(to) || !liveNode(from))
      return kInvalidValue;
    auto *source = std::get_if<KernelOperation>(&from->operation);
    auto *target = std::get_if<KernelOperation>(&to->operation);
    if (!source || !target)
      return kInvalidValue;
    target->keepAttributes(*source);
    return kSuccess;
  });
}

} // extern "C"
