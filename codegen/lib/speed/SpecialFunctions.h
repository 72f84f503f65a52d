// SPDX-License-Identifier: Apache-2.0
// What LLVM's ipsccp and deadargelim make of one function, in a module that nothing has optimised.
#pragma once

namespace llvm {
class Function;
}

namespace rubia::codegen {

/// The function without the arguments that are one number in all calls, and without the elements of
/// its result that nobody reads. It has no other uses than calls.
llvm::Function &specialised(llvm::Function &function);

} // namespace rubia::codegen
