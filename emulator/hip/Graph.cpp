// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/Graph.h"
#include "emulator/hip/Events.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::emulator::hip {
namespace {

struct Handles {
  std::set<Graph *> graphs;
  std::set<ExecutableGraph *> executables;
  std::map<Stream *, std::shared_ptr<Capture>> captures; // by stream that takes part
};
Handles &handles() {
  static auto *all = new Handles;
  return *all;
}

GraphNode *find(Graph &graph, const void *node) {
  for (auto &candidate : graph.nodes) {
    if (candidate.get() == node)
      return candidate.get();
    if (candidate->child)
      if (GraphNode *inside = find(*candidate->child, node))
        return inside;
  }
  return nullptr;
}

hipGraphNodeType typeOf(const Operation &operation) {
  if (std::holds_alternative<KernelLaunch>(operation))
    return hipGraphNodeTypeKernel;
  if (std::holds_alternative<CopyOperation>(operation))
    return hipGraphNodeTypeMemcpy;
  if (std::holds_alternative<FillOperation>(operation))
    return hipGraphNodeTypeMemset;
  if (std::holds_alternative<HostOperation>(operation))
    return hipGraphNodeTypeHost;
  if (std::holds_alternative<ChildOperation>(operation))
    return hipGraphNodeTypeGraph;
  if (std::holds_alternative<RecordOperation>(operation))
    return hipGraphNodeTypeEventRecord;
  if (std::holds_alternative<WaitOperation>(operation))
    return hipGraphNodeTypeWaitEvent;
  return hipGraphNodeTypeEmpty;
}

} // namespace

std::recursive_mutex &graphMutex() {
  static auto *mutex = new std::recursive_mutex;
  return *mutex;
}

