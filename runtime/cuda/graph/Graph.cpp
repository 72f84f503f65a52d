// SPDX-License-Identifier: Apache-2.0
// Graphs and their shape.
#include "runtime/cuda/graph/Graph.h"
#include "runtime/cuda/graph/Capture.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace llvm;

namespace rubia::runtime::cuda {

// Leaked, as all tables of handles.
static std::set<Graph *> &graphs = *new std::set<Graph *>;
static std::set<GraphNode *> &nodes = *new std::set<GraphNode *>;

static uint64_t nextId() {
  static uint64_t last = 0;
  return ++last;
}

std::recursive_mutex &graphMutex() {
  static auto *mutex = new std::recursive_mutex;
  return *mutex;
}

// ---------- User objects

struct UserObject {
  void *data;
  HostFunction destroy;
  uint64_t references; // all
  uint64_t program;    // those that graphs do not have
};
static std::set<UserObject *> &objects = *new std::set<UserObject *>;

// Of the locks of a thread: how many there are, and what to call when the last one goes.
using Work = std::vector<std::function<void()>>;
static thread_local unsigned lockDepth = 0;
static thread_local Work *dueWork = nullptr;

GraphLock::GraphLock() {
  graphMutex().lock();
  ++lockDepth;
}

GraphLock::~GraphLock() {
  std::unique_ptr<Work> due;
  if (--lockDepth == 0)
    due.reset(std::exchange(dueWork, nullptr));
  graphMutex().unlock();
  if (due)
    for (const auto &work : *due)
      work();
}

void afterGraphLock(std::function<void()> work) {
  if (!lockDepth)
    return work();
  if (!dueWork)
    dueWork = new Work;
  dueWork->push_back(std::move(work));
}

void retain(UserObject *object, uint64_t count) { object->references += count; }

void release(UserObject *object, uint64_t count) {
  object->references -= count;
  if (object->references)
    return;
  afterGraphLock([destroy = object->destroy, data = object->data] { destroy(data); });
  objects.erase(object);
  delete object;
}

// ---------- The model

NodeType GraphNode::typeOf(const Operation &operation) {
  static constexpr NodeType kTypes[] = {kKernelNode,         kCopyNode,       kFillNode,
                                        kHostNode,           kChildNode,      kEmptyNode,
                                        kWaitNode,           kRecordNode,     kSignalSemaphoresNode,
                                        kWaitSemaphoresNode, kAllocateNode,   kFreeNode,
                                        kBatchNode,          kConditionalNode};
  static_assert(std::size(kTypes) == std::variant_size_v<Operation>);
  return kTypes[operation.index()];
}

std::vector<Graph *> GraphNode::graphs() const {
  if (const auto *child = std::get_if<ChildOperation>(&operation))
    return {child->graph};
  if (const auto *conditional = std::get_if<ConditionalOperation>(&operation))
    return conditional->bodies;
  return {};
}

GraphNode::GraphNode(Graph *graph, Context *context, Operation operation)
    : graph(graph), id(nextId()), context(context), operation(std::move(operation)) {
  nodes.insert(this);
  for (Graph *owned : graphs())
    owned->parent = this;
}

GraphNode::~GraphNode() {
  nodes.erase(this);
  for (Graph *owned : graphs())
    delete owned;
  if (const auto *allocation = std::get_if<AllocateOperation>(&operation))
    dropGraphMemory(*allocation);
}

Graph::Graph() : id(nextId()) { graphs.insert(this); }

Graph::~Graph() {
  graphs.erase(this);
  for (auto [object, count] : objects)
    release(object, count);
}

GraphNode *Graph::add(Context &context, Operation operation, std::vector<Edge> dependencies) {
  nodes.push_back(std::make_unique<GraphNode>(this, &context, std::move(operation)));
  nodes.back()->dependencies = std::move(dependencies);
  return nodes.back().get();
}

void Graph::remove(GraphNode *node) {
  for (auto &other : nodes)
    erase_if(other->dependencies, [&](const Edge &edge) { return edge.from == node; });
  erase_if(nodes, [&](const auto &owned) { return owned.get() == node; });
}

static Operation cloneOf(const Operation &operation) {
  if (const auto *child = std::get_if<ChildOperation>(&operation))
    return ChildOperation{child->graph->clone().release()};
  if (const auto *conditional = std::get_if<ConditionalOperation>(&operation)) {
    ConditionalOperation copy{conditional->handle, conditional->type, {}, conditional->word};
    for (Graph *body : conditional->bodies)
      copy.bodies.push_back(body->clone().release());
    return copy;
  }
  if (const auto *allocation = std::get_if<AllocateOperation>(&operation))
    keepGraphMemory(*allocation);
  return operation;
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  copy->original = id;
  copy->objects = objects;
  copy->conditionals = conditionals;
  for (auto [object, count] : objects)
    retain(object, count);
  DenseMap<const GraphNode *, GraphNode *> copyOf;
  for (const auto &node : nodes) {
    GraphNode *made = copy->add(*node->context, cloneOf(node->operation));
    made->original = node->id;
    copyOf[node.get()] = made;
  }
  for (const auto &node : nodes)
    for (const Edge &edge : node->dependencies)
      copyOf[node.get()]->dependencies.push_back({copyOf[edge.from], edge.data});
  return copy;
}

static void forgetHandles(Graph &graph) {
  graphs.erase(&graph);
  for (const auto &node : graph.nodes) {
    nodes.erase(node.get());
    for (Graph *owned : node->graphs())
      forgetHandles(*owned);
  }
}

std::unique_ptr<Graph> Graph::cloneWithoutHandles() const {
  std::unique_ptr<Graph> copy = clone();
  forgetHandles(*copy);
  return copy;
}

std::vector<GraphNode *> Graph::dependentsOf(const GraphNode *node) const {
  std::vector<GraphNode *> found;
  for (const auto &other : nodes)
    if (any_of(other->dependencies, [&](const Edge &edge) { return edge.from == node; }))
      found.push_back(other.get());
  return found;
}

std::vector<GraphNode *> Graph::ordered() const {
  std::vector<GraphNode *> order;
  DenseMap<const GraphNode *, size_t> waitsFor;
  DenseMap<const GraphNode *, std::vector<GraphNode *>> dependents;
  for (const auto &node : nodes) {
    waitsFor[node.get()] = node->dependencies.size();
    for (const Edge &edge : node->dependencies)
      dependents[edge.from].push_back(node.get());
    if (node->dependencies.empty())
      order.push_back(node.get());
  }
  for (size_t done = 0; done < order.size(); ++done)
    for (GraphNode *dependent : dependents[order[done]])
      if (--waitsFor[dependent] == 0)
        order.push_back(dependent);
  return order;
}

bool Graph::hasMemory() const {
  return any_of(nodes, [](const auto &node) {
    return node->type() == kAllocateNode || node->type() == kFreeNode ||
           any_of(node->graphs(), [](const Graph *graph) { return graph->hasMemory(); });
  });
}

bool Graph::hasConditional() const {
  return any_of(nodes, [](const auto &node) {
    return node->type() == kConditionalNode ||
           any_of(node->graphs(), [](const Graph *graph) { return graph->hasConditional(); });
  });
}

Graph *liveGraph(Graph *handle) { return graphs.contains(handle) ? handle : nullptr; }
GraphNode *liveNode(GraphNode *handle) { return nodes.contains(handle) ? handle : nullptr; }

void destroyGraph(Graph *graph) { delete graph; }

void forgetExecutable(uint64_t graph) {
  for (Graph *live : graphs)
    if (live->id == graph)
      --live->executables;
}

bool isPlain(const EdgeData &data) { return !data.fromPort && !data.toPort && !data.type; }

// Only kernels have ports, and only programmatic edges use them. All of them are complete here when
// the kernel is.
static bool isValid(const GraphNode &from, const EdgeData &data) {
  const EdgeData reserved{data.fromPort, data.toPort, data.type, {}};
  if (data.toPort || data.type > 1 || data.fromPort > 2 ||
      memcmp(&data, &reserved, sizeof(data)) != 0)
    return false;
  if (data.fromPort || data.type)
    return from.type() == kKernelNode && data.type == 1 && data.fromPort;
  return true;
}

Result edgesFrom(const Graph &graph, GraphNode *const *from, const EdgeData *data, size_t count,
                 std::vector<Edge> &edges) {
  if (count && !from)
    return kInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    const EdgeData one = data ? data[i] : EdgeData{};
    if (!liveNode(from[i]) || from[i]->graph != &graph || !isValid(*from[i], one) ||
        any_of(edges, [&](const Edge &edge) { return edge.from == from[i]; }))
      return kInvalidValue;
    edges.push_back({from[i], one});
  }
  return kSuccess;
}

