// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/graph/Capture.h"
#include "llvm/ADT/STLExtras.h"
#include <thread>

using namespace llvm;

namespace rubia::runtime::cuda {

struct Capture {
  uint64_t id;
  Graph *graph;
  void *origin; // stream
  std::thread::id thread;
  CaptureMode mode;
  Context *context;
  bool isInvalid = false;
  bool ownsGraph = true; // the program gets it at the end
  /// The streams that take part, with what their next operation depends on.
  std::map<void *, std::vector<Edge>> tails;
  std::map<void *, Context *> contexts; // of those streams
  /// What cuStreamGetCaptureInfo hands out, of each stream.
  struct Told {
    std::vector<GraphNode *> nodes;
    std::vector<EdgeData> edges;
  };
  std::map<void *, Told> told;
};

// All captures, by stream. With the mutex of graphs.
static std::map<void *, std::shared_ptr<Capture>> &captures =
    *new std::map<void *, std::shared_ptr<Capture>>;
// Their number, which calls ask without the mutex.
static std::atomic<size_t> streamCount = 0;

using Lock = GraphLock;

static std::shared_ptr<Capture> captureOf(void *hipStream) {
  auto found = captures.find(hipStream);
  return found == captures.end() ? nullptr : found->second;
}

bool isCaptured(void *hipStream) {
  if (!streamCount || !hipStream)
    return false;
  Lock lock;
  return captures.contains(hipStream);
}

const Graph *graphOfCapture(void *hipStream) {
  std::shared_ptr<Capture> own = captureOf(hipStream);
  return own ? own->graph : nullptr;
}

// Whether it is the graph or is inside of it.
static bool isWithin(const Graph *inner, const Graph &graph) {
  while (inner != &graph && inner->parent)
    inner = inner->parent->graph;
  return inner == &graph;
}

bool isBeingCaptured(const Graph &graph) {
  return any_of(captures, [&](const auto &entry) { return isWithin(entry.second->graph, graph); });
}

static bool isAddedTo(const Graph *graph) {
  return any_of(captures, [&](const auto &entry) { return entry.second->graph == graph; });
}

bool isBeingCaptured(const GraphNode &node) {
  return isAddedTo(node.graph) ||
         any_of(node.graphs(), [](const Graph *graph) { return isBeingCaptured(*graph); });
}

static void join(const std::shared_ptr<Capture> &capture, Context &context, void *hipStream) {
  captures[hipStream] = capture;
  capture->contexts[hipStream] = &context;
  capture->tails[hipStream];
  streamCount = captures.size();
}

static void leave(void *hipStream) {
  captures.erase(hipStream);
  streamCount = captures.size();
}

static void end(Capture &capture) {
  for (auto &[stream, tail] : capture.tails)
    leave(stream);
}

// A launch that may begin before the one before it has ended.
static bool isProgrammatic(const Operation &operation) {
  const auto *kernel = std::get_if<KernelOperation>(&operation);
  if (!kernel)
    return false;
  auto found = kernel->attributes.find(kLaunchProgrammaticStreamSerialization);
  return found != kernel->attributes.end() && found->second.flag;
}

// Or ended meanwhile.
static bool isInvalid(void *hipStream) {
  Lock lock;
  std::shared_ptr<Capture> own = captureOf(hipStream);
  return !own || own->isInvalid;
}

Result capture(Context &context, Operation operation, void *hipStream) {
  if (isInvalid(hipStream))
    return kStreamCaptureInvalidated;
  const Result prepared = prepare(context, operation); // compiles, and may wait for the device
  Lock lock;
  std::shared_ptr<Capture> own = captureOf(hipStream);
  if (!own || own->isInvalid)
    return kStreamCaptureInvalidated;
  // A copy is refused as at once; of a kernel everything is known now that a launch needs.
  if (auto *copy = std::get_if<CopyOperation>(&operation))
    if (Result result = checkCopy(context, *copy))
      return result;
  if (auto *fill = std::get_if<FillOperation>(&operation))
    if (Result result = checkFill(context, fill->fill))
      return result;
  if (prepared) {
    own->isInvalid = true;
    return prepared;
  }
  std::vector<Edge> &tail = own->tails[hipStream];
  if (isProgrammatic(operation))
    for (Edge &edge : tail)
      if (edge.from->type() == kKernelNode)
        edge.data = {1, 0, 1, {}}; // CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC
  GraphNode *node = own->graph->add(context, std::move(operation), tail);
  tail = {{node}};
  return kSuccess;
}

Result checkLegacyStream(Context &context, void *hipStream, bool invalidates) {
  if (hipStream || !streamCount)
    return kSuccess;
  Lock lock;
  Result result = kSuccess;
  for (auto &[stream, capture] : captures)
    if (capture->context == &context && isBlocking(stream)) {
      capture->isInvalid |= invalidates;
      result = kStreamCaptureImplicit;
    }
  return result;
}

// A thread's own captures count unless they are relaxed, those of others if they are global.
static bool forbidsUnsafe(const Capture &capture) {
  const int own = thread().captureMode;
  if (own == kRelaxedCapture || capture.mode == kRelaxedCapture)
    return false;
  return capture.thread == std::this_thread::get_id() ||
         (capture.mode == kGlobalCapture && own == kGlobalCapture);
}

Result checkUnsafe() {
  if (!streamCount)
    return kSuccess;
  Lock lock;
  Result result = kSuccess;
  for (auto &[stream, capture] : captures)
    if (forbidsUnsafe(*capture)) {
      capture->isInvalid = true;
      result = kStreamCaptureUnsupported;
    }
  return result;
}

Result checkWait(Context &context, void *hipStream) {
  if (!streamCount)
    return kSuccess;
  if (Result result = refuseCapture(hipStream))
    return result;
  if (Result result = checkLegacyStream(context, hipStream))
    return result;
  return checkUnsafe();
}

Result checkWaitForAll(Context &context) {
  if (!streamCount)
    return kSuccess;
  Lock lock;
  Result result = kSuccess;
  for (auto &[stream, capture] : captures)
    if (capture->context == &context) {
      capture->isInvalid = true;
      result = kStreamCaptureUnsupported;
    }
  return result;
}

void invalidateCapture(void *hipStream) {
  if (!streamCount)
    return;
  Lock lock;
  if (std::shared_ptr<Capture> own = captureOf(hipStream))
    own->isInvalid = true;
}

Result refuseCapture(void *hipStream) {
  if (!isCaptured(hipStream))
    return kSuccess;
  invalidateCapture(hipStream);
  return kStreamCaptureUnsupported;
}

Result captureRecord(Context &context, Event *event, void *hipStream, bool isExternal) {
  if (isExternal)
    return capture(context, RecordOperation{event->shared_from_this()}, hipStream);
  Lock lock;
  std::shared_ptr<Capture> own = captureOf(hipStream);
  if (!own || own->isInvalid)
    return kStreamCaptureInvalidated;
  event->capture = own->id;
  event->captured.clear();
  for (const Edge &edge : own->tails[hipStream])
    event->captured.push_back(edge.from);
  return kSuccess;
}

static std::shared_ptr<Capture> captureWithId(uint64_t id) {
  for (auto &[stream, capture] : captures)
    if (capture->id == id)
      return capture;
  return nullptr;
}

// The stream's next operation depends on what the event stands for. Nodes that were removed
// meanwhile are left out.
static void addTail(Capture &capture, void *hipStream, const std::vector<GraphNode *> &nodes) {
  std::vector<Edge> &tail = capture.tails[hipStream];
  for (GraphNode *node : nodes)
    if (liveNode(node) && none_of(tail, [&](const Edge &edge) { return edge.from == node; }))
      tail.push_back({node});
}

Result captureWait(Context &context, void *hipStream, Event *event, bool isExternal, bool &isDone) {
  if (!streamCount && !event->capture)
    return kSuccess;
  Lock lock;
  std::shared_ptr<Capture> own = captureOf(hipStream);
  auto refuse = [&](Result result) {
    if (own)
      own->isInvalid = true;
    return result;
  };
  if (own && own->isInvalid)
    return kStreamCaptureInvalidated;
  if (own && isExternal) {
    if (event->capture && !captureWithId(event->capture))
      return refuse(kInvalidValue); // what it stands for is in a graph
    isDone = true;
    return capture(context, WaitOperation{event->shared_from_this()}, hipStream);
  }
  if (!event->capture) {
    if (!own)
      return kSuccess;
    isDone = true;
    return event->recorded ? refuse(kStreamCaptureIsolation) : kSuccess;
  }
  std::shared_ptr<Capture> theirs = captureWithId(event->capture);
  if (!theirs)
    return refuse(kInvalidValue);
  if (theirs->isInvalid)
    return refuse(kStreamCaptureInvalidated);
  if (own && own != theirs) {
    theirs->isInvalid = true;
    return refuse(kStreamCaptureMerge);
  }
  if (!hipStream) { // the legacy stream cannot be captured
    theirs->isInvalid = true;
    return kStreamCaptureImplicit;
  }
  if (!own)
    join(theirs, context, hipStream);
  addTail(*theirs, hipStream, event->captured);
  isDone = true;
  return kSuccess;
}

Result checkEvent(Event *event, bool invalidates) {
  if (!event->capture)
    return kSuccess;
  Lock lock;
  std::shared_ptr<Capture> theirs = captureWithId(event->capture);
  if (!theirs)
    return kInvalidValue;
  theirs->isInvalid |= invalidates;
  return kCapturedEvent;
}

void forgetEvent(Event *event) {
  if (!event->capture)
    return;
  Lock lock;
  event->capture = 0;
  event->captured.clear();
}

void forgetCapturedStream(void *hipStream) {
  if (!streamCount)
    return;
  Lock lock;
  std::shared_ptr<Capture> own = captureOf(hipStream);
  if (!own)
    return;
  if (own->origin != hipStream) {
    // What it has captured stays in the graph, to be joined by an event or by nobody.
    std::vector<Edge> tail = std::move(own->tails[hipStream]);
    own->tails.erase(hipStream);
    own->tails[nullptr].insert(own->tails[nullptr].end(), tail.begin(), tail.end());
    leave(hipStream);
    return;
  }
  end(*own);
  if (!own->graph->parent) // else its node has it
    destroyGraph(own->graph);
}

void forgetCapturesOf(Context &context) {
  if (!streamCount)
    return;
  Lock lock;
  std::vector<void *> ending;
  for (auto &[stream, capture] : captures)
    if (capture->contexts.at(stream) == &context)
      ending.push_back(stream);
  for (void *stream : ending)
    forgetCapturedStream(stream);
}

// Whether all that was captured comes before the end of the stream that the capture began in.
static bool isJoined(const Capture &capture) {
  std::set<const GraphNode *> before;
  std::vector<const GraphNode *> open;
  for (const Edge &edge : capture.tails.at(capture.origin))
    open.push_back(edge.from);
  while (!open.empty()) {
    const GraphNode *node = open.back();
    open.pop_back();
    if (before.insert(node).second)
      for (const Edge &edge : node->dependencies)
        open.push_back(edge.from);
  }
  return all_of(capture.tails, [&](const auto &entry) {
    return entry.first == capture.origin ||
           all_of(entry.second, [&](const Edge &edge) { return before.count(edge.from); });
  });
}

static Result begin(Context &context, void *hipStream, Graph *graph, std::vector<Edge> tail,
                    int mode) {
  static uint64_t lastId = 0;
  if (captureOf(hipStream))
    return kIllegalState;
  auto made = std::make_shared<Capture>();
  made->id = ++lastId;
  made->ownsGraph = !graph;
  made->graph = graph;
  if (!graph)
    made->graph = new Graph;
  made->origin = hipStream;
  made->thread = std::this_thread::get_id();
  made->mode = CaptureMode(mode);
  made->context = &context;
  join(made, context, hipStream);
  made->tails[hipStream] = std::move(tail);
  return kSuccess;
}

static Result beginCapture(const TracedCall &entry, Stream *stream, int mode) {
  return callOn(entry, stream, [&](Context &context) {
    if (mode < kGlobalCapture || mode > kRelaxedCapture)
      return kInvalidValue;
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      if (!hipStream) // the legacy stream
        return kStreamCaptureUnsupported;
      Lock lock;
      return begin(context, hipStream, nullptr, {}, mode);
    });
  });
}

