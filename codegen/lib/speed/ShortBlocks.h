// SPDX-License-Identifier: Apache-2.0
// The order in which selection leaves the machine instructions of a block. LLVM's scheduler for it
// clears two arrays of all registers for each block, 340 KB on AMDGPU, and most blocks are short.
// LLVM's linear order needs no arrays. In long blocks it costs instructions, in short ones none:
// the machine scheduler comes later.
#pragma once

namespace rubia::codegen {

/// Blocks of fewer nodes than this get the linear order.
inline constexpr unsigned kNodesOfShortBlock = 32;

/// For all that this process compiles from now on. Whether LLVM still has the choice.
bool orderShortBlocksLinearly();

/// How many blocks have got one order and the other in this thread.
struct BlockOrders {
  unsigned linear = 0, scheduled = 0;
};
BlockOrders blockOrders();

} // namespace rubia::codegen
