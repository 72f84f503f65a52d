// SPDX-License-Identifier: Apache-2.0
// LLVM's LiveVariables clears and looks through arrays of all physical registers at the end of each
// block. AMDGPU has some 10,000 with all tuples, and a block names a few: of a kernel of short
// blocks that was a tenth of the back end. Here a block's end looks at the registers that the block
// names. What is found is the same.
#pragma once

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// In the place of LLVM's pass of the name kLiveVariables, and with its identity.
llvm::Pass *makeSparseLiveness();

} // namespace rubia::codegen
