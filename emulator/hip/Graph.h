// SPDX-License-Identifier: Apache-2.0
// Graphs: operations and what each of them has to wait for. An instantiated graph is a list of
// operations in an order that honours the dependencies; a launch of it is one piece of work of a
// stream.
#pragma once

#include "emulator/hip/Operation.h"
#include <optional>

namespace rubia::emulator::hip {

struct Graph;

struct GraphNode {
  Graph *graph;
  hipGraphNodeType type;
  Operation operation;
  std::vector<GraphNode *> dependencies;
  const GraphNode *original = nullptr; // in the graph that this one's graph was cloned from
  std::unique_ptr<Graph> child;        // of a node that is a graph
  /// What hipGraphKernelNodeGetParams hands out.
  const void *hostFunction = nullptr;
  std::vector<void *> argumentPointers;
  hipMemcpyKind copyKind = hipMemcpyDefault;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes; // in the order in which they were added

  GraphNode *add(hipGraphNodeType type, Operation operation,
                 std::vector<GraphNode *> dependencies = {});
  /// Takes the node out of the graph and of the dependencies of the others.
  void remove(GraphNode *node);
  /// A deep copy; its nodes name their originals.
  std::unique_ptr<Graph> clone() const;
  /// Every node after all that it depends on; empty if there is a cycle (and there are nodes).
  std::vector<GraphNode *> ordered() const;
  /// Of the nodes, in that order; those of child graphs as they are now. Nothing if there is a
  /// cycle.
  std::optional<std::vector<Operation>> operations() const;
};

/// A hipGraphExec_t.
struct ExecutableGraph {
  struct Step {
    const GraphNode *node; // of the graph it was made of; only a name: the graph may be gone
    hipGraphNodeType type;
    Operation operation;
    bool enabled = true; // hipGraphNodeSetEnabled
  };
  std::vector<Step> steps;
  unsigned long long flags = 0; // that it was instantiated with

  /// The step that was made of the node, or null.
  Step *stepOf(hipGraphNode_t node);
};

/// Handles that programs own. Null for what is none.
Graph *graphOf(hipGraph_t handle);
GraphNode *nodeOf(hipGraphNode_t handle);
ExecutableGraph *executableOf(hipGraphExec_t handle);
/// Nodes of one graph. False if one is not, or there is no list.
bool nodesOf(const Graph &graph, const hipGraphNode_t *handles, size_t count,
             std::vector<GraphNode *> &nodes);
hipGraph_t publish(std::unique_ptr<Graph> graph);
hipGraphExec_t publish(std::unique_ptr<ExecutableGraph> executable);

/// What a node does: of one that is a graph, what that is now. Nothing if that has a cycle.
std::optional<Operation> operationOf(const GraphNode &node);

/// The number that programs know a type by: these headers' in HIP 5, others since HIP 6.
int numberOf(hipGraphNodeType type);
inline bool areSame(hipGraphNodeType a, hipGraphNodeType b) { return numberOf(a) == numberOf(b); }
std::optional<hipGraphNodeType> nodeTypeOf(int number);
/// One lock for all graphs and captures. Every operation takes it to see whether its stream is
/// being captured.
std::recursive_mutex &graphMutex();

// ---------- Capture: operations on a stream become nodes

struct Capture {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Stream *origin = nullptr;
  std::thread::id thread; // that began it
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  bool invalid = false;
  unsigned long long id = 0;
  /// The streams that take part, with the nodes that their next operation depends on.
  std::map<Stream *, std::vector<GraphNode *>> tails;
  std::vector<GraphNode *> left; // tails of streams that were destroyed: to be joined like others
  bool addsToGraph = false;      // the program's, which stays in any case
};

/// The capture that a stream takes part in, or null.
std::shared_ptr<Capture> captureOf(Stream &stream);
/// Whether streams still add to the graph, which is theirs until the capture ends.
bool isCaptured(const Graph &graph);
inline bool isCapturing(Stream &stream) { return captureOf(stream) != nullptr; }
/// Why an operation is not possible because of a capture: it would block on a captured stream, or
/// use the null stream while a stream that is ordered against it is being captured.
hipError_t captureConflict(Stream &stream, bool wait);
/// Why nothing can be done now that no stream orders and a launch of the graph would not repeat,
/// such as an allocation: a capture forbids it to the calling thread, and becomes invalid.
hipError_t unsafeInCapture();
/// `error` if there is any capture, which becomes invalid: of calls that return when all is done.
hipError_t waitsForCapture(hipError_t error);
/// Adds an operation to the graph of the stream's capture.
hipError_t capture(Stream &stream, Operation operation);

/// The stream, or all of the device, is about to go. A capture that began there ends and is
/// invalid; others go on with what the stream has added.
void forgetCapture(Stream &stream);
void forgetCaptures(Device &device);
/// hipEventRecord on a captured stream: the event stands for the stream's tail. False if the stream
/// is not being captured.
bool recordInCapture(Stream &stream, EventState &event);
/// hipStreamWaitEvent with an event of a capture: the stream takes part in it from now on.
hipError_t joinCapture(Stream &stream, EventState &event, bool &joined);

} // namespace rubia::emulator::hip
