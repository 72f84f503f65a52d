// SPDX-License-Identifier: Apache-2.0
// Making executable graphs, and launching them.
#include "runtime/cuda/graph/ExecutableGraph.h"
#include "runtime/cuda/Occupancy.h"
#include "runtime/cuda/graph/Capture.h"
#include "runtime/cuda/graph/Conditional.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <system_error>
#include <thread>

using namespace llvm;

namespace rubia::runtime {
int hipStreamCreateWithFlags(void **stream, unsigned flags);
int hipLaunchHostFunc(void *stream, void (*function)(void *data), void *data);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

// Branches beyond these follow each other.
static constexpr size_t kMaxLanes = 8;

static std::map<ExecutableGraph *, std::shared_ptr<ExecutableGraph>> &executables =
    *new std::map<ExecutableGraph *, std::shared_ptr<ExecutableGraph>>;

std::shared_ptr<ExecutableGraph> liveExecutable(ExecutableGraph *handle) {
  auto found = executables.find(handle);
  return found == executables.end() ? nullptr : found->second;
}

// ---------- Shape

using Indices = std::vector<size_t>;

static void addIndices(Indices &to, const Indices &from) {
  for (size_t index : from)
    if (!is_contained(to, index))
      to.push_back(index);
}

// Adds the graph's nodes behind the steps `after`. Returns the steps that end it.
static Indices addSteps(const Graph &graph, const Indices &after, std::vector<Step> &steps) {
  DenseMap<const GraphNode *, Indices> ends;
  for (GraphNode *node : graph.ordered()) {
    Indices before;
    for (const Edge &edge : node->dependencies)
      addIndices(before, ends[edge.from]);
    if (node->dependencies.empty())
      before = after;
    if (auto *child = std::get_if<ChildOperation>(&node->operation)) {
      ends[node] = addSteps(*child->graph, before, steps);
      continue;
    }
    steps.push_back({node, std::move(before)});
    ends[node] = {steps.size() - 1};
  }
  Indices last;
  for (const auto &node : graph.nodes)
    if (graph.dependentsOf(node.get()).empty())
      addIndices(last, ends[node.get()]);
  return graph.nodes.empty() ? after : last;
}

std::vector<Step> stepsOf(const Graph &copy) {
  std::vector<Step> steps;
  addSteps(copy, {}, steps);
  return steps;
}

// A step goes on where one of those before it was the last, else in a new lane.
static size_t laneFor(const Step &step, const std::vector<Step> &steps, std::vector<Lane> &lanes) {
  Context *context = step.node->context;
  for (size_t before : step.after) {
    const Lane &lane = lanes[steps[before].lane];
    if (lane.last == before && lane.context == context)
      return steps[before].lane;
  }
  size_t oldest = lanes.size();
  for (size_t i = 0; i < lanes.size(); ++i)
    if (lanes[i].context == context &&
        (oldest == lanes.size() || lanes[i].last < lanes[oldest].last))
      oldest = i;
  if (lanes.size() >= kMaxLanes && oldest < lanes.size())
    return oldest;
  lanes.push_back({context});
  return lanes.size() - 1;
}

std::vector<Lane> giveLanes(std::vector<Step> &steps) {
  std::vector<Lane> lanes;
  for (size_t i = 0; i < steps.size(); ++i) {
    Step &step = steps[i];
    step.lane = laneFor(step, steps, lanes);
    lanes[step.lane].last = i;
    for (size_t before : step.after)
      if (steps[before].lane != step.lane) {
        step.awaited.push_back(before);
        steps[before].isAwaited = true;
      }
  }
  return lanes;
}

// ---------- Instantiation

// The first kernel that cannot be compiled.
static Result prepareAll(Context &current, const std::vector<Step> &steps, GraphNode *&atFault,
                         bool isBody = false) {
  Context *entered = &current;
  Result result = kSuccess;
  for (const Step &step : steps) {
    if (entered != step.node->context && (result = enter(*step.node->context)))
      break;
    entered = step.node->context;
    atFault = step.node;
    if ((result = keepCluster(*step.node->context, step.node->operation)))
      break;
    if ((result = prepare(*step.node->context, step.node->operation, isBody)))
      break;
    if (step.bodies)
      for (const auto &body : step.bodies->graphs)
        if (!result)
          result = prepareAll(*entered, body->steps, atFault, true);
    if (result)
      break;
  }
  if (!result)
    atFault = nullptr;
  Result back = entered == &current ? kSuccess : enter(current);
  return result ? result : back;
}

// At any depth.
static GraphNode *nodeWithId(const Graph &graph, uint64_t id) {
  for (const auto &node : graph.nodes) {
    if (node->id == id)
      return node.get();
    for (Graph *inner : node->graphs())
      if (GraphNode *found = nodeWithId(*inner, id))
        return found;
  }
  return nullptr;
}

// The last node that is on a cycle or behind one.
static GraphNode *nodeInCycle(const Graph &graph) {
  std::vector<GraphNode *> order = graph.ordered();
  for (const auto &node : reverse(graph.nodes)) {
    if (!is_contained(order, node.get()))
      return node.get();
    for (const Graph *inner : node->graphs())
      if (nodeInCycle(*inner))
        return node.get();
  }
  return nullptr;
}

// A node in a body of a conditional node that may not be in one.
static GraphNode *nodeInWrongBody(const Graph &graph) {
  for (const auto &node : graph.nodes)
    for (const Graph *inner : node->graphs())
      if (GraphNode *found =
              node->type() == kConditionalNode ? nodeNotInBody(*inner) : nodeInWrongBody(*inner))
        return found;
  return nullptr;
}

// What is wrong with the graph itself.
static Result checkGraph(const Graph &graph, uint64_t flags, InstantiateFault &fault) {
  if (flags & ~uint64_t(kFreeOnLaunch | kUpload | kDeviceLaunch | kNodePriority))
    return kInvalidValue;
  if (flags & kDeviceLaunch) {
    if ((flags & kFreeOnLaunch) || graph.hasMemory())
      return kInvalidValue;
    return fail(kNotSupported, "graphs that the device launches are not supported");
  }
  if ((fault.node = nodeInCycle(graph)))
    return fault.result = 2, kInvalidValue; // INVALID_STRUCTURE
  if (any_of(graph.conditionals, [](const auto &entry) { return !entry.second.isUsed; }))
    return fault.result = 5, kInvalidValue; // CONDITIONAL_HANDLE_UNUSED
  if ((fault.node = nodeInWrongBody(graph)))
    return fault.result = 3, kInvalidValue; // NODE_OPERATION_NOT_SUPPORTED
  if (graph.hasMemory() && graph.executables)
    return fail(kNotSupported, "a graph with nodes that allocate or free memory is instantiated "
                               "once at a time");
  if (graph.hasConditional() && graph.executables)
    return fail(kNotSupported, "a graph with conditional nodes is instantiated once at a time");
  return kSuccess;
}

static std::shared_ptr<ExecutableGraph> makeExecutable(Graph &graph, uint64_t flags) {
  auto made = std::make_shared<ExecutableGraph>();
  made->copy = graph.cloneWithoutHandles();
  made->graph = graph.id;
  made->flags = flags;
  made->steps = stepsOf(*made->copy);
  made->lanes = giveLanes(made->steps);
  makeBodies(made->steps);
  made->hasConditional = graph.hasConditional();
  ++graph.executables;
  return made;
}

// ---------- Ends

void *DeviceEvent::hip() const {
  return event && !isExiting() && resets == device->resets ? event : nullptr;
}

void DeviceEvent::drop() {
  if (void *live = hip())
    (void)cuda::hip().call<hipEventDestroy>(live); // whatever it says: nobody else knows it
  event = nullptr;
}

Result DeviceEvent::record(Context &context, void *hipStream) {
  if (!hip() || device != &context.device) {
    drop();
    device = &context.device;
    resets = device->resets;
    if (Result result =
            context.check(cuda::hip().call<hipEventCreateWithFlags>(&event, 2))) // no timing
      return result;
  }
  return context.check(cuda::hip().call<hipEventRecord>(event, hipStream));
}

bool Lane::isLost() const { return isExiting() || resets != context->device.resets; }

Result Lane::open() {
  if (hipStream && !isLost())
    return kSuccess;
  hipStream = nullptr;
  resets = context->device.resets;
  return isWork ? makeWorkStream(*context, hipStream)
                : context->check(hip().call<hipStreamCreateWithFlags>(&hipStream, 1));
}

// What kernels of a launch may still use when nobody has the executable graph any more: user
// objects, and words of handles, which they may set.
namespace {
struct Used {
  std::vector<std::pair<UserObject *, uint64_t>> objects;
  std::vector<std::shared_ptr<ConditionalWord>> words;

