// SPDX-License-Identifier: Apache-2.0
// Conditional nodes. The value of a handle is a word of device memory, which device code sets
// (cudaGraphSetConditional); the handle is its address. HIP's streams have no branches: the stream
// of such a node waits at a gate, while a thread of the runtime reads the word and runs bodies.
#pragma once

#include "runtime/cuda/graph/ExecutableGraph.h"

namespace rubia::runtime::cuda {

/// Given back when no graph, executable graph or launch has the handle.
struct ConditionalWord {
  ConditionalWord(Context &context, void *address)
      : pool(context.words), address(address), life(pool->life()) {}
  ~ConditionalWord() { pool->giveBack(address, life); }
  ConditionalWord(const ConditionalWord &) = delete;

  const std::shared_ptr<WordPool> pool; // may outlive the context
  void *const address;
  const unsigned life;
};

/// What a conditional node executes: copies of its bodies, as they were at a launch. Launches that
/// have begun keep them.
struct Bodies {
  ~Bodies();

  Context *context;
  ConditionalType type;
  std::shared_ptr<ConditionalWord> word;
  std::vector<std::unique_ptr<ExecutableGraph>> graphs;
  Lane reader; // on which the word is read
};

/// Gives conditional steps their bodies as they are now. With the mutex of graphs held.
void makeBodies(std::vector<Step> &steps);

/// Gives the words of the graph's handles, at any depth, their values at the beginning of a launch,
/// on a stream of the device that HIP works with.
Result resetConditionals(Context &context, const Graph &graph, void *hipStream);

/// Lets the stream wait until the bodies were executed as often as the word says. `awaited`: the
/// stream that the program waits for.
Result addConditional(Context &context, std::shared_ptr<Bodies> bodies, void *hipStream,
                      const AwaitedStream &awaited);
/// The same at once, on a thread that works at a gate: everything before it is done.
Result runBodies(Bodies &bodies, const AwaitedStream &awaited);

/// The first node that may not be in a body, at any depth.
GraphNode *nodeNotInBody(const Graph &graph);

} // namespace rubia::runtime::cuda
