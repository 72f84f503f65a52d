// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/graph/Conditional.h"
#include "runtime/cuda/Context.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::runtime {
int hipMemsetD32Async(void *to, int value, size_t count, void *stream);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

Bodies::~Bodies() {
  if (reader.hipStream && !reader.isLost())
    (void)hip().call<hipStreamDestroy>(reader.hipStream);
}

// ---------- Bodies

// What a clone does not have of the executable graph's copy that it was made of.
static void inherit(Graph &clone, const Graph &copy) {
  for (auto [made, node] : zip_equal(clone.nodes, copy.nodes)) {
    made->original = node->original;
    made->isEnabled = node->isEnabled;
    for (auto [inner, of] : zip_equal(made->graphs(), node->graphs()))
      inherit(*inner, *of);
  }
}

// Objects are kept by the executable graph.
static void dropObjects(Graph &graph) {
  for (auto [object, count] : graph.objects)
    release(object, count);
  graph.objects.clear();
  for (const auto &node : graph.nodes)
    for (Graph *inner : node->graphs())
      dropObjects(*inner);
}

static std::unique_ptr<ExecutableGraph> makeBody(const Graph &graph) {
  auto body = std::make_unique<ExecutableGraph>();
  body->copy = graph.cloneWithoutHandles();
  inherit(*body->copy, graph);
  dropObjects(*body->copy);
  body->steps = stepsOf(*body->copy);
  body->lanes = giveLanes(body->steps);
  for (Lane &lane : body->lanes)
    lane.isWork = true;
  makeBodies(body->steps);
  return body;
}

void makeBodies(std::vector<Step> &steps) {
  for (Step &step : steps) {
    auto *conditional = std::get_if<ConditionalOperation>(&step.node->operation);
    if (!conditional)
      continue;
    step.bodies = std::make_shared<Bodies>();
    step.bodies->context = step.bodies->reader.context = step.node->context;
    step.bodies->type = conditional->type;
    step.bodies->word = conditional->word;
    step.bodies->reader.isWork = true;
    for (const Graph *graph : conditional->bodies)
      step.bodies->graphs.push_back(makeBody(*graph));
  }
}

GraphNode *nodeNotInBody(const Graph &graph) {
  for (const auto &node : graph.nodes) {
    const NodeType type = node->type();
    if (type != kKernelNode && type != kCopyNode && type != kFillNode && type != kEmptyNode &&
        type != kChildNode && type != kConditionalNode)
      return node.get();
    for (const Graph *inner : node->graphs())
      if (GraphNode *found = nodeNotInBody(*inner))
        return found;
  }
  return nullptr;
}

// ---------- Execution

Result resetConditionals(Context &context, const Graph &graph, void *hipStream) {
  for (const auto &[handle, conditional] : graph.conditionals)
    if (conditional.isReset)
      if (Result result = context.check(hip().call<hipMemsetD32Async>(
              conditional.word->address, int(conditional.initial), 1, hipStream)))
        return result;
  for (const auto &node : graph.nodes)
    for (const Graph *inner : node->graphs())
      if (Result result = resetConditionals(context, *inner, hipStream))
        return result;
  return kSuccess;
}

static ExecutableGraph *chosen(const Bodies &bodies, unsigned value) {
  switch (bodies.type) {
  case kIfNode:
    return value                      ? bodies.graphs[0].get()
           : bodies.graphs.size() > 1 ? bodies.graphs[1].get()
                                      : nullptr;
  case kWhileNode:
    return value ? bodies.graphs[0].get() : nullptr;
  case kSwitchNode:
    return value < bodies.graphs.size() ? bodies.graphs[value].get() : nullptr;
  }
  return nullptr;
}

static Result readWord(Bodies &bodies, unsigned &value) {
  Context &context = *bodies.context;
  void *stream = bodies.reader.hipStream;
  if (Result result = context.check(hip().call<hipMemcpyAsync>(
          &value, bodies.word->address, sizeof(value), kHipMemcpyDeviceToHost, stream)))
    return result;
  return context.check(hip().call<hipStreamSynchronize>(stream));
}

Result runBodies(Bodies &bodies, const AwaitedStream &awaited) {
  Context &context = *bodies.context;
  if (Result result = enter(context))
    return result;
  if (Result result = bodies.reader.open())
    return result;
  while (!isExiting()) {
    if (Result error = context.sticky) // HIP does not know all of them
      return error;
    unsigned value = 0;
    if (Result result = readWord(bodies, value))
      return result;
    ExecutableGraph *body = chosen(bodies, value);
    if (!body)
      return kSuccess;
    if (Result result = runBody(*body, context, bodies.reader.hipStream, awaited))
      return result;
    if (bodies.type != kWhileNode)
      return context.check(hip().call<hipStreamSynchronize>(bodies.reader.hipStream));
  }
  return kDeinitialized;
}

Result addConditional(Context &context, std::shared_ptr<Bodies> bodies, void *hipStream,
                      const AwaitedStream &awaited) {
  return context.gates.add(
      context, hipStream, "the body of a conditional graph node",
      [bodies = std::move(bodies), awaited] { return runBodies(*bodies, awaited); });
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" Result cuGraphConditionalHandleCreate(uint64_t *handle, Graph *graph, Context *in,
                                                 unsigned initial, unsigned flags) {
  return callIn(RUBIA_CALL(handle, graph, in, initial, flags), [&](Context &current) -> Result {
    {
      GraphLock lock;
      // CU_GRAPH_COND_ASSIGN_DEFAULT
      if (!handle || !liveGraph(graph) || flags > 1 || (in && !contextNamed(in)))
        return kInvalidValue;
    }
    Context &context = in ? *contextNamed(in) : current;
    void *address = nullptr;
    if (Result result =
            inContext(current, context, [&] { return context.words->take(context, address); }))
      return result;
    auto word = std::make_shared<ConditionalWord>(context, address);
    GraphLock lock;
    if (!liveGraph(graph))
      return kInvalidValue;
    *handle = reinterpret_cast<uint64_t>(address);
    graph->conditionals[*handle] = {initial, flags != 0, false, std::move(word)};
    return kSuccess;
  });
}