  void take(Graph &graph); // at any depth
  void release();
};
} // namespace

void Used::take(Graph &graph) {
  objects.insert(objects.end(), graph.objects.begin(), graph.objects.end());
  graph.objects.clear();
  for (const auto &[handle, conditional] : graph.conditionals)
    words.push_back(conditional.word);
  for (const auto &node : graph.nodes)
    for (Graph *inner : node->graphs())
      take(*inner);
}

void Used::release() {
  GraphLock lock;
  for (auto [object, count] : objects)
    cuda::release(object, count);
  words.clear();
}

// They go when the last launch is over. HIP's callback may take no lock: who has it may be waiting
// for the stream.
static void giveBackLater(ExecutableGraph &executable) {
  auto owned = std::make_unique<Used>();
  {
    GraphLock lock;
    owned->take(*executable.copy);
  }
  if (owned->objects.empty() && owned->words.empty())
    return;
  auto releaseLater = [](void *data) {
    std::unique_ptr<Used> all(static_cast<Used *>(data));
    try {
      std::thread([used = all.get()] { std::unique_ptr<Used>(used)->release(); }).detach();
      (void)all.release();                     // the thread's
    } catch (const std::system_error &error) { // no thread is left for the process
      (void)all.release();
      log(LogLevel::Warning,
          Twine("what an executable graph used is not released: ") + error.what());
    }
  };
  void *finished = executable.finished.hip();
  if (finished && hip().has<hipLaunchHostFunc>() &&
      hip().call<hipEventQuery>(finished) != kHipSuccess &&
      !hip().call<hipLaunchHostFunc>(executable.lanes[0].hipStream, releaseLater, owned.get()))
    (void)owned.release(); // the function's
  else
    owned->release();
}

// The last owner: no launch is being issued. HIP waits for streams and memory, so nothing is locked
// meanwhile.
ExecutableGraph::~ExecutableGraph() {
  giveBackLater(*this);
  for (Lane &lane : lanes) {
    if (!lane.hipStream || lane.isLost())
      continue;
    freeWorkspace(*lane.context, static_cast<Stream *>(lane.hipStream));
    (void)hip().call<hipStreamDestroy>(lane.hipStream);
  }
  GraphLock lock; // nodes end
  copy.reset();
}

// ---------- Launches

namespace {

/// One launch; the device of the context that is worked in is HIP's current one.
class Replay {
public:
  /// `awaited`: what the program waits for: other than `hipStream` of a body.
  Replay(ExecutableGraph &executable, Context &context, void *hipStream,
         const AwaitedStream &awaited, bool isBody)
      : executable(executable), context(context), entered(&context), hipStream(hipStream),
        awaited(awaited), isBody(isBody) {}

