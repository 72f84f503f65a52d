// SPDX-License-Identifier: Apache-2.0
// A register starts with any value (FunctionLowering::undefinedBits), stored where the function
// begins. With a second store LLVM has to look for the places where both values meet: of thousands
// of registers in thousands of blocks that takes minutes, although most are written once, before
// all their uses. Those need no initial value.
#pragma once

namespace llvm {
class Function;
}

namespace rubia::lowering {

/// To be called when the function is complete.
void dropUnreadInitialValues(llvm::Function &function);

} // namespace rubia::lowering
