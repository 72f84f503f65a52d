// SPDX-License-Identifier: Apache-2.0
// Adding nodes.
#include "runtime/cuda/graph/GraphNodes.h"
#include "runtime/cuda/Context.h"
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/Occupancy.h"
#include "runtime/cuda/graph/Capture.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace llvm;

namespace rubia::runtime::cuda {

KernelNodeParametersV2 widened(const KernelNodeParameters &parameters) {
  return {parameters, nullptr, nullptr};
}

// The context that a node names; null stands for the current one.
static Context *contextOf(Context &current, Context *named) {
  return named ? contextNamed(named) : &current;
}

Made makeKernelNode(Context &current, const KernelNodeParametersV2 *p) {
  if (!p)
    return kInvalidValue;
  Function *function = p->kernel ? p->kernel : p->first.function;
  Context *context = contextOf(current, p->context);
  if (!function)
    return kInvalidHandle;
  if (!context)
    return kInvalidContext;
  LaunchShape shape;
  memcpy(shape.grid, p->first.grid, sizeof(shape.grid));
  memcpy(shape.block, p->first.block, sizeof(shape.block));
  shape.dynamicSharedBytes = p->first.sharedBytes;
  KernelOperation operation;
  // What is set for the function has to fit now, and counts once the graph is instantiated.
  Result result = inContext(current, *context, [&]() -> Result {
    LaunchShape now = shape;
    if (isLive(function))
      if (Result result = takeCluster(context->device, *function, now))
        return result;
    return makeKernel(*context, function, now, p->first.values, p->first.extra, false, operation);
  });
  if (result)
    return result;
  operation.shape = shape;
  return {*context, std::move(operation)};
}

Made makeCopyNode(Context &current, const Copy3D *copy, Context *named) {
  Context *context = contextOf(current, named);
  if (!copy)
    return kInvalidValue;
  if (!context)
    return kInvalidContext;
  CopyOperation operation = copyOf(*copy);
  if (Result result = checkCopy(*context, operation))
    return result;
  if (Result result = checkCopied(*context, *copy))
    return result;
  return {*context, operation};
}

Made makeFillNode(Context &current, const FillNodeParameters *fill, Context *named) {
  Context *context = contextOf(current, named);
  if (!fill)
    return kInvalidValue;
  if (!context)
    return kInvalidContext;
  if (Result result = checkFill(*context, *fill))
    return result;
  if (Result result = checkCopied(*context, fill->to))
    return result;
  return {*context, FillOperation{*fill}};
}

Made makeHostNode(Context &current, const HostNodeParameters *host) {
  if (!host || !host->function)
    return kInvalidValue;
  return {current, HostOperation{*host}};
}

Made makeRecordNode(Context &current, Event *event) {
  if (!isLive(event))
    return kInvalidValue;
  return {current, RecordOperation{event->shared_from_this()}};
}

Made makeWaitNode(Context &current, Event *event) {
  if (!isLive(event))
    return kInvalidValue;
  return {current, WaitOperation{event->shared_from_this()}};
}

// Nodes with memory can be in one graph only.
static Made makeChildNode(Context &current, const Graph &graph, Graph *child, int ownership) {
  if (!liveGraph(child) || ownership < 0 || ownership > 1)
    return kInvalidValue;
  for (const Graph *outer = &graph; outer; outer = outer->parent ? outer->parent->graph : nullptr)
    if (outer == child)
      return kInvalidValue;
  if (child->hasConditional())
    return fail(kNotSupported, "cuGraphAddChildGraphNode: a graph with conditional nodes");
  if (ownership) // CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE
    return child->parent || isBeingCaptured(*child) ? Made(kInvalidValue)
                                                    : Made(current, ChildOperation{child});
  if (child->hasMemory())
    return fail(kNotSupported,
                "cuGraphAddChildGraphNode: a graph with nodes that allocate or free memory");
  return {current, ChildOperation{child->clone().release()}};
}

static Made makeAllocateNode(Context &current, AllocateNodeParameters *parameters) {
  if (!parameters)
    return kInvalidValue;
  AllocateOperation operation{*parameters};
  if (Result result = allocateForGraph(current, operation))
    return result;
  parameters->address = operation.parameters.address;
  operation.parameters.access = nullptr; // the program's array
  operation.parameters.accessCount = 0;
  return {current, operation};
}

static Made makeFreeNode(Context &current, const Graph &graph, void *address) {
  FreeOperation operation{address};
  if (Result result = makeFree(graph, address, operation))
    return result;
  return {current, operation};
}

Made makeBatchNode(const BatchNodeParameters *p) {
  if (!p)
    return kInvalidValue;
  Context *context = contextNamed(p->context);
  if (!context)
    return kInvalidValue;
  BatchOperation batch;
  if (Result result = makeBatch(*context, p->operations, p->count, p->flags, batch))
    return result;
  return {*context, std::move(batch)};
}

template <class Operation>
static Made makeSemaphoresNode(Context &current, const SemaphoresNodeParameters *p) {
  if (!p)
    return kInvalidValue;
  Operation operation;
  if (Result result = makeSemaphores(p->semaphores, p->parameters, p->count, operation))
    return result;
  return {current, std::move(operation)};
}
Made makeSignalNode(Context &current, const SemaphoresNodeParameters *p) {
  return makeSemaphoresNode<SignalSemaphoresOperation>(current, p);
}
Made makeWaitSemaphoresNode(Context &current, const SemaphoresNodeParameters *p) {
  return makeSemaphoresNode<WaitSemaphoresOperation>(current, p);
}

// That a node of the graph may use: handles are made for a graph and what is inside of it.
static Conditional *findConditional(Graph &graph, uint64_t handle) {
  for (Graph *outer = &graph; outer; outer = outer->parent ? outer->parent->graph : nullptr)
    if (auto found = outer->conditionals.find(handle); found != outer->conditionals.end())
      return &found->second;
  return nullptr;
}

// A handle belongs to one node.
template <class Parameters>
static Made makeConditionalNode(Context &current, Graph &graph, Parameters &p) {
  Context *context = contextOf(current, p.context);
  Conditional *conditional = findConditional(graph, p.handle);
  if (!context || !conditional || conditional->isUsed)
    return kInvalidValue;
  const bool isSize = p.type == kIfNode      ? p.size == 1 || p.size == 2
                      : p.type == kWhileNode ? p.size == 1
                                             : p.type == kSwitchNode && p.size;
  if (!isSize)
    return kInvalidValue;
  conditional->isUsed = true;
  ConditionalOperation operation{p.handle, p.type, {}, conditional->word};
  for (unsigned i = 0; i < p.size; ++i)
    operation.bodies.push_back(new Graph);
  return {*context, std::move(operation)};
}

static bool hasReserved(const NodeParameters &p) {
  return p.reserved0[0] || p.reserved0[1] || p.reserved0[2] || p.reserved2;
}

Made makeNode(Context &current, const NodeParameters *p) {
  if (!p || hasReserved(*p))
    return kInvalidValue;
  switch (p->type) {
  case kKernelNode:
    return makeKernelNode(current, &p->kernel);
  case kCopyNode:
    return p->copy.flags || p->copy.reserved
               ? Made(kInvalidValue)
               : makeCopyNode(current, &p->copy.copy, p->copy.context);
  case kFillNode:
    return makeFillNode(current, &p->fill.fill, p->fill.context);
  case kHostNode:
    return makeHostNode(current, &p->host);
  case kRecordNode:
    return makeRecordNode(current, p->event);
  case kWaitNode:
    return makeWaitNode(current, p->event);
  case kEmptyNode:
    return {current, EmptyOperation{}};
  case kChildNode:
  case kAllocateNode:
  case kFreeNode:
  case kConditionalNode:
    return kInvalidValue; // what they are is made when they are added
  case kSignalSemaphoresNode:
  case kWaitSemaphoresNode: {
    Context *context = contextOf(current, p->semaphores.context);
    if (!context)
      return kInvalidContext;
    return p->type == kSignalSemaphoresNode
               ? makeSignalNode(*context, &p->semaphores.first)
               : makeWaitSemaphoresNode(*context, &p->semaphores.first);
  }
  case kBatchNode:
    return makeBatchNode(&p->batch);
  }
  return kInvalidValue;
}

static Made makeNewNode(Context &current, Graph &graph, NodeParameters *p) {
  if (!p || hasReserved(*p))
    return kInvalidValue;
  if (p->type == kChildNode)
    return makeChildNode(current, graph, p->child.graph, p->child.ownership);
  if (p->type == kFreeNode)
    return makeFreeNode(current, graph, p->freed);
  if (p->type == kConditionalNode)
    return makeConditionalNode(current, graph, p->conditional);
  return makeNode(current, p);
}

// `make` runs once everything else is known to be right: what it makes is the node's.
template <class Make>
static Result addNode(const TracedCall &entry, GraphNode **out, Graph *graph,
                      GraphNode *const *after, const EdgeData *data, size_t count, Make make) {
  return callIn(entry, [&](Context &context) -> Result {
    GraphLock lock;
    if (!out || !liveGraph(graph))
      return kInvalidValue;
    std::vector<Edge> edges;
    if (Result result = edgesFrom(*graph, after, data, count, edges))
      return result;
    Made made = make(context);
    if (made.error)
      return made.error;
    *out = graph->add(*made.context, std::move(made.operation), std::move(edges));
    return kSuccess;
  });
}

// The memory is allocated without the lock: HIP may have to wait for the device.
static Result addAllocateNode(const TracedCall &entry, GraphNode **out, Graph *graph,
                              GraphNode *const *after, const EdgeData *data, size_t count,
                              AllocateNodeParameters *p) {
  return callIn(entry, [&](Context &context) -> Result {
    void *address = p ? p->address : nullptr;
    Made made = makeAllocateNode(context, p);
    if (made.error)
      return made.error;
    Result result = addNode(entry, out, graph, after, data, count, [&](Context &) { return made; });
    if (result) {
      dropGraphMemory(std::get<AllocateOperation>(made.operation));
      p->address = address;
    }
    return result;
  });
}

static Result addAny(const TracedCall &entry, GraphNode **out, Graph *graph,
                     GraphNode *const *after, const EdgeData *data, size_t count,
                     NodeParameters *p) {
  if (p && p->type == kAllocateNode && !hasReserved(*p))
    return addAllocateNode(entry, out, graph, after, data, count, &p->allocate);
  GraphLock lock; // the node stays until its bodies were read
  Result result = addNode(entry, out, graph, after, data, count,
                          [&](Context &context) { return makeNewNode(context, *graph, p); });
  if (result || p->type != kConditionalNode)
    return result;
  // The array of the bodies lives as long as the node.
  auto &bodies = std::get<ConditionalOperation>((*out)->operation).bodies;
  p->conditional.bodies = bodies.data();
  return kSuccess;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuGraphAddKernelNode_v2(GraphNode **out, Graph *graph, GraphNode *const *after, size_t count,
                               const KernelNodeParametersV2 *p) {
  return addNode(RUBIA_CALL(out, graph, after, count, p), out, graph, after, nullptr, count,
                 [&](Context &context) { return makeKernelNode(context, p); });
}
Result cuGraphAddKernelNode(GraphNode **out, Graph *graph, GraphNode *const *after, size_t count,
                            const KernelNodeParameters *p) {
  return addNode(RUBIA_CALL(out, graph, after, count, p), out, graph, after, nullptr, count,
                 [&](Context &context) {
                   const KernelNodeParametersV2 wide = p ? widened(*p) : KernelNodeParametersV2{};
                   return makeKernelNode(context, p ? &wide : nullptr);
                 });
}

Result cuGraphAddMemcpyNode(GraphNode **out, Graph *graph, GraphNode *const *after, size_t count,
                            const Copy3D *copy, Context *in) {
  return addNode(RUBIA_CALL(out, graph, after, count, copy, in), out, graph, after, nullptr, count,
                 [&](Context &context) { return makeCopyNode(context, copy, in); });
}

Result cuGraphAddMemsetNode(GraphNode **out, Graph *graph, GraphNode *const *after, size_t count,
                            const FillNodeParameters *fill, Context *in) {
  return addNode(RUBIA_CALL(out, graph, after, count, fill, in), out, graph, after, nullptr, count,
                 [&](Context &context) { return makeFillNode(context, fill, in); });
}

Result cuGraphAddHostNode(GraphNode **out, Graph *graph, GraphNode *const *after, size_t count,
                          const HostNodeParameters *host) {
  return addNode(RUBIA_CALL(out, graph, after, count, host), out, graph, after, nullptr, count,
                 [&](Context &context) { return makeHostNode(context, host); });
}

Result cuGraphAddChildGraphNode(GraphNode **out, Graph *graph, GraphNode *const *after,
                                size_t count, Graph *child) {
  return addNode(RUBIA_CALL(out, graph, after, count, child), out, graph, after, nullptr, count,
                 [&](Context &context) { return makeChildNode(context, *graph, child, 0); });
}

Result cuGraphAddEmptyNode(GraphNode **out, Graph *graph, GraphNode *const *after, size_t count) {
  return addNode(RUBIA_CALL(out, graph, after, count), out, graph, after, nullptr, count,
                 [](Context &context) { return Made(context, EmptyOperation{}); });
}

Result cuGraphAddEventRecordNode(GraphNode **out, Graph *graph, GraphNode *const *after,
                                 size_t count, Event *event) {
  return addNode(RUBIA_CALL(out, graph, after, count, event), out, graph, after, nullptr, count,
                 [&](Context &context) { return makeRecordNode(context, event); });
}

Result cuGraphAddEventWaitNode(GraphNode **out, Graph *graph, GraphNode *const *after, size_t count,
                               Event *event) {
  return addNode(RUBIA_CALL(out, graph, after, count, event), out, graph, after, nullptr, count,
                 [&](Context &context) { return makeWaitNode(context, event); });
}

Result cuGraphAddBatchMemOpNode(GraphNode **out, Graph *graph, GraphNode *const *after,
                                size_t count, const BatchNodeParameters *p) {
  return addNode(RUBIA_CALL(out, graph, after, count, p), out, graph, after, nullptr, count,
                 [&](Context &) { return makeBatchNode(p); });
}

Result cuGraphAddExternalSemaphoresSignalNode(GraphNode **out, Graph *graph,
                                              GraphNode *const *after, size_t count,
                                              const SemaphoresNodeParameters *p) {
  return addNode(RUBIA_CALL(out, graph, after, count, p), out, graph, after, nullptr, count,
                 [&](Context &context) { return makeSignalNode(context, p); });
}

Result cuGraphAddExternalSemaphoresWaitNode(GraphNode **out, Graph *graph, GraphNode *const *after,
                                            size_t count, const SemaphoresNodeParameters *p) {
  return addNode(RUBIA_CALL(out, graph, after, count, p), out, graph, after, nullptr, count,
                 [&](Context &context) { return makeWaitSemaphoresNode(context, p); });
}

Result cuGraphAddMemAllocNode(GraphNode **out, Graph *graph, GraphNode *const *after, size_t count,
                              AllocateNodeParameters *p) {
  return addAllocateNode(RUBIA_CALL(out, graph, after, count, p), out, graph, after, nullptr, count,
                         p);
}

Result cuGraphAddMemFreeNode(GraphNode **out, Graph *graph, GraphNode *const *after, size_t count,
                             void *address) {
  return addNode(RUBIA_CALL(out, graph, after, count, address), out, graph, after, nullptr, count,
                 [&](Context &context) { return makeFreeNode(context, *graph, address); });
}

Result cuGraphAddNode(GraphNode **out, Graph *graph, GraphNode *const *after, size_t count,
                      NodeParameters *p) {
  return addAny(RUBIA_CALL(out, graph, after, count, p), out, graph, after, nullptr, count, p);
}
Result cuGraphAddNode_v2(GraphNode **out, Graph *graph, GraphNode *const *after,
                         const EdgeData *data, size_t count, NodeParameters *p) {
  return addAny(RUBIA_CALL(out, graph, after, data, count, p), out, graph, after, data, count, p);
}

} // extern "C"
