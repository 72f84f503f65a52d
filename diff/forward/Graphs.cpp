// SPDX-License-Identifier: Apache-2.0
#include "diff/forward/Graphs.h"
#include <new>

namespace rubia::forward {
namespace {

bool nodesOf(Handle graph, Array<Handle> &nodes) {
  size_t count = 0;
  if (DRIVER(cuGraphGetNodes, Handle, Handle *, size_t *)(graph, nullptr, &count))
    return false;
  nodes.resize(count);
  return !count ||
         !DRIVER(cuGraphGetNodes, Handle, Handle *, size_t *)(graph, nodes.begin(), &count);
}

struct Edges {
  Array<Handle> from, to;
};

bool edgesOf(Handle graph, Edges &edges) {
  // Edges with data are not told by the older function.
  const bool hasData = !isMissing(rubia_driver_cuGraphGetEdges_v2);
  Array<uint64_t> data; // CUgraphEdgeData
  const auto get = [&](size_t &count) {
    Handle *from = count ? edges.from.begin() : nullptr, *to = count ? edges.to.begin() : nullptr;
    return hasData ? DRIVER(cuGraphGetEdges_v2, Handle, Handle *, Handle *, void *,
                            size_t *)(graph, from, to, count ? data.begin() : nullptr, &count)
                   : DRIVER(cuGraphGetEdges, Handle, Handle *, Handle *, size_t *)(graph, from, to,
                                                                                   &count);
  };
  size_t count = 0;
  if (get(count))
    return false;
  edges.from.resize(count);
  edges.to.resize(count);
  data.resize(count);
  return !count || !get(count);
}

size_t indexOf(const Array<Handle> &nodes, Handle node) {
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i] == node)
      return i;
  return nodes.size();
}

/// Each behind those that it follows.
bool inOrder(Handle graph, Array<Handle> &order) {
  Array<Handle> nodes;
  Edges edges;
  if (!nodesOf(graph, nodes) || !edgesOf(graph, edges))
    return false;
  Array<size_t> from, to, waits;
  waits.resize(nodes.size());
  for (size_t i = 0; i < edges.from.size(); ++i) {
    from.push(indexOf(nodes, edges.from[i]));
    to.push(indexOf(nodes, edges.to[i]));
    if (from[i] == nodes.size() || to[i] == nodes.size())
      return false;
    ++waits[to[i]];
  }
  Array<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (!waits[i])
      ready.push(i);
  for (size_t i = 0; i < ready.size(); ++i) { // grows
    const size_t node = ready[i];
    order.push(nodes[node]);
    for (size_t k = 0; k < from.size(); ++k)
      if (from[k] == node && !--waits[to[k]])
        ready.push(to[k]);
  }
  return order.size() == nodes.size();
}

/// The nodes of `graph`, which is our clone, and those of child graphs in their places.
bool addNodes(Handle graph, Array<GraphNode> &nodes) {
  Array<Handle> order;
  if (!inOrder(graph, order))
    return false;
  for (Handle node : order) {
    int type = 0;
    Handle child = nullptr;
    if (DRIVER(cuGraphNodeGetType, Handle, int *)(node, &type))
      return false;
    if (type != kChildGraphNode)
      nodes.push({nullptr, node, graph, type, true, kNoCounter});
    else if (DRIVER(cuGraphChildGraphNodeGetGraph, Handle, Handle *)(node, &child) ||
             !addNodes(child, nodes))
      return false;
  }
  return true;
}

const char *follow(ExecutableGraph &made, Handle graph) {
  Array<Handle> originals;
  if (DRIVER(cuGraphClone, Handle *, Handle)(&made.clone, graph)) {
    made.clone = nullptr;
    return "it cannot be cloned: it allocates memory or has conditional nodes";
  }
  if (!addNodes(made.clone, made.nodes) || !nodesOf(graph, originals))
    return "the driver does not tell its nodes";
  for (Handle original : originals) {
    Handle clone = nullptr;
    if (DRIVER(cuGraphNodeFindInClone, Handle *, Handle, Handle)(&clone, original, made.clone))
      return "the driver does not tell its nodes";
    for (GraphNode &node : made.nodes)
      if (node.clone == clone)
        node.original = original;
  }
  return nullptr;
}

void destroy(ExecutableGraph *graph) {
  if (graph->clone)
    (void)DRIVER(cuGraphDestroy, Handle)(graph->clone);
  graph->~ExecutableGraph();
  free(graph);
}

/// A copy of the node's graph in which it is alone.
bool cloneAlone(const GraphNode &node, Handle &graph) {
  if (DRIVER(cuGraphClone, Handle *, Handle)(&graph, node.cloneGraph))
    return false;
  Handle kept = nullptr;
  Array<Handle> nodes;
  bool isGood =
      !DRIVER(cuGraphNodeFindInClone, Handle *, Handle, Handle)(&kept, node.clone, graph) &&
      nodesOf(graph, nodes);
  for (size_t i = 0; isGood && i < nodes.size(); ++i)
    isGood = nodes[i] == kept || !DRIVER(cuGraphDestroyNode, Handle)(nodes[i]);
  return isGood;
}

/// The same of a kernel, without a copy of all others.
bool addKernelAlone(const GraphNode &node, Handle &graph) {
  KernelNode kernel{};
  Handle made = nullptr;
  return readKernelNode(node, kernel) && !DRIVER(cuGraphCreate, Handle *, unsigned)(&graph, 0) &&
         !DRIVER(cuGraphAddKernelNode_v2, Handle *, Handle, const Handle *, size_t,
                 const KernelNode *)(&made, graph, nullptr, 0, &kernel) &&
         !DRIVER(cuGraphKernelNodeCopyAttributes, Handle, Handle)(made, node.clone);
}

} // namespace

GraphNode *ExecutableGraph::find(Handle original) {
  for (GraphNode &node : nodes)
    if (original && node.original == original)
      return &node;
  return nullptr;
}

ExecutableGraph &ExecutableGraphs::made(Handle executable, Handle graph) {
  destroyed(executable);
  auto *made = new (malloc(sizeof(ExecutableGraph))) ExecutableGraph(executable);
  made->problem = follow(*made, graph);
  return *all.push(made);
}

void ExecutableGraphs::destroyed(Handle executable) {
  for (size_t i = all.size(); i-- > 0;)
    if (all[i]->executable == executable) {
      destroy(all[i]);
      all.remove(i);
    }
}

ExecutableGraph *ExecutableGraphs::find(Handle executable) {
  for (ExecutableGraph *graph : all)
    if (graph->executable == executable)
      return graph;
  return nullptr;
}

bool readKernelNode(const GraphNode &node, KernelNode &kernel) {
  return !DRIVER(cuGraphKernelNodeGetParams_v2, Handle, KernelNode *)(node.clone, &kernel);
}

bool isolate(const GraphNode &node, SingleNode &single) {
  const bool isMade = node.type == kKernelNode ? addKernelAlone(node, single.graph)
                                               : cloneAlone(node, single.graph);
  if (isMade && !DRIVER(cuGraphInstantiateWithFlags, Handle *, Handle, uint64_t)(&single.executable,
                                                                                 single.graph, 0))
    return true;
  single.executable = nullptr;
  release(single);
  return false;
}

void release(SingleNode &single) {
  if (single.executable)
    (void)DRIVER(cuGraphExecDestroy, Handle)(single.executable);
  if (single.graph)
    (void)DRIVER(cuGraphDestroy, Handle)(single.graph);
  single = SingleNode();
}

} // namespace rubia::forward