GraphNode *Graph::add(hipGraphNodeType type, Operation operation,
                      std::vector<GraphNode *> dependencies) {
  auto node = std::make_unique<GraphNode>();
  node->graph = this;
  node->type = type;
  node->operation = std::move(operation);
  node->dependencies = std::move(dependencies);
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

void Graph::remove(GraphNode *node) {
  for (auto &other : nodes)
    erase(other->dependencies, node);
  erase_if(nodes, [&](const auto &owned) { return owned.get() == node; });
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  DenseMap<const GraphNode *, GraphNode *> copyOf;
  for (const auto &node : nodes) {
    GraphNode *made = copy->add(node->type, node->operation);
    made->original = node.get();
    made->hostFunction = node->hostFunction;
    made->copyKind = node->copyKind;
    if (node->child)
      made->child = node->child->clone();
    copyOf[node.get()] = made;
  }
  for (const auto &node : nodes)
    for (GraphNode *dependency : node->dependencies)
      copyOf[node.get()]->dependencies.push_back(copyOf[dependency]);
  return copy;
}

std::vector<GraphNode *> Graph::ordered() const {
  std::vector<GraphNode *> order;
  DenseMap<const GraphNode *, size_t> waitsFor;
  for (const auto &node : nodes) {
    waitsFor[node.get()] = node->dependencies.size();
    if (node->dependencies.empty())
      order.push_back(node.get());
  }
  for (size_t done = 0; done < order.size(); ++done)
    for (const auto &node : nodes)
      if (size_t times = count(node->dependencies, order[done]))
        if ((waitsFor[node.get()] -= times) == 0)
          order.push_back(node.get());
  if (order.size() != nodes.size())
    order.clear();
  return order;
}

std::optional<std::vector<Operation>> Graph::operations() const {
  const std::vector<GraphNode *> order = ordered();
  if (order.size() != nodes.size())
    return std::nullopt;
  std::vector<Operation> all;
  for (const GraphNode *node : order) {
    std::optional<Operation> operation = operationOf(*node);
    if (!operation)
      return std::nullopt;
    all.push_back(std::move(*operation));
  }
  return all;
}

std::optional<Operation> operationOf(const GraphNode &node) {
  if (!node.child)
    return node.operation;
  std::optional<std::vector<Operation>> all = node.child->operations();
  if (!all)
    return std::nullopt;
  return ChildOperation{std::move(*all)};
}

// Whether the graph is a node of `owner`, or of a graph that is one.
static bool isInside(const Graph *graph, const Graph &owner) {
  return any_of(owner.nodes, [&](const auto &node) {
    return node->child && (node->child.get() == graph || isInside(graph, *node->child));
  });
}

Graph *graphOf(hipGraph_t handle) {
  std::lock_guard lock(graphMutex());
  auto *graph = reinterpret_cast<Graph *>(handle);
  auto isOf = [&](const Graph &owner) { return &owner == graph || isInside(graph, owner); };
  if (any_of(handles().graphs, [&](const Graph *owner) { return isOf(*owner); }) ||
      any_of(handles().captures, [&](const auto &entry) { return isOf(*entry.second->graph); }))
    return graph;
  return nullptr;
}

bool isCaptured(const Graph &graph) {
  std::lock_guard lock(graphMutex());
  return any_of(handles().captures,
                [&](const auto &entry) { return entry.second->graph.get() == &graph; });
}

GraphNode *nodeOf(hipGraphNode_t handle) {
  std::lock_guard lock(graphMutex());
  for (Graph *graph : handles().graphs)
    if (GraphNode *node = find(*graph, handle))
      return node;
  for (auto &[stream, capture] : handles().captures)
    if (GraphNode *node = find(*capture->graph, handle))
      return node;
  return nullptr;
}

bool nodesOf(const Graph &graph, const hipGraphNode_t *handles, size_t count,
             std::vector<GraphNode *> &nodes) {
  if (count && !handles)
    return false;
  for (size_t i = 0; i < count; ++i) {
    GraphNode *node = nodeOf(handles[i]);
    if (!node || node->graph != &graph)
      return false;
    nodes.push_back(node);
  }
  return true;
}

ExecutableGraph *executableOf(hipGraphExec_t handle) {
  std::lock_guard lock(graphMutex());
  auto *executable = reinterpret_cast<ExecutableGraph *>(handle);
  return handles().executables.contains(executable) ? executable : nullptr;
}

hipGraphExec_t publish(std::unique_ptr<ExecutableGraph> executable) {
  std::lock_guard lock(graphMutex());
  handles().executables.insert(executable.get());
  return reinterpret_cast<hipGraphExec_t>(executable.release());
}

hipGraph_t publish(std::unique_ptr<Graph> graph) {
  std::lock_guard lock(graphMutex());
  handles().graphs.insert(graph.get());
  return reinterpret_cast<hipGraph_t>(graph.release());
}

std::shared_ptr<Capture> captureOf(Stream &stream) {
  std::lock_guard lock(graphMutex());
  auto place = handles().captures.find(&stream);
  return place == handles().captures.end() ? nullptr : place->second;
}

hipError_t captureConflict(Stream &stream, bool wait) {
  std::lock_guard lock(graphMutex());
  if (std::shared_ptr<Capture> own = captureOf(stream)) {
    if (!wait)
      return hipSuccess;
    own->invalid = true;
    return hipErrorStreamCaptureUnsupported;
  }
  if (&stream != stream.device.streams.null().get())
    return hipSuccess;
  for (auto &[other, capture] : handles().captures)
    if (other->blocking && &other->device == &stream.device) {
      capture->invalid = true;
      return hipErrorStreamCaptureImplicit;
    }
  return hipSuccess;
}

// The mode of what the calling thread does itself (hipThreadExchangeStreamCaptureMode).
static thread_local hipStreamCaptureMode ownMode = hipStreamCaptureModeGlobal;

// Of a thread's own captures all but relaxed ones count, of others' the global ones.
static bool forbidsUnsafe(const Capture &capture) {
  if (ownMode == hipStreamCaptureModeRelaxed)
    return false;
  return capture.thread == std::this_thread::get_id()
             ? capture.mode != hipStreamCaptureModeRelaxed
             : capture.mode == hipStreamCaptureModeGlobal && ownMode == hipStreamCaptureModeGlobal;
}

// Makes the captures invalid that `forbids` names.
template <typename Forbids>
static hipError_t forbiddenBy(const Forbids &forbids, hipError_t error) {
  std::lock_guard lock(graphMutex());
  bool isForbidden = false;
  for (auto &[stream, capture] : handles().captures)
    if (forbids(*capture))
      capture->invalid = isForbidden = true;
  return isForbidden ? error : hipSuccess;
}

hipError_t unsafeInCapture() {
  return forbiddenBy(forbidsUnsafe, hipErrorStreamCaptureUnsupported);
}

hipError_t waitsForCapture(hipError_t error) {
  return forbiddenBy([](const Capture &) { return true; }, error);
}

hipError_t capture(Stream &stream, Operation operation) {
  std::lock_guard lock(graphMutex());
  std::shared_ptr<Capture> own = captureOf(stream);
  if (own->invalid)
    return hipErrorStreamCaptureInvalidated;
  std::vector<GraphNode *> &tail = own->tails[&stream];
  hipGraphNodeType type = typeOf(operation);
  tail = {own->graph->add(type, std::move(operation), tail)};
  return hipSuccess;
}

// The graph of a capture that ends now: null where nobody gets it. Events of the capture see by the
// missing graph that it has ended.
static hipGraph_t end(Capture &capture) {
  for (auto &[member, tail] : capture.tails)
    handles().captures.erase(member);
  std::unique_ptr<Graph> graph = std::move(capture.graph);
  return capture.invalid && !capture.addsToGraph ? nullptr : publish(std::move(graph));
}

void forgetCapture(Stream &stream) {
  std::lock_guard lock(graphMutex());
  std::shared_ptr<Capture> own = captureOf(stream);
  if (!own)
    return;
  if (own->origin == &stream) {
    own->invalid = true;
    (void)end(*own);
    return;
  }
  std::vector<GraphNode *> &tail = own->tails[&stream];
  own->left.insert(own->left.end(), tail.begin(), tail.end());
  own->tails.erase(&stream);
  handles().captures.erase(&stream);
}

void forgetCaptures(Device &device) {
  std::lock_guard lock(graphMutex());
  std::vector<Stream *> captured;
  for (auto &[stream, capture] : handles().captures)
    if (&stream->device == &device)
      captured.push_back(stream);
  for (Stream *stream : captured)
    forgetCapture(*stream);
}

bool recordInCapture(Stream &stream, EventState &event) {
  std::lock_guard lock(graphMutex());
  std::shared_ptr<Capture> own = captureOf(stream);
  std::lock_guard eventLock(event.mutex);
  event.capture = own;
  event.captured.clear();
  if (own)
    event.captured = own->tails[&stream];
  return own != nullptr;
}

hipError_t joinCapture(Stream &stream, EventState &event, bool &joined) {
  std::lock_guard lock(graphMutex());
  std::lock_guard eventLock(event.mutex);
  std::shared_ptr<Capture> own = captureOf(stream);
  joined = event.capture && event.capture->graph; // the capture has not ended
  if (!joined)
    return own ? hipErrorStreamCaptureIsolation : hipSuccess;
  if (own && own != event.capture)
    return hipErrorStreamCaptureMerge;
  if (&stream == stream.device.streams.null().get())
    return hipErrorStreamCaptureImplicit;
  handles().captures[&stream] = event.capture;
  std::vector<GraphNode *> &tail = event.capture->tails[&stream];
  for (GraphNode *node : event.captured)
    if (!is_contained(tail, node))
      tail.push_back(node);
  return hipSuccess;
}

} // namespace rubia::emulator::hip

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

