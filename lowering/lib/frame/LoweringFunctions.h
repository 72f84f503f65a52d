// SPDX-License-Identifier: Apache-2.0
// What lowers an operation: a function lower<Name>() for each row of Operations.def, by chapter of
// the manual. It returns the value of the first destination, null if there is none or the function
// wrote it itself, or an error made by unsupported() or malformed().
#pragma once

#include "ptx-frontend/Operation.h"

namespace llvm {
template <class T> class Expected;
class Value;
} // namespace llvm

namespace rubia::ptx {
struct Instruction;
}

namespace rubia::lowering {

class FunctionLowering;
using LoweringFunction = llvm::Expected<llvm::Value *>(FunctionLowering &fn,
                                                       const ptx::Instruction &inst);

/// Null: none of the operation's forms is lowered.
LoweringFunction *loweringFunctionOf(ptx::Operation op);

} // namespace rubia::lowering