  Result run();

private:
  Result enterContext(Context &wanted);
  Result record(DeviceEvent &event, Context &of, void *stream);
  Result wait(const DeviceEvent &event, void *stream);
  Result beginLanes();
  Result runStep(Step &step);
  Result runConditional(const Step &step, Lane &lane);
  Result endLanes();
  void watchKernels();

  ExecutableGraph &executable;
  Context &context, *entered;
  void *hipStream;
  AwaitedStream awaited;
  bool isBody;
};

Result Replay::enterContext(Context &wanted) {
  if (entered == &wanted)
    return kSuccess;
  if (Result result = enter(wanted))
    return result;
  entered = &wanted;
  return kSuccess;
}

Result Replay::record(DeviceEvent &event, Context &of, void *stream) {
  if (Result result = enterContext(of))
    return result;
  return event.record(of, stream);
}

// Of an event that is no more nothing is awaited: its device was reset.
Result Replay::wait(const DeviceEvent &event, void *stream) {
  void *live = event.hip();
  return live ? entered->check(hip().call<hipStreamWaitEvent>(stream, live, 0)) : kSuccess;
}

Result Replay::beginLanes() {
  if (executable.hasConditional) {
    if (Result result = wait(executable.finished, hipStream)) // a launch before has the values
      return result;
    if (Result result = resetConditionals(context, *executable.copy, hipStream))
      return result;
  }
  if (Result result = record(executable.start, context, hipStream))
    return result;
  for (Lane &lane : executable.lanes) {
    if (Result result = enterContext(*lane.context))
      return result;
    if (Result result = lane.open())
      return result;
    if (Result result = wait(executable.start, lane.hipStream))
      return result;
    if (Result result = wait(executable.finished, lane.hipStream))
      return result;
  }
  return kSuccess;
}

// In a body the thread is there already.
Result Replay::runConditional(const Step &step, Lane &lane) {
  if (!isBody)
    return addConditional(*lane.context, step.bodies, lane.hipStream, awaited);
  if (Result result = lane.context->check(hip().call<hipStreamSynchronize>(lane.hipStream)))
    return result;
  Result result = runBodies(*step.bodies, awaited);
  entered = lane.context;
  return result;
}

Result Replay::runStep(Step &step) {
  Lane &lane = executable.lanes[step.lane];
  if (Result result = enterContext(*lane.context))
    return result;
  for (size_t before : step.awaited)
    if (Result result = wait(executable.steps[before].event, lane.hipStream))
      return result;
  const GraphNode &node = *step.node;
  // What memory nodes do was done when the launch began.
  if (step.bodies) {
    if (Result result = runConditional(step, lane))
      return result;
  } else if (node.isEnabled && node.type() != kAllocateNode && node.type() != kFreeNode) {
    if (Result result =
            execute(*lane.context, node.operation,
                    {lane.hipStream, static_cast<Stream *>(lane.hipStream), awaited, isBody}))
      return result;
  }
  return step.isAwaited ? record(step.event, *lane.context, lane.hipStream) : kSuccess;
}

// The first lane waits for the others, and the stream for the first. A lane that could not be made
// has nothing to wait for.
Result Replay::endLanes() {
  std::vector<Lane> &lanes = executable.lanes;
  auto isThere = [](const Lane &lane) { return lane.hipStream && !lane.isLost(); };
  if (!isThere(lanes[0]))
    return kSuccess;
  for (Lane &lane : drop_begin(lanes))
    if (isThere(lane))
      if (Result result = record(lane.done, *lane.context, lane.hipStream))
        return result;
  if (Result result = enterContext(*lanes[0].context))
    return result;
  for (Lane &lane : drop_begin(lanes))
    if (isThere(lane))
      if (Result result = wait(lane.done, lanes[0].hipStream))
        return result;
  if (Result result = record(executable.finished, *lanes[0].context, lanes[0].hipStream))
    return result;
  if (Result result = enterContext(context))
    return result;
  return wait(executable.finished, hipStream);
}

// The stream waits only now for the kernels: who waited for it meanwhile knows nothing of them.
void Replay::watchKernels() {
  std::set<Module *> seen;
  for (const Step &step : executable.steps)
    if (auto *kernel = std::get_if<KernelOperation>(&step.node->operation);
        kernel && step.node->isEnabled)
      if (Bound bound = bind(*step.node->context, kernel->function);
          !bound.error && seen.insert(bound.module).second)
        step.node->context->pending.add(bound.module->loaded, awaited);
}

Result Replay::run() {
  if (executable.lanes.empty())
    return kSuccess;
  if (any_of(executable.lanes,
             [&](const Lane &lane) { return &lane.context->device != &context.device; }))
    theDriver.load()->hasGraphsAcrossDevices = true;
  Result result = beginLanes();
  for (Step &step : executable.steps)
    if (!result)
      result = runStep(step);
  // What was begun is awaited even if the rest was refused.
  Result ended = endLanes();
  watchKernels();
  Result back = enterContext(context);
  return result ? result : ended ? ended : back;
}

} // namespace

static MemoryUse memoryUse(const ExecutableGraph &executable) {
  MemoryUse use;
  use.mayBeAllocated = executable.flags & kFreeOnLaunch;
  for (const Step &step : executable.steps) {
    if (auto *allocation = std::get_if<AllocateOperation>(&step.node->operation))
      use.allocated.push_back(*allocation);
    else if (auto *freeing = std::get_if<FreeOperation>(&step.node->operation))
      use.freed.push_back(*freeing);
  }
  return use;
}

Result launch(ExecutableGraph &executable, Context &context, void *hipStream) {
  std::unique_lock<std::mutex> lock(executable.mutex);
  if (executable.hasNewBodies) {
    GraphLock lockOfGraphs;
    makeBodies(executable.steps);
    executable.hasNewBodies = false;
  }
  MemoryUse use = memoryUse(executable);
  if (Result result = beginUse(use))
    return result;
  Result result =
      Replay(executable, context, hipStream, context.pending.awaited(hipStream), false).run();
  lock.unlock();
  endUse(use, result);
  return result;
}

Result runBody(ExecutableGraph &body, Context &context, void *hipStream,
               const AwaitedStream &awaited) {
  return Replay(body, context, hipStream, awaited, true).run();
}

Result upload(ExecutableGraph &executable, Context &current) {
  std::lock_guard<std::mutex> lock(executable.mutex);
  GraphNode *atFault = nullptr;
  return prepareAll(current, executable.steps, atFault);
}

// Kernels are compiled without the lock.
static Result instantiate(const TracedCall &entry, ExecutableGraph **out, Graph *graph,
                          uint64_t flags, InstantiateFault &fault) {
  return callIn(entry, [&](Context &context) -> Result {
    if (!out)
      return kInvalidValue;
    std::shared_ptr<ExecutableGraph> made;
    {
      GraphLock lock;
      if (!liveGraph(graph))
        return kInvalidValue;
      if (graph->parent)
        return fail(kNotSupported, "a graph that is part of another one is not instantiated");
      if (Result result = checkUnsafe())
        return result;
      if (isBeingCaptured(*graph))
        return kIllegalState;
      if (Result result = checkGraph(*graph, flags, fault))
        return result;
      made = makeExecutable(*graph, flags);
    }
    GraphNode *atFault = nullptr;
    Result result = prepareAll(context, made->steps, atFault);
    GraphLock lock;
    if (result) {
      forgetExecutable(made->graph);
      fault.node = atFault && liveGraph(graph) ? nodeWithId(*graph, atFault->original) : nullptr;
      return result;
    }
    *out = made.get();
    executables[made.get()] = made;
    return kSuccess;
  });
}

// The versions that have a text for what is wrong: the log has it.
static Result instantiateWithText(const TracedCall &entry, ExecutableGraph **out, Graph *graph,
                                  GraphNode **node, char *text, size_t room) {
  InstantiateFault fault;
  Result result = instantiate(entry, out, graph, 0, fault);
  if (text && room)
    *text = 0;
  if (node)
    *node = nullptr;
  return result;
}

// Runs `body` for an executable graph and a stream that is not captured.
template <class Body>
static Result withStream(const TracedCall &entry, ExecutableGraph *handle, Stream *stream,
                         Body body) {
  return callOn(entry, stream, [&](Context &context) -> Result {
    std::shared_ptr<ExecutableGraph> executable;
    {
      GraphLock lock;
      executable = liveExecutable(handle);
    }
    if (!executable)
      return kInvalidValue;
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      if (isCaptured(hipStream))
        return refuseCapture(hipStream);
      if (Result result = checkLegacyStream(context, hipStream))
        return result;
      return body(*executable, context, hipStream);
    });
  });
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuGraphInstantiateWithFlags(ExecutableGraph **out, Graph *graph, uint64_t flags) {
  InstantiateFault fault;
  if (flags & kUpload) // there is no stream to upload it on
    return kInvalidValue;
  return instantiate(RUBIA_CALL(out, graph, flags), out, graph, flags, fault);
}
Result cuGraphInstantiate(ExecutableGraph **out, Graph *graph, GraphNode **node, char *text,
                          size_t room) {
  return instantiateWithText(RUBIA_CALL(out, graph, node, text, room), out, graph, node, text,
                             room);
}
Result cuGraphInstantiate_v2(ExecutableGraph **out, Graph *graph, GraphNode **node, char *text,
                             size_t room) {
  return instantiateWithText(RUBIA_CALL(out, graph, node, text, room), out, graph, node, text,
                             room);
}