// ---------- Capture. HIP: "Graph Management", stream capture

// With the lock of graphs held. `graph` is one of the program's, or null for a new one.
static hipError_t beginCapture(hipStream_t handle, hipStreamCaptureMode mode, Graph *graph,
                               std::vector<GraphNode *> after) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return error;
  if (mode < hipStreamCaptureModeGlobal || mode > hipStreamCaptureModeRelaxed)
    return hipErrorInvalidValue;
  if (stream == stream->device.streams.null())
    return hipErrorStreamCaptureUnsupported;
  if (isCapturing(*stream))
    return hipErrorIllegalState;
  static unsigned long long number = 0;
  auto capture = std::make_shared<Capture>();
  if (graph) {
    handles().graphs.erase(graph); // the capture's until it ends
    capture->graph.reset(graph);
    capture->addsToGraph = true;
  }
  capture->origin = stream.get();
  capture->thread = std::this_thread::get_id();
  capture->mode = mode;
  capture->id = ++number;
  capture->tails[stream.get()] = std::move(after);
  handles().captures[stream.get()] = capture;
  return hipSuccess;
}

HIP_EXPORT hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  std::lock_guard lock(graphMutex());
  return result(beginCapture(stream, mode, nullptr, {}));
}

// Edges with data (hipGraphEdgeData) are for ports of kernels, which there are none of.
HIP_EXPORT hipError_t hipStreamBeginCaptureToGraph(hipStream_t stream, hipGraph_t handle,
                                                   const hipGraphNode_t *dependencies,
                                                   const void *edgeData, size_t count,
                                                   hipStreamCaptureMode mode) {
  std::lock_guard lock(graphMutex());
  auto *graph = reinterpret_cast<Graph *>(handle);
  if (edgeData)
    return result(refuse("hipStreamBeginCaptureToGraph", "ports of kernels"));
  std::vector<GraphNode *> after;
  if (!handles().graphs.contains(graph) || !nodesOf(*graph, dependencies, count, after))
    return result(hipErrorInvalidValue);
  return result(beginCapture(stream, mode, graph, std::move(after)));
}

