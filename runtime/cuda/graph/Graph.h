// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes, each an operation, and edges between them. They are the runtime's own: what CUDA
// promises of handles, orders and errors does not depend on the HIP that is there.
#pragma once

#include "runtime/cuda/Operation.h"
#include <functional>
#include <memory>

namespace rubia::runtime::cuda {

struct Edge {
  GraphNode *from;
  EdgeData data = {};
};

/// A conditional node's handle.
struct Conditional {
  unsigned initial = 0;
  bool isReset = false; // at each launch
  bool isUsed = false;  // by a node
  std::shared_ptr<ConditionalWord> word = {};
};

struct GraphNode {
  GraphNode(Graph *graph, Context *context, Operation operation);
  ~GraphNode(); // with what it owns: graphs, memory
  GraphNode(const GraphNode &) = delete;

  Graph *graph;
  uint64_t id;      // of no other node, ever
  Context *context; // that it runs in
  Operation operation;
  std::vector<Edge> dependencies = {};
  uint64_t original = 0; // the node that it was cloned from
  bool isEnabled = true; // of executable graphs
  /// What parameters that were handed out point to.
  std::vector<void *> values = {};
  size_t bufferBytes = 0;

  NodeType type() const { return NodeType(typeOf(operation)); }
  /// The graphs that the node owns.
  std::vector<Graph *> graphs() const;

private:
  static NodeType typeOf(const Operation &operation);
};

struct Graph {
  Graph();
  ~Graph();
  Graph(const Graph &) = delete;

  uint64_t id;
  std::vector<std::unique_ptr<GraphNode>> nodes = {}; // in the order in which they were added
  GraphNode *parent = nullptr;                        // that it is part of
  uint64_t original = 0;                              // the graph that it was cloned from
  std::map<UserObject *, uint64_t> objects = {};      // with the references that it has
  std::map<uint64_t, Conditional> conditionals = {};  // by handle
  unsigned executables = 0; // that were made of it and live: where it has memory

  GraphNode *add(Context &context, Operation operation, std::vector<Edge> dependencies = {});
  void remove(GraphNode *node);
  /// A deep copy, with references to the user objects.
  std::unique_ptr<Graph> clone() const;
  /// One that the program has no handle of. It may have old ones of graphs and nodes that have
  /// ended, and memory is used again: these name nothing of it.
  std::unique_ptr<Graph> cloneWithoutHandles() const;
  /// Each node after those it depends on; fewer nodes than there are if there is a cycle.
  std::vector<GraphNode *> ordered() const;
  std::vector<GraphNode *> dependentsOf(const GraphNode *node) const;
  bool hasMemory() const; // nodes that allocate or free, at any depth
  bool hasConditional() const;
};

/// One lock for graphs and captures; operations on streams take it only while there is a capture.
/// What user objects are destroyed by runs when the outermost one is given back, and so does what
/// waits for the device.
std::recursive_mutex &graphMutex();
class GraphLock {
public:
  GraphLock();
  ~GraphLock();
  GraphLock(const GraphLock &) = delete;
};
/// Calls it when the thread has given back all its locks: at once if it has none.
void afterGraphLock(std::function<void()> work);

// Handles of the program; null for what is none. With the mutex held.
Graph *liveGraph(Graph *handle);
GraphNode *liveNode(GraphNode *handle);

/// An executable graph of the graph with this id ends.
void forgetExecutable(uint64_t graph);

/// Nodes of one graph as edges. kInvalidValue: one is not, or comes twice.
Result edgesFrom(const Graph &graph, GraphNode *const *nodes, const EdgeData *data, size_t count,
                 std::vector<Edge> &edges);
bool isPlain(const EdgeData &data);

/// Ends a graph that the program owns.
void destroyGraph(Graph *graph);

/// Writes a list of nodes as the API has lists.
Result giveNodes(const std::vector<GraphNode *> &all, GraphNode **nodes, size_t *count);

// User objects, with the mutex held.
void retain(UserObject *object, uint64_t count);
void release(UserObject *object, uint64_t count);

// Memory of graphs. Its address is the node's from the beginning; it is allocated by a launch.
Result allocateForGraph(Context &context, AllocateOperation &operation);
/// Nodes that allocate it, in graphs and executable graphs.
void keepGraphMemory(const AllocateOperation &operation);
void dropGraphMemory(const AllocateOperation &operation);
/// A free node of the address may be added to the graph.
Result makeFree(const Graph &graph, void *address, FreeOperation &operation);
/// What a launch does to memory of graphs: what it allocates must not be allocated already, unless
/// `mayBeAllocated`, and what it frees must be.
struct MemoryUse {
  std::vector<AllocateOperation> allocated;
  std::vector<FreeOperation> freed;
  bool mayBeAllocated = false;
  std::vector<std::pair<void *, uint64_t>> changed = {}; // by beginUse()
};
Result beginUse(MemoryUse &use);
/// The launch has begun, or failed. Gives back what nobody has any more, which waits for the
/// device.
void endUse(const MemoryUse &use, bool failed);
/// cuMemFree and cuMemFreeAsync; kInvalidValue if it is not allocated.
Result freeGraphMemory(void *address);

} // namespace rubia::runtime::cuda