// A graph that is not the program's before the capture ends well is lost; so is, as on NVIDIA's
// driver, one that was given to an invalid capture.
static Result endCapture(void *hipStream, Graph **out) {
  Lock lock;
  std::shared_ptr<Capture> own = captureOf(hipStream);
  if (out)
    *out = nullptr;
  if (!own)
    return kIllegalState;
  if (own->origin != hipStream) {
    own->isInvalid = true;
    return kStreamCaptureUnmatched;
  }
  Result result = kSuccess;
  if (own->isInvalid)
    result = kStreamCaptureInvalidated;
  else if (own->mode != kRelaxedCapture && own->thread != std::this_thread::get_id())
    result = kStreamCaptureWrongThread;
  else if (!isJoined(*own))
    result = kStreamCaptureUnjoined;
  end(*own);
  if (!result && out)
    *out = own->graph;
  else if (result ? !own->graph->parent : own->ownsGraph)
    destroyGraph(own->graph);
  return result;
}

// What cuStreamGetCaptureInfo's versions have in common; outputs but the status may be null.
static Result captureInfo(const TracedCall &entry, Stream *stream, int *status, uint64_t *id,
                          Graph **graph, const GraphNode *const **nodes, const EdgeData **edges,
                          size_t *count, bool isLossy) {
  return callOn(entry, stream, [&](Context &context) {
    if (!status)
      return kInvalidValue;
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      if (Result result = checkLegacyStream(context, hipStream, false))
        return result;
      Lock lock;
      std::shared_ptr<Capture> own = captureOf(hipStream);
      *status = !own ? kNoCapture : own->isInvalid ? kInvalidCapture : kActiveCapture;
      if (*status != kActiveCapture)
        return kSuccess;
      Capture::Told &told = own->told[hipStream];
      told = {};
      bool hasData = false;
      for (const Edge &edge : own->tails[hipStream]) {
        told.nodes.push_back(edge.from);
        told.edges.push_back(edge.data);
        hasData |= !isPlain(edge.data);
      }
      if (id)
        *id = own->id;
      if (graph)
        *graph = own->graph;
      if (nodes && hasData && isLossy)
        return kLossyQuery;
      if (nodes)
        *nodes = told.nodes.data();
      if (edges)
        *edges = told.edges.data();
      if (count)
        *count = told.nodes.size();
      return kSuccess;
    });
  });
}