// Every node that a stream which joined the capture ends with must lie before the end of the
// origin.
static bool isJoined(const Capture &capture) {
  std::set<const GraphNode *> before;
  std::vector<GraphNode *> open = capture.tails.at(capture.origin);
  while (!open.empty()) {
    GraphNode *node = open.back();
    open.pop_back();
    if (before.insert(node).second)
      open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
  }
  auto isBefore = [&](GraphNode *node) { return before.contains(node); };
  return all_of(capture.left, isBefore) &&
         all_of(capture.tails, [&](const auto &member) { return all_of(member.second, isBefore); });
}

HIP_EXPORT hipError_t hipStreamEndCapture(hipStream_t handle, hipGraph_t *graph) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (!graph)
    return result(hipErrorInvalidValue);
  std::lock_guard lock(graphMutex());
  std::shared_ptr<Capture> capture = captureOf(*stream);
  if (!capture)
    return result(hipErrorIllegalState);
  if (capture->origin != stream.get())
    return result(hipErrorStreamCaptureUnmatched);
  if (capture->mode != hipStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
    return result(hipErrorStreamCaptureWrongThread);
  *graph = nullptr;
  const bool wasInvalid = capture->invalid;
  capture->invalid |= !isJoined(*capture);
  const hipGraph_t captured = end(*capture);
  if (capture->invalid)
    return result(wasInvalid ? hipErrorStreamCaptureInvalidated : hipErrorStreamCaptureUnjoined);
  *graph = captured;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipStreamGetCaptureInfo_v2(hipStream_t handle, hipStreamCaptureStatus *status,
                                                 unsigned long long *id, hipGraph_t *graph,
                                                 const hipGraphNode_t **dependencies,
                                                 size_t *dependencyCount) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (!status)
    return result(hipErrorInvalidValue);
  std::lock_guard lock(graphMutex());
  std::shared_ptr<Capture> capture = captureOf(*stream);
  *status = !capture           ? hipStreamCaptureStatusNone
            : capture->invalid ? hipStreamCaptureStatusInvalidated
                               : hipStreamCaptureStatusActive;
  if (!capture)
    return result(hipSuccess);
  std::vector<GraphNode *> &tail = capture->tails[stream.get()];
  if (id)
    *id = capture->id;
  if (graph)
    *graph = reinterpret_cast<hipGraph_t>(capture->graph.get());
  if (dependencies)
    *dependencies = reinterpret_cast<const hipGraphNode_t *>(tail.data());
  if (dependencyCount)
    *dependencyCount = tail.size();
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus *status,
                                              unsigned long long *id) {
  return hipStreamGetCaptureInfo_v2(stream, status, id, nullptr, nullptr, nullptr);
}

HIP_EXPORT hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status) {
  return hipStreamGetCaptureInfo_v2(stream, status, nullptr, nullptr, nullptr, nullptr);
}

HIP_EXPORT hipError_t hipStreamUpdateCaptureDependencies(hipStream_t handle,
                                                         hipGraphNode_t *dependencies, size_t count,
                                                         unsigned flags) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  std::lock_guard lock(graphMutex());
  std::shared_ptr<Capture> capture = captureOf(*stream);
  if (!capture)
    return result(hipErrorIllegalState);
  if (flags != hipStreamAddCaptureDependencies && flags != hipStreamSetCaptureDependencies)
    return result(hipErrorInvalidValue);
  std::vector<GraphNode *> after;
  if (!nodesOf(*capture->graph, dependencies, count, after))
    return result(hipErrorInvalidValue);
  std::vector<GraphNode *> &tail = capture->tails[stream.get()];
  if (flags == hipStreamSetCaptureDependencies)
    tail.clear();
  for (GraphNode *node : after)
    if (!is_contained(tail, node))
      tail.push_back(node);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode) {
  if (!mode || *mode < hipStreamCaptureModeGlobal || *mode > hipStreamCaptureModeRelaxed)
    return result(hipErrorInvalidValue);
  std::swap(*mode, ownMode);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphDestroy(hipGraph_t handle) {
  std::lock_guard lock(graphMutex());
  Graph *graph = graphOf(handle);
  if (!graph || !handles().graphs.erase(graph))
    return result(hipErrorInvalidValue);
  delete graph;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphExecDestroy(hipGraphExec_t handle) {
  std::lock_guard lock(graphMutex());
  ExecutableGraph *executable = executableOf(handle);
  if (!executable)
    return result(hipErrorInvalidValue);
  handles().executables.erase(executable);
  delete executable; // launches have copied it
  return result(hipSuccess);
}