// CUDA's convention for lists: without an array their length; else as many as there is room for,
// null behind the last.
template <class T> static Result give(const std::vector<T> &all, T *out, size_t *count) {
  const size_t room = *count;
  *count = all.size();
  if (!out)
    return kSuccess;
  *count = std::min(room, all.size());
  if (!room)
    return kInvalidValue;
  for (size_t i = 0; i < room; ++i)
    out[i] = i < all.size() ? all[i] : T{};
  return kSuccess;
}

Result giveNodes(const std::vector<GraphNode *> &all, GraphNode **out, size_t *count) {
  return give(all, out, count);
}

// Edges in the order of the nodes that they come from.
struct EdgeList {
  std::vector<GraphNode *> from, to;
  std::vector<EdgeData> data;
};
static EdgeList edgesOf(const Graph &graph) {
  EdgeList list;
  for (const auto &from : graph.nodes)
    for (GraphNode *to : graph.dependentsOf(from.get()))
      for (const Edge &edge : to->dependencies)
        if (edge.from == from.get()) {
          list.from.push_back(from.get());
          list.to.push_back(to);
          list.data.push_back(edge.data);
        }
  return list;
}

// `data` null where edges that are not plain would lose something.
static Result giveEdges(const EdgeList &list, bool takesFrom, GraphNode **from, GraphNode **to,
                        EdgeData *data, size_t *count) {
  if (!count)
    return kInvalidValue;
  if ((from || to) && !data && !all_of(list.data, isPlain))
    return kLossyQuery;
  size_t room = *count;
  Result result = kSuccess;
  if (data && (from || to))
    result = give(list.data, data, &room);
  room = *count;
  if (!result && takesFrom && to)
    result = give(list.to, to, &room);
  return result ? (*count = 0, result)
                : give(takesFrom ? list.from : list.to, takesFrom ? from : to, count);
}