static Result updateDependencies(const TracedCall &entry, Stream *stream, GraphNode **nodes,
                                 const EdgeData *data, size_t count, unsigned flags) {
  return callOn(entry, stream, [&](Context &context) {
    if (flags > 1) // CU_STREAM_ADD_CAPTURE_DEPENDENCIES, SET
      return kInvalidValue;
    return onStream(context, stream, [&](Context &, void *hipStream) -> Result {
      Lock lock;
      std::shared_ptr<Capture> own = captureOf(hipStream);
      if (!own)
        return kIllegalState;
      std::vector<Edge> edges;
      if (Result result = edgesFrom(*own->graph, nodes, data, count, edges))
        return result;
      std::vector<Edge> &tail = own->tails[hipStream];
      if (flags)
        tail.clear();
      for (const Edge &edge : edges)
        if (none_of(tail, [&](const Edge &other) { return other.from == edge.from; }))
          tail.push_back(edge);
      return kSuccess;
    });
  });
}

static Stream *ofThread(Stream *stream) { return stream ? stream : kPerThreadStream; }

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuStreamBeginCapture(Stream *stream) {
  return beginCapture(RUBIA_CALL(stream), stream, kGlobalCapture);
}
Result cuStreamBeginCapture_ptsz(Stream *stream) {
  return beginCapture(RUBIA_CALL(stream), ofThread(stream), kGlobalCapture);
}
Result cuStreamBeginCapture_v2(Stream *stream, int mode) {
  return beginCapture(RUBIA_CALL(stream, mode), stream, mode);
}
Result cuStreamBeginCapture_v2_ptsz(Stream *stream, int mode) {
  return beginCapture(RUBIA_CALL(stream, mode), ofThread(stream), mode);
}

