// SPDX-License-Identifier: Apache-2.0
// What LLVM's ipsccp and deadargelim make of one function, in a module that nothing has optimised.
#pragma once

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"

namespace llvm {
class Constant;
class Function;
class raw_ostream;
} // namespace llvm

namespace rubia::codegen {

/// What a function's callers, which do nothing but call it, say of all calls.
struct Specialty {
  explicit Specialty(const llvm::Function &function);

  llvm::SmallVector<llvm::Constant *> constants; // the number that an argument is; null: none
  llvm::SmallBitVector results;                  // the elements of the result that somebody reads
};

/// Different for different ones of functions of one type.
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Specialty &specialty);

/// The function without these arguments and with these elements of its result only.
llvm::Function &specialised(llvm::Function &function, const Specialty &specialty);

} // namespace rubia::codegen
