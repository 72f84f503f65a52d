// SPDX-License-Identifier: Apache-2.0
// A pass that keeps what it found in one module, in passes that are kept for the next.
#pragma once

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// Takes a pass over the call graph that LLVM's registry can make. Returns one that does the same
/// with a new pass for each module. No pass may ask for its result.
llvm::Pass *makeFreshEachModule(llvm::Pass *pass);

} // namespace rubia::codegen