Result cuStreamBeginCaptureToGraph(Stream *stream, Graph *graph, GraphNode *const *nodes,
                                   const EdgeData *data, size_t count, int mode) {
  return callOn(RUBIA_CALL(stream, graph, nodes, data, count, mode), stream, [&](Context &context) {
    if (mode < kGlobalCapture || mode > kRelaxedCapture)
      return kInvalidValue;
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      if (!hipStream)
        return kStreamCaptureUnsupported;
      Lock lock;
      std::vector<Edge> tail;
      if (!liveGraph(graph) || isAddedTo(graph))
        return kInvalidValue;
      if (Result result = edgesFrom(*graph, nodes, data, count, tail))
        return result;
      return begin(context, hipStream, graph, std::move(tail), mode);
    });
  });
}
Result cuStreamBeginCaptureToGraph_ptsz(Stream *stream, Graph *graph, GraphNode *const *nodes,
                                        const EdgeData *data, size_t count, int mode) {
  return cuStreamBeginCaptureToGraph(ofThread(stream), graph, nodes, data, count, mode);
}

Result cuStreamEndCapture(Stream *stream, Graph **graph) {
  return callOn(RUBIA_CALL(stream, graph), stream, [&](Context &context) {
    return onStream(context, stream,
                    [&](Context &, void *hipStream) { return endCapture(hipStream, graph); });
  });
}
Result cuStreamEndCapture_ptsz(Stream *stream, Graph **graph) {
  return cuStreamEndCapture(ofThread(stream), graph);
}