Result cuGraphInstantiateWithParams(ExecutableGraph **out, Graph *graph,
                                    InstantiateParameters *parameters) {
  if (!parameters)
    return kInvalidValue;
  InstantiateFault fault;
  Result result =
      instantiate(RUBIA_CALL(out, graph, parameters), out, graph, parameters->flags, fault);
  parameters->result = result ? fault.result : 0;
  parameters->errorNode = result ? fault.node : nullptr;
  if (result || !(parameters->flags & kUpload))
    return result;
  return withStream(RUBIA_CALL(out, graph, parameters), *out, parameters->uploadStream,
                    [](ExecutableGraph &executable, Context &context, void *) {
                      return upload(executable, context);
                    });
}
Result cuGraphInstantiateWithParams_ptsz(ExecutableGraph **out, Graph *graph,
                                         InstantiateParameters *parameters) {
  return cuGraphInstantiateWithParams(out, graph, parameters);
}

// NVIDIA's driver does not tell of priorities.
Result cuGraphExecGetFlags(ExecutableGraph *handle, uint64_t *flags) {
  return callIn(RUBIA_CALL(handle, flags), [&](Context &) {
    GraphLock lock;
    std::shared_ptr<ExecutableGraph> executable = liveExecutable(handle);
    if (!executable || !flags)
      return kInvalidValue;
    *flags = executable->flags & ~uint64_t(kNodePriority);
    return kSuccess;
  });
}

