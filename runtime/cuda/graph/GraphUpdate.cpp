// SPDX-License-Identifier: Apache-2.0
// Changing executable graphs: nodes of them, which the nodes of the graph name that they were made
// of, or all that another graph of the same shape does.
#include "runtime/cuda/Occupancy.h"
#include "runtime/cuda/graph/ExecutableGraph.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>
#include <optional>
#include <set>
#include <tuple>

using namespace llvm;

namespace rubia::runtime::cuda {

// CUgraphExecUpdateResult
enum UpdateCode {
  kUpdated = 0,
  kError = 1,
  kTopologyChanged = 2,
  kTypeChanged = 3,
  kParametersChanged = 5,
  kUnsupported = 6,
};

static GraphNode *copyOf(const Graph &copy, const GraphNode &node) {
  for (const auto &candidate : copy.nodes) {
    if (candidate->original == node.id)
      return candidate.get();
    for (const Graph *inner : candidate->graphs())
      if (GraphNode *found = copyOf(*inner, node))
        return found;
  }
  return nullptr;
}

static bool isFlat(const Copy3D &copy) { return copy.height <= 1 && copy.depth <= 1; }
// By fields: what stands between them is the program's, and means nothing.
static auto fieldsOf(const CopySide3D &side) {
  return std::tie(side.xInBytes, side.y, side.z, side.lod, side.type, side.host, side.device,
                  side.array, side.reserved, side.pitch, side.height);
}
static bool isSame(const Copy3D &a, const Copy3D &b) {
  return fieldsOf(a.from) == fieldsOf(b.from) && fieldsOf(a.to) == fieldsOf(b.to) &&
         a.widthInBytes == b.widthInBytes && a.height == b.height && a.depth == b.depth;
}

// Words and values may change.
static bool isSameKind(const BatchOperation &a, const BatchOperation &b) {
  return std::equal(
      a.operations.begin(), a.operations.end(), b.operations.begin(), b.operations.end(),
      [](const MemoryOperation &x, const MemoryOperation &y) { return x.type == y.type; });
}

// Which semaphores, and their values, may change; their number may not.
static bool isAsMany(const SemaphoresOperation &a, const SemaphoresOperation &b) {
  return a.handles.size() == b.handles.size();
}

// Nodes that allocate or free memory stay as they are: others have other memory.
static bool hasSameMemory(const Operation &old, const Operation &changed) {
  if (const auto *allocation = std::get_if<AllocateOperation>(&old))
    return allocation->memory == std::get<AllocateOperation>(changed).memory;
  if (const auto *release = std::get_if<FreeOperation>(&old))
    return release->memory == std::get<FreeOperation>(changed).memory;
  return true;
}

// What NVIDIA's driver lets a node become: copies of one row, in the direction that they have;
// fills of one row; kernels of their context.
static bool mayBecome(const GraphNode &node, const Operation &changed, const Context *context) {
  if (const auto *copy = std::get_if<CopyOperation>(&changed)) {
    const Copy3D &old = std::get<CopyOperation>(node.operation).copy;
    return isSame(old, copy->copy) ||
           (isFlat(old) && isFlat(copy->copy) && old.from.type == copy->copy.from.type &&
            old.to.type == copy->copy.to.type && node.context == context);
  }
  if (const auto *fill = std::get_if<FillOperation>(&changed)) {
    const FillNodeParameters &old = std::get<FillOperation>(node.operation).fill;
    const bool isOneRow = old.height == 1 && fill->fill.height == 1;
    return node.context == context &&
           (isOneRow || (old.height == fill->fill.height && old.width == fill->fill.width));
  }
  if (const auto *batch = std::get_if<BatchOperation>(&changed))
    return node.context == context && isSameKind(std::get<BatchOperation>(node.operation), *batch);
  if (const auto *signal = std::get_if<SignalSemaphoresOperation>(&changed))
    return isAsMany(std::get<SignalSemaphoresOperation>(node.operation), *signal);
  if (const auto *wait = std::get_if<WaitSemaphoresOperation>(&changed))
    return isAsMany(std::get<WaitSemaphoresOperation>(node.operation), *wait);
  if (const auto *conditional = std::get_if<ConditionalOperation>(&changed))
    return std::get<ConditionalOperation>(node.operation).type == conditional->type &&
           std::get<ConditionalOperation>(node.operation).bodies.size() ==
               conditional->bodies.size();
  if (std::holds_alternative<KernelOperation>(changed))
    return node.context == context;
  return true;
}

// The executable graph and the node of its copy that `node` names. Holds off launches, and has the
// mutex of graphs: in this order, for a launch may need graphs.
class Found {
public:
  Found(ExecutableGraph *handle, GraphNode *named) {
    {
      GraphLock lock;
      executable = liveExecutable(handle);
    }
    if (!executable)
      return;
    launches = std::unique_lock(executable->mutex);
    graphs.emplace();
    if (liveNode(named))
      node = copyOf(*executable->copy, *named);
  }

