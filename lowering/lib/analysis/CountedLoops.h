// SPDX-License-Identifier: Apache-2.0
// Loops whose number of rounds is a constant, which NVIDIA's compiler unrolls: behind that, code
// before, in and behind the loop is one stretch (Stretches.h).
#pragma once

#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/analysis/Definitions.h"

namespace rubia::lowering {

/// A block in the flow of control, or one round of it.
struct FlowNode {
  uint32_t block;
  llvm::SmallVector<uint32_t, 2> successors; // nodes
};

/// Gives each round of small counted loops nodes of its own. At first there is one node for each
/// block, in their order. Loops with an instruction that ends a stretch stay as they are.
void unrollCountedLoops(const ptx::Function &function, const Definitions &definitions,
                        const llvm::BitVector &endings, const ControlFlowGraph &graph,
                        std::vector<FlowNode> &nodes);

} // namespace rubia::lowering
