// SPDX-License-Identifier: Apache-2.0
// Streams that are captured into graphs, executable graphs, and what changes them.
#include "diff/forward/Hooks.h"
#include "diff/forward/Recorder.h"

using namespace rubia::forward;

namespace {

void made(Handle executable, Handle graph) { Locked()->graphMade(executable, graph); }

/// A node of an executable graph was changed: `change` does it to the clone's. Its result is the
/// driver's status.
template <class Change> void changed(Handle executable, Handle node, Change change) {
  Locked recorder;
  ExecutableGraph *graph = recorder->graphs.find(executable);
  if (!graph || graph->problem)
    return;
  GraphNode *found = graph->find(node);
  if (!found || change(found->clone))
    graph->problem = "it was changed in a way that is not followed";
  else
    recorder->kernelOfGraphChanged(*found);
}

/// No way is known to do the same to the clone.
void changedOtherwise(Handle executable) {
  changed(executable, nullptr, [](Handle) { return 0; });
}

} // namespace

extern "C" {

// Streams.

// The lock is held meanwhile: reading memory would make the capture invalid.
#define BEGIN_CAPTURE(Symbol)                                                                      \
  int hook_##Symbol(Handle stream, int mode) {                                                     \
    Locked recorder;                                                                               \
    const int result = DRIVER(Symbol, Handle, int)(stream, mode);                                  \
    if (!result)                                                                                   \
      recorder->captureBegins(stream);                                                             \
    return result;                                                                                 \
  }
BEGIN_CAPTURE(cuStreamBeginCapture_v2)
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz)

#define BEGIN_CAPTURE_TO_GRAPH(Symbol)                                                             \
  int hook_##Symbol(Handle stream, Handle graph, const Handle *nodes, const void *data,            \
                    size_t count, int mode) {                                                      \
    Locked recorder;                                                                               \
    const int result = DRIVER(Symbol, Handle, Handle, const Handle *, const void *, size_t,        \
                              int)(stream, graph, nodes, data, count, mode);                       \
    if (!result)                                                                                   \
      recorder->captureBegins(stream);                                                             \
    return result;                                                                                 \
  }
BEGIN_CAPTURE_TO_GRAPH(cuStreamBeginCaptureToGraph)
BEGIN_CAPTURE_TO_GRAPH(cuStreamBeginCaptureToGraph_ptsz)

#define BEGIN_CAPTURE_V1(Symbol)                                                                   \
  int hook_##Symbol(Handle stream) {                                                               \
    Locked recorder;                                                                               \
    const int result = DRIVER(Symbol, Handle)(stream);                                             \
    if (!result)                                                                                   \
      recorder->captureBegins(stream);                                                             \
    return result;                                                                                 \
  }
BEGIN_CAPTURE_V1(cuStreamBeginCapture)
BEGIN_CAPTURE_V1(cuStreamBeginCapture_ptsz)

#define STREAM_DESTROY(Symbol)                                                                     \
  int hook_##Symbol(Handle stream) {                                                               \
    Locked recorder;                                                                               \
    recorder->streamDestroyed(stream);                                                             \
    return DRIVER(Symbol, Handle)(stream);                                                         \
  }
STREAM_DESTROY(cuStreamDestroy)
STREAM_DESTROY(cuStreamDestroy_v2)

#define END_CAPTURE(Symbol, PerThread)                                                             \
  int hook_##Symbol(Handle stream, Handle *graph) {                                                \
    Locked recorder;                                                                               \
    const int result = DRIVER(Symbol, Handle, Handle *)(stream, graph);                            \
    recorder->captureEnds(stream, PerThread);                                                      \
    return result;                                                                                 \
  }
END_CAPTURE(cuStreamEndCapture, false)
END_CAPTURE(cuStreamEndCapture_ptsz, true)

// Executable graphs.

#define INSTANTIATE_WITH_TEXT(Symbol)                                                              \
  int hook_##Symbol(Handle *executable, Handle graph, Handle *node, char *text, size_t bytes) {    \
    const int result = DRIVER(Symbol, Handle *, Handle, Handle *, char *,                          \
                              size_t)(executable, graph, node, text, bytes);                       \
    if (!result)                                                                                   \
      made(*executable, graph);                                                                    \
    return result;                                                                                 \
  }
INSTANTIATE_WITH_TEXT(cuGraphInstantiate)
INSTANTIATE_WITH_TEXT(cuGraphInstantiate_v2)

int hook_cuGraphInstantiateWithFlags(Handle *executable, Handle graph, uint64_t flags) {
  const int result =
      DRIVER(cuGraphInstantiateWithFlags, Handle *, Handle, uint64_t)(executable, graph, flags);
  if (!result)
    made(*executable, graph);
  return result;
}

#define INSTANTIATE_WITH_PARAMETERS(Symbol)                                                        \
  int hook_##Symbol(Handle *executable, Handle graph, void *parameters) {                          \
    const int result = DRIVER(Symbol, Handle *, Handle, void *)(executable, graph, parameters);    \
    if (!result)                                                                                   \
      made(*executable, graph);                                                                    \
    return result;                                                                                 \
  }
INSTANTIATE_WITH_PARAMETERS(cuGraphInstantiateWithParams)
INSTANTIATE_WITH_PARAMETERS(cuGraphInstantiateWithParams_ptsz)

int hook_cuGraphExecDestroy(Handle executable) {
  Locked()->graphs.destroyed(executable); // before another thread gets the handle
  return DRIVER(cuGraphExecDestroy, Handle)(executable);
}