  std::shared_ptr<ExecutableGraph> executable;
  GraphNode *node = nullptr;

private:
  std::unique_lock<std::mutex> launches;
  std::optional<GraphLock> graphs; // given back first
};

template <class Make>
static Result change(const TracedCall &entry, ExecutableGraph *handle, GraphNode *node, Make make) {
  return callIn(entry, [&](Context &context) -> Result {
    Found found(handle, node);
    if (!found.node)
      return kInvalidValue;
    Made made = make(context);
    if (made.error)
      return made.error;
    if (made.operation.index() != found.node->operation.index() ||
        !mayBecome(*found.node, made.operation, made.context))
      return kInvalidValue;
    if (auto *old = std::get_if<KernelOperation>(&found.node->operation))
      std::get<KernelOperation>(made.operation).keepAttributes(*old);
    if (Result result = inContext(context, *made.context,
                                  [&] { return prepare(*made.context, made.operation); }))
      return result;
    found.node->operation = std::move(made.operation);
    found.executable->hasNewBodies = true;
    return kSuccess;
  });
}

// Whether the graph has the shape of the copy and nodes that its nodes may become: nodes match in
// the order in which they were added.
static UpdateCode compare(const Graph &copy, const Graph &graph, GraphNode *&atFault) {
  atFault = nullptr;
  if (copy.nodes.size() != graph.nodes.size())
    return kTopologyChanged;
  auto indexIn = [](const Graph &graph, const GraphNode *node) {
    return find_if(graph.nodes, [&](const auto &owned) { return owned.get() == node; }) -
           graph.nodes.begin();
  };
  for (size_t i = 0; i < copy.nodes.size(); ++i) {
    const GraphNode &old = *copy.nodes[i], &node = *graph.nodes[i];
    atFault = graph.nodes[i].get();
    if (old.type() != node.type())
      return kTypeChanged;
    const auto edgesOf = [&](const Graph &of, const GraphNode &to) {
      std::set<std::tuple<std::ptrdiff_t, unsigned, unsigned, unsigned>> edges;
      for (const auto &[from, data] : to.dependencies)
        edges.emplace(indexIn(of, from), data.fromPort, data.toPort, data.type);
      return edges;
    };
    if (edgesOf(copy, old) != edgesOf(graph, node))
      return kTopologyChanged;
    if (!mayBecome(old, node.operation, node.context))
      return old.type() == kConditionalNode ? kUnsupported : kParametersChanged;
    if (!hasSameMemory(old.operation, node.operation))
      return kError;
    std::vector<Graph *> oldGraphs = old.graphs(), graphs = node.graphs();
    if (oldGraphs.size() != graphs.size())
      return kParametersChanged;
    for (size_t j = 0; j < graphs.size(); ++j) {
      GraphNode *inside = nullptr;
      if (UpdateCode code = compare(*oldGraphs[j], *graphs[j], inside)) {
        atFault = inside ? inside : atFault;
        return code;
      }
    }
  }
  atFault = nullptr;
  return kUpdated;
}

// After compare().
static void take(Graph &copy, const Graph &graph) {
  copy.conditionals = graph.conditionals;
  for (size_t i = 0; i < copy.nodes.size(); ++i) {
    GraphNode &old = *copy.nodes[i];
    const GraphNode &node = *graph.nodes[i];
    std::vector<Graph *> oldGraphs = old.graphs(), graphs = node.graphs();
    for (size_t j = 0; j < graphs.size(); ++j)
      take(*oldGraphs[j], *graphs[j]);
    if (graphs.empty()) {
      old.operation = node.operation;
      keepCluster(*node.context, old.operation);
    }
    if (auto *conditional = std::get_if<ConditionalOperation>(&old.operation)) {
      const auto &changed = std::get<ConditionalOperation>(node.operation);
      conditional->handle = changed.handle;
      conditional->word = changed.word;
    }
  }
}

// Kernels of the graph that cannot be compiled.
static Result prepareAll(Context &current, const Graph &graph, GraphNode *&atFault) {
  for (const auto &node : graph.nodes) {
    Result result = enter(*node->context);
    Operation operation = node->operation;
    if (!result)
      result = keepCluster(*node->context, operation);
    if (!result)
      result = prepare(*node->context, operation);
    if (result) {
      atFault = node.get();
      return result;
    }
    for (const Graph *inner : node->graphs())
      if (Result result = prepareAll(current, *inner, atFault))
        return result;
  }
  return enter(current);
}

static Result update(Context &context, ExecutableGraph &executable, const Graph &graph,
                     UpdateResult &out) {
  out.result = compare(*executable.copy, graph, out.errorNode);
  if (out.result)
    return kGraphExecUpdateFailure;
  if (Result result = prepareAll(context, graph, out.errorNode)) {
    out.result = kError;
    return result;
  }
  take(*executable.copy, graph);
  executable.hasNewBodies = true;
  return kSuccess;
}

static Result updateExecutable(const TracedCall &entry, ExecutableGraph *handle, Graph *graph,
                               UpdateResult &out) {
  return callIn(entry, [&](Context &context) -> Result {
    Found found(handle, nullptr);
    if (!found.executable || !liveGraph(graph))
      return kInvalidValue;
    return update(context, *found.executable, *graph, out);
  });
}

static bool canBeDisabled(const GraphNode &node) {
  return node.type() == kKernelNode || node.type() == kCopyNode || node.type() == kFillNode;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuGraphExecKernelNodeSetParams_v2(ExecutableGraph *executable, GraphNode *node,
                                         const KernelNodeParametersV2 *p) {
  return change(RUBIA_CALL(executable, node, p), executable, node,
                [&](Context &context) { return makeKernelNode(context, p); });
}
Result cuGraphExecKernelNodeSetParams(ExecutableGraph *executable, GraphNode *node,
                                      const KernelNodeParameters *p) {
  return change(RUBIA_CALL(executable, node, p), executable, node, [&](Context &context) {
    const KernelNodeParametersV2 wide = p ? widened(*p) : KernelNodeParametersV2{};
    return makeKernelNode(context, p ? &wide : nullptr);
  });
}
Result cuGraphExecMemcpyNodeSetParams(ExecutableGraph *executable, GraphNode *node,
                                      const Copy3D *copy, Context *in) {
  return change(RUBIA_CALL(executable, node, copy, in), executable, node, [&](Context &context) {
    return in ? makeCopyNode(context, copy, in) : Made(kInvalidValue);
  });
}
Result cuGraphExecMemsetNodeSetParams(ExecutableGraph *executable, GraphNode *node,
                                      const FillNodeParameters *fill, Context *in) {
  return change(RUBIA_CALL(executable, node, fill, in), executable, node, [&](Context &context) {
    return in ? makeFillNode(context, fill, in) : Made(kInvalidValue);
  });
}
Result cuGraphExecHostNodeSetParams(ExecutableGraph *executable, GraphNode *node,
                                    const HostNodeParameters *host) {
  return change(RUBIA_CALL(executable, node, host), executable, node,
                [&](Context &context) { return makeHostNode(context, host); });
}
Result cuGraphExecBatchMemOpNodeSetParams(ExecutableGraph *executable, GraphNode *node,
                                          const BatchNodeParameters *batch) {
  return change(RUBIA_CALL(executable, node, batch), executable, node,
                [&](Context &) { return makeBatchNode(batch); });
}
Result cuGraphExecExternalSemaphoresSignalNodeSetParams(ExecutableGraph *executable,
                                                        GraphNode *node,
                                                        const SemaphoresNodeParameters *p) {
  return change(RUBIA_CALL(executable, node, p), executable, node,
                [&](Context &context) { return makeSignalNode(context, p); });
}
Result cuGraphExecExternalSemaphoresWaitNodeSetParams(ExecutableGraph *executable, GraphNode *node,
                                                      const SemaphoresNodeParameters *p) {
  return change(RUBIA_CALL(executable, node, p), executable, node,
                [&](Context &context) { return makeWaitSemaphoresNode(context, p); });
}
Result cuGraphExecEventRecordNodeSetEvent(ExecutableGraph *executable, GraphNode *node,
                                          Event *event) {
  return change(RUBIA_CALL(executable, node, event), executable, node,
                [&](Context &context) { return makeRecordNode(context, event); });
}
Result cuGraphExecEventWaitNodeSetEvent(ExecutableGraph *executable, GraphNode *node,
                                        Event *event) {
  return change(RUBIA_CALL(executable, node, event), executable, node,
                [&](Context &context) { return makeWaitNode(context, event); });
}
Result cuGraphExecNodeSetParams(ExecutableGraph *executable, GraphNode *node, NodeParameters *p) {
  return change(RUBIA_CALL(executable, node, p), executable, node, [&](Context &context) -> Made {
    if (!p || p->type != node->type())
      return kInvalidValue;
    if (p->type == kConditionalNode)
      return kNotSupported;
    return makeNode(context, p);
  });
}

Result cuGraphExecChildGraphNodeSetParams(ExecutableGraph *handle, GraphNode *node, Graph *child) {
  return callIn(RUBIA_CALL(handle, node, child), [&](Context &context) -> Result {
    Found found(handle, node);
    auto *operation = found.node ? std::get_if<ChildOperation>(&found.node->operation) : nullptr;
    if (!operation || !liveGraph(child))
      return kInvalidValue;
    GraphNode *atFault = nullptr;
    if (compare(*operation->graph, *child, atFault))
      return kGraphExecUpdateFailure;
    if (Result result = prepareAll(context, *child, atFault))
      return result;
    take(*operation->graph, *child);
    found.executable->hasNewBodies = true;
    return kSuccess;
  });
}

Result cuGraphExecUpdate_v2(ExecutableGraph *executable, Graph *graph, UpdateResult *result) {
  UpdateResult out{};
  Result code = updateExecutable(RUBIA_CALL(executable, graph, result), executable, graph, out);
  if (result)
    *result = out;
  return code;
}

// NVIDIA's driver calls another number of nodes "not supported" here.
Result cuGraphExecUpdate(ExecutableGraph *executable, Graph *graph, GraphNode **node, int *result) {
  UpdateResult out{};
  Result code =
      updateExecutable(RUBIA_CALL(executable, graph, node, result), executable, graph, out);
  if (node)
    *node = out.errorNode;
  if (result)
    *result = out.result == kTopologyChanged && !out.errorNode ? int(kUnsupported) : out.result;
  return code;
}

Result cuGraphNodeSetEnabled(ExecutableGraph *handle, GraphNode *node, unsigned isEnabled) {
  return callIn(RUBIA_CALL(handle, node, isEnabled), [&](Context &) {
    Found found(handle, node);
    if (!found.node || !canBeDisabled(*found.node))
      return kInvalidValue;
    found.node->isEnabled = isEnabled;
    found.executable->hasNewBodies = true;
    return kSuccess;
  });
}

Result cuGraphNodeGetEnabled(ExecutableGraph *handle, GraphNode *node, unsigned *isEnabled) {
  return callIn(RUBIA_CALL(handle, node, isEnabled), [&](Context &) {
    Found found(handle, node);
    if (!isEnabled || !found.node || !canBeDisabled(*found.node))
      return kInvalidValue;
    *isEnabled = found.node->isEnabled;
    return kSuccess;
  });
}

} // extern "C"