// Quietly done once the process is ending.
template <class Body> static Result release(const TracedCall &entry, Body body) {
  return isExiting() ? kSuccess : call(entry, body);
}

// What a graph may not lose once it has memory.
static Result checkRemoval(const Graph &graph) {
  return graph.hasMemory() ? kNotSupported : kSuccess;
}

static Result changeEdges(const TracedCall &entry, Graph *graph, GraphNode *const *from,
                          GraphNode *const *to, const EdgeData *data, size_t count, bool adds) {
  return call(entry, [&]() -> Result {
    GraphLock lock;
    if (!liveGraph(graph) || (count && (!from || !to)))
      return kInvalidValue;
    if (!adds)
      if (Result result = checkRemoval(*graph))
        return result;
    for (size_t i = 0; i < count; ++i) {
      const EdgeData one = data ? data[i] : EdgeData{};
      if (!liveNode(from[i]) || !liveNode(to[i]) || from[i]->graph != graph ||
          to[i]->graph != graph || from[i] == to[i] || !isValid(*from[i], one))
        return kInvalidValue;
      std::vector<Edge> &edges = to[i]->dependencies;
      auto found = find_if(edges, [&](const Edge &edge) { return edge.from == from[i]; });
      if ((found == edges.end()) != adds)
        return kInvalidValue;
      if (adds)
        edges.push_back({from[i], one});
      else
        edges.erase(found);
    }
    return kSuccess;
  });
}

// The neighbours of a node, in either direction.
static Result neighbours(const TracedCall &entry, GraphNode *node, bool areDependents,
                         GraphNode **out, EdgeData *data, size_t *count) {
  return call(entry, [&]() -> Result {
    GraphLock lock;
    if (!liveNode(node))
      return kInvalidValue;
    EdgeList list;
    auto add = [&](GraphNode *from, GraphNode *to) {
      for (const Edge &edge : to->dependencies)
        if (edge.from == from) {
          list.from.push_back(from);
          list.to.push_back(to);
          list.data.push_back(edge.data);
        }
    };
    if (areDependents)
      for (GraphNode *dependent : node->graph->dependentsOf(node))
        add(node, dependent);
    else
      for (const Edge &edge : node->dependencies)
        add(edge.from, node);
    return giveEdges(list, !areDependents, areDependents ? nullptr : out,
                     areDependents ? out : nullptr, data, count);
  });
}