#define GRAPH_LAUNCH(Symbol, PerThread)                                                            \
  int hook_##Symbol(Handle graph, Handle stream) {                                                 \
    return Recorder::get().launchGraph(                                                            \
        graph, stream, PerThread, [&] { return DRIVER(Symbol, Handle, Handle)(graph, stream); });  \
  }
GRAPH_LAUNCH(cuGraphLaunch, false)
GRAPH_LAUNCH(cuGraphLaunch_ptsz, true)

// Changes.

int hook_cuGraphExecUpdate(Handle executable, Handle graph, Handle *node, int *what) {
  const int result =
      DRIVER(cuGraphExecUpdate, Handle, Handle, Handle *, int *)(executable, graph, node, what);
  if (!result)
    made(executable, graph);
  return result;
}
int hook_cuGraphExecUpdate_v2(Handle executable, Handle graph, void *what) {
  const int result = DRIVER(cuGraphExecUpdate_v2, Handle, Handle, void *)(executable, graph, what);
  if (!result)
    made(executable, graph);
  return result;
}
int hook_cuGraphNodeSetEnabled(Handle executable, Handle node, unsigned isEnabled) {
  const int result =
      DRIVER(cuGraphNodeSetEnabled, Handle, Handle, unsigned)(executable, node, isEnabled);
  Locked recorder;
  ExecutableGraph *graph = result ? nullptr : recorder->graphs.find(executable);
  if (GraphNode *found = graph ? graph->find(node) : nullptr)
    found->isEnabled = isEnabled;
  else if (graph && !graph->problem)
    graph->problem = "it was changed in a way that is not followed";
  return result;
}

// The clone's nodes are changed by a function of the same parameters.
#define CHANGE_NODE(Symbol, OfClone)                                                               \
  int hook_##Symbol(Handle executable, Handle node, const void *parameters) {                      \
    const int result = DRIVER(Symbol, Handle, Handle, const void *)(executable, node, parameters); \
    if (!result)                                                                                   \
      changed(executable, node, [&](Handle clone) {                                                \
        return DRIVER(OfClone, Handle, const void *)(clone, parameters);                           \
      });                                                                                          \
    return result;                                                                                 \
  }
CHANGE_NODE(cuGraphExecKernelNodeSetParams, cuGraphKernelNodeSetParams)
CHANGE_NODE(cuGraphExecKernelNodeSetParams_v2, cuGraphKernelNodeSetParams_v2)
CHANGE_NODE(cuGraphExecHostNodeSetParams, cuGraphHostNodeSetParams)
CHANGE_NODE(cuGraphExecBatchMemOpNodeSetParams, cuGraphBatchMemOpNodeSetParams)
CHANGE_NODE(cuGraphExecExternalSemaphoresSignalNodeSetParams,
            cuGraphExternalSemaphoresSignalNodeSetParams)
CHANGE_NODE(cuGraphExecExternalSemaphoresWaitNodeSetParams,
            cuGraphExternalSemaphoresWaitNodeSetParams)

#define CHANGE_NODE_IN_CONTEXT(Symbol, OfClone)                                                    \
  int hook_##Symbol(Handle executable, Handle node, const void *parameters, Handle context) {      \
    const int result = DRIVER(Symbol, Handle, Handle, const void *, Handle)(executable, node,      \
                                                                            parameters, context);  \
    if (!result)                                                                                   \
      changed(executable, node, [&](Handle clone) {                                                \
        return DRIVER(OfClone, Handle, const void *)(clone, parameters);                           \
      });                                                                                          \
    return result;                                                                                 \
  }
CHANGE_NODE_IN_CONTEXT(cuGraphExecMemcpyNodeSetParams, cuGraphMemcpyNodeSetParams)
CHANGE_NODE_IN_CONTEXT(cuGraphExecMemsetNodeSetParams, cuGraphMemsetNodeSetParams)

#define CHANGE_HANDLE(Symbol, OfClone)                                                             \
  int hook_##Symbol(Handle executable, Handle node, Handle handle) {                               \
    const int result = DRIVER(Symbol, Handle, Handle, Handle)(executable, node, handle);           \
    if (!result)                                                                                   \
      changed(executable, node,                                                                    \
              [&](Handle clone) { return DRIVER(OfClone, Handle, Handle)(clone, handle); });       \
    return result;                                                                                 \
  }
CHANGE_HANDLE(cuGraphExecEventRecordNodeSetEvent, cuGraphEventRecordNodeSetEvent)
CHANGE_HANDLE(cuGraphExecEventWaitNodeSetEvent, cuGraphEventWaitNodeSetEvent)

int hook_cuGraphExecNodeSetParams(Handle executable, Handle node, void *parameters) {
  const int result =
      DRIVER(cuGraphExecNodeSetParams, Handle, Handle, void *)(executable, node, parameters);
  if (!result)
    changed(executable, node, [&](Handle clone) {
      return DRIVER(cuGraphNodeSetParams, Handle, void *)(clone, parameters);
    });
  return result;
}
int hook_cuGraphExecChildGraphNodeSetParams(Handle executable, Handle node, Handle child) {
  const int result =
      DRIVER(cuGraphExecChildGraphNodeSetParams, Handle, Handle, Handle)(executable, node, child);
  if (!result)
    changedOtherwise(executable);
  return result;
}

} // extern "C"
