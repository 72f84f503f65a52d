// SPDX-License-Identifier: Apache-2.0
// Executable graphs. One has a copy of its graph, and streams of its own (lanes) on which a launch
// executes the nodes: branches at the same time, launches of one executable graph one after the
// other, and nothing of other work of the stream in between. A launch goes the way of every launch
// of a kernel, which decides anew what code it needs; so HIP's graphs, which fix it, are not used.
#pragma once

#include "runtime/cuda/graph/GraphNodes.h"
#include <utility>

namespace rubia::runtime::cuda {

/// An event of HIP's, which belongs to a device until that is reset.
class DeviceEvent {
public:
  DeviceEvent() = default;
  DeviceEvent(DeviceEvent &&other) noexcept
      : event(std::exchange(other.event, nullptr)), device(other.device), resets(other.resets) {}
  ~DeviceEvent() { drop(); }

  /// Null: there is none, or no more.
  void *hip() const;
  /// Records it in a stream of the context, whose device is HIP's current one.
  Result record(Context &context, void *hipStream);

private:
  void drop();

  void *event = nullptr;
  Device *device = nullptr;
  unsigned resets = 0; // as Device::resets
};

struct Bodies; // Conditional.h

/// A node of the copy, in the order of execution. Nodes that are graphs are their nodes.
struct Step {
  GraphNode *node;
  std::vector<size_t> after; // steps
  size_t lane = 0;
  std::vector<size_t> awaited = {};    // those of `after` in other lanes
  bool isAwaited = false;              // by another lane
  DeviceEvent event = {};              // if it is
  std::shared_ptr<Bodies> bodies = {}; // of a conditional node
};

struct Lane {
  Context *context = nullptr;
  bool isWork = false; // of threads that work at gates
  void *hipStream = nullptr;
  unsigned resets = 0;   // of the device, when the stream was made
  DeviceEvent done = {}; // at the end of a launch
  size_t last = 0;       // step, while steps are given out

  /// The stream died with a reset of the device, or dies as the process ends.
  bool isLost() const;
  /// Makes the stream if there is none. The context's device is HIP's current one.
  Result open();
};

struct ExecutableGraph {
  ~ExecutableGraph();

  std::unique_ptr<Graph> copy;
  uint64_t graph = 0; // the id of the graph that it was made of
  uint64_t flags = 0;
  std::vector<Step> steps;
  bool hasConditional = false;
  /// Of launches: guards what follows. Taken before the mutex of graphs.
  std::mutex mutex;
  bool hasNewBodies = false; // those of `steps` are older than `copy`
  std::vector<Lane> lanes;
  DeviceEvent start;    // what the launch comes after
  DeviceEvent finished; // of the last launch, in lane 0
};

/// CUgraphInstantiateResult and the node that is at fault.
struct InstantiateFault {
  int result = 1;
  GraphNode *node = nullptr;
};

/// Null for what is none. With the mutex of graphs held.
std::shared_ptr<ExecutableGraph> liveExecutable(ExecutableGraph *handle);

/// The steps of a copy whose operations, but not its shape, may change.
std::vector<Step> stepsOf(const Graph &copy);
/// Gives the steps lanes.
std::vector<Lane> giveLanes(std::vector<Step> &steps);

Result launch(ExecutableGraph &executable, Context &context, void *hipStream);
/// Executes a body on a thread that works at a gate; the stream, which that thread has, comes after
/// it. The program waits for the stream `awaited`.
Result runBody(ExecutableGraph &body, Context &context, void *hipStream,
               const AwaitedStream &awaited);
/// Makes what a launch needs beforehand.
Result upload(ExecutableGraph &executable, Context &current);

} // namespace rubia::runtime::cuda
