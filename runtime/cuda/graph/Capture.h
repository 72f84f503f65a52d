// SPDX-License-Identifier: Apache-2.0
// Stream capture. Operations on a stream that is being captured become nodes of a graph. HIP does
// not know of it: the runtime's own calls (loading a module, filling its variables) stay possible
// meanwhile, and errors are CUDA's in every version of HIP.
#pragma once

#include "runtime/cuda/graph/Graph.h"

namespace rubia::runtime::cuda {

enum CaptureMode : int { kGlobalCapture, kThreadLocalCapture, kRelaxedCapture };
enum CaptureStatus : int { kNoCapture, kActiveCapture, kInvalidCapture };

struct Capture;

/// Whether the stream takes part in a capture, valid or not.
bool isCaptured(void *hipStream);

/// Makes it a node behind what the stream has captured.
Result capture(Context &context, Operation operation, void *hipStream);

/// Why an operation on the legacy default stream is not possible: a stream that is ordered against
/// it is being captured, and becomes invalid.
Result checkLegacyStream(Context &context, void *hipStream, bool invalidates = true);

/// Why nothing can be done now that no stream orders and a launch of a graph would not repeat:
/// captures forbid it, as their modes say, and become invalid.
Result checkUnsafe();

/// Of calls that wait for a stream or ask it, and for work that was captured.
Result checkWait(Context &context, void *hipStream);
Result checkWaitForAll(Context &context);

/// What cannot be captured makes the capture invalid.
Result refuseCapture(void *hipStream);

/// An operation was refused that a valid capture would have become invalid by.
void invalidateCapture(void *hipStream);

/// cuEventRecord on a stream that is being captured.
Result captureRecord(Context &context, Event *event, void *hipStream, bool isExternal);
/// cuStreamWaitEvent where stream or event take part in a capture; `isDone` false: neither does.
Result captureWait(Context &context, void *hipStream, Event *event, bool isExternal, bool &isDone);
/// Why an event of a capture cannot be asked or waited for.
Result checkEvent(Event *event, bool invalidates);
void forgetEvent(Event *event); // it is recorded outside of a capture, or ends

/// The stream ends; a capture that began in it ends too.
void forgetCapturedStream(void *hipStream);
/// All streams of the context end.
void forgetCapturesOf(Context &context);
/// The graph that a stream's capture adds to, or null. With the mutex of graphs held.
const Graph *graphOfCapture(void *hipStream);
/// A graph that streams still add to, or to a graph inside of it.
bool isBeingCaptured(const Graph &graph);
/// What streams add to may depend on the node, or is inside of it.
bool isBeingCaptured(const GraphNode &node);

} // namespace rubia::runtime::cuda