static Result allEdges(const TracedCall &entry, Graph *graph, GraphNode **from, GraphNode **to,
                       EdgeData *data, size_t *count) {
  return call(entry, [&]() -> Result {
    GraphLock lock;
    if (!liveGraph(graph) || !from != !to)
      return kInvalidValue;
    return giveEdges(edgesOf(*graph), true, from, to, data, count);
  });
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuGraphCreate(Graph **graph, unsigned flags) {
  return call(RUBIA_CALL(graph, flags), [&]() {
    if (!graph || flags)
      return kInvalidValue;
    GraphLock lock;
    *graph = new Graph;
    return kSuccess;
  });
}

Result cuGraphDestroy(Graph *graph) {
  return release(RUBIA_CALL(graph), [&]() {
    GraphLock lock;
    if (!liveGraph(graph) || graph->parent)
      return kInvalidValue;
    if (isBeingCaptured(*graph))
      return kIllegalState;
    destroyGraph(graph);
    return kSuccess;
  });
}

Result cuGraphClone(Graph **clone, Graph *graph) {
  return call(RUBIA_CALL(clone, graph), [&]() {
    GraphLock lock;
    if (!clone || !liveGraph(graph))
      return kInvalidValue;
    if (graph->hasMemory())
      return fail(kNotSupported, "cuGraphClone: a graph with nodes that allocate or free memory");
    if (graph->hasConditional()) // both would have the same words
      return fail(kNotSupported, "cuGraphClone: a graph with conditional nodes");
    *clone = graph->clone().release();
    return kSuccess;
  });
}

Result cuGraphNodeFindInClone(GraphNode **found, GraphNode *original, Graph *clone) {
  return call(RUBIA_CALL(found, original, clone), [&]() {
    GraphLock lock;
    if (!found || !liveNode(original) || !liveGraph(clone) ||
        clone->original != original->graph->id)
      return kInvalidValue;
    for (const auto &node : clone->nodes)
      if (node->original == original->id)
        return *found = node.get(), kSuccess;
    return kInvalidValue;
  });
}

Result cuGraphNodeGetType(GraphNode *node, int *type) {
  return call(RUBIA_CALL(node, type), [&]() {
    GraphLock lock;
    return type && liveNode(node) ? (*type = node->type(), kSuccess) : kInvalidValue;
  });
}

Result cuGraphGetNodes(Graph *graph, GraphNode **out, size_t *count) {
  return call(RUBIA_CALL(graph, out, count), [&]() {
    GraphLock lock;
    if (!count || !liveGraph(graph))
      return kInvalidValue;
    std::vector<GraphNode *> all;
    all.reserve(graph->nodes.size());
    for (const auto &node : graph->nodes)
      all.push_back(node.get());
    return giveNodes(all, out, count);
  });
}

// The latest first, as on NVIDIA's driver.
Result cuGraphGetRootNodes(Graph *graph, GraphNode **out, size_t *count) {
  return call(RUBIA_CALL(graph, out, count), [&]() {
    GraphLock lock;
    if (!count || !liveGraph(graph))
      return kInvalidValue;
    std::vector<GraphNode *> roots;
    for (const auto &node : reverse(graph->nodes))
      if (node->dependencies.empty())
        roots.push_back(node.get());
    return giveNodes(roots, out, count);
  });
}

Result cuGraphGetEdges(Graph *graph, GraphNode **from, GraphNode **to, size_t *count) {
  return allEdges(RUBIA_CALL(graph, from, to, count), graph, from, to, nullptr, count);
}
Result cuGraphGetEdges_v2(Graph *graph, GraphNode **from, GraphNode **to, EdgeData *data,
                          size_t *count) {
  return allEdges(RUBIA_CALL(graph, from, to, data, count), graph, from, to, data, count);
}
Result cuGraphNodeGetDependencies(GraphNode *node, GraphNode **out, size_t *count) {
  return neighbours(RUBIA_CALL(node, out, count), node, false, out, nullptr, count);
}
Result cuGraphNodeGetDependencies_v2(GraphNode *node, GraphNode **out, EdgeData *data,
                                     size_t *count) {
  return neighbours(RUBIA_CALL(node, out, data, count), node, false, out, data, count);
}
Result cuGraphNodeGetDependentNodes(GraphNode *node, GraphNode **out, size_t *count) {
  return neighbours(RUBIA_CALL(node, out, count), node, true, out, nullptr, count);
}
Result cuGraphNodeGetDependentNodes_v2(GraphNode *node, GraphNode **out, EdgeData *data,
                                       size_t *count) {
  return neighbours(RUBIA_CALL(node, out, data, count), node, true, out, data, count);
}

Result cuGraphAddDependencies(Graph *graph, GraphNode *const *from, GraphNode *const *to,
                              size_t count) {
  return changeEdges(RUBIA_CALL(graph, from, to, count), graph, from, to, nullptr, count, true);
}
Result cuGraphAddDependencies_v2(Graph *graph, GraphNode *const *from, GraphNode *const *to,
                                 const EdgeData *data, size_t count) {
  return changeEdges(RUBIA_CALL(graph, from, to, data, count), graph, from, to, data, count, true);
}
Result cuGraphRemoveDependencies(Graph *graph, GraphNode *const *from, GraphNode *const *to,
                                 size_t count) {
  return changeEdges(RUBIA_CALL(graph, from, to, count), graph, from, to, nullptr, count, false);
}
Result cuGraphRemoveDependencies_v2(Graph *graph, GraphNode *const *from, GraphNode *const *to,
                                    const EdgeData *data, size_t count) {
  return changeEdges(RUBIA_CALL(graph, from, to, data, count), graph, from, to, data, count, false);
}

Result cuGraphDestroyNode(GraphNode *node) {
  return release(RUBIA_CALL(node), [&]() -> Result {
    GraphLock lock;
    if (!liveNode(node))
      return kInvalidValue;
    if (Result result = checkRemoval(*node->graph))
      return result;
    if (isBeingCaptured(*node))
      return kIllegalState;
    node->graph->remove(node);
    return kSuccess;
  });
}

Result cuUserObjectCreate(UserObject **object, void *data, HostFunction destroy,
                          unsigned references, unsigned flags) {
  return call(RUBIA_CALL(object, data, destroy, references, flags), [&]() {
    // CU_USER_OBJECT_NO_DESTRUCTOR_SYNC must be given.
    if (!object || !destroy || !references || references > INT_MAX || flags != 1)
      return kInvalidValue;
    GraphLock lock;
    *object = new UserObject{data, destroy, references, references};
    objects.insert(*object);
    return kSuccess;
  });
}

Result cuUserObjectRetain(UserObject *object, unsigned count) {
  return call(RUBIA_CALL(object, count), [&]() {
    GraphLock lock;
    if (!objects.contains(object) || !count || count > INT_MAX)
      return kInvalidValue;
    retain(object, count);
    object->program += count;
    return kSuccess;
  });
}

Result cuUserObjectRelease(UserObject *object, unsigned count) {
  return release(RUBIA_CALL(object, count), [&]() {
    GraphLock lock;
    if (!objects.contains(object) || !count || count > object->program)
      return kInvalidValue;
    object->program -= count;
    release(object, count);
    return kSuccess;
  });
}

Result cuGraphRetainUserObject(Graph *graph, UserObject *object, unsigned count, unsigned flags) {
  return call(RUBIA_CALL(graph, object, count, flags), [&]() {
    GraphLock lock;
    if (!liveGraph(graph) || !objects.contains(object) || !count || count > INT_MAX || flags > 1 ||
        (flags && count > object->program)) // CU_GRAPH_USER_OBJECT_MOVE
      return kInvalidValue;
    graph->objects[object] += count;
    if (flags)
      object->program -= count;
    else
      retain(object, count);
    return kSuccess;
  });
}

Result cuGraphReleaseUserObject(Graph *graph, UserObject *object, unsigned count) {
  return release(RUBIA_CALL(graph, object, count), [&]() {
    GraphLock lock;
    if (!liveGraph(graph) || !objects.contains(object) || !count)
      return kInvalidValue;
    auto found = graph->objects.find(object);
    if (found == graph->objects.end() || found->second < count)
      return kInvalidValue;
    if (!(found->second -= count))
      graph->objects.erase(found);
    release(object, count);
    return kSuccess;
  });
}

} // extern "C"
