// SPDX-License-Identifier: Apache-2.0
// Ways through a function that cannot be taken: LLVM makes a uniform condition that several
// branches depend on a flag in scalar registers, which one way sets to 0 and another to -1.
#pragma once

#include "codegen/lib/check/Branches.h"
#include "codegen/lib/check/FunctionCode.h"

namespace rubia::codegen {

llvm::ArrayRef<DecodedInstruction> instructionsOf(const BasicBlock &block,
                                                  llvm::ArrayRef<DecodedInstruction> function);

struct SeparateBlocks {
  std::vector<BasicBlock> blocks;
  std::vector<size_t> origins; ///< which of the given blocks each one is
};

/// The blocks of a function, once for each set of flags that they are come to with, and without the
/// branches that these flags rule out. Flags that nobody tests later do not count. Where there
/// would be too many, the blocks as they are.
SeparateBlocks separateByFlags(const Disassembler &disassembler,
                               llvm::ArrayRef<DecodedInstruction> function,
                               std::vector<BasicBlock> blocks);

} // namespace rubia::codegen