Result cuStreamIsCapturing(Stream *stream, int *status) {
  return captureInfo(RUBIA_CALL(stream, status), stream, status, nullptr, nullptr, nullptr, nullptr,
                     nullptr, false);
}
Result cuStreamIsCapturing_ptsz(Stream *stream, int *status) {
  return cuStreamIsCapturing(ofThread(stream), status);
}

Result cuStreamGetCaptureInfo(Stream *stream, int *status, uint64_t *id) {
  return captureInfo(RUBIA_CALL(stream, status, id), stream, status, id, nullptr, nullptr, nullptr,
                     nullptr, false);
}
Result cuStreamGetCaptureInfo_ptsz(Stream *stream, int *status, uint64_t *id) {
  return cuStreamGetCaptureInfo(ofThread(stream), status, id);
}
Result cuStreamGetCaptureInfo_v2(Stream *stream, int *status, uint64_t *id, Graph **graph,
                                 const GraphNode *const **nodes, size_t *count) {
  return captureInfo(RUBIA_CALL(stream, status, id, graph, nodes, count), stream, status, id, graph,
                     nodes, nullptr, count, true);
}
Result cuStreamGetCaptureInfo_v2_ptsz(Stream *stream, int *status, uint64_t *id, Graph **graph,
                                      const GraphNode *const **nodes, size_t *count) {
  return cuStreamGetCaptureInfo_v2(ofThread(stream), status, id, graph, nodes, count);
}
Result cuStreamGetCaptureInfo_v3(Stream *stream, int *status, uint64_t *id, Graph **graph,
                                 const GraphNode *const **nodes, const EdgeData **edges,
                                 size_t *count) {
  return captureInfo(RUBIA_CALL(stream, status, id, graph, nodes, edges, count), stream, status, id,
                     graph, nodes, edges, count, !edges);
}
Result cuStreamGetCaptureInfo_v3_ptsz(Stream *stream, int *status, uint64_t *id, Graph **graph,
                                      const GraphNode *const **nodes, const EdgeData **edges,
                                      size_t *count) {
  return cuStreamGetCaptureInfo_v3(ofThread(stream), status, id, graph, nodes, edges, count);
}

Result cuStreamUpdateCaptureDependencies(Stream *stream, GraphNode **nodes, size_t count,
                                         unsigned flags) {
  return updateDependencies(RUBIA_CALL(stream, nodes, count, flags), stream, nodes, nullptr, count,
                            flags);
}
Result cuStreamUpdateCaptureDependencies_ptsz(Stream *stream, GraphNode **nodes, size_t count,
                                              unsigned flags) {
  return updateDependencies(RUBIA_CALL(stream, nodes, count, flags), ofThread(stream), nodes,
                            nullptr, count, flags);
}
Result cuStreamUpdateCaptureDependencies_v2(Stream *stream, GraphNode **nodes, const EdgeData *data,
                                            size_t count, unsigned flags) {
  return updateDependencies(RUBIA_CALL(stream, nodes, data, count, flags), stream, nodes, data,
                            count, flags);
}
Result cuStreamUpdateCaptureDependencies_v2_ptsz(Stream *stream, GraphNode **nodes,
                                                 const EdgeData *data, size_t count,
                                                 unsigned flags) {
  return updateDependencies(RUBIA_CALL(stream, nodes, data, count, flags), ofThread(stream), nodes,
                            data, count, flags);
}

// NVIDIA's driver takes any number for a mode.
Result cuThreadExchangeStreamCaptureMode(int *mode) {
  return call(RUBIA_CALL(mode), [&] {
    if (!mode)
      return kInvalidValue;
    std::swap(*mode, thread().captureMode);
    return kSuccess;
  });
}

} // extern "C"
