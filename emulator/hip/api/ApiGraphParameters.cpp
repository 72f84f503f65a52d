// SPDX-License-Identifier: Apache-2.0
// Nodes whose parameters come in one structure for all types (hipGraphNodeParams), or in those of
// CUDA's driver API. HIP: "Graph Management". What HIP 5.2's headers do not have is declared here.
#include "emulator/hip/Graph.h"
#include "emulator/hip/api/Version.h"

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

namespace {

struct NodeParameters {
  int type; // as this version of HIP numbers them
  int reserved[3];
  union {
    long long words[29];
    hipKernelNodeParams kernel;
    struct {
      int flags, reserved[3];
      hipMemcpy3DParms parameters;
    } copy;
    hipMemsetParams fill;
    hipHostNodeParams host;
    hipGraph_t graph;
    hipEvent_t event;
  };
  long long reservedEnd;
};
static_assert(sizeof(NodeParameters) == 256);

struct RecordNode {
  hipEvent_t event;
};
struct WaitNode {
  hipEvent_t event;
};
struct EmptyNode {};

// Hands the parameters of the type to `use`, which has an overload for each.
template <typename Use>
hipError_t visit(const char *function, const NodeParameters *p, const Use &use) {
  const std::optional<hipGraphNodeType> type = p ? nodeTypeOf(p->type) : std::nullopt;
  if (!p)
    return result(hipErrorInvalidValue);
  if (!type)
    return refuse(function, "nodes of this type");
  switch (*type) {
  case hipGraphNodeTypeKernel:
    return use(&p->kernel);
  case hipGraphNodeTypeMemcpy:
    return p->copy.flags ? result(hipErrorInvalidValue) : use(&p->copy.parameters);
  case hipGraphNodeTypeMemset:
    return use(&p->fill);
  case hipGraphNodeTypeHost:
    return use(&p->host);
  case hipGraphNodeTypeGraph:
    return use(p->graph);
  case hipGraphNodeTypeEmpty:
    return use(EmptyNode());
  case hipGraphNodeTypeWaitEvent:
    return use(WaitNode{p->event});
  case hipGraphNodeTypeEventRecord:
    return use(RecordNode{p->event});
  default: // they have functions of their own only
    return refuse(function, "nodes of this type");
  }
}

struct Add {
  hipGraphNode_t *node;
  hipGraph_t graph;
  const hipGraphNode_t *dependencies;
  size_t count;
  hipError_t operator()(const hipKernelNodeParams *p) const {
    return hipGraphAddKernelNode(node, graph, dependencies, count, p);
  }
  hipError_t operator()(const hipMemcpy3DParms *p) const {
    return hipGraphAddMemcpyNode(node, graph, dependencies, count, p);
  }
  hipError_t operator()(const hipMemsetParams *p) const {
    return hipGraphAddMemsetNode(node, graph, dependencies, count, p);
  }
  hipError_t operator()(const hipHostNodeParams *p) const {
    return hipGraphAddHostNode(node, graph, dependencies, count, p);
  }
  hipError_t operator()(hipGraph_t child) const {
    return hipGraphAddChildGraphNode(node, graph, dependencies, count, child);
  }
  hipError_t operator()(EmptyNode) const {
    return hipGraphAddEmptyNode(node, graph, dependencies, count);
  }
  hipError_t operator()(WaitNode wait) const {
    return hipGraphAddEventWaitNode(node, graph, dependencies, count, wait.event);
  }
  hipError_t operator()(RecordNode record) const {
    return hipGraphAddEventRecordNode(node, graph, dependencies, count, record.event);
  }
};

struct Set {
  hipGraphNode_t node;
  hipError_t operator()(const hipKernelNodeParams *p) const {
    return hipGraphKernelNodeSetParams(node, p);
  }
  hipError_t operator()(const hipMemcpy3DParms *p) const {
    return hipGraphMemcpyNodeSetParams(node, p);
  }
  hipError_t operator()(const hipMemsetParams *p) const {
    return hipGraphMemsetNodeSetParams(node, p);
  }
  hipError_t operator()(const hipHostNodeParams *p) const {
    return hipGraphHostNodeSetParams(node, p);
  }
  hipError_t operator()(hipGraph_t) const {
    return refuse("hipGraphNodeSetParams", "other graphs in a node");
  }
  hipError_t operator()(EmptyNode) const { return result(hipErrorInvalidValue); }
  hipError_t operator()(WaitNode wait) const {
    return hipGraphEventWaitNodeSetEvent(node, wait.event);
  }
  hipError_t operator()(RecordNode record) const {
    return hipGraphEventRecordNodeSetEvent(node, record.event);
  }
};

struct SetInExecutable {
  hipGraphExec_t graph;
  hipGraphNode_t node;
  hipError_t operator()(const hipKernelNodeParams *p) const {
    return hipGraphExecKernelNodeSetParams(graph, node, p);
  }
  hipError_t operator()(const hipMemcpy3DParms *p) const {
    return hipGraphExecMemcpyNodeSetParams(graph, node, const_cast<hipMemcpy3DParms *>(p));
  }
  hipError_t operator()(const hipMemsetParams *p) const {
    return hipGraphExecMemsetNodeSetParams(graph, node, p);
  }
  hipError_t operator()(const hipHostNodeParams *p) const {
    return hipGraphExecHostNodeSetParams(graph, node, p);
  }
  hipError_t operator()(hipGraph_t child) const {
    return hipGraphExecChildGraphNodeSetParams(graph, node, child);
  }
  hipError_t operator()(EmptyNode) const { return result(hipErrorInvalidValue); }
  hipError_t operator()(WaitNode wait) const {
    return hipGraphExecEventWaitNodeSetEvent(graph, node, wait.event);
  }
  hipError_t operator()(RecordNode record) const {
    return hipGraphExecEventRecordNodeSetEvent(graph, node, record.event);
  }
};

// The contexts of the driver API are devices, of whose memory all is in one space: none is needed.
template <typename Use> hipError_t withDriverCopy(const HIP_MEMCPY3D *parameters, const Use &use) {
  CopyOperation copy;
  hipMemcpyKind kind;
  if (hipError_t error = copyOf(parameters, copy, kind))
    return result(error);
  const hipMemcpy3DParms other = parametersOf(copy, kind);
  return use(&other);
}

// The driver API has always had the order that HIP 7 has given the others too.
template <typename Use> hipError_t withDriverFill(const FillParameters *p, const Use &use) {
  if (!p)
    return result(hipErrorInvalidValue);
  const hipMemsetParams older = {p->to, p->elementBytes, p->height, p->pitch, p->value, p->width};
  const void *parameters = p;
  return use(hipMajorVersion() < 7 ? &older : static_cast<const hipMemsetParams *>(parameters));
}

} // namespace

