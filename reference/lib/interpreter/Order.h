// SPDX-License-Identifier: Apache-2.0
// The order in which the paths of a divided warp go on: the one at the lowest place first. Blocks
// of a loop stand together and before what follows it, and each block behind those that lead to it.
// So a path that is ahead waits until the others have come, and they meet where their ways join: at
// the immediate post-dominator or before.
// The order is Bourdoncle's weak topological order ("Efficient chaotic iteration strategies",
// 1993).
#pragma once

#include "ptx-frontend/Module.h"
#include <vector>

namespace rubia::reference::interpreter {

/// Instructions [first, end) of the body that are executed in this order.
struct Block {
  uint32_t first, end;
};

/// The blocks that can be reached, the entry first.
std::vector<Block> orderOf(const ptx::Function &function);

} // namespace rubia::reference::interpreter