Result cuGraphLaunch(ExecutableGraph *executable, Stream *stream) {
  return withStream(RUBIA_CALL(executable, stream), executable, stream, launch);
}
Result cuGraphLaunch_ptsz(ExecutableGraph *executable, Stream *stream) {
  return cuGraphLaunch(executable, stream ? stream : kPerThreadStream);
}

Result cuGraphUpload(ExecutableGraph *executable, Stream *stream) {
  return withStream(RUBIA_CALL(executable, stream), executable, stream,
                    [](ExecutableGraph &executable, Context &context, void *) {
                      return upload(executable, context);
                    });
}
Result cuGraphUpload_ptsz(ExecutableGraph *executable, Stream *stream) {
  return cuGraphUpload(executable, stream ? stream : kPerThreadStream);
}

// Launches go on; HIP keeps a stream until its work is done.
Result cuGraphExecDestroy(ExecutableGraph *handle) {
  if (isExiting())
    return kSuccess;
  return call(RUBIA_CALL(handle), [&]() -> Result {
    std::shared_ptr<ExecutableGraph> executable;
    {
      GraphLock lock;
      executable = liveExecutable(handle);
      if (!executable)
        return kInvalidValue;
      if (Result result = checkUnsafe())
        return result;
      executables.erase(handle);
      forgetExecutable(executable->graph);
    }
    executable.reset();
    Context *context = currentContext();
    return context ? fromHip(hip().call<hipSetDevice>(context->device.hipDevice)) : kSuccess;
  });
}

} // extern "C"
