// SPDX-License-Identifier: Apache-2.0
// What integer chapters share.
#pragma once

#include "lowering/lib/frame/FunctionLowering.h"

namespace rubia::lowering {

/// True for .sNN types, false for .uNN and .bNN.
bool isSigned(ptx::Type type);

/// A value clamped to the range of integers of `toBits`, in the wider of both types: .sat of
/// conversions (Conversion.cpp).
llvm::Value *saturateInteger(llvm::IRBuilder<> &b, llvm::Value *value, bool fromSigned,
                             unsigned toBits, bool toSigned);

/// The upper half of a * b, as .hi; the type is that of a and b.
llvm::Value *highProduct(llvm::IRBuilder<> &b, llvm::Value *x, llvm::Value *y, bool isSigned);

/// Shifts as PTX defines them: amounts, an i32, from the width on give 0, or all sign bits.
llvm::Value *shiftLeft(llvm::IRBuilder<> &b, llvm::Value *value, llvm::Value *amount);
llvm::Value *shiftRight(llvm::IRBuilder<> &b, llvm::Value *value, llvm::Value *amount,
                        bool isSigned);

} // namespace rubia::lowering