FillOperation rubia::emulator::hip::fillOf(const hipMemsetParams *p) {
  if (hipMajorVersion() < 7)
    return {p->dst, p->value, p->elementSize, p->width, p->height, p->pitch};
  const void *parameters = p;
  const auto &since7 = *static_cast<const FillParameters *>(parameters);
  return {since7.to, since7.value, since7.elementBytes, since7.width, since7.height, since7.pitch};
}

void rubia::emulator::hip::giveParameters(const FillOperation &fill, hipMemsetParams *p) {
  void *parameters = p;
  if (hipMajorVersion() >= 7)
    *static_cast<FillParameters *>(parameters) = {fill.to,           fill.pitch, fill.value,
                                                  fill.elementBytes, fill.count, fill.height};
  else
    *p = {fill.to, fill.elementBytes, fill.height, fill.pitch, fill.value, fill.count};
}

#pragma clang diagnostic ignored "-Wmissing-prototypes"

HIP_EXPORT hipError_t hipGraphAddNode(hipGraphNode_t *node, hipGraph_t graph,
                                      const hipGraphNode_t *dependencies, size_t count,
                                      const NodeParameters *parameters) {
  return visit("hipGraphAddNode", parameters, Add{node, graph, dependencies, count});
}

HIP_EXPORT hipError_t hipGraphNodeSetParams(hipGraphNode_t node, const NodeParameters *parameters) {
  return visit("hipGraphNodeSetParams", parameters, Set{node});
}

HIP_EXPORT hipError_t hipGraphExecNodeSetParams(hipGraphExec_t graph, hipGraphNode_t node,
                                                const NodeParameters *parameters) {
  return visit("hipGraphExecNodeSetParams", parameters, SetInExecutable{graph, node});
}

HIP_EXPORT hipError_t hipDrvGraphAddMemcpyNode(hipGraphNode_t *node, hipGraph_t graph,
                                               const hipGraphNode_t *dependencies, size_t count,
                                               const HIP_MEMCPY3D *parameters, hipCtx_t) {
  return withDriverCopy(parameters, Add{node, graph, dependencies, count});
}

HIP_EXPORT hipError_t hipDrvGraphMemcpyNodeSetParams(hipGraphNode_t node,
                                                     const HIP_MEMCPY3D *parameters) {
  return withDriverCopy(parameters, Set{node});
}

HIP_EXPORT hipError_t hipDrvGraphExecMemcpyNodeSetParams(hipGraphExec_t graph, hipGraphNode_t node,
                                                         const HIP_MEMCPY3D *parameters, hipCtx_t) {
  return withDriverCopy(parameters, SetInExecutable{graph, node});
}

HIP_EXPORT hipError_t hipDrvGraphAddMemsetNode(hipGraphNode_t *node, hipGraph_t graph,
                                               const hipGraphNode_t *dependencies, size_t count,
                                               const FillParameters *parameters, hipCtx_t) {
  return withDriverFill(parameters, Add{node, graph, dependencies, count});
}

HIP_EXPORT hipError_t hipDrvGraphExecMemsetNodeSetParams(hipGraphExec_t graph, hipGraphNode_t node,
                                                         const FillParameters *parameters,
                                                         hipCtx_t) {
  return withDriverFill(parameters, SetInExecutable{graph, node});
}
