// SPDX-License-Identifier: Apache-2.0
// Executable graphs. One has a copy of its graph, and streams of its own (lanes) on which a launch
// executes the nodes: branches at the same time, launches of one executable graph one after the
// other, and nothing of other work of the stream in between. A launch goes the way of every launch
// of a kernel, which decides anew what code it needs; so HIP's graphs, which fix it, are not used.
#pragma once

#include "runtime/cuda/graph/GraphNodes.h"

namespace rubia::runtime::cuda {

/// A node of the copy, in the order of execution. Nodes that are graphs are their nodes.
struct Step {
  GraphNode *node;
  std::vector<size_t> after; // steps
  size_t lane = 0;
  std::vector<size_t> awaited = {}; // those of `after` in other lanes
  bool isAwaited = false;           // by another lane
  void *event = nullptr;            // HIP's, if it is
};

struct Lane {
  Context *context;
  void *hipStream = nullptr;
  void *done = nullptr; // event, at the end of a launch
  size_t last = 0;      // step, while steps are given out
};

struct ExecutableGraph {
  ~ExecutableGraph();

  std::unique_ptr<Graph> copy;
  uint64_t graph; // the id of the graph that it was made of
  uint64_t flags;
  std::vector<Step> steps;
  std::mutex mutex; // of launches: guards what follows
  std::vector<Lane> lanes;
  void *start = nullptr; // event: what the launch comes after
  bool wasLaunched = false;
  void *finished = nullptr; // event: of the last launch, in lane 0
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
/// Makes what a launch needs beforehand.
Result upload(ExecutableGraph &executable, Context &current);

} // namespace rubia::runtime::cuda
