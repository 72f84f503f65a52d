// SPDX-License-Identifier: Apache-2.0
// Executable graphs: what each of them runs, so that a launch of one can be taken apart and
// recorded kernel by kernel. The driver tells nothing of an executable graph, hence a clone is kept
// of what it was made from, and every change is made in the clone too.
#pragma once

#include "diff/forward/Containers.h"
#include "diff/forward/Driver.h"

namespace rubia::forward {

/// CUDA_KERNEL_NODE_PARAMS, versions 2 and 3.
struct KernelNode {
  Handle function; // null: it is `kernel`
  unsigned grid[3], block[3], sharedBytes;
  void **values, **extra;
  Handle kernel;
  Handle context;
};
static_assert(sizeof(KernelNode) == 72);

struct GraphNode { // in an executable graph
  Handle original; // of the program's graph; null: inside of a child graph
  Handle clone, cloneGraph;
  int type;
  bool isEnabled;
  size_t counter; // of the kernel, in Recorder::counters; kNoCounter: not a kernel that is known
};
inline constexpr size_t kNoCounter = SIZE_MAX;
inline constexpr int kKernelNode = 0, kChildGraphNode = 4, kEmptyNode = 5;

struct ExecutableGraph {
  Handle executable;
  Handle clone = nullptr;
  const char *problem = nullptr; // why it cannot be taken apart
  Array<GraphNode> nodes;        // child graphs are resolved; each behind those that it follows

  explicit ExecutableGraph(Handle executable) : executable(executable) {}
  GraphNode *find(Handle original);
};

class ExecutableGraphs {
public:
  /// `graph`: what it was made from, or updated to.
  ExecutableGraph &made(Handle executable, Handle graph);
  void destroyed(Handle executable);
  ExecutableGraph *find(Handle executable);

private:
  Array<ExecutableGraph *> all;
};

/// A graph with this node alone, ready to be launched.
struct SingleNode {
  Handle graph = nullptr, executable = nullptr;
};
bool isolate(const GraphNode &node, SingleNode &single); // false: the driver refuses
void release(SingleNode &single);                        // what runs goes on

/// Of a kernel's node; the values are the driver's, and stay as long as the node is not changed.
bool readKernelNode(const GraphNode &node, KernelNode &kernel);

} // namespace rubia::forward
